"""The system calls that the guest's init needs and Python 3.11 does not offer."""

from __future__ import annotations

import ctypes
import os

CLONE_FS = 0x200
CLONE_NEWNS = 0x20000
CLONE_NEWUTS = 0x4000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 0x1
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_MOVE = 0x2000
MS_REC = 0x4000
MS_PRIVATE = 0x40000

MNT_DETACH = 2

_POWER_OFF = 0x4321FEDC  # LINUX_REBOOT_CMD_POWER_OFF, reboot(2)
_SYS_PIVOT_ROOT = {"x86_64": 155}

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, fstype: str = "", flags: int = 0, data: str = "") -> None:
    """Mount a file system or change one, with the MS flags above.

    Raises:
        OSError: with the target in its text.
    """
    result = _libc.mount(
        source.encode(),
        target.encode(),
        fstype.encode() or None,
        ctypes.c_ulong(flags),
        data.encode() or None,
    )
    _check(result, f"mount {fstype or source} on {target}")


def unmount(target: str, flags: int = 0) -> None:
    """umount2(2).

    Raises:
        OSError: with the target in its text.
    """
    _check(_libc.umount2(target.encode(), flags), f"unmount {target}")


def pivot_root(new_root: str, put_old: str) -> None:
    """Make a mount the root; the C library does not wrap this call.

    Raises:
        OSError: if the kernel refuses.
    """
    number = _SYS_PIVOT_ROOT[os.uname().machine]
    _check(_libc.syscall(number, new_root.encode(), put_old.encode()), "pivot_root")


def unshare(flags: int) -> None:
    """Give the calling thread new namespaces.

    Raises:
        OSError: if the kernel refuses.
    """
    _check(_libc.unshare(flags), "unshare")


def setns(fd: int, kind: int) -> None:
    """Let the calling thread enter a namespace.

    Raises:
        OSError: if the kernel refuses.
    """
    _check(_libc.setns(fd, kind), "setns")


def power_off() -> None:
    """reboot(2) with POWER_OFF; does not return where it is allowed.

    Raises:
        OSError: if the kernel refuses.
    """
    _check(_libc.reboot(ctypes.c_int(_POWER_OFF)), "power off")

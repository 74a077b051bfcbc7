"""System calls used by the guest's init that Python 3.11 does not offer, by ctypes."""

from __future__ import annotations

import ctypes
import os

CLONE_FS = 0x200
CLONE_NEWNS = 0x20000
CLONE_NEWUTS = 0x4000000
CLONE_NEWNET = 0x40000000

MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_MOVE = 0x2000
MS_REC = 0x4000
MS_PRIVATE = 0x40000

MNT_DETACH = 2

_POWER_OFF = 0x4321FEDC  # LINUX_REBOOT_CMD_POWER_OFF, reboot(2)
_SYS_PIVOT_ROOT = {"x86_64": 155}

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, operation: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{operation}: {os.strerror(number)}")


def mount(source: str, target: str, fstype: str = "", flags: int = 0, data: str = "") -> None:
    """Mount a file system, or change a mount (mount(2)).

    Args:
        source: device or other source.
        target: mount point.
        fstype: file system type, "" if the flags need none.
        flags: MS_ flags.
        data: options of the file system.

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
    """Unmount a file system with MNT_ flags (umount2(2)).

    Raises:
        OSError: with the target in its text.
    """
    _check(_libc.umount2(target.encode(), flags), f"unmount {target}")


def pivot_root(new_root: str, put_old: str) -> None:
    """Make a mount the root file system (pivot_root(2), which the C library does not wrap).

    Raises:
        OSError: if the kernel refuses.
    """
    number = _SYS_PIVOT_ROOT[os.uname().machine]
    _check(_libc.syscall(number, new_root.encode(), put_old.encode()), "pivot_root")


def unshare(flags: int) -> None:
    """Give the calling thread new namespaces or attributes by CLONE_ flags (unshare(2)).

    Raises:
        OSError: if the kernel refuses.
    """
    _check(_libc.unshare(flags), "unshare")


def setns(fd: int, kind: int) -> None:
    """Move the calling thread into the namespace of a descriptor (setns(2)).

    Raises:
        OSError: if the kernel refuses.
    """
    _check(_libc.setns(fd, kind), "setns")


def power_off() -> None:
    """Power the computer off (reboot(2)); does not return on success.

    Raises:
        OSError: if the kernel refuses.
    """
    _check(_libc.reboot(ctypes.c_int(_POWER_OFF)), "power off")

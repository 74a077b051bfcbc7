"""Faults of the lab's server and link, which tests inject."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from app.lab import server, syscalls
from app.lab.network import INTERFACE
from app.lab.programs import run_program

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.lab.server_host import ServerHost

#: Name of the slow disk, its size in KiB, and the delay of each write in ms.
_DISK, _DISK_KB, _DISK_MS = "slow", 65536, 300


def apply_fault(host: ServerHost, fault: str, free_bytes: int) -> None:
    """Inject a fault, or undo one.

    Args:
        host: host of the NFS server.
        fault: name of the fault, see :class:`lab_verbs.FaultArgs`.
        free_bytes: free bytes that the fault ``fill`` leaves on the export.

    Raises:
        KeyError: for an unknown fault.
        OSError: if it could not be injected.
    """
    link_faults = {"link-down": False, "link-up": True}
    if fault in link_faults:
        set_carrier(up=link_faults[fault])
        return
    server_faults: dict[str, Callable[[], None]] = {
        "server-stop": stop_threads,
        "server-start": server.start_threads,
        "export-ro": lambda: server.export_as("ro,no_root_squash"),
        "export-rw": lambda: server.export_as(server.DEFAULT_EXPORT),
        "export-squash": lambda: server.export_as("rw,root_squash"),
        "export-secure": lambda: server.export_as(server.DEFAULT_EXPORT, "fsid=0,secure"),
        "export-none": unexport,
        "export-replaced": lambda: server.export_as(server.DEFAULT_EXPORT, "fsid=2,insecure"),
        "fill": lambda: limit_free_space(free_bytes),
        "unfill": restore_size,
        "disk-slow": use_slow_disk,
        "disk-quick": use_memory,
    }
    host.run(server_faults[fault])


def set_carrier(*, up: bool) -> None:
    """Simulate plugging or unplugging the cable; with the client's end down, neither end has a carrier."""
    run_program("ip", "link", "set", INTERFACE, "up" if up else "down")


def unexport() -> None:
    """Withdraw the export.

    Raises:
        AppError: LAB_FAILED if exportfs fails.
    """
    run_program("exportfs", "-u", f"*:{server.EXPORT}")
    server.flush_export_cache()


def stop_threads() -> None:
    """Stop the nfsd threads, which closes connections and refuses new ones.

    Raises:
        OSError: if the kernel refuses.
    """
    Path("/proc/fs/nfsd/threads").write_text("0")


def limit_free_space(free_bytes: int) -> None:
    """Shrink the export's file system until ``free_bytes`` are free.

    Raises:
        OSError: if the kernel refuses.
    """
    state = os.statvfs(server.EXPORT_DIRECTORY)
    used = (state.f_blocks - state.f_bfree) * state.f_frsize
    _resize(str(used + max(free_bytes, 0)))


def restore_size() -> None:
    """Restore the original size of the export's file system.

    Raises:
        OSError: if the kernel refuses.
    """
    _resize(server.EXPORT_SIZE)


def use_slow_disk() -> None:
    """Export a small, empty disk with slow writes in place of memory; clients must mount again.

    The disk is a RAM disk (brd) behind the device mapper target "delay", exported with "sync".

    Raises:
        AppError: LAB_FAILED if a program fails; dmsetup may be missing.
        OSError: if the kernel refuses.
    """
    drivers = Path("/usr/lib/uml/modules", os.uname().release, "kernel/drivers")
    memory = ["rd_nr=1", f"rd_size={_DISK_KB}"]
    for name, parameters in (("block/brd", memory), ("md/dm-mod", []), ("md/dm-delay", [])):
        if not Path("/sys/module", name.partition("/")[2].replace("-", "_")).is_dir():
            run_program("insmod", str(drivers / f"{name}.ko"), *parameters)
    _make_node("/run/memory", "ram0")
    run_program("mke2fs", "-q", "-t", "ext2", "-F", "/run/memory")
    table = f"0 {2 * _DISK_KB} delay /run/memory 0 0 /run/memory 0 {_DISK_MS}"
    run_program("dmsetup", "--noudevsync", "--noudevrules", "create", _DISK, "--table", table)
    number = run_program("dmsetup", "info", "--columns", "--noheadings", "-o", "minor", _DISK).strip()
    _make_node("/run/slow", f"dm-{number}")  # udev does not run for dmsetup
    syscalls.mount("/run/slow", str(server.EXPORT_DIRECTORY), "ext2")
    server.EXPORT_DIRECTORY.chmod(0o1777)
    server.export_as(server.DEFAULT_EXPORT, wait="sync")


def use_memory() -> None:
    """Export memory again after :func:`use_slow_disk`.

    Raises:
        AppError: LAB_FAILED if exportfs fails.
        OSError: if the kernel refuses.
    """
    syscalls.unmount(str(server.EXPORT_DIRECTORY), syscalls.MNT_DETACH)
    server.export_as(server.DEFAULT_EXPORT)
    # The device is removed when the server has closed its last file.
    run_program("dmsetup", "--noudevsync", "--noudevrules", "remove", "--deferred", _DISK)


def _make_node(path: str, disk: str) -> None:
    major, minor = map(int, Path("/sys/block", disk, "dev").read_text().split(":"))
    Path(path).unlink(missing_ok=True)
    os.mknod(path, 0o600 | stat.S_IFBLK, os.makedev(major, minor))


def _resize(size: str) -> None:
    syscalls.mount("tmpfs", str(server.EXPORT_DIRECTORY), "tmpfs", syscalls.MS_REMOUNT, f"size={size}")

"""The guest's NFS server: an export that versions 3 to 4.2 mount by the same name."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING

from app.lab import syscalls
from app.lab.network import SERVER_ADDRESS
from app.lab.programs import run_program

if TYPE_CHECKING:
    from app.lab.server_host import ServerHost

#: nfs.conf(5) [exports] rootdir: mountd sees this directory as "/". The overlay that is the guest's root
#: cannot be exported, and version 4 wants to walk from "/" to the export.
_ROOT = Path("/srv/lab")
_EXPORT = "/export"
SHARE = f"{SERVER_ADDRESS}:{_EXPORT}"
_FOLDER = _ROOT / _EXPORT.lstrip("/")
#: Of the export's memory file system; the client's cache needs memory too.
_SIZE = "60%"
_THREADS = 8
#: The slow disk: its size, and what each write to it takes.
_DISK, _DISK_KB, _DISK_MS = "slow", 65536, 300
#: Export options without a fault.
DEFAULT_EXPORT = "rw,no_root_squash"
#: A restarted server lets version 4 clients reclaim for 15 s instead of 90, version 3's lock manager for 1 s
#: instead of 50. A transfer may have 1 MiB, as on a server with memory of today's size.
_KERNEL = {
    "fs/nfsd/nfsv4leasetime": 15,
    "fs/nfsd/nfsv4gracetime": 15,
    "fs/nfsd/max_block_size": 2**20,
    "sys/fs/nfs/nlm_grace_period": 1,
}

_CONFIGURATION = (
    f"[exports]\nrootdir={_ROOT}\n[general]\npipefs-directory=/run/rpc_pipefs\n[mountd]\nthreads=1\n"
)


def start(host: ServerHost) -> None:
    """Start the server on its host; the client's own rpcbind and statd too, which version 3 locks need.

    Raises:
        AppError: LAB_FAILED if a program fails.
        OSError: if a file system cannot be mounted.
    """
    _start_rpc()
    host.run(_start_server)


def _start_rpc() -> None:
    """Start rpcbind and rpc.statd for the host that this runs on, with a state directory of its own."""
    syscalls.mount("tmpfs", "/var/lib/nfs", "tmpfs", data="mode=755")
    for directory in ("sm", "sm.bak", "v4recovery", "rpc_pipefs", "nfsdcltrack", "nfsdcld"):
        Path("/var/lib/nfs", directory).mkdir()
    for file in ("etab", "rmtab", "state"):
        Path("/var/lib/nfs", file).touch()
    run_program("rpcbind")
    run_program("rpc.statd", "--no-notify")


def _start_server() -> None:
    syscalls.mount("tmpfs", "/run", "tmpfs", data="mode=755")
    _start_rpc()
    Path("/run/rpc_pipefs").mkdir()
    syscalls.mount("rpc_pipefs", "/run/rpc_pipefs", "rpc_pipefs")
    syscalls.mount("nfsd", "/proc/fs/nfsd", "nfsd")
    configuration = Path("/run/nfs.conf")
    configuration.write_text(_CONFIGURATION)
    syscalls.mount(str(configuration), "/etc/nfs.conf", flags=syscalls.MS_BIND)  # the client keeps its own
    _ROOT.mkdir(exist_ok=True)
    syscalls.mount("tmpfs", str(_ROOT), "tmpfs", data="mode=755")
    _FOLDER.mkdir()
    syscalls.mount("tmpfs", str(_FOLDER), "tmpfs", data=f"mode=1777,size={_SIZE}")
    for name, value in _KERNEL.items():
        Path("/proc", name).write_text(str(value))
    run_program("nfsdcld")
    export_as(DEFAULT_EXPORT)
    run_program("rpc.mountd")
    start_threads()
    # No client can have a lock to reclaim yet: without this every lock would wait.
    Path("/proc/fs/lockd/nlm_end_grace").write_text("Y")


def export_as(options: str, place: str = "fsid=1,insecure", wait: str = "async") -> None:
    """Export with these exports(5) options, in place of those before.

    Args:
        options: rights of the clients.
        place: "fsid=0" makes it version 4's root itself; "insecure" answers requests from any port, "secure"
            only those from privileged ones.
        wait: "async" answers before data are on the disk, "sync" afterwards.

    Raises:
        AppError: LAB_FAILED if exportfs fails.
    """
    run_program("exportfs", "-o", f"{options},{place},{wait},no_subtree_check", f"*:{_EXPORT}")
    _flush_export_cache()


def unexport() -> None:
    """Export nothing.

    Raises:
        AppError: LAB_FAILED if exportfs fails.
    """
    run_program("exportfs", "-u", f"*:{_EXPORT}")
    _flush_export_cache()


def start_threads() -> None:
    """Serve; the kernel listens on port 2049 by itself.

    Raises:
        OSError: if the kernel refuses.
    """
    Path("/proc/fs/nfsd/threads").write_text(str(_THREADS))


def stop_threads() -> None:
    """Stop serving: connections are closed, new ones are refused.

    Raises:
        OSError: if the kernel refuses.
    """
    Path("/proc/fs/nfsd/threads").write_text("0")


def limit_free_space(free_bytes: int) -> None:
    """Shrink the export's file system until this much is free.

    Raises:
        OSError: if the kernel refuses.
    """
    state = os.statvfs(_FOLDER)
    used = (state.f_blocks - state.f_bfree) * state.f_frsize
    _resize(str(used + max(free_bytes, 0)))


def restore_size() -> None:
    """Give the export's file system its size again.

    Raises:
        OSError: if the kernel refuses.
    """
    _resize(_SIZE)


def use_slow_disk() -> None:
    """Export a small empty disk that takes its time to write, synchronously; mounts must be made afresh.

    The disk is memory (brd) behind the device mapper's target "delay".

    Raises:
        AppError: LAB_FAILED if a program fails; dmsetup may be missing.
        OSError: if the kernel refuses.
    """
    drivers = Path("/usr/lib/uml/modules", os.uname().release, "kernel/drivers")
    memory = ["rd_nr=1", f"rd_size={_DISK_KB}"]
    for name, words in (("block/brd", memory), ("md/dm-mod", []), ("md/dm-delay", [])):
        if not Path("/sys/module", name.partition("/")[2].replace("-", "_")).is_dir():
            run_program("insmod", str(drivers / f"{name}.ko"), *words)
    _make_node("/run/memory", "ram0")
    run_program("mke2fs", "-q", "-t", "ext2", "-F", "/run/memory")
    table = f"0 {2 * _DISK_KB} delay /run/memory 0 0 /run/memory 0 {_DISK_MS}"
    run_program("dmsetup", "--noudevsync", "--noudevrules", "create", _DISK, "--table", table)
    number = run_program("dmsetup", "info", "--columns", "--noheadings", "-o", "minor", _DISK).strip()
    _make_node("/run/slow", f"dm-{number}")  # there is no udev
    syscalls.mount("/run/slow", str(_FOLDER), "ext2")
    _FOLDER.chmod(0o1777)
    export_as(DEFAULT_EXPORT, wait="sync")


def use_memory() -> None:
    """Export the quick memory again.

    Raises:
        AppError: LAB_FAILED if exportfs fails.
        OSError: if the kernel refuses.
    """
    syscalls.unmount(str(_FOLDER), syscalls.MNT_DETACH)
    export_as(DEFAULT_EXPORT)
    # It goes when the server has let its last file go.
    run_program("dmsetup", "--noudevsync", "--noudevrules", "remove", "--deferred", _DISK)


def _make_node(path: str, disk: str) -> None:
    major, minor = map(int, Path("/sys/block", disk, "dev").read_text().split(":"))
    Path(path).unlink(missing_ok=True)
    os.mknod(path, 0o600 | stat.S_IFBLK, os.makedev(major, minor))


def _resize(size: str) -> None:
    syscalls.mount("tmpfs", str(_FOLDER), "tmpfs", syscalls.MS_REMOUNT, f"size={size}")


def _flush_export_cache() -> None:
    """Empty the kernel's caches of what mountd answered until now, as exportfs -f does."""
    for name in ("auth.unix.ip", "auth.unix.gid", "nfsd.fh", "nfsd.export"):
        Path("/proc/net/rpc", name, "flush").write_text(f"{int(time.time()) + 1}\n")

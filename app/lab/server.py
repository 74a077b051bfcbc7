"""NFS server of the lab: starts it and changes its export, which NFS 3 to 4.2 mount by the same path."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from app.lab import syscalls
from app.lab.network import SERVER_ADDRESS
from app.lab.programs import run_program

if TYPE_CHECKING:
    from app.lab.server_host import ServerHost

#: Root of the exports, rootdir in nfs.conf(5) [exports]. It is needed because NFSv4 looks up the export from
#: "/", and the overlay that is the guest's root cannot be exported.
_ROOT = Path("/srv/lab")
EXPORT = "/export"
SHARE = f"{SERVER_ADDRESS}:{EXPORT}"
EXPORT_DIRECTORY = _ROOT / EXPORT.lstrip("/")
#: Size of the export's tmpfs, as a part of the guest's memory; the rest is for the client's cache.
EXPORT_SIZE = "60%"
_THREADS = 8
#: Access options of the export.
DEFAULT_EXPORT = "rw,no_root_squash"
#: Kernel parameters below /proc. The grace period is 15 s instead of 90 s for NFSv4 and 1 s instead of 50 s
#: for the lock manager of NFSv3. The largest transfer is 1 MiB, as on a server with more memory.
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
    """Start the server on its host, and rpcbind and rpc.statd on the client, which NFSv3 locks need.

    Raises:
        AppError: LAB_FAILED if a program fails.
        OSError: if a file system cannot be mounted.
    """
    _start_rpc()
    host.run(_start_server)


def _start_rpc() -> None:
    """Start rpcbind and rpc.statd in the present namespaces, with a separate state directory."""
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
    syscalls.mount(str(configuration), "/etc/nfs.conf", flags=syscalls.MS_BIND)  # visible to the server only
    _ROOT.mkdir(exist_ok=True)
    syscalls.mount("tmpfs", str(_ROOT), "tmpfs", data="mode=755")
    EXPORT_DIRECTORY.mkdir()
    syscalls.mount("tmpfs", str(EXPORT_DIRECTORY), "tmpfs", data=f"mode=1777,size={EXPORT_SIZE}")
    for name, value in _KERNEL.items():
        Path("/proc", name).write_text(str(value))
    run_program("nfsdcld")
    export_as(DEFAULT_EXPORT)
    run_program("rpc.mountd")
    start_threads()
    # End the grace period at once: no client has locks to reclaim, and new locks would wait.
    Path("/proc/fs/lockd/nlm_end_grace").write_text("Y")


def export_as(options: str, place: str = "fsid=1,insecure", wait: str = "async") -> None:
    """Export the directory with exports(5) options, which replace the previous ones.

    Args:
        options: access options, such as ro or root_squash.
        place: identity and port options: "fsid=0" makes the export the NFSv4 root; "insecure" accepts
            requests from any port, "secure" only from privileged ports.
        wait: "async" to reply before data are on the disk, "sync" to reply afterwards.

    Raises:
        AppError: LAB_FAILED if exportfs fails.
    """
    run_program("exportfs", "-o", f"{options},{place},{wait},no_subtree_check", f"*:{EXPORT}")
    flush_export_cache()


def start_threads() -> None:
    """Start the nfsd threads; the kernel listens on port 2049.

    Raises:
        OSError: if the kernel refuses.
    """
    Path("/proc/fs/nfsd/threads").write_text(str(_THREADS))


def flush_export_cache() -> None:
    """Flush the kernel's caches of answers from rpc.mountd, like exportfs -f."""
    for name in ("auth.unix.ip", "auth.unix.gid", "nfsd.fh", "nfsd.export"):
        Path("/proc/net/rpc", name, "flush").write_text(f"{int(time.time()) + 1}\n")

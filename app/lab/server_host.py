"""Server host in the guest: separate network, mount and UTS namespaces for the NFS server."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from app.lab import syscalls
from app.tasks import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

T = TypeVar("T")

#: Clone flag of each namespace type, in the order in which they are entered by setns(2).
_KINDS = {"uts": syscalls.CLONE_NEWUTS, "net": syscalls.CLONE_NEWNET, "mnt": syscalls.CLONE_NEWNS}


@dataclass(frozen=True, slots=True)
class ServerHost:
    """Host of the NFS server: namespaces kept alive by open descriptors.

    Attributes:
        name: host name, and name of the network namespace for ip(8).
        namespaces: open descriptor of each namespace by type: uts, net and mnt.
    """

    name: str
    namespaces: dict[str, int]

    @classmethod
    def create(cls, name: str) -> ServerHost:
        """Create the namespaces and set the host name.

        The network namespace is also bound to /run/netns/NAME for ip(8).
        """

        def make() -> dict[str, int]:
            # Threads share root directory and umask until unshare, which the mount namespace requires.
            syscalls.unshare(syscalls.CLONE_FS)
            bound = Path("/run/netns", name)
            bound.parent.mkdir(parents=True, exist_ok=True)
            bound.touch()
            syscalls.unshare(syscalls.CLONE_NEWNET)
            syscalls.mount("/proc/thread-self/ns/net", str(bound), flags=syscalls.MS_BIND)
            syscalls.unshare(syscalls.CLONE_NEWNS | syscalls.CLONE_NEWUTS)
            syscalls.mount("none", "/", flags=syscalls.MS_REC | syscalls.MS_PRIVATE)
            socket.sethostname(name)
            return {kind: os.open(f"/proc/thread-self/ns/{kind}", os.O_RDONLY) for kind in _KINDS}

        return cls(name, run_in_thread("make-server", make).result())

    def run(self, work: Callable[[], T]) -> T:
        """Run ``work`` on a thread in the server's namespaces, which its child processes inherit."""

        def inside() -> T:
            syscalls.unshare(syscalls.CLONE_FS)
            for kind, flag in _KINDS.items():
                syscalls.setns(self.namespaces[kind], flag)
            return work()

        future: Future[T] = run_in_thread("server-host", inside)
        return future.result()

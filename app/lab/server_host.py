"""The server's host in the guest: namespaces of its own; everything else runs on the client's."""

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

#: What the C library's clone flags are to setns, in the order in which they are entered.
_KINDS = {"uts": syscalls.CLONE_NEWUTS, "net": syscalls.CLONE_NEWNET, "mnt": syscalls.CLONE_NEWNS}


@dataclass(frozen=True, slots=True)
class ServerHost:
    """The server: network, mount and UTS namespaces kept alive by open descriptors.

    Attributes:
        name: its host name, and the network namespace's for ip(8).
        namespaces: kind to descriptor.
    """

    name: str
    namespaces: dict[str, int]

    @classmethod
    def create(cls, name: str) -> ServerHost:
        """Make the namespaces and name the host.

        The network namespace is also bound to /run/netns/NAME for ip(8).
        """

        def make() -> dict[str, int]:
            # A thread shares its root and umask with the others until it says otherwise.
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
        """Run the work on a thread inside the server; what it starts lives there too."""

        def inside() -> T:
            syscalls.unshare(syscalls.CLONE_FS)
            for kind, flag in _KINDS.items():
                syscalls.setns(self.namespaces[kind], flag)
            return work()

        future: Future[T] = run_in_thread("server-host", inside)
        return future.result()

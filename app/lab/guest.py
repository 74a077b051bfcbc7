"""The host's side of the lab: boots the guest, speaks with its agent, ends it."""

from __future__ import annotations

import contextlib
import io
import os
import select
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self, cast

from app.agent.client import AgentClient
from app.errors import AppError, ErrorKind
from app.lab import xstate
from app.lab.line import GREETING, READY
from app.lab.pacing import PacedWriter
from app.lab.server_programs import find_server_program
from app.process import kill_group, start, wait

if TYPE_CHECKING:
    from subprocess import Popen  # noqa: TID251 - for annotations
    from types import TracebackType

    from app.agent.protocol import HelloResult
    from app.lab.links import Link
    from app.tasks import CancelToken

_SERVER_PACKAGE = "nfs-kernel-server"
#: The programs that the guest needs, and the Debian package of each.
_PACKAGES = {
    "linux.uml": "user-mode-linux",
    "modprobe": "kmod",
    "ip": "iproute2",
    "tc": "iproute2",
    "mount.nfs": "nfs-common",
    "rpc.statd": "nfs-common",
    "rpcbind": "rpcbind",
    "exportfs": _SERVER_PACKAGE,
    "rpc.mountd": _SERVER_PACKAGE,
    "nfsdcld": _SERVER_PACKAGE,
    "setpriv": "util-linux",
}
_UML_MODULES = Path("/usr/lib/uml/modules")
_TAIL_BYTES = 8000
_POWER_OFF_S = 15.0
_TERMINATE_S = 10.0


class Guest:
    """A running guest. Make one with :meth:`boot`, and close it; it is a context manager.

    Attributes:
        client: the connection to its agent.
        hello: what the agent said of itself.
        pid: of the supervisor, the only child of this process.
    """

    def __init__(self, child: Popen[bytes], log: BinaryIO, client: AgentClient, hello: HelloResult) -> None:
        self.client = client
        self.hello = hello
        self.pid = child.pid
        self._child = child
        self._log = log
        self._closing = threading.Lock()
        self._closed = False

    @classmethod
    def boot(
        cls, link: Link, *, timeout_s: float = 60.0, memory: str = "1G", token: CancelToken | None = None
    ) -> Self:
        """Start a guest with this link and wait for its agent.

        Args:
            link: between its client and its server.
            timeout_s: how long it may take.
            memory: of the guest; half of it and a bit is the export's.
            token: ends the wait, and the guest.

        Raises:
            AppError: LAB_MISSING naming the packages, LAB_FAILED with the end of the guest's log.
            CancelledError: if the token was set.
        """
        check_installed()
        log = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 - nameless: nothing to leave behind
        child: Popen[bytes] | None = None
        client: AgentClient | None = None
        with contextlib.ExitStack() as undo:
            undo.callback(log.close)
            child = start(
                [sys.executable, "-P", "-m", "app.lab.supervisor", link.name, memory], stderr=log.fileno()
            )
            undo.callback(_end, child)
            try:
                _wait_ready(child, time.monotonic() + timeout_s, token)
                client = AgentClient(_buffered(child), PacedWriter(cast("BinaryIO", child.stdin)))
                undo.callback(client.close)
                hello = client.submit("hello").result(timeout_s)
            except (AppError, TimeoutError, OSError) as error:
                raise _boot_failed(error, log) from error
            undo.pop_all()
        return cls(child, log, client, hello)

    @property
    def share(self) -> str:
        """The export as its client mounts it, server:/export."""
        return self.hello.share

    @property
    def log(self) -> str:
        """The end of what the guest's kernel and init printed."""
        return _tail(self._log) if not self._closed else ""

    def close(self) -> None:
        """Power the guest off and wait until nothing of it is left. Later calls do nothing."""
        with self._closing:
            if self._closed:
                return
            with contextlib.suppress(AppError, TimeoutError):
                self.client.submit("lab.power-off").result(_POWER_OFF_S)
                wait(self._child, _POWER_OFF_S)
            self.client.close()
            _end(self._child)
            self.client.join(1)
            self._closed = True
            self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def check_installed() -> None:
    """Check that every program of the lab is there.

    Raises:
        AppError: LAB_MISSING naming the Debian packages.
    """
    needed = _PACKAGES | ({"cc": "gcc"} if xstate.is_needed() else {})
    missing = sorted({package for program, package in needed.items() if find_server_program(program) is None})
    if not missing and not _UML_MODULES.is_dir():
        missing = ["user-mode-linux"]
    if missing:
        one = len(missing) == 1
        raise AppError(
            ErrorKind.LAB_MISSING,
            f"The lab cannot start: the package{'' if one else 's'} {', '.join(missing)} "
            f"{'is' if one else 'are'} not installed.",
            hint=_install_hint(missing),
        )


def _install_hint(missing: list[str]) -> str:
    hints: list[str] = []
    packages = [package for package in missing if package != _SERVER_PACKAGE]
    if packages:
        hints.append(f"On Debian: sudo apt-get install --no-install-recommends {' '.join(packages)}.")
    if _SERVER_PACKAGE in missing:
        # Installing it would start an NFS server on the person's machine.
        hints.append(f"Start the program with ./run: it fetches {_SERVER_PACKAGE} for the lab alone.")
    return " ".join(hints)


def _wait_ready(child: Popen[bytes], deadline: float, token: CancelToken | None) -> None:
    """Read the guest's first line, byte by byte: what follows is the agent client's."""
    line = bytearray()
    out = cast("BinaryIO", child.stdout)
    while not line.endswith(b"\n"):
        if token is not None:
            token.check()
        if time.monotonic() > deadline:
            raise AppError(ErrorKind.LAB_FAILED, "The lab's guest did not start in time.")
        if not select.select([out], [], [], 0.1)[0]:
            continue
        byte = os.read(out.fileno(), 1)
        if not byte:
            raise AppError(ErrorKind.LAB_FAILED, "The lab's guest ended while it started.")
        line += byte
    words = line.decode(errors="replace").strip().removeprefix(GREETING)
    if words != READY:
        raise AppError(ErrorKind.LAB_FAILED, f"The lab's guest could not start: {words}")


def _boot_failed(error: Exception, log: BinaryIO) -> AppError:
    if isinstance(error, AppError) and error.kind is ErrorKind.CANCELLED:
        return error
    message = error.message if isinstance(error, AppError) else "The lab's guest did not answer."
    return AppError(
        ErrorKind.LAB_FAILED,
        message,
        hint="The details have what it printed. The lab needs ptrace and about 1 GB of memory in /dev/shm.",
        detail=_tail(log),
    )


def _tail(log: BinaryIO) -> str:
    size = os.fstat(log.fileno()).st_size
    data = os.pread(log.fileno(), _TAIL_BYTES, max(0, size - _TAIL_BYTES))
    return data.decode(errors="replace").replace("\r\n", "\n")


def _buffered(child: Popen[bytes]) -> BinaryIO:
    return io.BufferedReader(cast("io.FileIO", child.stdout))


def _end(child: Popen[bytes]) -> None:
    """End the supervisor, which ends the guest; it has usually ended by itself."""
    if wait(child, 0) is None:
        kill_group(child, signal.SIGTERM)
        if wait(child, _TERMINATE_S) is None:
            kill_group(child)
            wait(child, 1)
    for stream in (child.stdin, child.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()

"""Guest: boots the lab's guest, connects to its agent and powers it off; runs on the host."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, Self, cast

from app.errors import AppError, ErrorKind
from app.lab import xstate
from app.lab.guest_monitor import GuestMonitor, GuestState
from app.lab.guest_report import console_text
from app.lab.programs import find_server_program
from app.lab.serial_line import READY, SerialLine
from app.process import kill_group, start, wait
from app.service.client import AgentClient
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import Popen  # noqa: TID251 - for annotations
    from types import TracebackType

    from app.links import Link
    from app.service.protocol import HelloResult
    from app.tasks import CancelToken

_SERVER_PACKAGE = "nfs-kernel-server"
#: Debian package of each program that the guest needs.
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
    "taskset": "util-linux",
}
_UML_MODULES = Path("/usr/lib/uml/modules")
#: Arguments with which Python runs the guest's init; tests have one of their own.
INIT = ("-m", "app.lab.init")
_TAIL_BYTES = 8000
#: Time that a guest gets to power itself off before it is killed, s.
_POWER_OFF_S = 3.0
_TERMINATE_S = 2.0


class Guest:
    """A running guest, created by :meth:`boot`; a context manager that powers it off.

    Attributes:
        client: connection to the guest's agent.
        hello: description of the agent's host, from the verb "hello".
        pid: process ID of the guest's supervisor.
    """

    def __init__(
        self,
        child: Popen[bytes],
        log: BinaryIO,
        monitor: GuestMonitor,
        client: AgentClient,
        hello: HelloResult,
    ) -> None:
        self.client = client
        self.hello = hello
        self.pid = child.pid
        self._child = child
        self._log = log
        self._monitor = monitor
        self._close_lock = threading.Lock()
        self._closed = False

    @classmethod
    def boot(
        cls, link: Link, *, timeout_s: float = 60.0, memory: str = "1G", token: CancelToken | None = None
    ) -> Self:
        """Start a guest and wait for its agent.

        Args:
            link: link to emulate between client and server.
            timeout_s: timeout of the boot, s.
            memory: memory size of the guest; the export takes at most 60 % of it.
            token: cancels the boot and ends the guest.

        Raises:
            AppError: LAB_MISSING with the missing packages, LAB_FAILED with the end of the guest's log.
            CancelledError: if the token was set.
        """
        check_installed()
        log = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 - unnamed, so nothing remains
        with contextlib.ExitStack() as undo:
            undo.callback(log.close)
            child = start(
                [sys.executable, "-P", "-m", "app.lab.supervisor", link.name, memory, *INIT],
                stderr=log.fileno(),
            )
            undo.callback(_end, child)
            monitor = GuestMonitor(child.pid, link.name, log)
            line = SerialLine.open_host_end(
                _detach_descriptor(child.stdout), _detach_descriptor(child.stdin), monitor
            )
            undo.callback(line.close)
            try:
                _wait_ready(line, time.monotonic() + timeout_s, token)
                client = AgentClient(line)
                undo.callback(client.close)
                hello = client.submit("hello").result(timeout_s)
            except (AppError, TimeoutError, OSError) as error:
                raise _boot_failed(error, log) from error
            undo.pop_all()
        monitor.start()
        return cls(child, log, monitor, client, hello)

    @property
    def share(self) -> str:
        """Export of the lab's server, server:/export."""
        return self.hello.share

    @property
    def log(self) -> str:
        """End of the output of the guest's kernel and init, "" after the guest was closed."""
        return console_text(self._log, _TAIL_BYTES) if not self._closed else ""

    @property
    def state(self) -> GuestState:
        """Present state of the guest: answering, slow or dead."""
        return self._monitor.state

    def listen(self, listener: Callable[[GuestState], None]) -> None:
        """Call ``listener`` with each new state on another thread, and at once unless ANSWERING."""
        self._monitor.listen(listener)

    def write_report(self, reason: str) -> Path:
        """Write a bug report about the guest to a file and return its path.

        Raises:
            AppError: if the file cannot be written.
        """
        return self._monitor.write_report(reason)

    def close(self) -> None:
        """Power the guest off and wait until all its processes have ended. Later calls do nothing.

        A guest that does not answer is killed; all its data are in memory, so nothing is lost.
        """
        with self._close_lock:
            if self._closed:
                return
            self._monitor.stop()
            if self.state is not GuestState.DEAD:
                with contextlib.suppress(AppError, TimeoutError):
                    self.client.submit("lab.power-off").result(_POWER_OFF_S)
                    wait(self._child, _POWER_OFF_S)
            _end(self._child)
            self.client.close()
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
    """Check that every program that the lab needs is installed.

    Raises:
        AppError: LAB_MISSING with the missing Debian packages.
    """
    needed = _PACKAGES | ({"cc": "gcc"} if xstate.needs_compiler() else {})
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
        # Installing this package would start an NFS server on the user's computer.
        hints.append(f"Start the program with ./run: it fetches {_SERVER_PACKAGE} for the lab alone.")
    return " ".join(hints)


def _wait_ready(line: SerialLine, deadline: float, token: CancelToken | None) -> None:
    while True:
        if token is not None:
            token.check()
        if time.monotonic() > deadline:
            raise AppError(ErrorCode.GUEST_START_TIMEOUT)
        with contextlib.suppress(TimeoutError):
            report = line.readline(timeout_s=0.1)
            break
    if not report:
        raise AppError(ErrorCode.GUEST_ENDED_AT_START)
    message = report.decode(errors="replace").strip()
    if message != READY:
        raise AppError(ErrorCode.GUEST_NOT_STARTED, problem=message)


def _boot_failed(error: Exception, log: BinaryIO) -> AppError:
    if isinstance(error, AppError) and error.kind is ErrorKind.CANCELLED:
        return error
    message = error.message if isinstance(error, AppError) else "The lab's guest did not answer."
    return AppError(
        ErrorKind.LAB_FAILED,
        message,
        hint="The details have what it printed. The lab needs ptrace and about 1 GB of memory in /dev/shm.",
        detail=console_text(log, _TAIL_BYTES),
    )


def _detach_descriptor(stream: IO[bytes] | None) -> int:
    """Return a duplicate descriptor of a child's pipe and close the stream."""
    assert stream is not None  # noqa: S101 - the child was started with pipes
    with stream:
        return os.dup(stream.fileno())


def _end(child: Popen[bytes]) -> None:
    """Terminate the supervisor, and so the guest, unless it has ended by itself."""
    if wait(child, 0) is None:
        kill_group(child, signal.SIGTERM)
        if wait(child, _TERMINATE_S) is None:
            kill_group(child)
            wait(child, 1)

"""Session of private mounts: the helper that opens them, and the processes that it starts in them.

The user is asked once for all mounts of a session. Their tests run in copies of a prefork server, which is
started where it is needed first and lives in the namespace of the mounts; a copy that has done its test well
does the next one, too. See :mod:`app.speedtest.worker.prefork_server`.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.errors import AppError, ErrorKind
from app.helper_client.client import HelperClient
from app.process import TimeoutExpired
from app.tasks import CancelToken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.speedtest.processes import TestProgram

#: For a worker to connect or to copy itself.
_CONNECT_TIMEOUT_S = 15.0
_MAX_ERROR_BYTES = 8192
#: For the helper to end what was cancelled. It has namespaces of its own, and clears up there by itself.
_STOP_TIMEOUT_S = 3.0
_ABORT_TIMEOUT_S = 10.0
#: For a worker whose test is over to say so.
_IDLE_WAIT_S = 0.5
#: So often who waits looks whether the worker has another test by now.
_POLL_INTERVAL_S = 0.1


class MountSession:
    """What one test mount after the other is opened with. All methods may be called by any thread.

    Args:
        helper: of the role "bench"; by default the session makes its own.
    """

    def __init__(self, helper: HelperClient | None = None) -> None:
        self._helper = helper or HelperClient("bench", stop_s=_STOP_TIMEOUT_S)
        #: Set while somebody waits for an abandoned mount to be closed.
        self.wanted = threading.Event()
        self._lock = threading.Lock()
        self._prefork_server: NamespaceProcess | None = None
        self._copy: NamespaceProcess | None = None

    @property
    def running(self) -> bool:
        """Whether the helper runs."""
        return self._helper.running

    def open(self, wire: dict[str, Any], token: CancelToken, timeout_s: float) -> dict[str, Any]:
        """Have the helper open a mount; see :class:`app.helper.bench_verbs.BenchVerbs`.

        Raises:
            AppError: as for a mount.
        """
        found = self._helper.call("open", wire, token, timeout_s)
        if found["fresh"]:
            # The one of before, if it is still there, does not see this mount.
            with self._lock:
                self._dismiss()
        return found

    def abort(self) -> None:
        """Have the helper tell the kernel once to give up what waits for the server of the mount.

        Raises:
            AppError: if it does not answer, or no mount is open.
        """
        self._helper.call("abort", {}, CancelToken(), _ABORT_TIMEOUT_S)

    def close_mount(self, deadline_s: float, timeout_s: float) -> dict[str, Any]:
        """Have the helper close the mount.

        Raises:
            AppError: if it does not answer.
        """
        return self._helper.call("close", {"timeout_s": deadline_s}, CancelToken(), timeout_s)

    def launch(self, argv: Sequence[str]) -> NamespaceProcess:
        """Start a program as the user, where the mount is; it has the interface of a child process.

        Raises:
            AppError: if it cannot be started.
        """
        with tempfile.TemporaryDirectory(prefix="mountwright-") as folder, _listen(folder) as listener:
            wire = {"argv": list(argv), "socket": str(Path(folder, "socket"))}
            self._helper.call("run", wire, CancelToken(), _CONNECT_TIMEOUT_S)
            talk, errors = _accept_pair(listener)
            return NamespaceProcess(_peer_credentials(talk)[0], talk, errors)

    def start(self, program: TestProgram) -> NamespaceProcess:
        """Start a program of a test where the mount is: in a copy of the standing worker.

        Raises:
            AppError: if it cannot be started.
        """
        with self._lock:
            if program == "worker" and self._copy is not None:
                with contextlib.suppress(OSError, TimeoutExpired):
                    self._copy.wait(_IDLE_WAIT_S)
                    if self._copy.is_idle():
                        self._copy = self._copy.again()
                        return self._copy
            if self._prefork_server is not None:
                with contextlib.suppress(OSError, ValueError):
                    return self._fork(self._prefork_server, program)
                # It was killed, or went with its namespace.
                self._dismiss()
            self._prefork_server = self.launch(
                [sys.executable, "-P", "-m", "app.speedtest.worker.prefork_server"]
            )
            try:
                return self._fork(self._prefork_server, program)
            except (OSError, ValueError) as error:
                detail = f"{error}\n{_read_errors(self._prefork_server)}"
                self._dismiss()
                raise _not_started_error(detail) from error

    def close(self) -> None:
        """End the standing worker and the helper, and what it has open."""
        self._helper.close()
        with self._lock:
            self._dismiss()

    def _fork(self, standing: NamespaceProcess, program: TestProgram) -> NamespaceProcess:
        made = standing.fork(program)
        if program == "worker":
            if self._copy is not None:
                self._copy.hang_up()
            self._copy = made
        return made

    def _dismiss(self) -> None:
        copy, standing, self._copy, self._prefork_server = self._copy, self._prefork_server, None, None
        if copy is not None:
            copy.hang_up()
        if standing is not None:
            standing.close()


class NamespaceProcess:
    """A process in a private mount. It is nobody's child here: its end is watched, its status is not known.

    To who waits for it, one that can take another test has ended when it has done its own.

    Attributes:
        pid: its process number as seen here; it leads a group of its own.
        stdin: takes bytes; closing it ends the process's input.
        stdout: what it writes.
        stderr: likewise.
    """

    def __init__(
        self,
        pid: int,
        talk: socket.socket,
        errors: socket.socket,
        more: socket.socket | None = None,
    ) -> None:
        self.pid = pid
        self._talk = talk
        self._more = more
        #: Its process is somebody else's business by now: who waits for it looks no longer.
        self._over = False
        #: Held to look at its descriptors and to close them: their numbers may be other files' afterwards.
        self._watch = threading.RLock()
        self.stdin = _SocketInput(talk)
        self.stdout = talk.makefile("rb", buffering=0)
        self.stderr = errors.makefile("rb", buffering=0)
        errors.close()
        self._pidfd: int | None = None
        with contextlib.suppress(ProcessLookupError):
            self._pidfd = os.pidfd_open(self.pid)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; return 0, whatever its status was.

        Raises:
            TimeoutExpired: if it still runs after so many seconds.
        """
        end = float("inf") if timeout is None else time.monotonic() + timeout
        while not self._has_ended(end - time.monotonic()):
            if time.monotonic() >= end:
                raise TimeoutExpired(str(self.pid), timeout or 0)
        return 0

    def is_idle(self) -> bool:
        """Whether it has done its test and waits for another."""
        with self._watch:
            if self._pidfd is None or self._over:
                return False
            if select.select([self._pidfd], [], [], 0)[0]:
                self._forget()
                return False
            try:
                found = self._more is not None and self._more.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            except OSError:
                return False
            return bool(found)

    def _has_ended(self, patience_s: float) -> bool:
        """Look once, and if it has not ended, wait a moment for that."""
        with self._watch:
            if self.is_idle() or self._over or self._pidfd is None:
                return True
            poll = select.poll()
            poll.register(self._pidfd, select.POLLIN)
            if self._more is not None:
                poll.register(self._more, select.POLLIN)
            poll.poll(max(0.0, min(patience_s, _POLL_INTERVAL_S)) * 1000)
        return False

    def fork(self, program: TestProgram) -> NamespaceProcess:
        """Have the standing worker, which this is, make a copy of itself.

        Raises:
            OSError: if it does not answer.
            ValueError: if it answers something else, or has gone.
        """
        ends = [socket.socketpair() for _ in range(3)]
        try:
            self._talk.settimeout(_CONNECT_TIMEOUT_S)
            socket.send_fds(self._talk, [f"{program}\n".encode()], [end.fileno() for _, end in ends])
            pid = int(self._talk.recv(32))
            (talk, _), (errors, _), (more, _) = ends
            if program == "worker":
                return NamespaceProcess(pid, talk, errors, more)
            more.close()
            return NamespaceProcess(pid, talk, errors)
        except BaseException:
            for ours, _ in ends:
                ours.close()
            raise
        finally:
            for _, theirs in ends:
                theirs.close()

    def again(self) -> NamespaceProcess:
        """Have it take another test, as which it is returned anew.

        Raises:
            OSError: if it has gone.
        """
        talk, its_talk = socket.socketpair()
        errors, its_errors = socket.socketpair()
        more = self._more
        try:
            with its_talk, its_errors:
                if more is None:
                    raise BrokenPipeError
                self._over = True
                more.recv(1)
                socket.send_fds(more, [b"."], [its_talk.fileno(), its_errors.fileno()])
                more.settimeout(_CONNECT_TIMEOUT_S)
                if not more.recv(1):
                    raise BrokenPipeError
                more.settimeout(None)
        except OSError:
            talk.close()
            errors.close()
            raise
        self._more = None
        self._forget()
        return NamespaceProcess(self.pid, talk, errors, more)

    def hang_up(self) -> None:
        """Let its process end when it has done its test; nobody waits for that any more."""
        self._over = True
        with self._watch:
            if self._more is not None:
                self._more.close()
                self._more = None
            self._forget()

    def close(self) -> None:
        """Let it go: it gets the end of its input, and nobody waits for it."""
        self.stdin.close()
        self.stdout.close()
        self.stderr.close()
        self.hang_up()

    def _forget(self) -> None:
        with self._watch:
            if self._pidfd is not None:
                os.close(self._pidfd)
                self._pidfd = None


class _SocketInput:
    def __init__(self, talk: socket.socket) -> None:
        self._talk = talk

    def write(self, data: bytes) -> int:
        self._talk.sendall(data)
        return len(data)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._talk.shutdown(socket.SHUT_WR)
        self._talk.close()


def _read_errors(standing: NamespaceProcess) -> str:
    os.set_blocking(standing.stderr.fileno(), False)
    with contextlib.suppress(OSError):
        return os.read(standing.stderr.fileno(), _MAX_ERROR_BYTES).decode(errors="backslashreplace")
    return ""


def _listen(folder: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(str(Path(folder, "socket")))
        listener.listen(2)
        listener.settimeout(_CONNECT_TIMEOUT_S)
    except OSError:
        listener.close()
        raise
    return listener


def _accept_pair(listener: socket.socket) -> tuple[socket.socket, socket.socket]:
    """Return the two connections of a worker."""
    connections: list[socket.socket] = []
    try:
        while len(connections) < 2:
            connection = listener.accept()[0]
            connections.append(connection)
            # The folder is open to this user alone; root may enter it all the same.
            if _peer_credentials(connection)[1] != os.geteuid():
                raise PermissionError
    except OSError as error:
        for connection in connections:
            connection.close()
        raise _not_started_error(f"{sys.executable}: {error}") from error
    return connections[0], connections[1]


def _not_started_error(detail: str) -> AppError:
    return AppError(
        ErrorKind.HELPER_FAILED,
        "The process that is to run the test did not start.",
        hint="Try again. If it happens again, see that the program's folder is readable for everybody.",
        detail=detail,
    )


def _peer_credentials(connection: socket.socket) -> tuple[int, int]:
    """Return the process and the user at the other end (unix(7), SO_PEERCRED)."""
    size = struct.calcsize("3i")
    pid, uid, _gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return pid, uid

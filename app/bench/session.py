"""A bench session: the helper that opens private mounts, and the processes that it starts in them.

The person is asked once for all mounts of a session. Their tests run in copies of a standing worker, which
is started where it is needed first and lives in the namespace of the mounts; see :mod:`app.bench.standing`.
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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.errors import AppError, ErrorKind
from app.privileged import HelperClient
from app.process import TimeoutExpired
from app.tasks import CancelToken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.bench.programs import Program

#: For a worker to connect or to copy itself.
_CONNECT_S = 15.0
_MAX_WORDS = 8192


class BenchSession:
    """What one test mount after the other is opened with. All methods may be called by any thread.

    Args:
        helper: of the role "bench"; by default the session makes its own.
    """

    def __init__(self, helper: HelperClient | None = None) -> None:
        self._helper = helper or HelperClient("bench")
        self._lock = threading.Lock()
        self._standing: Worker | None = None

    @property
    def running(self) -> bool:
        """Whether the helper runs."""
        return self._helper.running

    def open(self, wire: dict[str, Any], token: CancelToken, timeout_s: float) -> dict[str, Any]:
        """Have the helper open a mount; see :class:`app.helper.bench.Bench`.

        Raises:
            AppError: as for a mount.
        """
        found = self._helper.call("open", wire, token, timeout_s)
        if found["fresh"]:
            # The one of before, if it is still there, does not see this mount.
            with self._lock:
                self._dismiss()
        return found

    def close_mount(self, deadline_s: float, timeout_s: float) -> dict[str, Any]:
        """Have the helper close the mount.

        Raises:
            AppError: if it does not answer.
        """
        return self._helper.call("close", {"timeout_s": deadline_s}, CancelToken(), timeout_s)

    def launch(self, argv: Sequence[str]) -> Worker:
        """Start a program as the user, where the mount is; it has the interface of a child process.

        Raises:
            AppError: if it cannot be started.
        """
        with tempfile.TemporaryDirectory(prefix="mountwright-") as folder, _listen(folder) as listener:
            wire = {"argv": list(argv), "socket": str(Path(folder, "socket"))}
            self._helper.call("run", wire, CancelToken(), _CONNECT_S)
            talk, errors = _accept(listener)
            return Worker(_peer(talk)[0], talk, errors)

    def start(self, program: Program) -> Worker:
        """Start a program of a test where the mount is, as a copy of the standing worker.

        Raises:
            AppError: if it cannot be started.
        """
        with self._lock:
            if self._standing is not None:
                with contextlib.suppress(OSError, ValueError):
                    return _copy(self._standing, program)
                # It was killed, or went with its namespace.
                self._dismiss()
            self._standing = self.launch([sys.executable, "-P", "-m", "app.bench.standing"])
            try:
                return _copy(self._standing, program)
            except (OSError, ValueError) as error:
                detail = f"{error}\n{_last_words(self._standing)}"
                self._dismiss()
                raise _not_started(detail) from error

    def close(self) -> None:
        """End the standing worker and the helper, and what it has open."""
        self._helper.close()
        with self._lock:
            self._dismiss()

    def _dismiss(self) -> None:
        standing, self._standing = self._standing, None
        if standing is not None:
            standing.close()


class Worker:
    """A process in a private mount. It is nobody's child here: its end is watched, its status is not known.

    Attributes:
        pid: its process number as seen here; it leads a group of its own.
        stdin: takes bytes; closing it ends the process's input.
        stdout: what it writes.
        stderr: likewise.
    """

    def __init__(self, pid: int, talk: socket.socket, errors: socket.socket) -> None:
        self.pid = pid
        self.talk = talk
        self.stdin = _Input(talk)
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
        if self._pidfd is not None:
            poll = select.poll()
            poll.register(self._pidfd, select.POLLIN)
            if not poll.poll(None if timeout is None else timeout * 1000):
                raise TimeoutExpired(str(self.pid), timeout or 0)
            self._forget()
        return 0

    def close(self) -> None:
        """Let it go: it gets the end of its input, and nobody waits for it."""
        self.stdin.close()
        self.stdout.close()
        self.stderr.close()
        self._forget()

    def _forget(self) -> None:
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None


class _Input:
    def __init__(self, talk: socket.socket) -> None:
        self._talk = talk

    def write(self, data: bytes) -> int:
        self._talk.sendall(data)
        return len(data)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._talk.shutdown(socket.SHUT_WR)
        self._talk.close()


def _copy(standing: Worker, program: Program) -> Worker:
    """Have the standing worker copy itself.

    Raises:
        OSError: if it does not answer.
        ValueError: if it answers something else, or has gone.
    """
    talk, its_talk = socket.socketpair()
    errors, its_errors = socket.socketpair()
    try:
        with its_talk, its_errors:
            standing.talk.settimeout(_CONNECT_S)
            socket.send_fds(
                standing.talk, [f"{program}\n".encode()], [its_talk.fileno(), its_errors.fileno()]
            )
            pid = int(standing.talk.recv(32))
        return Worker(pid, talk, errors)
    except BaseException:
        talk.close()
        errors.close()
        raise


def _last_words(standing: Worker) -> str:
    os.set_blocking(standing.stderr.fileno(), False)
    with contextlib.suppress(OSError):
        return os.read(standing.stderr.fileno(), _MAX_WORDS).decode(errors="backslashreplace")
    return ""


def _listen(folder: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(str(Path(folder, "socket")))
        listener.listen(2)
        listener.settimeout(_CONNECT_S)
    except OSError:
        listener.close()
        raise
    return listener


def _accept(listener: socket.socket) -> tuple[socket.socket, socket.socket]:
    """Return the two connections of a worker."""
    connections: list[socket.socket] = []
    try:
        while len(connections) < 2:
            connection = listener.accept()[0]
            connections.append(connection)
            # The folder is open to this user alone; root may enter it all the same.
            if _peer(connection)[1] != os.geteuid():
                raise PermissionError
    except OSError as error:
        for connection in connections:
            connection.close()
        raise _not_started(f"{sys.executable}: {error}") from error
    return connections[0], connections[1]


def _not_started(detail: str) -> AppError:
    return AppError(
        ErrorKind.HELPER_FAILED,
        "The process that is to run the test did not start.",
        hint="Try again. If it happens again, see that the program's folder is readable for everybody.",
        detail=detail,
    )


def _peer(connection: socket.socket) -> tuple[int, int]:
    """Return the process and the user at the other end (unix(7), SO_PEERCRED)."""
    size = struct.calcsize("3i")
    pid, uid, _gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return pid, uid

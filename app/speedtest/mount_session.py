"""Session of private mounts: the helper that opens them, and the processes started in them.

The user authorizes the helper once for all mounts of a session. Tests run in copies of a prefork server. It
is started in the mount namespace on first use. A worker that finished its test successfully is reused for the
next one. See :mod:`app.speedtest.worker.prefork_server`.
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

from app.errors import AppError
from app.helper_client.client import HelperClient
from app.process import TimeoutExpired
from app.tasks import CancelToken
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.speedtest.processes import TestProgram

#: Timeout for a worker to connect or to fork, s.
_CONNECT_TIMEOUT_S = 15.0
_MAX_ERROR_BYTES = 8192
#: Time for the helper to stop after cancelling, s. Afterwards its namespaces clean up by themselves.
_STOP_TIMEOUT_S = 3.0
_ABORT_TIMEOUT_S = 10.0
#: Wait for a worker to report that it is idle after its test, s.
_IDLE_WAIT_S = 0.5
#: Interval at which wait() checks whether the worker was released for another test, s.
_POLL_INTERVAL_S = 0.1


class MountSession:
    """Opens successive private mounts with one helper. All methods may be called by any thread.

    Args:
        helper: client of the helper's role "bench"; by default the session creates its own.
    """

    def __init__(self, helper: HelperClient | None = None) -> None:
        self._helper = helper or HelperClient("bench", stop_s=_STOP_TIMEOUT_S)
        #: Set while a new mount waits for an abandoned mount to close.
        self.wanted = threading.Event()
        self._lock = threading.Lock()
        self._prefork_server: NamespaceProcess | None = None
        self._copy: NamespaceProcess | None = None

    @property
    def running(self) -> bool:
        """Whether the helper runs."""
        return self._helper.running

    def open(self, wire: dict[str, Any], token: CancelToken, timeout_s: float) -> dict[str, Any]:
        """Open a mount with the helper; see :class:`app.helper.bench_verbs.BenchVerbs`.

        Raises:
            AppError: if mounting fails.
        """
        reply = self._helper.call("open", wire, token, timeout_s)
        if reply["fresh"]:
            # An earlier prefork server is in another namespace and cannot see this mount.
            with self._lock:
                self._stop_prefork_server()
        return reply

    def abort(self) -> None:
        """Have the kernel abort I/O that waits for the server of the mount, once.

        Raises:
            AppError: if the helper does not answer, or no mount is open.
        """
        self._helper.call("abort", {}, CancelToken(), _ABORT_TIMEOUT_S)

    def close_mount(self, deadline_s: float, timeout_s: float) -> dict[str, Any]:
        """Close the mount with the helper.

        Raises:
            AppError: if the helper does not answer.
        """
        return self._helper.call("close", {"timeout_s": deadline_s}, CancelToken(), timeout_s)

    def launch(self, argv: Sequence[str]) -> NamespaceProcess:
        """Start a program as the user in the mount namespace; the result works like a child process.

        Raises:
            AppError: if the program cannot be started.
        """
        with tempfile.TemporaryDirectory(prefix="mountwright-") as directory, _listen(directory) as listener:
            wire = {"argv": list(argv), "socket": str(Path(directory, "socket"))}
            self._helper.call("run", wire, CancelToken(), _CONNECT_TIMEOUT_S)
            channel, errors = _accept_pair(listener)
            return NamespaceProcess(_peer_credentials(channel)[0], channel, errors)

    def start(self, program: TestProgram) -> NamespaceProcess:
        """Start a program of a test in the mount namespace, in a copy of the prefork server.

        Raises:
            AppError: if the program cannot be started.
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
                # The server was killed, or ended with its namespace.
                self._stop_prefork_server()
            self._prefork_server = self.launch(
                [sys.executable, "-P", "-m", "app.speedtest.worker.prefork_server"]
            )
            try:
                return self._fork(self._prefork_server, program)
            except (OSError, ValueError) as error:
                detail = f"{error}\n{_read_errors(self._prefork_server)}"
                self._stop_prefork_server()
                raise _not_started_error(detail) from error

    def close(self) -> None:
        """End the prefork server and the helper, which unmounts."""
        self._helper.close()
        with self._lock:
            self._stop_prefork_server()

    def _fork(self, server: NamespaceProcess, program: TestProgram) -> NamespaceProcess:
        worker = server.fork(program)
        if program == "worker":
            if self._copy is not None:
                self._copy.hang_up()
            self._copy = worker
        return worker

    def _stop_prefork_server(self) -> None:
        copy, server, self._copy, self._prefork_server = self._copy, self._prefork_server, None, None
        if copy is not None:
            copy.hang_up()
        if server is not None:
            server.close()


class NamespaceProcess:
    """A process in a private mount. It is not a child process here, so its exit status is unknown.

    `wait` also returns when the process becomes idle and can be reused for another test.

    Attributes:
        pid: process id in this namespace; the process leads a process group.
        stdin: standard input of the process; closing it signals end of file.
        stdout: standard output of the process.
        stderr: standard error of the process.
    """

    def __init__(
        self,
        pid: int,
        channel: socket.socket,
        errors: socket.socket,
        reuse: socket.socket | None = None,
    ) -> None:
        self.pid = pid
        self._talk = channel
        self._reuse = reuse
        #: Set when the process was handed over to another NamespaceProcess or released; wait() returns then.
        self._released = False
        #: Held to use or close the descriptors: the numbers of closed ones may be reused by other files.
        self._fd_lock = threading.RLock()
        self.stdin = _SocketInput(channel)
        self.stdout = channel.makefile("rb", buffering=0)
        self.stderr = errors.makefile("rb", buffering=0)
        errors.close()
        self._pidfd: int | None = None
        with contextlib.suppress(ProcessLookupError):
            self._pidfd = os.pidfd_open(self.pid)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the process; return 0 whatever its status was.

        Raises:
            TimeoutExpired: if the process still runs after `timeout` seconds.
        """
        end = float("inf") if timeout is None else time.monotonic() + timeout
        while not self._has_ended(end - time.monotonic()):
            if time.monotonic() >= end:
                raise TimeoutExpired(str(self.pid), timeout or 0)
        return 0

    def is_idle(self) -> bool:
        """Return whether the process has finished its test and can be reused."""
        with self._fd_lock:
            if self._pidfd is None or self._released:
                return False
            if select.select([self._pidfd], [], [], 0)[0]:
                self._close_pidfd()
                return False
            try:
                reply = self._reuse is not None and self._reuse.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            except OSError:
                return False
            return bool(reply)

    def _has_ended(self, timeout_s: float) -> bool:
        """Return whether the process has ended; wait for a poll interval at most."""
        with self._fd_lock:
            if self.is_idle() or self._released or self._pidfd is None:
                return True
            poll = select.poll()
            poll.register(self._pidfd, select.POLLIN)
            if self._reuse is not None:
                poll.register(self._reuse, select.POLLIN)
            poll.poll(max(0.0, min(timeout_s, _POLL_INTERVAL_S)) * 1000)
        return False

    def fork(self, program: TestProgram) -> NamespaceProcess:
        """Have this process, a prefork server, fork a copy of itself.

        Raises:
            OSError: if the process does not answer.
            ValueError: if the reply is not a process id.
        """
        ends = [socket.socketpair() for _ in range(3)]
        try:
            self._talk.settimeout(_CONNECT_TIMEOUT_S)
            socket.send_fds(self._talk, [f"{program}\n".encode()], [end.fileno() for _, end in ends])
            pid = int(self._talk.recv(32))
            (channel, _), (errors, _), (reuse, _) = ends
            if program == "worker":
                return NamespaceProcess(pid, channel, errors, reuse)
            reuse.close()
            return NamespaceProcess(pid, channel, errors)
        except BaseException:
            for parent_end, _ in ends:
                parent_end.close()
            raise
        finally:
            for _, child_end in ends:
                child_end.close()

    def again(self) -> NamespaceProcess:
        """Start another test in this idle process; return a new object for it.

        Raises:
            OSError: if the process has gone.
        """
        channel, peer_channel = socket.socketpair()
        errors, peer_errors = socket.socketpair()
        reuse = self._reuse
        try:
            with peer_channel, peer_errors:
                if reuse is None:
                    raise BrokenPipeError
                self._released = True
                reuse.recv(1)
                socket.send_fds(reuse, [b"."], [peer_channel.fileno(), peer_errors.fileno()])
                reuse.settimeout(_CONNECT_TIMEOUT_S)
                if not reuse.recv(1):
                    raise BrokenPipeError
                reuse.settimeout(None)
        except OSError:
            channel.close()
            errors.close()
            raise
        self._reuse = None
        self._close_pidfd()
        return NamespaceProcess(self.pid, channel, errors, reuse)

    def hang_up(self) -> None:
        """Let the process exit after its test without waiting for it."""
        self._released = True
        with self._fd_lock:
            if self._reuse is not None:
                self._reuse.close()
                self._reuse = None
            self._close_pidfd()

    def close(self) -> None:
        """Close the streams and let the process exit without waiting for it."""
        self.stdin.close()
        self.stdout.close()
        self.stderr.close()
        self.hang_up()

    def _close_pidfd(self) -> None:
        with self._fd_lock:
            if self._pidfd is not None:
                os.close(self._pidfd)
                self._pidfd = None


class _SocketInput:
    def __init__(self, channel: socket.socket) -> None:
        self._talk = channel

    def write(self, data: bytes) -> int:
        self._talk.sendall(data)
        return len(data)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._talk.shutdown(socket.SHUT_WR)
        self._talk.close()


def _read_errors(server: NamespaceProcess) -> str:
    os.set_blocking(server.stderr.fileno(), False)
    with contextlib.suppress(OSError):
        return os.read(server.stderr.fileno(), _MAX_ERROR_BYTES).decode(errors="backslashreplace")
    return ""


def _listen(directory: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(str(Path(directory, "socket")))
        listener.listen(2)
        listener.settimeout(_CONNECT_TIMEOUT_S)
    except OSError:
        listener.close()
        raise
    return listener


def _accept_pair(listener: socket.socket) -> tuple[socket.socket, socket.socket]:
    """Return the two connections of a worker: one for data, one for errors."""
    connections: list[socket.socket] = []
    try:
        while len(connections) < 2:
            connection = listener.accept()[0]
            connections.append(connection)
            # The directory is accessible only to this user and root, so connections of root are refused here.
            if _peer_credentials(connection)[1] != os.geteuid():
                raise PermissionError
    except OSError as error:
        for connection in connections:
            connection.close()
        raise _not_started_error(f"{sys.executable}: {error}") from error
    return connections[0], connections[1]


def _not_started_error(detail: str) -> AppError:
    return AppError(ErrorCode.TEST_PROCESS_NOT_STARTED, detail=detail)


def _peer_credentials(connection: socket.socket) -> tuple[int, int]:
    """Return process id and user id of the peer (unix(7), SO_PEERCRED)."""
    size = struct.calcsize("3i")
    pid, uid, _gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return pid, uid

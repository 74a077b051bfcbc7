"""Lab shell: runs commands and shells as root in the guest, for ``--lab LINK shell``.

Output travels in events of the agent protocol, and input in requests. Both have flow control. At most
SHELL_WINDOW_BYTES of output are sent without an acknowledgement. An input request is answered when its bytes
are in the command's pipe or terminal.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from app.errors import AppError
from app.process import PIPE, find_program, kill_group, start
from app.service.protocol import (
    SHELL_WINDOW_BYTES,
    Empty,
    ShellArgs,
    ShellControlArgs,
    ShellEvent,
    ShellInputArgs,
    ShellInputResult,
    ShellResult,
)
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence
    from subprocess import Popen  # noqa: TID251 - for annotations

    from app.service.server import Context, Handler

#: Home directory of root in the guest, which cannot read that of the host as an ordinary user.
HOME = Path("/run/root")
_READ_BYTES = 32 * 1024
#: Interval at which waiting threads check whether the command has ended, s.
_POLL_INTERVAL_S = 0.1
#: Silence after which output is no longer awaited, s; background processes may keep it open.
_OUTPUT_TIMEOUT_S = 1.0


class _Command:
    """A running command and its streams.

    Attributes:
        terminal: whether the command runs on a terminal.
        child: process of the command.
        outputs: descriptors to read from, each with whether it is standard error.
        input: descriptor to write to, -1 after it was closed.
        ended: set when the command has ended.
    """

    def __init__(self, args: ShellArgs) -> None:
        self.terminal = args.terminal
        self.ended = threading.Event()
        self._window_changed = threading.Condition()
        self._window_bytes = SHELL_WINDOW_BYTES
        self._write_lock = threading.Lock()
        argv, env = _argv(args.command), {"HOME": str(HOME), "USER": "root", "LOGNAME": "root"}
        env |= {"SHELL": _shell(), "TERM": args.term}
        directory = args.directory if os.path.isdir(args.directory) else "/"  # noqa: PTH112 - any bytes
        if args.terminal:
            self.input, side = pty.openpty()
            self.resize(args.rows, args.columns)
            # setsid --ctty makes it the controlling terminal, which job control and Ctrl-C need.
            setsid = find_program("setsid") or "setsid"
            try:
                self.child = start(
                    [setsid, "--ctty", *argv], env=env, cwd=directory,
                    stdin=side, stdout=side, stderr=side, own_session=False,
                )  # fmt: skip
            finally:
                os.close(side)
            self.outputs = [(os.dup(self.input), False)]
        else:
            self.child = start(argv, env=env, cwd=directory, stderr=PIPE)
            self.input, out, err = _descriptors(self.child)
            self.outputs = [(out, False), (err, True)]
        os.set_blocking(self.input, False)

    def resize(self, rows: int, columns: int) -> None:
        """Set the terminal size in characters; the kernel sends SIGWINCH to the foreground program."""
        if self.terminal and self.input >= 0:
            size = struct.pack("HHHH", min(rows, 65535), min(columns, 65535), 0, 0)
            fcntl.ioctl(self.input, termios.TIOCSWINSZ, size)

    def forward(self, context: Context, fd: int, *, error: bool) -> None:
        """Send the output from a descriptor as events until its end."""
        waited_s = 0.0
        while waited_s < _OUTPUT_TIMEOUT_S:
            if not select.select([fd], [], [], _POLL_INTERVAL_S)[0]:
                waited_s += _POLL_INTERVAL_S if self.ended.is_set() else 0.0
                continue
            waited_s = 0.0
            try:
                data = os.read(fd, _READ_BYTES)
            except OSError:  # EIO: all processes have closed the terminal
                data = b""
            if not data or not self._reserve(len(data), context):
                return
            context.emit(ShellEvent(data=data, error=error))

    def take(self, size: int) -> None:
        """Enlarge the window by ``size`` acknowledged bytes of output."""
        with self._window_changed:
            self._window_bytes += size
            self._window_changed.notify_all()

    def write(self, data: bytes, *, end: bool) -> bool:
        """Write input to the command; return whether it has closed its input.

        Args:
            data: bytes to write.
            end: whether to close the input afterwards.
        """
        view = memoryview(data)
        with self._write_lock:
            while view and not self.ended.is_set() and self.input >= 0:
                if not select.select([], [self.input], [], _POLL_INTERVAL_S)[1]:
                    continue
                try:
                    view = view[os.write(self.input, view) :]
                except BlockingIOError:
                    continue
                except OSError:  # EPIPE, EIO
                    self._close_input()
            if end and not self.terminal:
                self._close_input()
        return bool(view)

    def close(self) -> None:
        """Close the descriptors of all streams."""
        with self._write_lock:
            self._close_input()
        for fd, _error in self.outputs:
            os.close(fd)

    def _close_input(self) -> None:
        if self.input >= 0:
            os.close(self.input)
            self.input = -1

    def _reserve(self, size: int, context: Context) -> bool:
        """Wait until the window has room for ``size`` bytes; return False if the request was cancelled."""
        with self._window_changed:
            while self._window_bytes < size and not context.token.cancelled:
                self._window_changed.wait(_POLL_INTERVAL_S)
            self._window_bytes -= size
        return not context.token.cancelled


class Shells:
    """Running commands by request id, and the verbs that control them."""

    def __init__(self) -> None:
        self._running: dict[int, _Command] = {}

    def handlers(self) -> dict[str, Handler]:
        """Return the handlers of the shell verbs."""
        return {
            "lab.shell": self._run,
            "lab.shell-input": self._write,
            "lab.shell-control": self._control,
        }

    def _run(self, args: ShellArgs, context: Context) -> ShellResult:
        try:
            command = _Command(args)
        except (OSError, ValueError) as error:
            raise AppError(ErrorCode.COMMAND_NOT_STARTED, problem=str(error)) from error
        self._running[context.request_id] = command
        forwarders = [
            threading.Thread(
                target=command.forward, args=(context, fd), kwargs={"error": error}, name="shell"
            )
            for fd, error in command.outputs
        ]
        try:
            context.emit(ShellEvent(data=b""))
            for forwarder in forwarders:
                forwarder.start()
            with context.token.on_cancel(lambda: kill_group(command.child)):
                status = command.child.wait()
        finally:
            command.ended.set()
            for forwarder in forwarders:
                forwarder.join()
            del self._running[context.request_id]
            command.close()
        context.token.check()
        return ShellResult(code=status if status >= 0 else 128 - status)

    def _write(self, args: ShellInputArgs, _context: Context) -> ShellInputResult:
        command = self._running.get(args.id)
        return ShellInputResult(closed=command is None or command.write(args.data, end=args.end))

    def _control(self, args: ShellControlArgs, _context: Context) -> Empty:
        command = self._running.get(args.id)
        if command is None:
            return Empty()
        if args.taken > 0:
            command.take(args.taken)
        if args.rows > 0 and args.columns > 0:
            with contextlib.suppress(OSError):
                command.resize(args.rows, args.columns)
        if args.signal in signal.valid_signals():
            kill_group(command.child, args.signal)
        return Empty()


def _shell() -> str:
    return find_program("bash") or "/bin/sh"


def _argv(command: Sequence[str]) -> list[str]:
    if not command:
        return [_shell()]
    if len(command) == 1:
        return [_shell(), "-c", command[0]]
    # The shell reports a program that cannot be run, with status 127 or 126.
    return [_shell(), "-c", 'exec "$@"', "shell", *command]


def _descriptors(child: Popen[bytes]) -> tuple[int, int, int]:
    """Return duplicate descriptors of a child's pipes and close the streams."""
    found: list[int] = []
    for stream in (child.stdin, child.stdout, child.stderr):
        assert stream is not None  # noqa: S101 - the child was started with pipes
        with stream:
            found.append(os.dup(stream.fileno()))
    return found[0], found[1], found[2]

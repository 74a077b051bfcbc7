"""Commands and shells as root in the guest, with their streams and exit codes, for ``--lab LINK shell``.

The serial line is the agent's: what a command prints travels in events, what it reads in requests. Both are
bounded. Of the output SHELL_WINDOW_BYTES are under way at most, until whoever prints it tells what was taken;
an input request is answered when its bytes are in the command's pipe or terminal.
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

from app.errors import AppError, ErrorKind
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

if TYPE_CHECKING:
    from collections.abc import Sequence
    from subprocess import Popen  # noqa: TID251 - for annotations

    from app.service.server import Context, Handler

#: Home directory of root in the guest: that of the computer cannot be read by an ordinary user's guest.
HOME = Path("/run/root")
_READ_BYTES = 32 * 1024
#: How often what waits looks whether the command has ended.
_POLL_INTERVAL_S = 0.1
#: What a command has left in the background may hold its output open; silent for so long, it is left.
_OUTPUT_TIMEOUT_S = 1.0


class _Command:
    """A command that runs, and its streams.

    Attributes:
        outputs: descriptors to read from, with whether each is standard error.
        input: descriptor to write to, -1 if that was closed.
        ended: set when it has ended.
    """

    def __init__(self, args: ShellArgs) -> None:
        self.terminal = args.terminal
        self.ended = threading.Event()
        self._free = threading.Condition()
        self._free_bytes = SHELL_WINDOW_BYTES
        self._writing = threading.Lock()
        argv, env = _argv(args.command), {"HOME": str(HOME), "USER": "root", "LOGNAME": "root"}
        env |= {"SHELL": _shell(), "TERM": args.term}
        directory = args.directory if os.path.isdir(args.directory) else "/"  # noqa: PTH112 - any bytes
        if args.terminal:
            self.input, side = pty.openpty()
            self.resize(args.rows, args.columns)
            # setsid makes the terminal that of the session: for job control, and for Ctrl-C.
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
        """Set the size of its terminal; the kernel tells the foreground program (SIGWINCH)."""
        if self.terminal and self.input >= 0:
            size = struct.pack("HHHH", min(rows, 65535), min(columns, 65535), 0, 0)
            fcntl.ioctl(self.input, termios.TIOCSWINSZ, size)

    def forward(self, context: Context, fd: int, *, error: bool) -> None:
        """Send what comes from a descriptor as events, to its end."""
        waited_s = 0.0
        while waited_s < _OUTPUT_TIMEOUT_S:
            if not select.select([fd], [], [], _POLL_INTERVAL_S)[0]:
                waited_s += _POLL_INTERVAL_S if self.ended.is_set() else 0.0
                continue
            waited_s = 0.0
            try:
                data = os.read(fd, _READ_BYTES)
            except OSError:  # EIO: no process has the terminal any more
                data = b""
            if not data or not self._reserve(len(data), context):
                return
            context.emit(ShellEvent(data=data, error=error))

    def take(self, size: int) -> None:
        """Note that so many bytes of the output were taken."""
        with self._free:
            self._free_bytes += size
            self._free.notify_all()

    def write(self, data: bytes, *, end: bool) -> bool:
        """Give it input; return whether nobody reads that any more."""
        view = memoryview(data)
        with self._writing:
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
        """Close its descriptors."""
        with self._writing:
            self._close_input()
        for fd, _error in self.outputs:
            os.close(fd)

    def _close_input(self) -> None:
        if self.input >= 0:
            os.close(self.input)
            self.input = -1

    def _reserve(self, size: int, context: Context) -> bool:
        """Wait until so much more may be under way; return whether the caller is still there."""
        with self._free:
            while self._free_bytes < size and not context.token.cancelled:
                self._free.wait(_POLL_INTERVAL_S)
            self._free_bytes -= size
        return not context.token.cancelled


class Shells:
    """The commands that run, by the ids of their requests."""

    def __init__(self) -> None:
        self._running: dict[int, _Command] = {}

    def handlers(self) -> dict[str, Handler]:
        """Return the verbs of this module."""
        return {
            "lab.shell": self._run,
            "lab.shell-input": self._write,
            "lab.shell-control": self._control,
        }

    def _run(self, args: ShellArgs, context: Context) -> ShellResult:
        try:
            running = _Command(args)
        except (OSError, ValueError) as error:
            raise AppError(ErrorKind.USAGE, f"The command could not be started: {error}.") from error
        self._running[context.request_id] = running
        pumps = [
            threading.Thread(
                target=running.forward, args=(context, fd), kwargs={"error": error}, name="shell"
            )
            for fd, error in running.outputs
        ]
        try:
            context.emit(ShellEvent(data=b""))
            for pump in pumps:
                pump.start()
            with context.token.on_cancel(lambda: kill_group(running.child)):
                status = running.child.wait()
        finally:
            running.ended.set()
            for pump in pumps:
                pump.join()
            del self._running[context.request_id]
            running.close()
        context.token.check()
        return ShellResult(code=status if status >= 0 else 128 - status)

    def _write(self, args: ShellInputArgs, _context: Context) -> ShellInputResult:
        running = self._running.get(args.id)
        return ShellInputResult(closed=running is None or running.write(args.data, end=args.end))

    def _control(self, args: ShellControlArgs, _context: Context) -> Empty:
        running = self._running.get(args.id)
        if running is None:
            return Empty()
        if args.taken > 0:
            running.take(args.taken)
        if args.rows > 0 and args.columns > 0:
            with contextlib.suppress(OSError):
                running.resize(args.rows, args.columns)
        if args.signal in signal.valid_signals():
            kill_group(running.child, args.signal)
        return Empty()


def _shell() -> str:
    return find_program("bash") or "/bin/sh"


def _argv(command: Sequence[str]) -> list[str]:
    if not command:
        return [_shell()]
    if len(command) == 1:
        return [_shell(), "-c", command[0]]
    # The shell says what cannot be run, and with which status (127, 126).
    return [_shell(), "-c", 'exec "$@"', "shell", *command]


def _descriptors(child: Popen[bytes]) -> tuple[int, int, int]:
    """Return descriptors of our own for a child's pipes, which are closed."""
    found: list[int] = []
    for stream in (child.stdin, child.stdout, child.stderr):
        assert stream is not None  # noqa: S101 - the child was started with pipes
        with stream:
            found.append(os.dup(stream.fileno()))
    return found[0], found[1], found[2]

"""Command "shell": runs a command, or a shell on this terminal, as root in the lab's guest.

Standard input is read only as fast as the guest accepts it. At most SHELL_WINDOW_BYTES of output are queued
here until the reader takes them. On a terminal all keys go to the guest in raw mode, also Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import termios
import threading
import tty
from queue import SimpleQueue
from typing import TYPE_CHECKING

from app.errors import AppError
from app.service.protocol import ShellArgs, ShellControlArgs, ShellInputArgs
from app.tasks import run_in_thread
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    import argparse
    from collections.abc import Generator
    from concurrent.futures import Future
    from types import FrameType

    from app.service.client import Call, Host
    from app.service.protocol import ShellEvent, ShellInputResult, ShellResult

#: Largest piece of standard input in one request, bytes.
_READ_BYTES = 64 * 1024
#: Longest wait for a command to end after a signal, s; then it is killed.
_END_S = 3.0
#: Longest wait for a killed command, s; one that still runs hangs in the kernel, and the guest is stopped.
_KILLED_S = 2.0
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command to run; argparse does not interpret the words after its first."""
    parser.usage = "%(prog)s [-h] [--lab LINK] [COMMAND [ARGUMENT ...]]"
    parser.add_argument(
        "line",
        nargs="...",
        metavar="COMMAND",
        help="one word is a line for the shell, such as 'mountwright list; nfsstat -m', several are a "
        "program and its arguments; without one, a shell on this terminal, or for the commands on standard "
        "input",
    )


def run_shell(host: Host, args: argparse.Namespace) -> int:
    """Run the command; return its exit status, or 128 plus the number of the signal that ended it.

    Raises:
        AppError: if the guest ends, or the output cannot be written.
    """
    terminal = all(os.isatty(fd) for fd in (0, 1, 2))
    columns, rows = shutil.get_terminal_size() if not terminal else os.get_terminal_size(0)
    session = _Session(host)
    with _raw_terminal(terminal):
        return session.run(
            ShellArgs(
                command=args.line[1:] if args.line[:1] == ["--"] else args.line,
                terminal=terminal,
                rows=max(rows, 1),
                columns=max(columns, 1),
                term=os.environ.get("TERM") or "dumb",
                directory=_directory(),
            )
        )


class _Session:
    """One command in the guest: copies its output and input, and forwards signals of this process."""

    def __init__(self, host: Host) -> None:
        self._host = host
        #: Received signal numbers, and 0 for the command's end. A signal handler may put into a SimpleQueue.
        self._signals: SimpleQueue[int] = SimpleQueue()
        self._output: SimpleQueue[ShellEvent | None] = SimpleQueue()
        self._failure: OSError | None = None
        #: Set when the guest accepts input and signals for the command, and when the command has ended.
        self._begun = threading.Event()

    def run(self, args: ShellArgs) -> int:
        """Run the command; return its exit status, see :func:`run_shell`."""
        call = self._host.submit("lab.shell", args, self._on_event)
        call.future.add_done_callback(self._on_end)
        writer = run_in_thread("shell-output", lambda: self._write(call))
        stop, stop_writer = os.pipe()
        reader = run_in_thread("shell-input", lambda: self._read(call, stop))
        last: signal.Signals | None = None
        try:
            with _signal_handlers(self._signals, terminal=args.terminal):
                last = self._pass_signals(call)
        finally:
            call.cancel()
            os.close(stop_writer)
            with contextlib.suppress(OSError):
                reader.result()
            os.close(stop)
            self._output.put(None)
        if self._failure is None and last is None:
            writer.result()
        if self._failure is not None and not isinstance(self._failure, BrokenPipeError):
            raise AppError(ErrorCode.OUTPUT_NOT_WRITTEN, reason=self._failure.strerror)
        if last is not None and not call.future.done():
            return 128 + last
        return int(call.result().code)

    def _on_end(self, _future: Future[ShellResult]) -> None:
        self._signals.put(0)
        self._begun.set()

    def _on_event(self, event: ShellEvent) -> None:
        if event.data:
            self._output.put(event)
        else:
            self._begun.set()

    def _pass_signals(self, call: Call) -> signal.Signals | None:
        """Forward signals until the command ends; return the signal if the command cannot be ended."""
        while number := self._signals.get():
            self._begun.wait(_END_S)
            if number == signal.SIGWINCH:
                columns, rows = os.get_terminal_size(0)
                self._control(call, rows=rows, columns=columns)
                continue
            for sent_signal, wait_s in ((number, _END_S), (signal.SIGKILL, _KILLED_S)):
                self._control(call, signal=sent_signal)
                with contextlib.suppress(TimeoutError, AppError):
                    call.result(wait_s)
                if call.future.done():
                    return None
            return signal.Signals(number)
        return None

    def _control(self, call: Call, **control: int) -> None:
        self._host.submit("lab.shell-control", ShellControlArgs(id=call.id, **control))

    def _write(self, call: Call) -> None:
        """Write the output of the command; after a write error, end the command and discard the rest."""
        while (event := self._output.get()) is not None:
            if self._failure is None:
                try:
                    _write_all(2 if event.error else 1, event.data)
                except OSError as error:
                    self._failure = error
                    self._signals.put(signal.SIGPIPE)
            self._control(call, taken=len(event.data))

    def _read(self, call: Call, stop: int) -> None:
        """Forward standard input until it ends, the command closes it, or the command ends."""
        self._begun.wait()
        try:
            open_ = True
            while open_ and stop not in (ready := select.select([0, stop], [], [])[0]):
                data = os.read(0, _READ_BYTES) if 0 in ready else b""
                args = ShellInputArgs(id=call.id, data=data, end=not data)
                answer: ShellInputResult = self._host.submit("lab.shell-input", args).result()
                open_ = bool(data) and not answer.closed
        except OSError:  # standard input was closed before the start, or the terminal is gone
            self._host.submit("lab.shell-input", ShellInputArgs(id=call.id, end=True))
        except AppError:
            pass  # the guest has ended: run() raises that error


@contextlib.contextmanager
def _raw_terminal(terminal: bool) -> Generator[None]:  # noqa: FBT001 - its only argument
    if not terminal:
        yield
        return
    before = termios.tcgetattr(0)
    tty.setraw(0, termios.TCSADRAIN)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


@contextlib.contextmanager
def _signal_handlers(signals: SimpleQueue[int], *, terminal: bool) -> Generator[None]:
    numbers = (*_FORWARDED, signal.SIGWINCH) if terminal else _FORWARDED
    # A signal that was ignored at the start (nohup) stays ignored.
    before = {number: signal.getsignal(number) for number in numbers}
    before = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}

    def enqueue(number: int, _frame: FrameType | None) -> None:
        # An interactive shell ignores SIGINT and SIGTERM; SIGHUP ends it.
        signals.put(signal.SIGHUP if terminal and number != signal.SIGWINCH else number)

    for number in before:
        signal.signal(number, enqueue)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:  # another process set the shared descriptor to non-blocking
            select.select([], [fd], [])


def _directory() -> str:
    try:
        return os.fsencode(os.getcwd()).decode()  # noqa: PTH109
    except (OSError, UnicodeDecodeError):  # the directory was removed, or its name is not UTF-8
        return "/"

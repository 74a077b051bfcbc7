"""The command `shell`: a command, or a shell on this terminal, as root in the lab's guest.

Standard input is read while the guest takes it, and at most SHELL_WINDOW_BYTES of output wait here for who
reads them. On a terminal the keys go to the guest unread, Ctrl-C too.
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

from app.errors import AppError, ErrorKind
from app.service.protocol import ShellArgs, ShellControlArgs, ShellInputArgs
from app.tasks import run_in_thread

if TYPE_CHECKING:
    import argparse
    from collections.abc import Generator
    from concurrent.futures import Future
    from types import FrameType

    from app.service.client import Call, Host
    from app.service.protocol import ShellEvent, ShellInputResult, ShellResult

_READ_BYTES = 64 * 1024
#: A command has so long to end after a signal; then it is killed.
_END_S = 3.0
#: A killed command that has not ended by then hangs in the kernel; the guest is ended with it.
_KILLED_S = 2.0
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command to run; argparse takes what follows its first word as it is."""
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
    """Run the command and return its exit status, 128 and the signal's number if a signal ended it.

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
    """One command: its output is written, its input read, and the signals of this process are passed on."""

    def __init__(self, host: Host) -> None:
        self._host = host
        #: Numbers of signals, 0 for the command's end. Signal handlers may put into this kind of queue.
        self._told: SimpleQueue[int] = SimpleQueue()
        self._output: SimpleQueue[ShellEvent | None] = SimpleQueue()
        self._failure: OSError | None = None
        #: Set when the guest takes input and signals for the command, and when that has ended.
        self._begun = threading.Event()

    def run(self, args: ShellArgs) -> int:
        """See :func:`run_shell`."""
        call = self._host.submit("lab.shell", args, self._take)
        call.future.add_done_callback(self._end)
        writer = run_in_thread("shell-output", lambda: self._write(call))
        stop, told = os.pipe()
        reader = run_in_thread("shell-input", lambda: self._read(call, stop))
        last: signal.Signals | None = None
        try:
            with _handlers(self._told, terminal=args.terminal):
                last = self._pass_signals(call)
        finally:
            call.cancel()
            os.close(told)
            with contextlib.suppress(OSError):
                reader.result()
            os.close(stop)
            self._output.put(None)
        if self._failure is None and last is None:
            writer.result()
        if self._failure is not None and not isinstance(self._failure, BrokenPipeError):
            raise AppError(ErrorKind.IO, f"Could not write the output: {self._failure.strerror}.")
        if last is not None and not call.future.done():
            return 128 + last
        return int(call.result().code)

    def _end(self, _future: Future[ShellResult]) -> None:
        self._told.put(0)
        self._begun.set()

    def _take(self, event: ShellEvent) -> None:
        if event.data:
            self._output.put(event)
        else:
            self._begun.set()

    def _pass_signals(self, call: Call) -> signal.Signals | None:
        """Pass signals on until the command has ended; return the one at which it was given up."""
        while number := self._told.get():
            self._begun.wait(_END_S)
            if number == signal.SIGWINCH:
                columns, rows = os.get_terminal_size(0)
                self._control(call, rows=rows, columns=columns)
                continue
            for sent, wait_s in ((number, _END_S), (signal.SIGKILL, _KILLED_S)):
                self._control(call, signal=sent)
                with contextlib.suppress(TimeoutError, AppError):
                    call.result(wait_s)
                if call.future.done():
                    return None
            return signal.Signals(number)
        return None

    def _control(self, call: Call, **told: int) -> None:
        self._host.submit("lab.shell-control", ShellControlArgs(id=call.id, **told))

    def _write(self, call: Call) -> None:
        """Write what the command prints; once that is refused, end the command and drop the rest."""
        while (event := self._output.get()) is not None:
            if self._failure is None:
                try:
                    _write_all(2 if event.error else 1, event.data)
                except OSError as error:
                    self._failure = error
                    self._told.put(signal.SIGPIPE)
            self._control(call, taken=len(event.data))

    def _read(self, call: Call, stop: int) -> None:
        """Pass standard input on until it ends, the command does not read it any more, or it has ended."""
        self._begun.wait()
        try:
            open_ = True
            while open_ and stop not in (ready := select.select([0, stop], [], [])[0]):
                data = os.read(0, _READ_BYTES) if 0 in ready else b""
                args = ShellInputArgs(id=call.id, data=data, end=not data)
                answer: ShellInputResult = self._host.submit("lab.shell-input", args).result()
                open_ = bool(data) and not answer.closed
        except OSError:  # it was closed before this program began, or its terminal has gone
            self._host.submit("lab.shell-input", ShellInputArgs(id=call.id, end=True))
        except AppError:
            pass  # the guest has ended, which the command itself tells


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
def _handlers(told: SimpleQueue[int], *, terminal: bool) -> Generator[None]:
    numbers = (*_FORWARDED, signal.SIGWINCH) if terminal else _FORWARDED
    # A signal that was ignored at the start (nohup) stays so.
    before = {number: signal.getsignal(number) for number in numbers}
    before = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}

    def tell(number: int, _frame: FrameType | None) -> None:
        # An interactive shell takes no notice of the other ones.
        told.put(signal.SIGHUP if terminal and number != signal.SIGWINCH else number)

    for number in before:
        signal.signal(number, tell)
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
        except BlockingIOError:  # whoever shares it with us made it so
            select.select([], [fd], [])


def _directory() -> str:
    try:
        return os.fsencode(os.getcwd()).decode()  # noqa: PTH109
    except (OSError, UnicodeDecodeError):  # it was removed, or its name cannot be told
        return "/"

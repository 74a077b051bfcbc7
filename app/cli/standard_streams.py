"""The program's standard streams: what goes wrong with them becomes a message and an exit code.

A disk may be full, a reader may go, a stream may be closed from the start (`>&-`), or be ASCII. None of it is
a bug of the program, so nobody sees a traceback for it.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_FAILED = 1
_CANCELLED = 130


class OutputError(Exception):
    """Standard output takes no more; the text says why."""


class _Results(io.TextIOWrapper):
    """Standard output: a failure to write is told apart from all other failures."""

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(error.strerror) from error

    def flush(self) -> None:
        try:
            super().flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(error.strerror) from error


class _Closed(io.TextIOBase):
    """Standard output that was closed before the program began."""

    REASON = "standard output is closed"

    def write(self, _text: str, /) -> int:
        raise OutputError(self.REASON)


class _Messages(io.TextIOWrapper):
    """Standard error: what cannot be said there cannot be said anywhere."""

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            super().flush()


def run_program(main: Callable[[], int]) -> int:
    """Run the program on this process's standard streams and return its exit code.

    Args:
        main: what it does; it may raise SystemExit, KeyboardInterrupt and OutputError.
    """
    _open_streams()
    try:
        try:
            code = main()
        except SystemExit as end:  # argparse: a wrong use, --help, --version
            code = end.code if isinstance(end.code, int) else 0
        sys.stdout.flush()
    except OutputError as error:
        print(f"mountwright: Could not write the output: {error}.", file=sys.stderr)
        code = _FAILED
    except BrokenPipeError:  # the reader (head, less) has what it wanted
        code = _FAILED
    except KeyboardInterrupt:
        print("mountwright: Cancelled.", file=sys.stderr)
        code = _CANCELLED
    # The interpreter's end takes its time: neither a signal nor what could not be written is told any more.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _discard_rest()
    return code


def check_output() -> None:
    """See that results can be printed, before anything is done for them.

    Raises:
        OutputError: if standard output is closed.
    """
    if isinstance(sys.stdout, _Closed):
        raise OutputError(_Closed.REASON)


def _open_streams() -> None:
    """Have descriptors 0 to 2 open, and streams that fail as described above.

    Python has None for a stream that was closed. Its number would go to the next file that is opened.
    """
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(fd)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for the whole run
    sys.stdout = _Closed() if sys.stdout is None else _remade(sys.stdout, _Results)
    errors = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = _remade(errors, _Messages)


def _remade(stream: Any, kind: type[io.TextIOWrapper]) -> io.TextIOWrapper:
    """Return another one on what a stream of the interpreter, an io.TextIOWrapper, writes to."""
    encoding, lines, through = stream.encoding, stream.line_buffering, stream.write_through
    return kind(
        stream.detach(),
        encoding=encoding,
        errors="backslashreplace",
        line_buffering=lines,
        write_through=through,
    )


def _discard_rest() -> None:
    """Have what is still in the buffers written nowhere."""
    null = os.open(os.devnull, os.O_WRONLY)
    for fd in (1, 2):
        os.dup2(null, fd)
    os.close(null)

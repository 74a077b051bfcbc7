"""Standard streams of the program: errors of writing become a message and an exit code.

A disk may be full, or the reader of a pipe may end. A stream may be closed at the start (`>&-`), or its
encoding may be ASCII. These are not bugs of the program, so none of them shows a traceback.
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
    """Writing to standard output failed; the text of the exception is the reason."""


class _Results(io.TextIOWrapper):
    """Standard output whose write errors are raised as OutputError, except a broken pipe."""

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
    """Standard error that ignores write errors, because they cannot be reported anywhere."""

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            super().flush()


def run_program(main: Callable[[], int]) -> int:
    """Run the program with checked standard streams; return its exit code.

    Args:
        main: function of the program; it may raise SystemExit, KeyboardInterrupt and OutputError.
    """
    _open_streams()
    try:
        try:
            code = main()
        except SystemExit as end:  # from argparse: wrong usage, --help, --version
            code = end.code if isinstance(end.code, int) else 0
        sys.stdout.flush()
    except OutputError as error:
        print(f"mountwright: Could not write the output: {error}.", file=sys.stderr)
        code = _FAILED
    except BrokenPipeError:  # the reader (head, less) has ended
        code = _FAILED
    except KeyboardInterrupt:
        print("mountwright: Cancelled.", file=sys.stderr)
        code = _CANCELLED
    # While the interpreter shuts down, no signal and no unwritten output may print a traceback.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _discard_rest()
    return code


def check_output() -> None:
    """Check that standard output is open, before a command starts its work.

    Raises:
        OutputError: if standard output is closed.
    """
    if isinstance(sys.stdout, _Closed):
        raise OutputError(_Closed.REASON)


def _open_streams() -> None:
    """Open descriptors 0 to 2 if they are closed, and replace the streams by the classes of this module.

    Python sets a closed stream to None, and the next file opened would get its descriptor.
    """
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(fd)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for the whole run
    sys.stdout = _Closed() if sys.stdout is None else _rewrapped(sys.stdout, _Results)
    errors = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = _rewrapped(errors, _Messages)


def _rewrapped(stream: Any, kind: type[io.TextIOWrapper]) -> io.TextIOWrapper:
    """Return a new stream of a class on the buffer of a text stream of the interpreter."""
    encoding, lines, through = stream.encoding, stream.line_buffering, stream.write_through
    return kind(
        stream.detach(),
        encoding=encoding,
        errors="backslashreplace",
        line_buffering=lines,
        write_through=through,
    )


def _discard_rest() -> None:
    """Redirect descriptors 1 and 2 to /dev/null, so that flushing the buffers at exit cannot fail."""
    null = os.open(os.devnull, os.O_WRONLY)
    for fd in (1, 2):
        os.dup2(null, fd)
    os.close(null)

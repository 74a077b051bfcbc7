"""The program's start: the window, or a command of the command line.

Only what takes no time is imported here. While the rest is imported, Ctrl-C ends the process at once: an
exception in the middle of an extension module's import is not survived by each of them. ``./run`` starts this
process with the signal held back.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # typing takes its time
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code; without a command it opens the window."""
    from app.cli.parser import parse_args
    from app.cli.standard_streams import check_output
    from app.errors import AppError

    args = parse_args(argv)
    if args.command is not None:
        check_output()
        from app.cli.main import run

        _imported()
        return run(args)
    try:
        if args.lab is not None:
            from app.links import parse_link

            parse_link(args.lab)  # a wrong link is a wrong use: said before any window
        from ui.main import open_window
    except AppError as error:
        return _complain(error.message, error.hint, error.exit_code)
    except ImportError as error:
        return _complain(
            f"The window cannot be opened: {error}.",
            "The command line works without it; see mountwright --help.", 1)  # fmt: skip
    _imported()
    return open_window(args.lab)


def start() -> int:
    """Run the program as a process of its own, on its standard streams, and return its exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not ignored, as by nohup
        signal.signal(signal.SIGINT, _leave)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    from app.cli.standard_streams import run_program

    return run_program(main)


def _leave(_number: int, _frame: object) -> None:
    """Take Ctrl-C before anything has begun."""
    try:
        os.write(2, b"mountwright: Cancelled.\n")
    finally:
        os._exit(130)


def _imported() -> None:
    """Let Ctrl-C be an exception from now on: what has begun is to be undone."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _complain(message: str, hint: str, code: int) -> int:
    print(f"mountwright: {message}", file=sys.stderr)  # noqa: T201
    if hint:
        print(f"  {hint}", file=sys.stderr)  # noqa: T201
    return code


if __name__ == "__main__":
    sys.exit(start())

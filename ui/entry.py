"""Entry point of the program: the window, or a command of the command line.

Only quick imports stand here. While the rest is imported, Ctrl-C ends the process at once: not every
extension module survives an exception in the middle of its import. ``./run`` starts this process with the
signal blocked.
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

        _enable_interrupts()
        return run(args)
    try:
        if args.lab is not None:
            from app.links import parse_link

            parse_link(args.lab)  # a wrong link is a wrong use: said before any window
        from ui.main import open_window
    except AppError as error:
        return _print_error(error.message, error.hint, error.exit_code)
    except ImportError as error:
        return _print_error(
            f"The window cannot be opened: {error}.",
            "The command line works without it; see mountwright --help.", 1)  # fmt: skip
    _enable_interrupts()
    return open_window(args.lab)


def start() -> int:
    """Run the program as a process of its own, on its standard streams, and return its exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not ignored, as by nohup
        signal.signal(signal.SIGINT, _exit_on_interrupt)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    from app.cli.standard_streams import run_program

    return run_program(main)


def _exit_on_interrupt(_number: int, _frame: object) -> None:
    """Take Ctrl-C before anything has begun."""
    try:
        os.write(2, b"mountwright: Cancelled.\n")
    finally:
        os._exit(130)


def _enable_interrupts() -> None:
    """Let Ctrl-C be an exception from now on: what has begun is to be undone."""
    if signal.getsignal(signal.SIGINT) is _exit_on_interrupt:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _print_error(message: str, hint: str, code: int) -> int:
    print(f"mountwright: {message}", file=sys.stderr)  # noqa: T201
    if hint:
        print(f"  {hint}", file=sys.stderr)  # noqa: T201
    return code


if __name__ == "__main__":
    sys.exit(start())

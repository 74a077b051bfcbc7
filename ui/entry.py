"""Entry point of the program: opens the window, or runs a command of the command line.

This module has only quick imports. While the others run, Ctrl-C ends the process at once, because some
extension modules do not survive an exception during their import. ``./run`` starts this process with SIGINT
blocked.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # avoids the slow import of typing
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code; without a command it opens the window."""
    from app.text.translate import install

    install()  # before data files are read
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

            parse_link(args.lab)  # reports a wrong link before any window opens
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
    """Run the program as the main program of a process; return its exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not ignored, as by nohup
        signal.signal(signal.SIGINT, _exit_on_interrupt)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    from app.cli.standard_streams import run_program

    return run_program(main)


def _exit_on_interrupt(_number: int, _frame: object) -> None:
    """Handle SIGINT during the imports: exit at once, because nothing has to be undone yet."""
    try:
        os.write(2, b"mountwright: Cancelled.\n")
    finally:
        os._exit(130)


def _enable_interrupts() -> None:
    """Let SIGINT raise KeyboardInterrupt from now on, so that commands can undo their changes."""
    if signal.getsignal(signal.SIGINT) is _exit_on_interrupt:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _print_error(message: str, hint: str, code: int) -> int:
    print(f"mountwright: {message}", file=sys.stderr)  # noqa: T201
    if hint:
        print(f"  {hint}", file=sys.stderr)  # noqa: T201
    return code


if __name__ == "__main__":
    sys.exit(start())

"""The program's start: the window, or a command of the command line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from app.cli.parser import parse_args
from app.errors import AppError

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code; without a command it opens the window."""
    args = parse_args(argv)
    if args.command is not None:
        from app.cli.main import run

        return run(args)
    try:
        if args.lab is not None:
            from app.lab.links import parse_link

            parse_link(args.lab)  # a wrong link is a wrong use: said before any window
        from ui.main import open_window
    except AppError as error:
        return _complain(error.message, error.hint, error.exit_code)
    except ImportError as error:
        return _complain(
            f"The window cannot be opened: {error}.",
            "The command line works without it; see mountwright --help.", 1)  # fmt: skip
    return open_window(args.lab)


def _complain(message: str, hint: str, code: int) -> int:
    print(f"mountwright: {message}", file=sys.stderr)  # noqa: T201
    if hint:
        print(f"  {hint}", file=sys.stderr)  # noqa: T201
    return code


if __name__ == "__main__":
    sys.exit(main())

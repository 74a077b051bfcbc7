"""Nothing that lasts is changed without a yes."""

from __future__ import annotations

import sys

from app.errors import AppError, ErrorKind


def get_consent(shown: str, question: str, *, hint: str, refused: str) -> None:
    """Show what would be done and ask.

    Args:
        shown: what would be done, with its line feeds.
        question: to be answered with y or n.
        hint: what to do where there is no terminal.
        refused: what to say after a no.

    Raises:
        AppError: USAGE if there is nobody to ask; CANCELLED after a no.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise AppError(
            ErrorKind.USAGE,
            "Nothing is changed without a yes, and there is no terminal to ask on.",
            hint=hint,
        )
    print(shown, end="", file=sys.stderr)
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise AppError(ErrorKind.CANCELLED, refused)

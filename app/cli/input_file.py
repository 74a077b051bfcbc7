"""Input of a command: the bytes of a named file, or of standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from app.errors import AppError, ErrorKind, printable


def read_input(name: str, most: int, *, what: str, hint: str = "") -> bytes:
    """Return the bytes of a file, of standard input for "-".

    Args:
        name: of the file.
        most: bytes that it may have.
        what: it should be, with its article.
        hint: what to do where it cannot be read.

    Raises:
        AppError: USAGE if it cannot be read, or is longer.
    """
    try:
        if name == "-":
            raw = sys.stdin.buffer.read(most + 1)
        else:
            with Path(name).open("rb") as file:
                raw = file.read(most + 1)
    except OSError as error:
        raise AppError(
            ErrorKind.USAGE, f"{printable(name)} cannot be read: {error.strerror}.", hint=hint
        ) from error
    if len(raw) > most:
        raise AppError(ErrorKind.USAGE, f"{printable(name)} is too long for {what}.")
    return raw

"""Input of a command: the bytes of a named file, or of standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from app.errors import AppError, ErrorKind, printable
from app.text.errors import ErrorCode


def read_input(name: str, max_bytes: int, *, expected: str, hint: str = "") -> bytes:
    """Return the bytes of a file, or of standard input for "-".

    Args:
        name: name of the file.
        max_bytes: longest accepted input, bytes.
        expected: expected content with its article, for the error message.
        hint: hint of the error if the file cannot be read.

    Raises:
        AppError: USAGE if the file cannot be read or is too long.
    """
    try:
        if name == "-":
            raw = sys.stdin.buffer.read(max_bytes + 1)
        else:
            with Path(name).open("rb") as file:
                raw = file.read(max_bytes + 1)
    except OSError as error:
        raise AppError(
            ErrorKind.USAGE, f"{printable(name)} cannot be read: {error.strerror}.", hint=hint
        ) from error
    if len(raw) > max_bytes:
        raise AppError(ErrorCode.INPUT_TOO_LONG, name=printable(name), expected=expected)
    return raw

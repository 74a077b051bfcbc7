"""Writes a file that a person named: in a child, because the folder may be on a dead mount."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.errors import AppError, ErrorKind
from app.folders import home
from app.process import find_program, run

if TYPE_CHECKING:
    from pathlib import Path

#: A folder that answers takes milliseconds.
_TIMEOUT_S = 10.0
#: "set -C" makes the shell open the file with O_EXCL: nothing is ever overwritten (POSIX sh, 2.7.2).
_SCRIPT = 'set -C && cat > "$1"'


def default_folder() -> Path:
    """Return the folder to offer: the person's home."""
    return home()


def save_text(path: str, text: str) -> None:
    """Write a new file of text; raises as save_file does."""
    save_file(path, text.encode())


def save_file(path: str, data: bytes) -> None:
    """Write a new file.

    Raises:
        AppError: if there is a file already, or it cannot be written, or its folder does not answer.
    """
    if not path.startswith("/"):
        raise AppError(ErrorKind.USAGE, f"“{path}” is not an absolute path.")
    shell = find_program("sh")
    if shell is None:
        raise AppError(ErrorKind.UNAVAILABLE, "There is no shell on this computer to write the file with.")
    outcome = run([shell, "-c", _SCRIPT, "sh", path], timeout=_TIMEOUT_S, input_data=data, cwd="/")
    if outcome.timed_out:
        raise AppError(
            ErrorKind.NOT_RESPONDING,
            f"The folder of {path} did not answer in time.",
            hint="It may be on a server that does not respond. Choose a folder of this computer.",
        )
    if not outcome.ok:
        raise AppError(
            ErrorKind.IO,
            f"{path} could not be written.",
            hint="A file of that name is not replaced, and the folder must be there and be yours.",
            detail=outcome.stderr.strip(),
        )

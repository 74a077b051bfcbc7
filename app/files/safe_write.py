"""Files that a person names: written and read in a child, because the directory may be on a dead mount."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.errors import AppError, ErrorKind
from app.files.user_directories import home
from app.process import find_program, run

if TYPE_CHECKING:
    from pathlib import Path

    from app.process import ProcessOutcome

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
    shell = find_program("sh")
    if shell is None:
        raise AppError(ErrorKind.UNAVAILABLE, "There is no shell on this computer to write the file with.")
    outcome = _run_child(path, [shell, "-c", _SCRIPT, "sh", path], "Choose a folder of this computer.", data)
    if not outcome.ok:
        raise AppError(
            ErrorKind.IO,
            f"{path} could not be written.",
            hint="A file of that name is not replaced, and the folder must be there and be yours.",
            detail=outcome.stderr.strip(),
        )


def read_file(path: str, most: int) -> bytes:
    """Return what is in a file.

    Args:
        path: of the file.
        most: bytes that it may have.

    Raises:
        AppError: if it cannot be read, or is longer, or its folder does not answer.
    """
    head = find_program("head")
    if head is None:
        raise AppError(ErrorKind.UNAVAILABLE, "The program head, which reads the file, is not installed.")
    command = [head, "-c", str(most + 1), "--", path]
    outcome = _run_child(path, command, "Choose a file of this computer.")
    if not outcome.ok:
        raise AppError(
            ErrorKind.IO,
            f"{path} could not be read.",
            hint="The file must be there, and you must be allowed to read it.",
            detail=outcome.stderr.strip(),
        )
    data = outcome.stdout.encode(errors="surrogateescape")
    if len(data) > most:
        raise AppError(ErrorKind.USAGE, f"{path} is longer than {most} bytes.")
    return data


def _run_child(path: str, command: list[str], instead: str, data: bytes = b"") -> ProcessOutcome:
    """Run what opens a file, and return what came of it.

    Raises:
        AppError: if the path is not absolute, or its folder does not answer; ``instead`` is what to do then.
    """
    if not path.startswith("/"):
        raise AppError(ErrorKind.USAGE, f"“{path}” is not an absolute path.")
    outcome = run(command, timeout=_TIMEOUT_S, input_data=data, cwd="/")
    if outcome.timed_out:
        raise AppError(
            ErrorKind.NOT_RESPONDING,
            f"The folder of {path} did not answer in time.",
            hint=f"It may be on a server that does not respond. {instead}",
        )
    return outcome

"""Files that the user names: read and written by a child process, because a dead mount would block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.errors import AppError
from app.files.user_directories import home
from app.process import find_program, run
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from pathlib import Path

    from app.process import ProcessOutcome

#: Longest time to read or write a file, seconds; a directory that responds takes milliseconds.
_TIMEOUT_S = 10.0
#: Writes a new file: “set -C” opens it with O_EXCL, so no file is overwritten (POSIX sh, 2.7.2).
_SCRIPT = 'set -C && cat > "$1"'


def default_folder() -> Path:
    """Return the directory that a file dialog shows first: the user's home directory."""
    return home()


def save_text(path: str, text: str) -> None:
    """Write a new text file, UTF-8.

    Raises:
        AppError: for the reasons of :func:`save_file`.
    """
    save_file(path, text.encode())


def save_file(path: str, data: bytes) -> None:
    """Write a new file.

    Raises:
        AppError: if the file exists or cannot be written, or if its directory does not respond.
    """
    shell = find_program("sh")
    if shell is None:
        raise AppError(ErrorCode.NO_SHELL_TO_WRITE)
    outcome = _run_child(path, [shell, "-c", _SCRIPT, "sh", path], "Choose a folder of this computer.", data)
    if not outcome.ok:
        raise AppError(ErrorCode.FILE_NOT_WRITTEN, detail=outcome.stderr.strip(), path=path)


def read_file(path: str, most: int) -> bytes:
    """Return the content of a file.

    Args:
        path: absolute path.
        most: largest accepted length, bytes.

    Raises:
        AppError: if the file cannot be read or is longer, or if its directory does not respond.
    """
    head = find_program("head")
    if head is None:
        raise AppError(ErrorCode.HEAD_MISSING)
    command = [head, "-c", str(most + 1), "--", path]
    outcome = _run_child(path, command, "Choose a file of this computer.")
    if not outcome.ok:
        raise AppError(ErrorCode.FILE_NOT_READ, detail=outcome.stderr.strip(), path=path)
    data = outcome.stdout.encode(errors="surrogateescape")
    if len(data) > most:
        raise AppError(ErrorCode.FILE_TOO_LONG, path=path, limit=most)
    return data


def _run_child(path: str, command: list[str], instead: str, data: bytes = b"") -> ProcessOutcome:
    """Run a command that opens a file, and return its outcome.

    Args:
        path: absolute path of the file.
        command: the command.
        instead: hint for a directory that does not respond.
        data: standard input of the command.

    Raises:
        AppError: if the path is not absolute, or if its directory does not respond.
    """
    if not path.startswith("/"):
        raise AppError(ErrorCode.PATH_NOT_ABSOLUTE, path=path)
    outcome = run(command, timeout=_TIMEOUT_S, input_data=data, cwd="/")
    if outcome.timed_out:
        raise AppError(ErrorCode.DIRECTORY_SILENT, path=path, instead=instead)
    return outcome

"""Files in the person's state folder, written and read by children with a deadline.

The folder may be on a file server that has died, so this process never touches it itself.
"""

from __future__ import annotations

import os
from pathlib import Path

from app.errors import AppError, ErrorKind
from app.process import find_program, run

#: For the folder to answer.
TIMEOUT_S = 1.5
#: Renaming makes the change whole or none (rename(2)); only the person may read the files.
_WRITE = (
    'umask 077 && mkdir -p "$(dirname "$1")" && cat > "$1.$$" && mv -f "$1.$$" "$1"'
    ' || { rm -f "$1.$$"; exit 1; }'
)
#: All but the newest $2 files of the folder $1.
_REMOVE_OLD = 'cd "$1" && ls -1t | tail -n "+$(($2 + 1))" | while read -r name; do rm -f "./$name"; done'


def state_folder() -> Path:
    """Return the folder (XDG Base Directory Specification: a relative path is ignored)."""
    folder = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not folder.is_absolute():
        folder = Path(os.environ.get("HOME", "/")) / ".local/state"
    return folder / "mountwright"


def read_state_file(path: Path, what: str, max_bytes: int) -> str:
    """Return the beginning of a file, "" if it is not there.

    Args:
        path: below :func:`state_folder`.
        what: the thing in it, as the subject of an error's sentence.
        max_bytes: length of the beginning.

    Raises:
        AppError: NOT_RESPONDING or IO if it cannot be read.
    """
    return _run_script(f'[ ! -e "$1" ] || head -c {max_bytes} "$1"', path, f"{what} could not be read.")


def read_state_folder(folder: Path, what: str, max_bytes: int) -> str:
    """Return the JSON files of a folder, one after the other, as far as that; errors as of a file."""
    script = f'[ ! -d "$1" ] || find "$1" -name "*.json" -exec cat {{}} + | head -c {max_bytes}'
    return _run_script(script, folder, f"{what} could not be read.")


def write_state_file(path: Path, what: str, data: bytes) -> None:
    """Write a file, in place of an older one, and its folder if need be.

    Raises:
        AppError: NOT_RESPONDING or IO if it cannot be written.
    """
    _run_script(_WRITE, path, f"{what} could not be written.", input_data=data)


def remove_state_file(path: Path, what: str) -> None:
    """Remove a file, if it is there.

    Raises:
        AppError: NOT_RESPONDING or IO if it cannot be removed.
    """
    _run_script('rm -f "$1"', path, f"{what} could not be removed.")


def remove_old_state_files(folder: Path, count: int) -> None:
    """Remove all but the newest files of a folder.

    Raises:
        AppError: NOT_RESPONDING or IO if the folder cannot be changed.
    """
    _run_script(_REMOVE_OLD, folder, f"Old files in {folder} could not be removed.", str(count))


def _run_script(script: str, path: Path, message: str, *arguments: str, input_data: bytes = b"") -> str:
    shell = find_program("sh")
    if shell is None:
        raise AppError(ErrorKind.UNAVAILABLE, "This computer has no shell.")
    command = [shell, "-c", script, "sh", str(path), *arguments]
    outcome = run(command, timeout=TIMEOUT_S, input_data=input_data, cwd="/")
    if not outcome.ok:
        raise AppError(
            ErrorKind.NOT_RESPONDING if outcome.timed_out else ErrorKind.IO,
            message,
            hint=f"Its place is {path}.",
            detail=outcome.stderr.strip(),
        )
    return outcome.stdout

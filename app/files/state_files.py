"""State files: read, written and removed in the person's state directory.

The directory may be on a file server that has died. Unless the table of mounts says that it is on this
computer, this process does not touch it itself: a child with a deadline does.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from app.errors import AppError, ErrorKind
from app.kernel import mountinfo
from app.process import find_program, run

if TYPE_CHECKING:
    from collections.abc import Callable

#: For a folder elsewhere to answer.
TIMEOUT_S = 1.5
#: File systems that answer as long as this computer does.
_LOCAL = frozenset({
    "bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs", "reiserfs", "tmpfs",
    "xfs", "zfs",
})  # fmt: skip
#: As many as the kernel follows (path_resolution(7)).
_MAX_LINKS = 40
#: Renaming makes the change whole or none (rename(2)); only the person may read the files. With -T, a
#: directory of that name is an error and not a place to move the file to.
_WRITE = (
    'umask 077 && mkdir -p "$(dirname "$1")" && cat > "$1.$$" && mv -fT "$1.$$" "$1"'
    ' || { rm -f "$1.$$"; exit 1; }'
)
#: All but the newest $2 files of the folder $1.
_REMOVE_OLD = 'cd "$1" && ls -1t | tail -n "+$(($2 + 1))" | while read -r name; do rm -f "./$name"; done'


def read_state_file(path: Path, what: str, max_bytes: int) -> str:
    """Return the beginning of a file, "" if it is not there.

    Args:
        path: below :func:`app.files.user_directories.state_directory`.
        what: the thing in it, as the subject of an error's sentence.
        max_bytes: length of the beginning.

    Raises:
        AppError: NOT_RESPONDING or IO if it cannot be read.
    """
    script = f'[ ! -e "$1" ] || head -c {max_bytes} "$1"'
    return _do(lambda: _read([path], max_bytes), script, path, f"{what} could not be read.")


def read_state_folder(folder: Path, what: str, max_bytes: int) -> str:
    """Return the JSON files of a folder, one after the other, as far as that; errors as of a file."""
    script = f'[ ! -d "$1" ] || find "$1" -name "*.json" -exec cat {{}} + | head -c {max_bytes}'
    return _do(
        lambda: _read(sorted(folder.glob("*.json")), max_bytes), script, folder, f"{what} could not be read."
    )


def write_state_file(path: Path, what: str, data: bytes) -> None:
    """Write a file, in place of an older one, and its folder if need be.

    Raises:
        AppError: NOT_RESPONDING or IO if it cannot be written.
    """
    _do(lambda: _write(path, data), _WRITE, path, f"{what} could not be written.", input_data=data)


def remove_state_file(path: Path, what: str) -> None:
    """Remove a file, if it is there.

    Raises:
        AppError: NOT_RESPONDING or IO if it cannot be removed.
    """
    _do(lambda: _remove([path]), 'rm -f "$1"', path, f"{what} could not be removed.")


def remove_old_state_files(folder: Path, count: int) -> None:
    """Remove all but the newest files of a folder.

    Raises:
        AppError: NOT_RESPONDING or IO if the folder cannot be changed.
    """
    message = f"Old files in {folder} could not be removed."
    _do(lambda: _remove(_by_age(folder)[count:]), _REMOVE_OLD, folder, message, str(count))


def is_local(path: Path) -> bool:
    """Whether a path, wherever its links lead, is on this computer's own file systems.

    The table of mounts is asked about each part before it is touched.
    """
    try:
        table = mountinfo.read()
    except OSError:
        return False
    current, parts, links = Path("/"), list(path.parts[1:]), 0
    while parts:
        part = parts.pop(0)
        current = current.parent if part == ".." else current / part
        row = table.mount_of_path(str(current))
        if row is None or row.fstype not in _LOCAL:
            return False
        with contextlib.suppress(OSError):  # no link, or not there
            target = current.readlink()
            links += 1
            if links > _MAX_LINKS:
                return False
            parts[:0] = target.parts[1:] if target.is_absolute() else target.parts
            current = Path("/") if target.is_absolute() else current.parent
    return path.is_absolute()


def _read(paths: list[Path], max_bytes: int) -> str:
    data = b""
    for path in paths:
        with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
            data += file.read(max_bytes - len(data))
    return data.decode(errors="surrogateescape")


def _write(path: Path, data: bytes) -> str:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        draft.touch(0o600)
        draft.write_bytes(data)
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise
    return ""


def _by_age(folder: Path) -> list[Path]:
    """Return the files of a folder, the newest first."""
    return sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns, reverse=True)


def _remove(paths: list[Path]) -> str:
    for path in paths:
        path.unlink(missing_ok=True)
    return ""


def _do(
    here: Callable[[], str], script: str, path: Path, message: str, *arguments: str, input_data: bytes = b""
) -> str:
    """Do something with a path in this process if that cannot hang, else with a script in a child."""
    if is_local(path):
        try:
            return here()
        except OSError as error:
            hint, detail = f"Its place is {path}.", os.strerror(error.errno or 0)
            raise AppError(ErrorKind.IO, message, hint=hint, detail=detail) from error
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

"""State files: read, written and removed in the user's state directory.

The directory may be on a dead file server. This process accesses it only if the mount table shows a local
file system. Otherwise a child process with a time limit does.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from app.errors import AppError, ErrorKind
from app.kernel import mountinfo
from app.process import find_program, run
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

#: Time limit of an access to a directory that is not local, seconds.
TIMEOUT_S = 1.5
#: Local file systems, which cannot block.
_LOCAL = frozenset({
    "bcachefs", "btrfs", "devtmpfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs", "reiserfs",
    "tmpfs", "xfs", "zfs",
})  # fmt: skip
#: Largest number of symbolic links in a path, as in the kernel (path_resolution(7)).
_MAX_LINKS = 40
#: Writes a file atomically (rename(2)), readable by the user only. With -T, mv fails if $1 is a directory
#: instead of moving the file into it.
_WRITE = (
    'umask 077 && mkdir -p "$(dirname "$1")" && cat > "$1.$$" && mv -fT "$1.$$" "$1"'
    ' || { rm -f "$1.$$"; exit 1; }'
)
#: Removes all but the newest $2 files of directory $1.
_REMOVE_OLD = 'cd "$1" && ls -1t | tail -n "+$(($2 + 1))" | while read -r name; do rm -f "./$name"; done'


def read_state_file(path: Path, what: str, max_bytes: int) -> str:
    """Return the beginning of a file, "" if the file does not exist.

    Args:
        path: path below :func:`app.files.user_directories.state_directory`.
        what: subject of an error message, such as “The file of drafts”.
        max_bytes: largest number of bytes to read.

    Raises:
        AppError: NOT_RESPONDING or IO if the file cannot be read.
    """
    script = f'[ ! -e "$1" ] || head -c {max_bytes} "$1"'
    return _run_locally_or_in_child(
        lambda: _read([path], max_bytes), script, path, f"{what} could not be read."
    )


def read_state_folder(folder: Path, what: str, max_bytes: int) -> str:
    """Return the concatenated JSON files of a directory, "" if the directory does not exist.

    Args:
        folder: directory below :func:`app.files.user_directories.state_directory`.
        what: subject of an error message.
        max_bytes: largest number of bytes to read.

    Raises:
        AppError: NOT_RESPONDING or IO if the files cannot be read.
    """
    script = f'[ ! -d "$1" ] || find "$1" -name "*.json" -exec cat {{}} + | head -c {max_bytes}'
    return _run_locally_or_in_child(
        lambda: _read(sorted(folder.glob("*.json")), max_bytes), script, folder, f"{what} could not be read."
    )


def write_state_file(path: Path, what: str, data: bytes) -> None:
    """Write or replace a file, and create its directory if necessary.

    Raises:
        AppError: NOT_RESPONDING or IO if the file cannot be written.
    """
    _run_locally_or_in_child(
        lambda: _write(path, data), _WRITE, path, f"{what} could not be written.", input_data=data
    )


def remove_state_file(path: Path, what: str) -> None:
    """Remove a file if it exists.

    Raises:
        AppError: NOT_RESPONDING or IO if the file cannot be removed.
    """
    _run_locally_or_in_child(lambda: _remove([path]), 'rm -f "$1"', path, f"{what} could not be removed.")


def remove_old_state_files(folder: Path, count: int) -> None:
    """Remove all but the newest ``count`` files of a directory.

    Raises:
        AppError: NOT_RESPONDING or IO if the files cannot be removed.
    """
    message = f"Old files in {folder} could not be removed."
    _run_locally_or_in_child(
        lambda: _remove(_by_age(folder)[count:]), _REMOVE_OLD, folder, message, str(count)
    )


def is_local(path: Path) -> bool:
    """Whether a path, with its symbolic links resolved, is on a local file system.

    Each part is looked up in the mount table before it is accessed.
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
        with contextlib.suppress(OSError):  # the part is not a link, or does not exist
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
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        temporary.touch(0o600)
        temporary.write_bytes(data)
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    return ""


def _by_age(folder: Path) -> list[Path]:
    """Return the files of a directory, newest first."""
    return sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns, reverse=True)


def _remove(paths: list[Path]) -> str:
    for path in paths:
        path.unlink(missing_ok=True)
    return ""


def _run_locally_or_in_child(
    function: Callable[[], str],
    script: str,
    path: Path,
    message: str,
    *arguments: str,
    input_data: bytes = b"",
) -> str:
    """Run a function on a local path in this process, else an equivalent shell script in a child.

    Args:
        function: the access in this process.
        script: the shell script; $1 is the path, followed by ``arguments``.
        path: path of the file or directory.
        message: message of an error.
        arguments: further arguments of the script.
        input_data: standard input of the script.

    Raises:
        AppError: NOT_RESPONDING if the child takes too long; IO for another failure.
    """
    if is_local(path):
        try:
            return function()
        except OSError as error:
            hint, detail = f"Its place is {path}.", os.strerror(error.errno or 0)
            raise AppError(ErrorKind.IO, message, hint=hint, detail=detail) from error
    shell = find_program("sh")
    if shell is None:
        raise AppError(ErrorCode.NO_SHELL)
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

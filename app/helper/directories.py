"""The directory of a mount point: made if it is missing, checked to be empty, and removed again."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from app.helper import callers, mountinfo, safe_path
from app.helper.errors import Refusal

if TYPE_CHECKING:
    from app.helper.callers import Caller


@dataclass
class MountDirectory:
    """A mount point that is an empty directory.

    Attributes:
        made: path, device and inode of the directories made for it, outermost first.
    """

    made: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])

    def undo(self) -> None:
        """Remove the directories that were made, innermost first, if they are still those and empty."""
        for path, device, inode in reversed(self.made):
            remove_directory(path, device, inode)
        self.made.clear()


def prepare(caller: Caller, path: str, *, create: bool, hide: bool = False) -> MountDirectory:
    """Walk to the mount point, make what is missing if asked, and check that it is an empty directory.

    Args:
        caller: who asked.
        path: of the mount point.
        create: whether what is missing is made.
        hide: whether the directory may have entries, which the mount hides.

    Raises:
        Refusal: with a code that begins with mount-point.
    """
    prepared = MountDirectory()
    try:
        fd = safe_path.open_directory(caller, path, partial(_make, prepared, caller) if create else None)
        try:
            if not hide:
                _check_empty(fd, path)
        finally:
            os.close(fd)
    except BaseException:
        prepared.undo()
        raise
    return prepared


def _make(prepared: MountDirectory, caller: Caller, fd: int, part: str, path: str) -> None:
    """Make a directory in one that is open; this program's own stay, others are noted."""
    own = path == f"{callers.OWN_ROOT}/{caller.uid}"
    previous = os.umask(0)
    try:
        os.mkdir(part, 0o750 if own else 0o755, dir_fd=fd)
        if own:
            os.chown(part, 0, caller.gid, dir_fd=fd, follow_symlinks=False)
    except OSError as error:
        raise Refusal(
            "mount-point-missing",
            f"The directory “{path}” does not exist and cannot be made.",
            detail=os.strerror(error.errno or 0),
        ) from None
    finally:
        os.umask(previous)
    if not mountinfo.is_within(callers.OWN_ROOT, path):
        made = os.stat(part, dir_fd=fd, follow_symlinks=False)
        prepared.made.append((path, made.st_dev, made.st_ino))


def _check_empty(fd: int, path: str) -> None:
    readable = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=fd)
    try:
        with os.scandir(readable) as entries:
            empty = next(entries, None) is None
    finally:
        os.close(readable)
    if not empty:
        raise Refusal("mount-point-not-empty", f"The directory “{path}” is not empty.")


def remove_directory(path: str, device: int, inode: int) -> bool:
    """Remove an empty directory if it is the very one of that device and inode; return whether it went."""
    try:
        fd, name = safe_path.open_parent(path)
    except OSError:
        return False
    try:
        found = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if (found.st_dev, found.st_ino) != (device, inode) or not stat.S_ISDIR(found.st_mode):
            return False
        os.rmdir(name, dir_fd=fd)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True

"""Directories of mount points: create missing ones, check that they are empty, remove them again."""

from __future__ import annotations

import os
import stat
from functools import partial
from typing import TYPE_CHECKING

from app.helper import callers, mountinfo, safe_path
from app.helper.errors import Refusal

if TYPE_CHECKING:
    from app.helper.callers import Caller


class MountDirectory:
    """Directories that were created for one mount point.

    Attributes:
        made: (path, device, inode) of each created directory, outermost first.
    """

    def __init__(self) -> None:
        self.made: list[tuple[str, int, int]] = []

    def undo(self) -> None:
        """Remove the created directories, innermost first; replaced or non-empty ones stay."""
        for path, device, inode in reversed(self.made):
            remove_directory(path, device, inode)
        self.made.clear()


def prepare(caller: Caller, path: str, *, create: bool, hide: bool = False) -> MountDirectory:
    """Check the path to a mount point, create missing directories, and check that it is empty.

    Args:
        caller: user that asked for the mount.
        path: mount point, absolute.
        create: whether missing directories are created.
        hide: whether the directory may have entries, which the mount then hides.

    Returns:
        the directories that were created.

    Raises:
        Refusal: if the path is unsuitable, with a code that begins with mount-point. Created directories are
            removed again.
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
    """Create a directory in an open one, and record it unless it belongs to OWN_ROOT.

    Args:
        prepared: record of the created directories.
        caller: user that asked for the mount.
        fd: descriptor of the parent directory.
        part: name in the parent directory.
        path: absolute path, for messages.
    """
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
    """Remove an empty directory if it still has this device and inode; return whether it was removed."""
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

"""Safe path resolution: opens each directory from its parent (openat(2)), without following symbolic links.

Every directory above a mount point is checked through its descriptor. :mod:`app.helper.policy` describes
which owner and mode it must have.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

from app.helper.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from app.helper.callers import Caller

    #: Creates a directory: descriptor of the parent directory, name in it, absolute path.
    Make = Callable[[int, str, str], None]

#: Flags of open(2) for a directory on the path.
DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_parent(path: str) -> tuple[int, str]:
    """Open the parent directory of a path without following links; return its descriptor and the last name.

    Raises:
        OSError: if a directory on the path is missing, or is a link.
    """
    *parents, name = path.split("/")[1:]
    fd = os.open("/", DIRECTORY)
    try:
        for part in parents:
            below = os.open(part, DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = below
    except BaseException:
        os.close(fd)
        raise
    return fd, name


def open_directory(caller: Caller, path: str, make: Make | None = None) -> int:
    """Open a directory and check each directory above it; return its descriptor.

    Args:
        caller: user that asks for the mount.
        path: absolute, normalized path.
        make: function that creates a missing directory; None to refuse a path with a missing directory.

    Raises:
        Refusal: if the path is unsuitable, with a code that begins with mount-point.
    """
    fd = os.open("/", DIRECTORY)
    above = "/"
    try:
        for part in path.split("/")[1:]:
            _check_ancestor(caller, fd, above)
            above = f"{above.rstrip('/')}/{part}"
            below = _open_entry(fd, part, above, make)
            os.close(fd)
            fd = below
    except BaseException:
        os.close(fd)
        raise
    return fd


def check_ancestors(caller: Caller, path: str, *, mounted: bool) -> None:
    """Check the existing directories above a path like open_directory, and that the path is no link.

    Args:
        caller: user that asks for the entry.
        path: absolute, normalized path; it may be missing.
        mounted: whether something is mounted at the path. Then the path itself is not checked, because its
            server may be dead; a mount point cannot be a link.

    Raises:
        Refusal: if the path is unsuitable, with a code that begins with mount-point.
    """
    parent, _slash, name = path.rpartition("/")
    try:
        fd = open_directory(caller, parent)
        try:
            _check_ancestor(caller, fd, parent or "/")
            if not mounted:
                os.close(_open_entry(fd, name, path, None))
        finally:
            os.close(fd)
    except Refusal as refusal:
        if refusal.code != "mount-point-missing":
            raise


def _check_ancestor(caller: Caller, fd: int, path: str) -> None:
    if caller.uid != 0 and not _may_search(caller, fd):
        # One code for existing and missing directories, so that the caller learns nothing about them.
        raise Refusal(
            "mount-point-unreachable",
            f"You may not enter the directory “{path}”, so nothing is mounted below it.",
        )
    found = os.fstat(fd)
    shared = bool(found.st_mode & 0o022)
    strict = caller.uid != 0
    foreign = strict and found.st_uid != 0
    if foreign or (shared and (strict or not found.st_mode & stat.S_ISVTX)):
        raise Refusal(
            "mount-point-system",
            f"Users other than root can change the directory “{path}”, so nothing is mounted in it.",
        )


def _may_search(caller: Caller, fd: int) -> bool:
    with as_caller(caller):
        return os.access(".", os.X_OK, dir_fd=fd, effective_ids=True)


@contextlib.contextmanager
def as_caller(caller: Caller) -> Generator[None]:
    """Switch the effective user and groups to the caller's within this context, for access checks on files.

    The real and the saved user stay root, so the caller can neither signal nor trace the process meanwhile.
    """
    groups = os.getgroups()
    try:
        os.setgroups(caller.groups)
        os.setegid(caller.gid)
        os.seteuid(caller.uid)
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def _open_entry(fd: int, part: str, path: str, make: Make | None) -> int:
    """Open an entry of a directory; create it with ``make`` if it is missing.

    Raises:
        Refusal: if it is missing and ``make`` is None, or if it is not a directory.
    """
    try:
        return os.open(part, DIRECTORY, dir_fd=fd)
    except FileNotFoundError:
        if make is None:
            raise Refusal("mount-point-missing", f"The directory “{path}” does not exist.") from None
    except OSError:
        raise _not_a_directory(fd, part, path) from None
    make(fd, part, path)
    return os.open(part, DIRECTORY, dir_fd=fd)


def _not_a_directory(fd: int, part: str, path: str) -> Refusal:
    with contextlib.suppress(OSError):
        if stat.S_ISLNK(os.stat(part, dir_fd=fd, follow_symlinks=False).st_mode):
            return Refusal("mount-point-invalid", f"“{path}” is a symbolic link.")
    return Refusal("mount-point-is-file", f"“{path}” is not a directory.")

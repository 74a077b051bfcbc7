"""Opening of a path without following links: each directory is opened from the one above it (openat(2)).

Every directory above a mount point is checked through its descriptor: the rules of
:mod:`app.helper.places` say whose it must be.
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

    #: Makes a directory: descriptor of the one above it, its name there, its path.
    Make = Callable[[int, str, str], None]

DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_parent(path: str) -> tuple[int, str]:
    """Open the directory above a path without following links; return its descriptor, and the last name.

    Raises:
        OSError: if the way is another one by now.
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
    """Open a directory, and check each one above it; return its descriptor.

    Args:
        caller: who asked.
        path: absolute, in its plain form.
        make: makes one that is missing; None leaves it missing.

    Raises:
        Refusal: with a code that begins with mount-point.
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
    """Check the directories above a path, as far as they exist, like open_directory, and that it is no link.

    Args:
        caller: who asked.
        path: absolute, in its plain form.
        mounted: whether something is mounted there. Then it is no link, and is not touched: the server may
            be dead.

    Raises:
        Refusal: with a code that begins with mount-point.
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
        # What lies below is not told: one code, whether it is there or not.
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
    """Have the rights of the caller's user and groups, as files are looked up, and nothing of root's.

    The real and the saved user stay root: the caller can neither signal nor trace the process meanwhile.
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
    """Open a directory's entry, made if it is missing."""
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

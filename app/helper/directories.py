"""The walk to a mount point, and the making and unmaking of the directory that something is mounted on.

Every part of the path is opened without following links, and looked at through its descriptor: the rules of
:mod:`app.helper.places` say whose it must be.
"""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.helper import table, targets
from app.helper.errors import Refusal
from app.helper.paths import DIRECTORY, open_parent

if TYPE_CHECKING:
    from collections.abc import Generator


@dataclass
class Prepared:
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


def prepare(caller: targets.Caller, path: str, *, create: bool, hide: bool = False) -> Prepared:
    """Walk to the mount point, make what is missing if asked, and check that it is an empty directory.

    Args:
        caller: who asked.
        path: of the mount point.
        create: whether what is missing is made.
        hide: whether the directory may have entries, which the mount hides.

    Raises:
        Refusal: with a code that begins with mount-point.
    """
    prepared = Prepared()
    fd = -1
    try:
        fd = _walk(caller, path, prepared if create else None)
        if not hide:
            _check_empty(fd, path)
    except BaseException:
        prepared.undo()
        raise
    finally:
        if fd >= 0:
            os.close(fd)
    return prepared


def check_ancestors(caller: targets.Caller, path: str) -> None:
    """Check the directories above a path, as far as they exist, as :func:`prepare` does.

    The path itself is not touched: a dead server may be mounted there.

    Raises:
        Refusal: with a code that begins with mount-point.
    """
    parent = path.rpartition("/")[0]
    try:
        fd = _walk(caller, parent, None)
    except Refusal as refusal:
        if refusal.code != "mount-point-missing":
            raise
        return
    try:
        _check_ancestor(caller, fd, parent or "/")
    finally:
        os.close(fd)


def _walk(caller: targets.Caller, path: str, prepared: Prepared | None) -> int:
    """Open a directory, and check each one above it; with ``prepared``, make what is missing."""
    fd = os.open("/", DIRECTORY)
    above = "/"
    try:
        for part in path.split("/")[1:]:
            _check_ancestor(caller, fd, above)
            above = f"{above.rstrip('/')}/{part}"
            below = _enter(fd, part, above, prepared, caller)
            os.close(fd)
            fd = below
    except BaseException:
        os.close(fd)
        raise
    return fd


def _check_ancestor(caller: targets.Caller, fd: int, path: str) -> None:
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


def _may_search(caller: targets.Caller, fd: int) -> bool:
    with as_caller(caller):
        return os.access(".", os.X_OK, dir_fd=fd, effective_ids=True)


@contextlib.contextmanager
def as_caller(caller: targets.Caller) -> Generator[None]:
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


def _enter(fd: int, part: str, path: str, prepared: Prepared | None, caller: targets.Caller) -> int:
    """Open a directory's entry; with ``prepared``, make it if it is missing and note that."""
    try:
        return os.open(part, DIRECTORY, dir_fd=fd)
    except FileNotFoundError:
        if prepared is None:
            raise Refusal("mount-point-missing", f"The directory “{path}” does not exist.") from None
    except OSError:
        raise _not_a_directory(fd, part, path) from None
    _make(fd, part, path, caller)
    below = os.open(part, DIRECTORY, dir_fd=fd)
    found = os.fstat(below)
    if not table.is_within(targets.OWN_ROOT, path):
        prepared.made.append((path, found.st_dev, found.st_ino))
    return below


def _make(fd: int, part: str, path: str, caller: targets.Caller) -> None:
    own = path == f"{targets.OWN_ROOT}/{caller.uid}"
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


def _not_a_directory(fd: int, part: str, path: str) -> Refusal:
    with contextlib.suppress(OSError):
        if stat.S_ISLNK(os.stat(part, dir_fd=fd, follow_symlinks=False).st_mode):
            return Refusal("mount-point-invalid", f"“{path}” is a symbolic link.")
    return Refusal("mount-point-is-file", f"“{path}” is not a directory.")


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
        fd, name = open_parent(path)
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

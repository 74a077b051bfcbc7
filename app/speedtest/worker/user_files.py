"""A person's own file or folder as what a test copies: looked through before, and only ever read."""

from __future__ import annotations

import os
import stat
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from app.bench.limits import MAX_FILES
from app.errors import AppError, ErrorKind
from app.speedtest.messages import OwnSize
from app.speedtest.testdir import PREFIX
from app.speedtest.worker.workload import StoppedError

if TYPE_CHECKING:
    from app.kernel.mount_of_path import Where
    from app.speedtest.sampler import Progress

_SKIPPED = (
    "symbolic links",
    "devices, sockets and pipes",
    "files that you may not read",
    "other file systems",
)
_LINKS, _SPECIAL, _UNREADABLE, _ELSEWHERE = _SKIPPED


class SourceFile(NamedTuple):
    """One file to copy.

    Attributes:
        path: absolute.
        size: bytes when it was looked at.
        changed_ns: when it was last changed then.
    """

    path: str
    size: int
    changed_ns: int


class Source:
    """The files of a source, in a fixed order.

    Attributes:
        files: the regular ones that may be read.
        total: their bytes.
    """

    def __init__(self, files: list[SourceFile], skipped: Counter[str]) -> None:
        self.files = sorted(files)
        self.total = sum(file.size for file in files)
        self._skipped = skipped

    @property
    def size(self) -> OwnSize:
        """How much it is, with what is left out."""
        left = ", ".join(f"{self._skipped[name]} {name}" for name in _SKIPPED if self._skipped[name])
        return OwnSize(files=len(self.files), bytes=self.total, skipped=left)

    def open(self, number: int) -> int:
        """Open a file for reading and return its descriptor; its time of access stays, if that is allowed.

        Raises:
            AppError: IO if it cannot be opened, or is not what it was.
        """
        file = self.files[number]
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            try:
                fd = os.open(file.path, flags | os.O_NOATIME)
            except PermissionError:  # only the owner may ask for that
                fd = os.open(file.path, flags)
        except OSError as error:
            raise _unreadable(file.path, str(error)) from error
        try:
            self.check(number, fd)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def check(self, number: int, fd: int) -> None:
        """See that an open file is still what it was when it was looked at.

        Raises:
            AppError: IO.
        """
        file, now = self.files[number], os.fstat(fd)
        if not stat.S_ISREG(now.st_mode) or (now.st_size, now.st_mtime_ns) != (file.size, file.changed_ns):
            raise AppError(
                ErrorKind.IO,
                f"{file.path} has changed while it was copied, so nothing can be compared.",
                hint="Choose files that no program writes to meanwhile.",
            )


def look_through(path: str, where: Where | None, progress: Progress) -> Source:
    """Return what there is to copy. Symbolic links in it are not followed, mounts in it not entered.

    Args:
        path: a file or a folder.
        where: the mount that is tested.
        progress: ends it.

    Raises:
        AppError: USAGE if it cannot serve as a source, PATH_MISSING, or IO.
        StoppedError: if told to end.
    """
    root = os.path.realpath(path)
    try:
        first = Path(root).stat()
        _check_place(root, first.st_dev, where)
        files: list[SourceFile] = []
        skipped: Counter[str] = Counter()
        if stat.S_ISDIR(first.st_mode):
            _walk(root, first.st_dev, progress, files, skipped)
        else:
            _take(root, first, files, skipped)
    except FileNotFoundError as error:
        raise AppError(
            ErrorKind.PATH_MISSING, f"{path} does not exist, so it cannot be copied.", detail=str(error)
        ) from error
    except OSError as error:
        raise _unreadable(path, str(error)) from error
    source = Source(files, skipped)
    if not source.total:
        left = source.size.skipped
        raise AppError(
            ErrorKind.USAGE,
            f"There is nothing to copy in {path}: no file with something in it.",
            hint=f"It has {left}, which are left out." if left else "Choose a file or a folder with files.",
        )
    return source


def _walk(root: str, device: int, progress: Progress, files: list[SourceFile], skipped: Counter[str]) -> None:
    folders = [root]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if progress.stopped:
                        raise StoppedError
                    if entry.name.startswith(PREFIX):
                        continue  # the files of another test
                    state = entry.stat(follow_symlinks=False)
                    if not stat.S_ISDIR(state.st_mode):
                        _take(entry.path, state, files, skipped)
                    elif state.st_dev == device:  # of folders only: overlayfs gives files other numbers
                        folders.append(entry.path)
                    else:
                        skipped[_ELSEWHERE] += 1
        except PermissionError:
            skipped[_UNREADABLE] += 1


def _take(path: str, state: os.stat_result, files: list[SourceFile], skipped: Counter[str]) -> None:
    if stat.S_ISLNK(state.st_mode):
        skipped[_LINKS] += 1
    elif not stat.S_ISREG(state.st_mode):
        skipped[_SPECIAL] += 1
    elif not os.access(path, os.R_OK):
        skipped[_UNREADABLE] += 1
    else:
        files.append(SourceFile(path, state.st_size, state.st_mtime_ns))
    if len(files) > MAX_FILES:
        raise AppError(
            ErrorKind.USAGE,
            f"There are more than {MAX_FILES} files to copy.",
            hint="Choose a smaller folder.",
        )


def _check_place(root: str, device: int, where: Where | None) -> None:
    """Refuse what lies on the mount that is tested: it would come from the same server."""
    if where is None or not where.nfs:
        return
    if f"{os.major(device)}:{os.minor(device)}" == where.device:
        raise AppError(
            ErrorKind.USAGE,
            f"{root} is on the mount that is tested: it would come from the server that it is copied to.",
            hint="Choose a file or folder of this computer.",
        )


def _unreadable(path: str, detail: str) -> AppError:
    return AppError(
        ErrorKind.IO,
        f"{path} cannot be read, so it cannot be copied.",
        hint="Choose files that you may read, on a disk that is well.",
        detail=detail,
    )

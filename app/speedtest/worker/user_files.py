"""User files workload: the user's own file or directory, copied, read back, and compared byte for byte.

The files are listed first, and only read. The copies are all in the test's directory; subdirectories are not
recreated. The time includes reading the source, as in an ordinary copy.
"""

from __future__ import annotations

import os
import stat
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from app.errors import AppError
from app.speedtest.messages import UserFilesSize
from app.speedtest.model import MAX_FILES
from app.speedtest.testdir import PREFIX
from app.speedtest.worker.many_files import ManyFilesWorkload, data_file_name
from app.speedtest.worker.single_file import data_mismatch_error
from app.speedtest.worker.workload import StoppedError, close_quietly
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from app.kernel.mount_of_path import MountOfPath
    from app.speedtest.model import CacheMethod, TestSpec, Transfer
    from app.speedtest.sampler import TransferProgress, TransferSampler
    from app.speedtest.testdir import TestDirectory
    from app.speedtest.worker.workload import DataPool

_SKIPPED = (
    "symbolic links",
    "devices, sockets and pipes",
    "files that you may not read",
    "other file systems",
)
_LINKS, _SPECIAL, _UNREADABLE, _ELSEWHERE = _SKIPPED


class UserFile(NamedTuple):
    """One file to copy.

    Attributes:
        path: absolute path.
        size: size when the file was listed, bytes.
        changed_ns: modification time when the file was listed, ns since the epoch.
    """

    path: str
    size: int
    changed_ns: int


class UserFiles:
    """Files of a source, in a fixed order.

    Attributes:
        files: readable regular files.
        total: total size of the files, bytes.
    """

    def __init__(self, files: list[UserFile], skipped: Counter[str]) -> None:
        self.files = sorted(files)
        self.total = sum(file.size for file in files)
        self._skipped = skipped

    @property
    def size(self) -> UserFilesSize:
        """Number and total size of the files, with a description of those left out."""
        skipped_text = ", ".join(f"{self._skipped[name]} {name}" for name in _SKIPPED if self._skipped[name])
        return UserFilesSize(files=len(self.files), bytes=self.total, skipped=skipped_text)

    def open(self, number: int) -> int:
        """Open a file for reading and return its descriptor; the access time is preserved if permitted.

        Raises:
            AppError: IO if the file cannot be opened, or has changed since it was listed.
        """
        file = self.files[number]
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            try:
                fd = os.open(file.path, flags | os.O_NOATIME)
            except PermissionError:  # O_NOATIME is reserved to the owner (open(2))
                fd = os.open(file.path, flags)
        except OSError as error:
            raise _unreadable_error(file.path, str(error)) from error
        try:
            self.check(number, fd)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def check(self, number: int, fd: int) -> None:
        """Check that an open file has not changed since it was listed.

        Raises:
            AppError: IO if it has changed.
        """
        file, current = self.files[number], os.fstat(fd)
        if not stat.S_ISREG(current.st_mode) or (current.st_size, current.st_mtime_ns) != (
            file.size,
            file.changed_ns,
        ):
            raise AppError(ErrorCode.SOURCE_CHANGED, path=file.path)


def scan_user_files(path: str, where: MountOfPath | None, progress: TransferProgress) -> UserFiles:
    """List the files to copy, without following symbolic links or entering other file systems.

    Args:
        path: a file or a directory.
        where: the tested mount.
        progress: cancels listing.

    Raises:
        AppError: USAGE if the path is no suitable source, PATH_MISSING if it does not exist, or IO.
        StoppedError: if the test was cancelled.
    """
    root = os.path.realpath(path)
    try:
        root_stat = Path(root).stat()
        _check_not_on_mount(root, root_stat.st_dev, where)
        files: list[UserFile] = []
        skipped: Counter[str] = Counter()
        if stat.S_ISDIR(root_stat.st_mode):
            _scan_directory(root, root_stat.st_dev, progress, files, skipped)
        else:
            _add_file(root, root_stat, files, skipped)
    except FileNotFoundError as error:
        raise AppError(ErrorCode.SOURCE_MISSING, detail=str(error), path=path) from error
    except OSError as error:
        raise _unreadable_error(path, str(error)) from error
    source = UserFiles(files, skipped)
    if not source.total:
        skipped_text = source.size.skipped
        code = ErrorCode.ALL_LEFT_OUT if skipped_text else ErrorCode.NOTHING_TO_COPY
        raise AppError(code, path=path, skipped=skipped_text)
    return source


def _scan_directory(
    root: str, device: int, progress: TransferProgress, files: list[UserFile], skipped: Counter[str]
) -> None:
    directories = [root]
    while directories:
        try:
            with os.scandir(directories.pop()) as entries:
                for entry in entries:
                    if progress.stopped:
                        raise StoppedError
                    if entry.name.startswith(PREFIX):
                        continue  # the files of another test
                    state = entry.stat(follow_symlinks=False)
                    if not stat.S_ISDIR(state.st_mode):
                        _add_file(entry.path, state, files, skipped)
                    elif state.st_dev == device:  # not checked for files: on overlayfs theirs differ
                        directories.append(entry.path)
                    else:
                        skipped[_ELSEWHERE] += 1
        except PermissionError:
            skipped[_UNREADABLE] += 1


def _add_file(path: str, state: os.stat_result, files: list[UserFile], skipped: Counter[str]) -> None:
    if stat.S_ISLNK(state.st_mode):
        skipped[_LINKS] += 1
    elif not stat.S_ISREG(state.st_mode):
        skipped[_SPECIAL] += 1
    elif not os.access(path, os.R_OK):
        skipped[_UNREADABLE] += 1
    else:
        files.append(UserFile(path, state.st_size, state.st_mtime_ns))
    if len(files) > MAX_FILES:
        raise AppError(ErrorCode.TOO_MANY_SOURCE_FILES, limit=MAX_FILES)


def _check_not_on_mount(root: str, device: int, where: MountOfPath | None) -> None:
    """Check that the source is not on the tested mount, where it would come from the same server."""
    if where is None or not where.nfs:
        return
    if f"{os.major(device)}:{os.minor(device)}" == where.device:
        raise AppError(ErrorCode.SOURCE_ON_TESTED_MOUNT, path=root)


def _unreadable_error(path: str, detail: str) -> AppError:
    return AppError(ErrorCode.SOURCE_NOT_READ, detail=detail, path=path)


#: Minimum number of files for a rate of operations.
_MIN_FILES_FOR_RATE = 10
#: Fraction of the time spent on reading the source above which a note is added.
_SLOW_SOURCE_SHARE = 0.25


class UserFilesWorkload(ManyFilesWorkload):
    """Copies the files of a source.

    Args:
        spec: specification of the test, with the number of the source's files.
        directory: destination directory.
        pool: unused; part of the common signature of workloads.
        meter: sampler of the transfers.
        source: files to copy.
    """

    def __init__(
        self,
        spec: TestSpec,
        directory: TestDirectory,
        pool: DataPool,
        meter: TransferSampler,
        source: UserFiles,
    ) -> None:
        super().__init__(spec, directory, pool, meter)
        self._source = source
        self._buffer = bytearray(spec.block_size)
        self._copy_buffer = bytearray(spec.block_size)
        self._source_s = 0.0
        #: Descriptor of the source file that is being copied.
        self._source_fd = -1
        skipped_text = source.size.skipped
        if skipped_text:
            self.note(f"Left out of the copy: {skipped_text}.")

    @property
    def total(self) -> int:
        """Total size of the files, bytes."""
        return self._source.total

    def write(self) -> Transfer:
        """Copy the files to the mount; see the base class for further errors.

        Raises:
            AppError: IO if the source cannot be read, or has changed.
        """
        self._source_s = 0.0
        transfer = super().write()
        # Flush and close count as in the speed: small files spend most of their time there.
        whole_s = transfer.transfer_s + transfer.fsync_s + transfer.close_s
        if self._source_s > _SLOW_SOURCE_SHARE * whole_s:
            percent = 100 * self._source_s / max(whole_s, 1e-9)
            self.note(
                f"Reading your own files took {percent:.0f} % of the time of the copy to the server: its "
                "speed is partly that of where they lie."
            )
        return transfer

    def read(self, call_size: int | None = None) -> tuple[Transfer, CacheMethod]:
        """Read the files back; compare them afterwards, outside the measured time."""
        result = super().read(call_size)
        self._meter.phase("read", "compare")
        for number in range(self._spec.count):
            self._compare(number)
        return result

    def measure_operations(self) -> None:
        """Remove the files; record the rate only if there are enough of them."""
        super().measure_operations()
        if self._spec.count < _MIN_FILES_FOR_RATE:
            self.rates.clear()

    def _write_one(self, number: int) -> tuple[float, float, float]:
        source = self._source.open(number)
        self._source_fd = source
        try:
            times = super()._write_one(number)
            self._source.check(number, source)
            return times
        finally:
            os.close(source)

    def _fill(self, fd: int, number: int) -> None:
        self._copy(self._source_fd, fd, number)

    def _copy(self, source: int, fd: int, number: int) -> None:
        before = self._progress.bytes if number else 0
        view, position, size = memoryview(self._buffer), 0, self._source.files[number].size
        while position < size:
            began = time.monotonic()
            count = self._read_source(source, view)
            self._source_s += time.monotonic() - began
            if not count:
                break  # the file has become shorter, which the check reports
            done = 0
            while done < count:
                done += os.write(fd, view[done:count])
            position += count
            self._progress.bytes = before + position
            if self._progress.stopped:
                raise StoppedError

    def _read_one(self, number: int, flags: int, view: memoryview) -> float:
        fd = self._directory.open(flags, data_file_name(number))
        try:
            self._read_back(fd, view, number)
            closing = time.monotonic()
        except BaseException:
            close_quietly(fd)
            raise
        os.close(fd)
        return time.monotonic() - closing

    def _read_back(self, fd: int, view: memoryview, number: int) -> None:
        before = self._progress.bytes if number else 0
        file, position = self._source.files[number], 0
        while position < file.size:
            count = os.readv(fd, [view])
            if not count:
                raise data_mismatch_error(f"{file.path}: {position} bytes of {file.size}")
            position += count
            self._progress.bytes = before + position
            if self._progress.stopped:
                raise StoppedError

    def _compare(self, number: int) -> None:
        """Check that a copy equals its source byte for byte."""
        source = self._source.open(number)
        fd = -1
        try:
            fd = self._directory.open(0, data_file_name(number))
            expected, copied, position = memoryview(self._buffer), memoryview(self._copy_buffer), 0
            while True:
                count, copied_count = self._read_source(source, expected), _read_full(fd, copied)
                if expected[:count] != copied[:copied_count]:
                    self._source.check(number, source)
                    raise data_mismatch_error(
                        f"{self._source.files[number].path} differs behind byte {position}"
                    )
                if not count:
                    break
                position += count
                self._progress.steps += 1
                if self._progress.stopped:
                    raise StoppedError
            self._drop_pages(fd)
        finally:
            os.close(source)
            if fd >= 0:
                close_quietly(fd)

    def _read_source(self, source: int, view: memoryview) -> int:
        try:
            return _read_full(source, view)
        except OSError as error:
            raise AppError(ErrorCode.SOURCE_NOT_READ_TO_END, detail=str(error)) from error


def _read_full(fd: int, view: memoryview) -> int:
    """Read until the view is full or the file ends; return the number of bytes."""
    done = 0
    while done < len(view):
        count = os.readv(fd, [view[done:]])
        if not count:
            break
        done += count
    return done

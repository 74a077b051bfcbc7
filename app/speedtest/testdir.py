"""Test directory: created for a test's files, marked by the program, and removed afterwards; its errors.

A run has one directory ``.mountwright-<run>`` whose marker file identifies its process. Only directories
with a valid marker are removed, or empty ones whose name identifies a process of the program. Only plain
entries are removed, and only through the directory's descriptor: no path is resolved twice, and no symbolic
link is followed. File errors become messages with the probable cause by errno (errno(3)).
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
from pathlib import Path
from typing import Self

import msgspec

from app.errors import AppError
from app.process_identity import boot_id, host_hash, host_name, proc_pid, start_ticks
from app.text.errors import ErrorCode
from resources.decoding import from_json

PREFIX = ".mountwright-"
MARKER_FILE = "marker.json"
#: Temporary name of the marker while it is written: a partial marker would protect the directory forever.
_MARKER_DRAFT = MARKER_FILE + ".new"
DATA_FILE = "data"
#: Free space required in addition to the test files, as a fraction of their size.
SPACE_RESERVE = 0.1
#: Usual allocation unit of a file system, bytes.
_BLOCK_BYTES = 4096
#: Maximum number of entries of a directory that are searched for leftovers.
_SCAN_LIMIT = 20_000
_MARKER_LIMIT = 4096
#: Name of a run: random part, host, and the creating process with its start time.
_RUN_NAME = re.compile(
    r"[0-9a-f]{16}(?P<maker>h(?P<host>[0-9a-f]{8})p(?P<pid>[0-9a-f]+)t(?P<started>[0-9a-f]+))"
)
_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Marker(msgspec.Struct, frozen=True, kw_only=True):
    """Identity of the process that created a test directory.

    Attributes:
        run: random name of the run.
        host: identity of the host and of its PID namespace.
        boot: the kernel's id of this boot.
        pid: process that created the directory.
        started: start time of that process in clock ticks since boot, because process ids are reused.
    """

    run: str
    host: str
    boot: str
    pid: int
    started: int


def new_run_id() -> str:
    """Return a unique name for a run, which also identifies this process."""
    maker = marker_of_process("")
    return f"{os.urandom(8).hex()}h{host_hash()}p{maker.pid:x}t{maker.started:x}"


def marker_of_process(run: str, pid: int | None = None) -> Marker:
    """Return the marker for a process, by default for this one."""
    pid = proc_pid() if pid is None else pid
    return Marker(run=run, host=host_name(), boot=boot_id(), pid=pid, started=start_ticks(pid) or 0)


def is_abandoned(marker: Marker) -> bool:
    """Return whether the creator of a directory was a process of this host and has exited."""
    if marker.host != host_name():
        return False
    if marker.boot != boot_id():
        return True
    return start_ticks(marker.pid) != marker.started


class TestDirectory:
    """Directory of one run, as a context manager that removes it.

    Attributes:
        path: path of the directory, for display.
        fd: descriptor of the directory.
    """

    __test__ = False  # not a pytest class

    def __init__(self, parent: str, run: str, *, adopt: bool = False) -> None:
        """Create the directory.

        Args:
            parent: an existing directory.
            run: a name from :func:`new_run_id`.
            adopt: open the directory that an earlier process of the run left with `keep`.

        Raises:
            OSError: if the directory cannot be created, or does not exist for `adopt`.
        """
        self._name = PREFIX + run
        self._run = run
        self.path = str(Path(parent, self._name))
        self._parent_fd = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.fd = -1
        try:
            if not adopt:
                os.mkdir(self._name, 0o700, dir_fd=self._parent_fd)
            self.fd = os.open(self._name, _OPEN_DIRECTORY, dir_fd=self._parent_fd)
            self._write_marker()
        except BaseException:
            with contextlib.suppress(OSError):
                self.remove()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def create(self, flags: int = 0, name: str = DATA_FILE) -> int:
        """Create a test file and return its descriptor, opened for writing with additional flags."""
        create_flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | flags
        return os.open(name, create_flags, 0o600, dir_fd=self.fd)

    def open(self, flags: int = 0, name: str = DATA_FILE) -> int:
        """Open a test file for reading with additional flags and return its descriptor."""
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=self.fd)

    def unlink(self, name: str = DATA_FILE) -> None:
        """Remove a test file."""
        os.unlink(name, dir_fd=self.fd)

    def keep(self, pid: int) -> None:
        """Hand the directory over to a process, which removes it; if that process dies, it is a leftover.

        Raises:
            OSError: if the marker cannot be written.
        """
        self._write_marker(pid)
        for fd in (self.fd, self._parent_fd):
            os.close(fd)
        self.fd = self._parent_fd = -1

    def remove(self) -> None:
        """Remove the directory and its files; a second call does nothing.

        Raises:
            OSError: if the file system reports an error.
        """
        if self._parent_fd < 0:
            return
        try:
            if self.fd >= 0:
                _remove_entries(self.fd)
            with contextlib.suppress(FileNotFoundError):
                os.rmdir(self._name, dir_fd=self._parent_fd)
        finally:
            for fd in (self.fd, self._parent_fd):
                if fd >= 0:
                    os.close(fd)
            self.fd = self._parent_fd = -1

    def _write_marker(self, pid: int | None = None) -> None:
        fd = os.open(
            _MARKER_DRAFT, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=self.fd
        )
        try:
            os.write(fd, msgspec.json.encode(marker_of_process(self._run, pid)))
        finally:
            os.close(fd)
        os.rename(_MARKER_DRAFT, MARKER_FILE, src_dir_fd=self.fd, dst_dir_fd=self.fd)


def free_space(directory_fd: int) -> int | None:
    """Return the bytes available to this user, None if the server does not report its size.

    Raises:
        OSError: if the file system reports an error.
    """
    stats = os.fstatvfs(directory_fd)
    # A server that hides its size reports zero blocks. If space runs out, the write fails.
    return stats.f_bavail * stats.f_frsize if stats.f_blocks else None


def check_space(directory_fd: int, size: int, path: str, count: int = 1) -> None:
    """Check that `count` files of `size` bytes each fit, with a reserve.

    Raises:
        AppError: NO_SPACE if they do not fit.
        OSError: if the file system reports an error.
    """
    free = free_space(directory_fd)
    # A small file takes at least one block.
    file_bytes = size if count == 1 else -(-size // _BLOCK_BYTES) * _BLOCK_BYTES
    needed = int(file_bytes * count * (1 + SPACE_RESERVE))
    if free is not None and free < needed:
        raise no_space_error(path, f"{free} bytes are free; {needed} are needed with a reserve of 10 %.")
    if count == 1:
        return
    inodes = os.fstatvfs(directory_fd)
    if inodes.f_files and inodes.f_favail < count:
        raise no_space_error(path, f"{inodes.f_favail} more files can be made; {count} are needed.")


def remove_leftovers(parent: str, run: str) -> int:
    """Remove the directories of killed runs of this host; return their number.

    Args:
        parent: directory to search.
        run: name of the present run, whose directory stays.

    Raises:
        OSError: if the parent cannot be read. A leftover that cannot be removed stays for the next run.
    """
    removed = 0
    parent_fd = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with os.scandir(parent_fd) as entries:
            first = itertools.islice(entries, _SCAN_LIMIT)
            names = [entry.name for entry in first if entry.name.startswith(PREFIX)]
        for name in names:
            with contextlib.suppress(OSError):
                removed += _remove_if_abandoned(parent_fd, name, run)
    finally:
        os.close(parent_fd)
    return removed


def remove_run(parent: str, run: str) -> None:
    """Remove one run's directory, if it exists; its random name is sufficient identification.

    Raises:
        OSError: if the file system reports an error, such as while the killed worker still holds the file.
    """
    try:
        parent_fd = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        with contextlib.suppress(FileNotFoundError):
            fd = os.open(PREFIX + run, _OPEN_DIRECTORY, dir_fd=parent_fd)
            try:
                _remove_entries(fd)
            finally:
                os.close(fd)
            os.rmdir(PREFIX + run, dir_fd=parent_fd)
    finally:
        os.close(parent_fd)


def run_remains(parent: str, run: str) -> bool:
    """Return whether a run's directory still exists."""
    return os.path.lexists(Path(parent, PREFIX + run))


def _remove_if_abandoned(parent_fd: int, name: str, run: str) -> bool:
    fd = os.open(name, _OPEN_DIRECTORY, dir_fd=parent_fd)
    try:
        marker = _read_marker(fd)
        if marker is None:
            # The process was killed before it wrote the marker or after it removed it.
            abandoned = _is_unmarked(fd) and _is_run_over(name.removeprefix(PREFIX), run)
        else:
            abandoned = PREFIX + marker.run == name and is_abandoned(marker)
        if abandoned:
            # Use the descriptor: the name may refer to another directory now.
            _remove_entries(fd)
            os.rmdir(name, dir_fd=parent_fd)
    finally:
        os.close(fd)
    return abandoned


def _is_unmarked(directory_fd: int) -> bool:
    with os.scandir(directory_fd) as entries:
        return all(entry.name == _MARKER_DRAFT for entry in entries)


def _is_run_over(run: str, present: str) -> bool:
    """Return whether the process that named a run has exited, or has begun another run."""
    named, current = _RUN_NAME.fullmatch(run), _RUN_NAME.fullmatch(present)
    if named is None or run == present or named["host"] != host_hash():
        return False
    if current is not None and current["maker"] == named["maker"]:
        return True
    return not maker_is_alive(run)


def maker_is_alive(run: str) -> bool:
    """Return whether the process that named a run is still running on this host."""
    match = _RUN_NAME.fullmatch(run)
    return match is not None and start_ticks(int(match["pid"], 16)) == int(match["started"], 16)


def _remove_entries(directory_fd: int) -> None:
    """Remove the plain entries of a test directory; the marker last, for recovery after an interruption."""
    with os.scandir(directory_fd) as entries:
        # scandir already knows the type of each entry; a stat would cost a round trip for each file.
        names = [entry.name for entry in entries if not entry.is_dir(follow_symlinks=False)]
    for name in sorted(names, key=lambda name: name == MARKER_FILE):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=directory_fd)


def _read_marker(directory_fd: int) -> Marker | None:
    try:
        fd = os.open(
            MARKER_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory_fd
        )
    except OSError:
        return None
    try:
        return from_json(os.read(fd, _MARKER_LIMIT), Marker)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    finally:
        os.close(fd)


_NO_SPACE_ERRNOS = {errno.ENOSPC, errno.EDQUOT}
_PERMISSION_ERRNOS = {errno.EACCES, errno.EPERM}
_SILENT_ERRNOS = {errno.ETIMEDOUT, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENETUNREACH}

_ERRORS = {
    errno.EROFS: ErrorCode.FILESYSTEM_READ_ONLY,
    errno.ENOENT: ErrorCode.DIRECTORY_MISSING,
    errno.ENOTDIR: ErrorCode.NOT_A_DIRECTORY,
}
_STEP_ERRORS = {
    errno.EIO: ErrorCode.TEST_FILE_IO,
    errno.ESTALE: ErrorCode.TEST_FILE_STALE,
    errno.EFBIG: ErrorCode.TEST_FILE_TOO_LARGE,
}


def file_error(error: OSError, doing: str, path: str) -> AppError:
    """Return the error of a file operation.

    Args:
        error: as raised.
        doing: failed step, such as "writing the test file", to complete "While …".
        path: the directory tested.
    """
    detail = f"{doing}: {error}"
    number = error.errno or 0
    if number in _NO_SPACE_ERRNOS:
        return no_space_error(path, detail, quota=number == errno.EDQUOT)
    if number in _PERMISSION_ERRNOS:
        return _permission_error(path, detail)
    if number in _SILENT_ERRNOS:
        return not_responding_error(path, detail)
    if number in _ERRORS:
        return AppError(_ERRORS[number], detail=detail, path=path)
    code = _STEP_ERRORS.get(number, ErrorCode.TEST_FILE_FAILED)
    cause = os.strerror(number) if number else str(error)
    return AppError(code, detail=detail, doing=doing, path=path, cause=cause)


def no_space_error(path: str, detail: str, *, quota: bool = False) -> AppError:
    """Return the error of a full file system or an exceeded quota."""
    code = ErrorCode.QUOTA_USED_UP if quota else ErrorCode.NO_SPACE_FOR_TEST
    return AppError(code, detail=detail, path=path)


def not_responding_error(path: str, detail: str = "") -> AppError:
    """Return the error of a server that has stopped answering."""
    return AppError(ErrorCode.FILESYSTEM_SILENT, detail=detail, path=path)


def _permission_error(path: str, detail: str) -> AppError:
    code = ErrorCode.ROOT_NOT_ALLOWED if os.geteuid() == 0 else ErrorCode.DIRECTORY_NOT_ALLOWED
    return AppError(code, detail=detail, path=path)

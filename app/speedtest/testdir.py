"""Test files: made where nothing of that name was, marked as ours, and always removed.

A run has one directory ``.mountwright-<run>`` with a marker that says who made it. Only a directory that
carries the marker, or one that is empty and whose name says that it is ours, is ever removed, only plain
entries in it, and only through its descriptor: no path is looked up twice and no symbolic link is followed.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from pathlib import Path
from typing import Self

import msgspec

from app.bench.problems import no_space
from app.process_identity import boot_id, host_hash, host_name, own_pid, start_ticks
from resources.decoding import from_json

PREFIX = ".mountwright-"
MARKER = "marker.json"
#: The marker until it is whole: a torn one would make the directory nobody's.
_DRAFT = MARKER + ".new"
DATA = "data"
#: Of the free space, this much of the file's size must stay beside it.
RESERVE = 0.1
#: What a file system gives out at least, mostly.
_BLOCK = 4096
#: A directory with more entries than this is not searched for leftovers to the end.
_SCAN_LIMIT = 20_000
_MARKER_LIMIT = 4096
#: A run's name: what makes it its own, the machine, and the process that made it with the time it began.
_RUN = re.compile(r"[0-9a-f]{16}(?P<maker>h(?P<host>[0-9a-f]{8})p(?P<pid>[0-9a-f]+)t(?P<started>[0-9a-f]+))")
_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Marker(msgspec.Struct, frozen=True, kw_only=True):
    """Who made a test directory.

    Attributes:
        run: random name of the run.
        host: identity of the machine and of its set of process numbers.
        boot: the kernel's identity of this boot.
        pid: process that made it.
        started: when that process began, in clock ticks since boot: process numbers are used again.
    """

    run: str
    host: str
    boot: str
    pid: int
    started: int


def new_run_id() -> str:
    """Return a name that no other run has, and that tells which process made it."""
    made = own_marker("")
    return f"{os.urandom(8).hex()}h{host_hash()}p{made.pid:x}t{made.started:x}"


def own_marker(run: str, pid: int | None = None) -> Marker:
    """Return the marker of a process, by default of this one."""
    pid = own_pid() if pid is None else pid
    return Marker(run=run, host=host_name(), boot=boot_id(), pid=pid, started=start_ticks(pid) or 0)


def abandoned(marker: Marker) -> bool:
    """Return whether the process that made a directory was on this machine and is gone."""
    if marker.host != host_name():
        return False
    if marker.boot != boot_id():
        return True
    return start_ticks(marker.pid) != marker.started


class TestDirectory:
    """The directory of one run, as a context manager that removes it.

    Attributes:
        path: its path, for people.
        fd: its descriptor.
    """

    __test__ = False  # not a pytest class

    def __init__(self, parent: str, run: str, *, adopt: bool = False) -> None:
        """Make the directory.

        Args:
            parent: an existing directory.
            run: a name from :func:`new_run_id`.
            adopt: take over the one that an earlier process of the run has kept.

        Raises:
            OSError: if it cannot be made, or is not there to adopt.
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

    def create(self, flags: int = 0, name: str = DATA) -> int:
        """Make a test file and return its descriptor, open for writing with these flags added."""
        make = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | flags
        return os.open(name, make, 0o600, dir_fd=self.fd)

    def open(self, flags: int = 0, name: str = DATA) -> int:
        """Open a test file for reading with these flags added and return its descriptor."""
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=self.fd)

    def unlink(self, name: str = DATA) -> None:
        """Remove a test file."""
        os.unlink(name, dir_fd=self.fd)

    def keep(self, pid: int) -> None:
        """Leave directory and file to that process: it has them removed, or dies and they are leftovers.

        Raises:
            OSError: if the marker cannot be written.
        """
        self._write_marker(pid)
        for fd in (self.fd, self._parent_fd):
            os.close(fd)
        self.fd = self._parent_fd = -1

    def remove(self) -> None:
        """Remove the directory and all that is in it; a second call does nothing.

        Raises:
            OSError: if the file system refuses.
        """
        if self._parent_fd < 0:
            return
        try:
            if self.fd >= 0:
                _empty(self.fd)
            with contextlib.suppress(FileNotFoundError):
                os.rmdir(self._name, dir_fd=self._parent_fd)
        finally:
            for fd in (self.fd, self._parent_fd):
                if fd >= 0:
                    os.close(fd)
            self.fd = self._parent_fd = -1

    def _write_marker(self, pid: int | None = None) -> None:
        fd = os.open(_DRAFT, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=self.fd)
        try:
            os.write(fd, msgspec.json.encode(own_marker(self._run, pid)))
        finally:
            os.close(fd)
        os.rename(_DRAFT, MARKER, src_dir_fd=self.fd, dst_dir_fd=self.fd)


def free_space(directory_fd: int) -> int | None:
    """Return the bytes that this user may still write, None if the server does not tell.

    Raises:
        OSError: if the file system does not answer the question.
    """
    stats = os.fstatvfs(directory_fd)
    # A server that does not tell its size reports zero blocks; then the write itself will find out.
    return stats.f_bavail * stats.f_frsize if stats.f_blocks else None


def check_space(directory_fd: int, size: int, path: str, count: int = 1) -> None:
    """See that so many files of this size each fit with a reserve.

    Raises:
        AppError: NO_SPACE.
        OSError: if the file system does not tell.
    """
    free = free_space(directory_fd)
    # A small file takes a whole block at least.
    each = size if count == 1 else -(-size // _BLOCK) * _BLOCK
    needed = int(each * count * (1 + RESERVE))
    if free is not None and free < needed:
        raise no_space(path, f"{free} bytes are free; {needed} are needed with a reserve of 10 %.")
    if count == 1:
        return
    inodes = os.fstatvfs(directory_fd)
    if inodes.f_files and inodes.f_favail < count:
        raise no_space(path, f"{inodes.f_favail} more files can be made; {count} are needed.")


def remove_leftovers(parent: str, run: str) -> int:
    """Remove the directories of runs on this machine that were killed; return how many.

    Args:
        parent: where they are looked for.
        run: the present run, whose own directory stays.

    Raises:
        OSError: if the parent cannot be read; a leftover that resists is left for the next run.
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
    """Remove one run's directory, if it is there; its random name says whose it is.

    Raises:
        OSError: if the file system refuses, for instance while the killed worker still holds the file.
    """
    try:
        parent_fd = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        with contextlib.suppress(FileNotFoundError):
            fd = os.open(PREFIX + run, _OPEN_DIRECTORY, dir_fd=parent_fd)
            try:
                _empty(fd)
            finally:
                os.close(fd)
            os.rmdir(PREFIX + run, dir_fd=parent_fd)
    finally:
        os.close(parent_fd)


def left_behind(parent: str, run: str) -> bool:
    """Return whether a run's directory is still there."""
    return os.path.lexists(Path(parent, PREFIX + run))


def _remove_if_abandoned(parent_fd: int, name: str, run: str) -> bool:
    fd = os.open(name, _OPEN_DIRECTORY, dir_fd=parent_fd)
    try:
        marker = _read_marker(fd)
        if marker is None:
            # Killed before the marker was there, or after it was gone, which is a round trip each.
            over = _is_bare(fd) and _is_over(name.removeprefix(PREFIX), run)
        else:
            over = PREFIX + marker.run == name and abandoned(marker)
        if over:
            # By the same descriptor: another directory may have this name by now.
            _empty(fd)
            os.rmdir(name, dir_fd=parent_fd)
    finally:
        os.close(fd)
    return over


def _is_bare(directory_fd: int) -> bool:
    with os.scandir(directory_fd) as entries:
        return all(entry.name == _DRAFT for entry in entries)


def _is_over(run: str, present: str) -> bool:
    """Return whether the process that named a run has gone, or has begun another one since."""
    found, now = _RUN.fullmatch(run), _RUN.fullmatch(present)
    if found is None or run == present or found["host"] != host_hash():
        return False
    if now is not None and now["maker"] == found["maker"]:
        return True
    return not maker_lives(run)


def maker_lives(run: str) -> bool:
    """Return whether the process that named a run, on this machine, still runs."""
    found = _RUN.fullmatch(run)
    return found is not None and start_ticks(int(found["pid"], 16)) == int(found["started"], 16)


def _empty(directory_fd: int) -> None:
    """Remove the plain entries of a test directory, the marker last: until then it can be found again."""
    with os.scandir(directory_fd) as entries:
        # The listing tells the kind of each: asking again would cost a round trip a file.
        names = [entry.name for entry in entries if not entry.is_dir(follow_symlinks=False)]
    for name in sorted(names, key=lambda name: name == MARKER):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=directory_fd)


def _read_marker(directory_fd: int) -> Marker | None:
    try:
        fd = os.open(MARKER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory_fd)
    except OSError:
        return None
    try:
        return from_json(os.read(fd, _MARKER_LIMIT), Marker)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    finally:
        os.close(fd)

"""Many files workload: small files created, filled, read back, looked up and deleted one after the other.

Here the round trips count, not the link's rate: each file costs some of them to create, to fill, to close and
to delete. Every file is flushed before it is closed, and its pages are dropped at once, which costs no round
trip; whether the read came from the server is what its byte counter says.

Attributes are asked of the server by statx(2) with AT_STATX_FORCE_SYNC: an ordinary stat is answered from the
client's attribute cache for seconds (nfs(5), acregmin), which measures memory. Python has no call for it, so
the C library's is used (glibc 2.28, musl 1.2.5 and later).
"""

from __future__ import annotations

import ctypes
import mmap
import os
import time
from typing import TYPE_CHECKING

from app.speedtest.worker.single_file import read_blocks, write_blocks
from app.speedtest.worker.workload import StoppedError, Workload, close_quietly

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.speedtest.model import TestPhase, Transfer


class ManyFilesWorkload(Workload):
    """Writes, reads, asks for and removes the files of one run."""

    _files_exist = False

    def write(self) -> Transfer:
        """Make and fill every file; the steps of all of them are added up."""
        created_s = fsync_s = close_s = 0.0
        began = self._begin("write")
        for number in range(self._spec.count):
            create_s, flushed_s, closed_s = self._write_one(number)
            created_s += create_s
            fsync_s += flushed_s
            close_s += closed_s
        whole_s = time.monotonic() - began
        self._files_exist = True
        self.rates["create"] = self._spec.count / max(created_s, 1e-9)
        added, samples = self._meter.finish()
        return self._transfer("write", (whole_s - fsync_s - close_s, fsync_s, close_s), added, samples)

    def prepare(self) -> None:
        """Make and fill every file without measuring it, unless they are there."""
        if self._files_exist:
            return
        self._meter.phase("read", "prepare")
        for number in range(self._spec.count):
            self._write_one(number)
        self._files_exist = True

    def measure_operations(self) -> None:
        """Measure asking for every file and removing it; making them was measured with the write."""
        ask = ServerStat()
        directory = self._directory
        self.rates["stat"] = self._rate("stat", lambda name: ask(directory.fd, name))
        self.rates["delete"] = self._rate("delete", directory.unlink)
        self._files_exist = False

    def clear(self) -> None:
        """Do nothing: measuring the operations has removed the files."""

    def _write_one(self, number: int) -> tuple[float, float, float]:
        """Make and fill one file; return the seconds to make it, to flush it and to close it."""
        t0 = time.monotonic()
        fd = self._directory.create(os.O_SYNC if self._spec.sync else 0, data_file_name(number))
        t1 = time.monotonic()
        try:
            self._fill(fd, number)
            t2 = time.monotonic()
            os.fsync(fd)
            t3 = time.monotonic()
            self._give_back(fd)
        except BaseException:
            close_quietly(fd)
            raise
        os.close(fd)
        return t1 - t0, t3 - t2, time.monotonic() - t3

    def _fill(self, fd: int, number: int) -> None:
        """Write what is to be in a file."""
        size = self._spec.size
        first = self._first(number)
        write_blocks(fd, self._pool, size, self._progress, first=first, before=number * size)

    def _read_once(self, flags: int) -> Transfer:
        close_s = 0.0
        buffer = mmap.mmap(-1, self._spec.block_size)  # page-aligned, as O_DIRECT wants it
        buffer[:] = bytes(len(buffer))  # its pages are there before the clock runs
        began = self._begin("read")
        with memoryview(buffer) as view:
            for number in range(self._spec.count):
                close_s += self._read_one(number, flags, view)
        whole_s = time.monotonic() - began
        buffer.close()
        added, samples = self._meter.finish()
        return self._transfer("read", (whole_s - close_s, 0.0, close_s), added, samples)

    def _read_one(self, number: int, flags: int, view: memoryview) -> float:
        """Read one file; return the seconds to close it."""
        fd = self._directory.open(flags, data_file_name(number))
        try:
            size = self._spec.size
            read_blocks(
                fd, self._pool, size, view, self._progress, first=self._first(number), before=number * size
            )
            self._give_back(fd)
            closing = time.monotonic()
        except BaseException:
            close_quietly(fd)
            raise
        os.close(fd)
        return time.monotonic() - closing

    def _drop_cache(self) -> None:
        """Do nothing: each file's pages were given back before it was closed."""

    def _give_back(self, fd: int) -> None:
        if self._spec.cache == "fadvise":
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)

    def _rate(self, phase: TestPhase, do: Callable[[str], None]) -> float:
        """Do something with every file; return how many a second."""
        self._meter.phase("write" if self._spec.direction == "write" else "read", phase)
        before = self._probe.look()
        began = time.monotonic()
        for number in range(self._spec.count):
            do(data_file_name(number))
            self._progress.steps += 1
            if self._progress.stopped:
                raise StoppedError
        rate = self._spec.count / max(time.monotonic() - began, 1e-9)
        calls = self._probe.look().since(before).calls
        if self._probe.nfs and calls < self._spec.count:
            self.note(
                f"The server was asked only {calls} times for {self._spec.count} files: the {phase} rate is "
                "partly that of the client's memory."
            )
        return rate

    def _first(self, number: int) -> int:
        """Return the block of the pool that a file begins with: no two files are the same."""
        return number * -(-self._spec.size // self._spec.block_size)


def data_file_name(number: int) -> str:
    """Return the name of a test file."""
    return f"f{number:06}"


_AT_SYMLINK_NOFOLLOW = 0x100
_AT_STATX_FORCE_SYNC = 0x2000
_STATX_BASIC_STATS = 0x7FF
_BUFFER_BYTES = 256  # struct statx of linux/stat.h


class ServerStat:
    """Asks for attributes, of the server where the C library can."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None, use_errno=True)
        self._statx = getattr(library, "statx", None)
        self._buffer = ctypes.create_string_buffer(_BUFFER_BYTES)

    def __call__(self, directory_fd: int, name: str) -> None:
        """Ask for the attributes of a file in a directory.

        Raises:
            OSError: as stat(2).
        """
        if self._statx is None:
            os.stat(name, dir_fd=directory_fd, follow_symlinks=False)
            return
        flags = _AT_SYMLINK_NOFOLLOW | _AT_STATX_FORCE_SYNC
        failed = self._statx(directory_fd, os.fsencode(name), flags, _STATX_BASIC_STATS, self._buffer)
        if failed:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), name)

"""Many files workload: small files created, filled, read, looked up (stat) and deleted one after another.

Round trips dominate here, not the link's rate: each file needs several of them to be created, filled, closed
and deleted. Every file is flushed before it is closed, and its pages are dropped then, which costs no round
trip. The server's byte counter shows whether a read came from the server.

Attributes are requested from the server by statx(2) with AT_STATX_FORCE_SYNC. An ordinary stat is answered
from the client's attribute cache for seconds (nfs(5), acregmin). Python has no call for statx, so the C
library's is used (glibc 2.28, musl 1.2.5 and later).
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
    """Writes, reads, looks up and removes the small files of one run."""

    _files_exist = False

    def write(self) -> Transfer:
        """Create and fill every file; the times of each step are summed over the files."""
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
        """Create and fill every file without measuring it, unless they exist."""
        if self._files_exist:
            return
        self._meter.phase("read", "prepare")
        for number in range(self._spec.count):
            self._write_one(number)
        self._files_exist = True

    def measure_operations(self) -> None:
        """Measure looking up and removing every file; creation was measured by `write`."""
        server_stat = ServerStat()
        directory = self._directory
        self.rates["stat"] = self._rate("stat", lambda name: server_stat(directory.fd, name))
        self.rates["delete"] = self._rate("delete", directory.unlink)
        self._files_exist = False

    def clear(self) -> None:
        """Do nothing: `measure_operations` has removed the files."""

    def _write_one(self, number: int) -> tuple[float, float, float]:
        """Create and fill one file; return the seconds to create, to flush and to close it."""
        t0 = time.monotonic()
        fd = self._directory.create(os.O_SYNC if self._spec.sync else 0, data_file_name(number))
        t1 = time.monotonic()
        try:
            self._fill(fd, number)
            t2 = time.monotonic()
            os.fsync(fd)
            t3 = time.monotonic()
            self._drop_pages(fd)
        except BaseException:
            close_quietly(fd)
            raise
        os.close(fd)
        return t1 - t0, t3 - t2, time.monotonic() - t3

    def _fill(self, fd: int, number: int) -> None:
        """Write the contents of a file."""
        size = self._spec.size
        first = self._first_block(number)
        write_blocks(fd, self._pool, size, self._progress, first=first, before=number * size)

    def _read_once(self, flags: int) -> Transfer:
        close_s = 0.0
        buffer = mmap.mmap(-1, self._spec.block_size)  # page-aligned, as O_DIRECT requires
        buffer[:] = bytes(len(buffer))  # allocates the pages before time is measured
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
                fd,
                self._pool,
                size,
                view,
                self._progress,
                first=self._first_block(number),
                before=number * size,
            )
            self._drop_pages(fd)
            closing = time.monotonic()
        except BaseException:
            close_quietly(fd)
            raise
        os.close(fd)
        return time.monotonic() - closing

    def _drop_cache(self) -> None:
        """Do nothing: each file's pages were dropped before it was closed."""

    def _drop_pages(self, fd: int) -> None:
        if self._spec.cache == "fadvise":
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)

    def _rate(self, phase: TestPhase, operation: Callable[[str], None]) -> float:
        """Apply an operation to every file; return the operations per second."""
        self._meter.phase("write" if self._spec.direction == "write" else "read", phase)
        before = self._probe.look()
        began = time.monotonic()
        for number in range(self._spec.count):
            operation(data_file_name(number))
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

    def _first_block(self, number: int) -> int:
        """Return the number of a file's first block in the pool, so that all files differ."""
        return number * -(-self._spec.size // self._spec.block_size)


def data_file_name(number: int) -> str:
    """Return the name of a test file by its number."""
    return f"f{number:06}"


_AT_SYMLINK_NOFOLLOW = 0x100
_AT_STATX_FORCE_SYNC = 0x2000
_STATX_BASIC_STATS = 0x7FF
_BUFFER_BYTES = 256  # struct statx of linux/stat.h


class ServerStat:
    """Requests attributes, from the server if the C library has statx(2)."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None, use_errno=True)
        self._statx = getattr(library, "statx", None)
        self._buffer = ctypes.create_string_buffer(_BUFFER_BYTES)

    def __call__(self, directory_fd: int, name: str) -> None:
        """Request the attributes of a file in a directory.

        Raises:
            OSError: as for stat(2).
        """
        if self._statx is None:
            os.stat(name, dir_fd=directory_fd, follow_symlinks=False)
            return
        flags = _AT_SYMLINK_NOFOLLOW | _AT_STATX_FORCE_SYNC
        failed = self._statx(directory_fd, os.fsencode(name), flags, _STATX_BASIC_STATS, self._buffer)
        if failed:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), name)

"""Single file workloads: one file written from memory and read back, sequentially or in random records.

All times are of CLOCK_MONOTONIC, separately for each step. The loops make one system call for each block, and
report progress to the sampler by setting one attribute.

Random records follow IOzone: the file has its full size before the first record is written. At first it has
other contents, so that the comparison after reading proves that the records were written.
"""

from __future__ import annotations

import mmap
import os
import random
import time
from typing import TYPE_CHECKING

from app.errors import AppError
from app.speedtest.worker.workload import StoppedError, Workload, close_quietly
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from app.speedtest.model import TestSpec, Transfer
    from app.speedtest.sampler import TransferProgress
    from app.speedtest.worker.workload import DataPool

#: Verification of reads: one call in this many, and the number of its bytes that are compared.
_CHECK_EVERY = 16
_CHECK_BYTES = 64


class SingleFileWorkload(Workload):
    """Writes and reads one file."""

    _files_exist = False

    def write(self) -> Transfer:
        """Write the file and measure it; see the base class for the errors."""
        fd = self._open_to_write(os.O_SYNC if self._spec.sync else 0)
        try:
            t0 = self._begin("write")
            self._write_file(fd)
            t1 = time.monotonic()
            self._meter.phase("write", "fsync")
            os.fsync(fd)
            t2 = time.monotonic()
            self._meter.phase("write", "close")
        except BaseException:
            close_quietly(fd)
            raise
        os.close(fd)
        t3 = time.monotonic()
        added, samples = self._meter.finish()
        # Each step begins where the previous one ended, because write-back continues between the steps.
        return self._transfer("write", (t1 - t0, t2 - t1, t3 - t2), added, samples)

    def prepare(self) -> None:
        """Write the file without measuring it, for a test that only reads; repeats reuse the file."""
        if self._files_exist:
            return
        self._files_exist = True
        self._meter.phase("read", "prepare")
        fd = self._directory.create()
        try:
            write_blocks(fd, self._pool, self._spec.size, self._progress)
            os.fsync(fd)
        finally:
            os.close(fd)

    def measure_operations(self) -> None:
        """Do nothing: operations on a single file give no rate."""

    def clear(self) -> None:
        """Remove the file, unless the next repeat only reads it."""
        if self._spec.direction != "read":
            self._directory.unlink()

    def resize(self, spec: TestSpec) -> None:
        """Continue with a smaller file; an existing one is removed."""
        if self._files_exist and spec.size != self._spec.size:
            self._directory.unlink()
            self._files_exist = False
        super().resize(spec)

    def _read_once(self, flags: int) -> Transfer:
        fd = self._directory.open(flags)
        buffer = mmap.mmap(-1, self._call_size)  # page-aligned, as O_DIRECT requires
        try:
            buffer[:] = bytes(len(buffer))  # allocates the pages before time is measured
            t0 = self._begin("read")
            with memoryview(buffer) as view:
                self._read_file(fd, view)
            t1 = time.monotonic()
            self._meter.phase("read", "close")
        except BaseException:
            close_quietly(fd)
            raise
        os.close(fd)
        t2 = time.monotonic()
        buffer.close()
        added, samples = self._meter.finish()
        return self._transfer("read", (t1 - t0, 0.0, t2 - t1), added, samples)

    def _open_to_write(self, flags: int) -> int:
        return self._directory.create(flags)

    def _write_file(self, fd: int) -> None:
        write_blocks(fd, self._pool, self._spec.size, self._progress)

    def _read_file(self, fd: int, view: memoryview) -> None:
        size = self._spec.size
        for number in range(self._spec.passes):
            if number:
                # Drop the cache, so that each pass comes from the server.
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                os.lseek(fd, 0, os.SEEK_SET)
            read_blocks(fd, self._pool, size, view, self._progress, before=number * size)

    def _drop_cache(self) -> None:
        fd = self._directory.open()
        try:
            os.fsync(fd)  # dirty pages are not dropped
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)


def write_blocks(
    fd: int, pool: DataPool, size: int, progress: TransferProgress, *, first: int = 0, before: int = 0
) -> None:
    """Write a file's contents block by block.

    Args:
        fd: descriptor of the file.
        pool: contents of the file.
        size: bytes of the file.
        progress: updated after every block.
        first: number of the file's first block in the pool.
        before: bytes of progress before this file.

    Raises:
        OSError: as for write(2).
        StoppedError: if the test was cancelled.
    """
    write, block, block_size = os.write, pool.block, pool.block_size
    position, index = 0, first
    while position < size:
        remaining = size - position
        view = block(index) if remaining >= block_size else block(index, remaining)
        done = write(fd, view)
        while done < len(view):  # a full disk or a signal may shorten a call (write(2))
            done += write(fd, view[done:])
        index += 1
        position += done
        progress.bytes = before + position
        if progress.stopped:
            raise StoppedError


def read_blocks(
    fd: int,
    pool: DataPool,
    size: int,
    view: memoryview,
    progress: TransferProgress,
    *,
    first: int = 0,
    before: int = 0,
) -> None:
    """Read a file's contents block by block into one buffer, and verify samples of it.

    Args:
        fd: descriptor of the file.
        pool: expected contents.
        size: bytes of the file.
        view: buffer for one call, at most a block.
        progress: updated after every block.
        first: number of the file's first block in the pool.
        before: bytes of progress before this file.

    Raises:
        OSError: as for read(2).
        AppError: IO if the file is shorter or longer than written, or its contents differ.
        StoppedError: if the test was cancelled.
    """
    readv, buffers = os.readv, [view]
    position = 0
    while position < size:
        # The first call of a batch is verified, and so are short reads and the end of the file.
        for number in range(_CHECK_EVERY):
            count = readv(fd, buffers)
            position += count
            progress.bytes = before + position
            if number == 0 or count < len(view) or position >= size:
                _check_block(pool, view[:count], position - count, size, first)
                if position >= size:
                    break
        if progress.stopped:
            raise StoppedError


def _check_block(pool: DataPool, data: memoryview, position: int, size: int, first: int) -> None:
    """Verify the file's length and the first bytes of the data read at a position."""
    if not data or position + len(data) > size:
        raise data_mismatch_error(f"read {position + len(data)} bytes of {size}")
    index, offset = divmod(position, pool.block_size)
    start = data[: min(_CHECK_BYTES, pool.block_size - offset)]
    if not pool.matches(first + index, offset, start):
        raise data_mismatch_error(f"the bytes at {position} differ")


def data_mismatch_error(detail: str) -> AppError:
    """Return the error for data that differs from the data written."""
    return AppError(ErrorCode.DATA_DAMAGED, detail=detail)


class RandomRecordsWorkload(SingleFileWorkload):
    """Writes and reads one file block by block, each block once, in random order."""

    def _open_to_write(self, flags: int) -> int:
        self._meter.phase("write", "prepare")
        fd = self._directory.create()
        try:
            write_blocks(fd, self._pool, self._spec.size, self._progress, first=1)
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)
        return self._directory.open(os.O_WRONLY | flags)

    def _write_file(self, fd: int) -> None:
        block_size, size = self._pool.block_size, self._spec.size
        moved = 0
        for index in self._order("write"):
            position = index * block_size
            view = self._pool.block(index, min(block_size, size - position))
            done = os.pwrite(fd, view, position)
            while done < len(view):  # a full disk or a signal may shorten a call (write(2))
                done += os.pwrite(fd, view[done:], position + done)
            moved += done
            self._advance(moved)

    def _read_file(self, fd: int, view: memoryview) -> None:
        block_size, size = self._pool.block_size, self._spec.size
        moved = 0
        # Prevent the kernel's readahead, which would serve later records from the client's cache.
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
        for index in self._order("read"):
            position = index * block_size
            length = min(block_size, size - position)
            count = os.preadv(fd, [view[:length]], position)
            if count != length or not self._pool.matches(
                index, 0, view[:64] if length > 64 else view[:length]
            ):
                raise data_mismatch_error(f"the record at {position} differs")
            moved += count
            self._advance(moved)

    def _order(self, direction: str) -> list[int]:
        """Return the numbers of the blocks in random order, the same in each repeat of a test."""
        numbers = list(range(-(-self._spec.size // self._pool.block_size)))
        random.Random(direction).shuffle(numbers)  # noqa: S311 - no secret, only an order
        return numbers

    def _advance(self, moved: int) -> None:
        self._progress.bytes = moved
        if self._progress.stopped:
            raise StoppedError

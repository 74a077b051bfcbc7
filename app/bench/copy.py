"""The copy engine: one file written from memory and read back, each step timed apart.

All times are of CLOCK_MONOTONIC. The loops make one system call a block and nothing else that counts; what
the sampler needs of them is one attribute.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import time
from typing import TYPE_CHECKING

import msgspec

from app.bench.result import Transfer
from app.errors import AppError, ErrorKind

if TYPE_CHECKING:
    from app.bench.data import DataPool
    from app.bench.files import TestDirectory
    from app.bench.meter import Meter, Progress, Way
    from app.bench.probe import Look
    from app.bench.result import CacheMethod, Sample, TestSpec

#: Of the blocks read, each one of this many is looked at, and this many bytes of it.
_CHECK_EVERY = 16
_CHECK_BYTES = 64


class StoppedError(Exception):
    """The test was told to end."""


class Copier:
    """Writes and reads the test file of one run.

    Args:
        spec: the test.
        directory: where the file is.
        pool: its contents.
        meter: samples the transfers.

    Attributes:
        notes: sentences about what was done otherwise than asked.
    """

    def __init__(self, spec: TestSpec, directory: TestDirectory, pool: DataPool, meter: Meter) -> None:
        self._spec = spec
        self._directory = directory
        self._pool = pool
        self._meter = meter
        self._progress = meter.progress
        self._probe = meter.probe
        self.notes: list[str] = []

    def write(self) -> Transfer:
        """Write the file and measure it.

        Raises:
            OSError: from any step; a full server may say so only at fsync or close.
            StoppedError: if told to end.
        """
        fd = self._directory.create(os.O_SYNC if self._spec.sync else 0)
        try:
            t0 = self._meter.begin("write", "write")
            write_blocks(fd, self._pool, self._spec.size, self._progress)
            t1 = time.monotonic()
            self._meter.phase("write", "fsync")
            os.fsync(fd)
            t2 = time.monotonic()
            self._meter.phase("write", "close")
        except BaseException:
            _close_quietly(fd)
            raise
        os.close(fd)
        t3 = time.monotonic()
        added, samples = self._meter.finish()
        # One step begins where the one before ended: write-back goes on between them and must be counted.
        return self._transfer("write", (t1 - t0, t2 - t1, t3 - t2), added, samples)

    def prepare(self) -> None:
        """Write the file without measuring it, for a test that only reads."""
        self._meter.phase("read", "prepare")
        fd = self._directory.create()
        try:
            write_blocks(fd, self._pool, self._spec.size, self._progress)
            os.fsync(fd)
        finally:
            os.close(fd)

    def read(self) -> tuple[Transfer, CacheMethod]:
        """Read the file and measure it; return also the method that really kept the cache out.

        Raises:
            OSError: from any step.
            AppError: IO if what was read is not what was written.
            StoppedError: if told to end.
        """
        method = self._spec.cache
        if method == "direct":
            try:
                return self._read_once(os.O_DIRECT), method
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                self.notes.append(
                    "This file system does not take O_DIRECT; the cache was told to drop instead."
                )
                method = "fadvise"
        if method == "fadvise":
            self._meter.phase("read", "drop-cache")
            self._drop_cache()
        return self._read_once(0), method

    def _read_once(self, flags: int) -> Transfer:
        fd = self._directory.open(flags)
        buffer = mmap.mmap(-1, self._spec.block_size)  # page-aligned, as O_DIRECT wants it
        try:
            buffer[:] = bytes(len(buffer))  # its pages are there before the clock runs
            t0 = self._meter.begin("read", "read")
            with memoryview(buffer) as view:
                read_blocks(fd, self._pool, self._spec.size, view, self._progress)
            t1 = time.monotonic()
            self._meter.phase("read", "close")
        except BaseException:
            _close_quietly(fd)
            raise
        os.close(fd)
        t2 = time.monotonic()
        buffer.close()
        added, samples = self._meter.finish()
        return self._transfer("read", (t1 - t0, 0.0, t2 - t1), added, samples)

    def _drop_cache(self) -> None:
        fd = self._directory.open()
        try:
            os.fsync(fd)  # dirty pages are not dropped
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)

    def _transfer(
        self, way: Way, times: tuple[float, float, float], added: Look, samples: list[Sample]
    ) -> Transfer:
        transfer_s, fsync_s, close_s = times
        probe = self._probe
        tcp = added.tcp_retransmissions if probe.tcp else None
        if way == "read":
            server, ops, rtt_ms = added.server_read, added.read_ops, added.read_rtt_ms
        else:
            server, ops, rtt_ms = added.server_written, added.write_ops, added.write_rtt_ms
        transfer = Transfer(
            bytes=self._spec.size,
            bytes_per_s=self._spec.size / max(transfer_s + fsync_s + close_s, 1e-9),
            transfer_s=transfer_s,
            fsync_s=fsync_s,
            close_s=close_s,
            timeouts=added.timeouts,
            retransmissions=0,
            retransmissions_from="none",
            rpc_retransmissions=None,
            tcp_retransmissions=None,
            server_bytes=None,
            mean_rtt_s=None,
            cached=False,
            samples=samples,
        )
        if not probe.nfs:
            return transfer
        by_tcp = probe.v4 and tcp is not None
        return msgspec.structs.replace(
            transfer,
            retransmissions=tcp if by_tcp else added.rpc_retransmissions,
            retransmissions_from="tcp_info" if by_tcp else "mountstats",
            rpc_retransmissions=added.rpc_retransmissions,
            tcp_retransmissions=tcp,
            server_bytes=server,
            mean_rtt_s=rtt_ms / ops / 1000 if ops else None,
        )


def write_blocks(fd: int, pool: DataPool, size: int, progress: Progress) -> None:
    """Write a file's contents block by block.

    Raises:
        OSError: as write(2).
        StoppedError: if told to end.
    """
    write, block, block_size = os.write, pool.block, pool.block_size
    position = index = 0
    while position < size:
        left = size - position
        view = block(index) if left >= block_size else block(index, left)
        done = write(fd, view)
        while done < len(view):  # a full disk or a signal may cut a call short
            done += write(fd, view[done:])
        index += 1
        position += done
        progress.bytes = position
        if progress.stopped:
            raise StoppedError


def read_blocks(fd: int, pool: DataPool, size: int, view: memoryview, progress: Progress) -> None:
    """Read a file's contents block by block into one buffer, and look at some of them.

    Raises:
        OSError: as read(2).
        AppError: IO if the file is shorter, longer or other than what was written.
        StoppedError: if told to end.
    """
    readv, buffers = os.readv, [view]
    position = 0
    while position < size:
        # The first call of a batch is looked at, and so is what ends it: the end of the file or a short read.
        for number in range(_CHECK_EVERY):
            count = readv(fd, buffers)
            position += count
            progress.bytes = position
            if number == 0 or count < pool.block_size or position >= size:
                _check(pool, view[:count], position - count, size)
                if position >= size:
                    break
        if progress.stopped:
            raise StoppedError


def _check(pool: DataPool, data: memoryview, position: int, size: int) -> None:
    """Look at what was read at a position: is it the file's length, and are its first bytes right?"""
    if not data or position + len(data) > size:
        raise _other_file(f"read {position + len(data)} bytes of {size}")
    index, offset = divmod(position, pool.block_size)
    start = data[: min(_CHECK_BYTES, pool.block_size - offset)]
    if not pool.matches(index, offset, start):
        raise _other_file(f"the bytes at {position} differ")


def _close_quietly(fd: int) -> None:
    # The first error is the one to tell: a full disk repeats itself at close.
    with contextlib.suppress(OSError):
        os.close(fd)


def _other_file(detail: str) -> AppError:
    return AppError(
        ErrorKind.IO,
        "The test file read back is not what was written.",
        hint="Something changed it, or the server or network damages data: do not trust this mount.",
        detail=detail,
    )

"""Streams workload: several files at once, each copied by a thread.

The calls release Python's global lock while they wait, so that each stream has a request under way. All
streams finish a step before the next one begins; the time of a step is that of its slowest stream.
"""

from __future__ import annotations

import mmap
import os
import threading
import time
from typing import TYPE_CHECKING

from app.speedtest.sampler import TransferProgress
from app.speedtest.worker.single_file import read_blocks, write_blocks
from app.speedtest.worker.workload import StoppedError, Workload, close_quietly

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.speedtest.model import Transfer

_POLL_INTERVAL_S = 0.02


class StreamsWorkload(Workload):
    """Writes and reads several files in parallel."""

    _files_exist = False

    def write(self) -> Transfer:
        """Write all files in parallel; see the base class for the errors."""
        fds = self._open_each(os.O_WRONLY | (os.O_SYNC if self._spec.sync else 0), create=True)
        try:
            self._reset_progress()
            t0 = self._begin("write")
            self._in_parallel(self._write_one, fds)
            t1 = time.monotonic()
            self._meter.phase("write", "fsync")
            self._in_parallel(lambda _number, fd: os.fsync(fd), fds)
            t2 = time.monotonic()
            self._meter.phase("write", "close")
        except BaseException:
            _close_all(fds)
            raise
        self._in_parallel(lambda _number, fd: os.close(fd), fds)
        t3 = time.monotonic()
        self._files_exist = True
        added, samples = self._meter.finish()
        return self._transfer("write", (t1 - t0, t2 - t1, t3 - t2), added, samples)

    def prepare(self) -> None:
        """Write all files without measuring it, unless they exist."""
        if self._files_exist:
            return
        self._meter.phase("read", "prepare")
        fds = self._open_each(os.O_WRONLY, create=True)
        try:
            self._reset_progress()
            self._in_parallel(self._write_one, fds)
            self._in_parallel(lambda _number, fd: os.fsync(fd), fds)
        finally:
            _close_all(fds)
        self._files_exist = True

    def measure_operations(self) -> None:
        """Do nothing: a few large files give no rate of operations."""

    def clear(self) -> None:
        """Remove the files, unless the next repeat only reads them."""
        if self._spec.direction != "read":
            for number in range(self._spec.count):
                self._directory.unlink(_stream_file_name(number))
            self._files_exist = False

    def _read_once(self, flags: int) -> Transfer:
        fds = self._open_each(flags)
        buffers = [mmap.mmap(-1, self._spec.block_size) for _fd in fds]  # page-aligned, as O_DIRECT requires
        try:
            for buffer in buffers:
                buffer[:] = bytes(len(buffer))  # allocates the pages before time is measured
            self._reset_progress()
            t0 = self._begin("read")
            self._in_parallel(lambda number, fd: self._read_one(number, fd, buffers[number]), fds)
            t1 = time.monotonic()
            self._meter.phase("read", "close")
        except BaseException:
            _close_all(fds)
            raise
        self._in_parallel(lambda _number, fd: os.close(fd), fds)
        t2 = time.monotonic()
        for buffer in buffers:
            buffer.close()
        added, samples = self._meter.finish()
        return self._transfer("read", (t1 - t0, 0.0, t2 - t1), added, samples)

    def _drop_cache(self) -> None:
        fds = self._open_each(os.O_RDONLY)
        try:
            for fd in fds:
                os.fsync(fd)  # dirty pages are not dropped
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            _close_all(fds)

    def _open_each(self, flags: int, *, create: bool = False) -> list[int]:
        fds: list[int] = []
        open_file = self._directory.create if create else self._directory.open
        try:
            for number in range(self._spec.count):
                fds.append(open_file(flags, _stream_file_name(number)))  # noqa: PERF401 - closed after an error
        except BaseException:
            _close_all(fds)
            raise
        return fds

    def _reset_progress(self) -> None:
        self._progress.parts = [TransferProgress() for _number in range(self._spec.count)]

    def _write_one(self, number: int, fd: int) -> None:
        write_blocks(
            fd, self._pool, self._spec.size, self._progress.parts[number], first=self._first_block(number)
        )

    def _read_one(self, number: int, fd: int, buffer: mmap.mmap) -> None:
        part = self._progress.parts[number]
        with memoryview(buffer) as view:
            read_blocks(fd, self._pool, self._spec.size, view, part, first=self._first_block(number))

    def _in_parallel(self, work: Callable[[int, int], object], fds: Sequence[int]) -> None:
        """Do work on every file in parallel; after an error, stop the others and raise it."""
        errors: list[BaseException] = []

        def run(number: int, fd: int) -> None:
            try:
                work(number, fd)
            except BaseException as error:  # noqa: BLE001 - raised in the waiting thread
                errors.append(error)

        threads = [
            threading.Thread(target=run, args=(number, fd), name="bench-stream", daemon=True)
            for number, fd in enumerate(fds)
        ]
        for thread in threads:
            thread.start()
        while running := [thread for thread in threads if thread.is_alive()]:
            running[0].join(_POLL_INTERVAL_S)
            if self._progress.stopped or errors:
                for part in self._progress.parts:
                    part.stopped = True
        # The causing error comes first, as the other streams were only stopped by it.
        for error in sorted(errors, key=lambda error: isinstance(error, StoppedError)):
            raise error

    def _first_block(self, number: int) -> int:
        """Return the number of a file's first block in the pool, so that all files differ."""
        return number * -(-self._spec.size // self._spec.block_size)


def _close_all(fds: Sequence[int]) -> None:
    for fd in fds:
        close_quietly(fd)


def _stream_file_name(number: int) -> str:
    return f"s{number:02}"

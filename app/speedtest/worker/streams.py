"""Streams workload: several files at once, each copied by a thread.

The calls give up Python's lock while they wait, so that as many requests are under way as there are streams.
Every step is done by all streams before the next begins: what is timed is the whole of a step.
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
    """Writes and reads as many files at once as the test has."""

    _files_exist = False

    def write(self) -> Transfer:
        """Write all files at once; see the base class for the errors."""
        fds = self._open_each(os.O_WRONLY | (os.O_SYNC if self._spec.sync else 0), create=True)
        try:
            self._parts()
            t0 = self._begin("write")
            self._each(self._write_one, fds)
            t1 = time.monotonic()
            self._meter.phase("write", "fsync")
            self._each(lambda _number, fd: os.fsync(fd), fds)
            t2 = time.monotonic()
            self._meter.phase("write", "close")
        except BaseException:
            _close_all(fds)
            raise
        self._each(lambda _number, fd: os.close(fd), fds)
        t3 = time.monotonic()
        self._files_exist = True
        added, samples = self._meter.finish()
        return self._transfer("write", (t1 - t0, t2 - t1, t3 - t2), added, samples)

    def prepare(self) -> None:
        """Write all files without measuring it, unless they are there."""
        if self._files_exist:
            return
        self._meter.phase("read", "prepare")
        fds = self._open_each(os.O_WRONLY, create=True)
        try:
            self._parts()
            self._each(self._write_one, fds)
            self._each(lambda _number, fd: os.fsync(fd), fds)
        finally:
            _close_all(fds)
        self._files_exist = True

    def measure_operations(self) -> None:
        """Do nothing: a few large files have only their speed."""

    def clear(self) -> None:
        """Remove the files, unless the next repeat reads them again."""
        if self._spec.direction != "read":
            for number in range(self._spec.count):
                self._directory.unlink(_stream_file_name(number))
            self._files_exist = False

    def _read_once(self, flags: int) -> Transfer:
        fds = self._open_each(flags)
        buffers = [mmap.mmap(-1, self._spec.block_size) for _fd in fds]  # page-aligned, as O_DIRECT wants it
        try:
            for buffer in buffers:
                buffer[:] = bytes(len(buffer))  # its pages are there before the clock runs
            self._parts()
            t0 = self._begin("read")
            self._each(lambda number, fd: self._read_one(number, fd, buffers[number]), fds)
            t1 = time.monotonic()
            self._meter.phase("read", "close")
        except BaseException:
            _close_all(fds)
            raise
        self._each(lambda _number, fd: os.close(fd), fds)
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
        make = self._directory.create if create else self._directory.open
        try:
            for number in range(self._spec.count):
                fds.append(make(flags, _stream_file_name(number)))  # noqa: PERF401 - what is open is closed on an error
        except BaseException:
            _close_all(fds)
            raise
        return fds

    def _parts(self) -> None:
        self._progress.parts = [TransferProgress() for _number in range(self._spec.count)]

    def _write_one(self, number: int, fd: int) -> None:
        write_blocks(fd, self._pool, self._spec.size, self._progress.parts[number], first=self._first(number))

    def _read_one(self, number: int, fd: int, buffer: mmap.mmap) -> None:
        part = self._progress.parts[number]
        with memoryview(buffer) as view:
            read_blocks(fd, self._pool, self._spec.size, view, part, first=self._first(number))

    def _each(self, work: Callable[[int, int], object], fds: Sequence[int]) -> None:
        """Do something with every file at once; the first error ends the others and is raised."""
        errors: list[BaseException] = []

        def carry_out(number: int, fd: int) -> None:
            try:
                work(number, fd)
            except BaseException as error:  # noqa: BLE001 - raised by the thread that waits
                errors.append(error)

        threads = [
            threading.Thread(target=carry_out, args=(number, fd), name="bench-stream", daemon=True)
            for number, fd in enumerate(fds)
        ]
        for thread in threads:
            thread.start()
        while running := [thread for thread in threads if thread.is_alive()]:
            running[0].join(_POLL_INTERVAL_S)
            if self._progress.stopped or errors:
                for part in self._progress.parts:
                    part.stopped = True
        # What the others were stopped by says more than that they were.
        for error in sorted(errors, key=lambda error: isinstance(error, StoppedError)):
            raise error

    def _first(self, number: int) -> int:
        """Return the block of the pool that a file begins with: no two files are the same."""
        return number * -(-self._spec.size // self._spec.block_size)


def _close_all(fds: Sequence[int]) -> None:
    for fd in fds:
        close_quietly(fd)


def _stream_file_name(number: int) -> str:
    return f"s{number:02}"

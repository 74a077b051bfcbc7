"""Records in random order: each one of an existing file written once, and read once.

As IOzone does it, the file is there and whole before the first record is written. It holds other bytes then,
so that reading it back proves the records and not what was there before.
"""

from __future__ import annotations

import os
import random

from app.speedtest.worker.single_file import Copier, other_file, write_blocks
from app.speedtest.worker.workload import StoppedError


class RandomRecords(Copier):
    """Writes and reads one file, a block at a time, each block once and in random order."""

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

    def _put(self, fd: int) -> None:
        block_size, size = self._pool.block_size, self._spec.size
        moved = 0
        for index in self._order("write"):
            position = index * block_size
            view = self._pool.block(index, min(block_size, size - position))
            done = os.pwrite(fd, view, position)
            while done < len(view):  # a full disk or a signal may cut a call short
                done += os.pwrite(fd, view[done:], position + done)
            moved += done
            self._advance(moved)

    def _get(self, fd: int, view: memoryview) -> None:
        block_size, size = self._pool.block_size, self._spec.size
        moved = 0
        # Otherwise the kernel reads ahead of a record, and the next ones come from the client's cache.
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
        for index in self._order("read"):
            position = index * block_size
            length = min(block_size, size - position)
            count = os.preadv(fd, [view[:length]], position)
            if count != length or not self._pool.matches(
                index, 0, view[:64] if length > 64 else view[:length]
            ):
                raise other_file(f"the record at {position} differs")
            moved += count
            self._advance(moved)

    def _order(self, way: str) -> list[int]:
        """Return the numbers of the blocks, shuffled, the same way at each repeat of one test."""
        numbers = list(range(-(-self._spec.size // self._pool.block_size)))
        random.Random(way).shuffle(numbers)  # noqa: S311 - no secret, only an order
        return numbers

    def _advance(self, moved: int) -> None:
        self._progress.bytes = moved
        if self._progress.stopped:
            raise StoppedError

"""The bytes of a test file: incompressible, not repeating, and ready in memory.

Everything comes from one pool of random bytes. Each block is a window into it that starts somewhere else,
so nothing is computed or copied between two write calls, and neither a compressing nor a deduplicating
server finds the same aligned piece again before several gigabytes.
"""

from __future__ import annotations

import mmap
import random

#: How far the window wanders. Small enough to stay in the processor's cache beside the page cache it fills.
WANDER = 4 * 2**20
#: Windows start at multiples of this: a copy from an odd address is a few per cent slower.
_GRAIN = 8
#: The step from one window to the next, in grains; odd, so that it visits every start before the first again.
_STRIDE = 190_027 * _GRAIN


class DataPool:
    """Random bytes for one file.

    Args:
        block_size: bytes of each block.
        run: name of the run; the same name gives the same bytes, so that another process can check them.
    """

    def __init__(self, block_size: int, run: str) -> None:
        self.block_size = block_size
        self._map = mmap.mmap(-1, block_size + WANDER)
        self._view = memoryview(self._map)
        chunk = 2**20
        source = random.Random(run)  # noqa: S311 - no secret: bytes that do not compress
        for start in range(0, len(self._map), chunk):
            self._view[start : start + chunk] = source.randbytes(min(chunk, len(self._map) - start))

    def start(self, index: int) -> int:
        """Return where in the pool the block of this number begins."""
        return index * _STRIDE % WANDER

    def block(self, index: int, size: int | None = None) -> memoryview:
        """Return a block without copying it.

        Args:
            index: number of the block in the file, from 0.
            size: bytes, at most the block size, which is the default.
        """
        start = index * _STRIDE % WANDER  # as start(), without the call: this is the inner loop
        return self._view[start : start + (size or self.block_size)]

    def matches(self, index: int, offset: int, data: memoryview | bytes) -> bool:
        """Return whether the data is what the block holds at this offset."""
        start = self.start(index) + offset
        return self._view[start : start + len(data)] == data

    def close(self) -> None:
        """Give the memory back."""
        self._view.release()
        self._map.close()

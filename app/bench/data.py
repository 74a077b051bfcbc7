"""The bytes of a test file: incompressible, not repeating, and ready in memory.

Everything comes from one pool of random bytes. Each block is a window into it that starts somewhere else,
so nothing is computed or copied between two write calls, and neither a compressing nor a deduplicating
server finds the same aligned piece again before several gigabytes. The pool is made once in a process; a run
has its own way through it, so that a file of another run is not taken for its own.
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


_CHUNK = 2**20


def _random_bytes(size: int) -> memoryview:
    """Return as many random bytes, or more; they are the same in every process."""
    if len(_made[-1]) < size:
        # Private: a copy of this process has its pages, too, and need not ask the kernel for each.
        made = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        source = random.Random("mountwright")  # noqa: S311 - no secret: bytes that do not compress
        for start in range(0, size, _CHUNK):
            made[start : start + _CHUNK] = source.randbytes(_CHUNK)[: size - start]
        _made.append(memoryview(made).toreadonly())
        del _made[0]
    return _made[-1]


_made = [memoryview(b"")]


def make_ready(block_size: int) -> None:
    """Make the random bytes for blocks of this size, so that the first run need not wait for them."""
    _random_bytes(block_size + WANDER)


class DataPool:
    """Random bytes for one file.

    Args:
        block_size: bytes of each block.
        run: name of the run; the same name gives the same bytes, so that another process can check them.
    """

    def __init__(self, block_size: int, run: str) -> None:
        self.block_size = block_size
        self._view = _random_bytes(block_size + WANDER)[:]
        self._first = random.Random(run).randrange(WANDER // _GRAIN) * _GRAIN  # noqa: S311

    def start(self, index: int) -> int:
        """Return where in the pool the block of this number begins."""
        return (self._first + index * _STRIDE) % WANDER

    def block(self, index: int, size: int | None = None) -> memoryview:
        """Return a block without copying it.

        Args:
            index: number of the block in the file, from 0.
            size: bytes, at most the block size, which is the default.
        """
        start = (self._first + index * _STRIDE) % WANDER  # start(), without a call: the inner loop
        return self._view[start : start + (size or self.block_size)]

    def matches(self, index: int, offset: int, data: memoryview | bytes) -> bool:
        """Return whether the data is what the block holds at this offset."""
        start = self.start(index) + offset
        return self._view[start : start + len(data)] == data

    def close(self) -> None:
        """Let go of it; the bytes stay for the next run."""
        self._view.release()

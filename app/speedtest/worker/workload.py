"""Base of all workloads: reads that the server must answer, figures from the counters, and the test data.

The data is incompressible and does not repeat: each block is a window into one pool of random bytes that
starts somewhere else, so nothing is computed or copied between two write calls, and neither a compressing nor
a deduplicating server finds the same aligned piece again before several gigabytes. The pool is made once in a
process; a run has its own order of windows, so that a file of another run is not taken for its own.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import random
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import msgspec

from app.speedtest.model import Transfer

if TYPE_CHECKING:
    from app.speedtest.model import CacheMethod, Sample, TestPhase, TestSpec
    from app.speedtest.sampler import TransferCounters, TransferDirection, TransferSampler
    from app.speedtest.testdir import TestDirectory


class StoppedError(Exception):
    """The test was told to end."""


class Workload(ABC):
    """Writes and reads the test files of one run, as often as the test is repeated.

    Args:
        spec: the test.
        directory: where the files are.
        pool: their contents.
        meter: samples the transfers.

    Attributes:
        notes: sentences about what was done otherwise than asked.
        rates: operations a second of the present round, by name.
    """

    def __init__(
        self, spec: TestSpec, directory: TestDirectory, pool: DataPool, meter: TransferSampler
    ) -> None:
        self._spec = spec
        self._directory = directory
        self._pool = pool
        self._meter = meter
        self._progress = meter.progress
        self._probe = meter.probe
        #: Of the reading that goes on: bytes of its calls, and how it is told of.
        self._call_size = spec.block_size
        self._read_phase: TestPhase = "read"
        self.notes: list[str] = []
        self.rates: dict[str, float] = {}

    @property
    def spec(self) -> TestSpec:
        """The test as it is done now."""
        return self._spec

    @property
    def total(self) -> int:
        """Bytes of all files."""
        return self._spec.total

    def moved(self, way: TransferDirection) -> int:
        """Return the bytes that a transfer moves."""
        return self.total * (self._spec.passes if way == "read" else 1)

    def resize(self, spec: TestSpec) -> None:
        """Go on with a smaller test; nothing of the last repeat is there any more."""
        self._spec = spec

    @abstractmethod
    def write(self) -> Transfer:
        """Write and measure it.

        Raises:
            OSError: from any step; a full server may say so only at fsync or close.
            StoppedError: if told to end.
        """

    @abstractmethod
    def prepare(self) -> None:
        """Write without measuring it, for a test that only reads."""

    @abstractmethod
    def measure_operations(self) -> None:
        """Measure what can only be done once the files have been copied; it is the last step of a round."""

    @abstractmethod
    def clear(self) -> None:
        """Remove the files, for the next repeat."""

    def read(self, call_size: int | None = None) -> tuple[Transfer, CacheMethod]:
        """Read and measure it; return also the method that really kept the cache out.

        Args:
            call_size: bytes of each call, None for the test's own. With others it is a reading of its own
                after the first: a fresh mount is no longer one, and its cache is emptied instead.

        Raises:
            OSError: from any step.
            AppError: IO if what was read is not what was written.
            StoppedError: if told to end.
        """
        method = self._spec.cache
        if call_size is not None and method == "fresh-mount":
            method = "fadvise"
        self._call_size = call_size or self._spec.block_size
        self._read_phase = "read" if call_size is None else "small-read"
        if method == "direct":
            try:
                return self._read_once(os.O_DIRECT), method
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
                self.note("This file system does not take O_DIRECT; the cache was told to drop instead.")
                method = "fadvise"
        if method == "fadvise":
            self._meter.phase("read", "drop-cache")
            self._drop_cache()
        return self._read_once(0), method

    def _begin(self, way: TransferDirection) -> float:
        """Start the clock of a transfer; return its time 0."""
        phase = self._read_phase if way == "read" else way
        return self._meter.begin(way, phase, total=self.moved(way))

    def note(self, text: str) -> None:
        """Add a sentence, once for all repeats."""
        if text not in self.notes:
            self.notes.append(text)

    @abstractmethod
    def _read_once(self, flags: int) -> Transfer: ...

    @abstractmethod
    def _drop_cache(self) -> None: ...

    def _transfer(
        self,
        way: TransferDirection,
        times: tuple[float, float, float],
        added: TransferCounters,
        samples: list[Sample],
    ) -> Transfer:
        transfer_s, fsync_s, close_s = times
        probe = self._probe
        tcp = added.tcp_retransmissions if probe.tcp else None
        if way == "read":
            server, ops, rtt_ms = added.server_read, added.read_ops, added.read_rtt_ms
        else:
            server, ops, rtt_ms = added.server_written, added.write_ops, added.write_rtt_ms
        moved = self.moved(way)
        transfer = Transfer(
            bytes=moved,
            bytes_per_s=moved / max(transfer_s + fsync_s + close_s, 1e-9),
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
        return msgspec.structs.replace(
            transfer,
            # Over a connection that lives no request is made again, whatever is lost: TCP sends its segments.
            retransmissions=added.rpc_retransmissions if tcp is None else tcp,
            retransmissions_from="mountstats" if tcp is None else "tcp_info",
            rpc_retransmissions=added.rpc_retransmissions,
            tcp_retransmissions=tcp,
            server_bytes=server,
            mean_rtt_s=rtt_ms / ops / 1000 if ops else None,
            load=self._meter.last_load,
        )


def close_quietly(fd: int) -> None:
    """Close after an error: that one is to be told, and a full disk repeats itself at close."""
    with contextlib.suppress(OSError):
        os.close(fd)


#: How far the window wanders. Small enough to stay in the processor's cache beside the page cache it fills.
WINDOW_RANGE = 4 * 2**20
#: Windows start at multiples of this: a copy from an odd address is a few per cent slower.
_ALIGNMENT = 8
#: The step from one window to the next, in grains; odd, so that it visits every start before the first again.
_STRIDE = 190_027 * _ALIGNMENT


_CHUNK_BYTES = 2**20


def _random_bytes(size: int) -> memoryview:
    """Return as many random bytes, or more; they are the same in every process."""
    if len(_random_pool[-1]) < size:
        # Private: a copy of this process has its pages, too, and need not ask the kernel for each.
        made = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        source = random.Random("mountwright")  # noqa: S311 - no secret: bytes that do not compress
        for start in range(0, size, _CHUNK_BYTES):
            made[start : start + _CHUNK_BYTES] = source.randbytes(_CHUNK_BYTES)[: size - start]
        _random_pool.append(memoryview(made).toreadonly())
        del _random_pool[0]
    return _random_pool[-1]


_random_pool = [memoryview(b"")]


def preload_random_bytes(block_size: int) -> None:
    """Make the random bytes for blocks of this size, so that the first run need not wait for them."""
    _random_bytes(block_size + WINDOW_RANGE)


class DataPool:
    """Random bytes for one file.

    Args:
        block_size: bytes of each block.
        run: name of the run; the same name gives the same bytes, so that another process can check them.
    """

    def __init__(self, block_size: int, run: str) -> None:
        self.block_size = block_size
        self._view = _random_bytes(block_size + WINDOW_RANGE)[:]
        self._first = random.Random(run).randrange(WINDOW_RANGE // _ALIGNMENT) * _ALIGNMENT  # noqa: S311

    def start(self, index: int) -> int:
        """Return where in the pool the block of this number begins."""
        return (self._first + index * _STRIDE) % WINDOW_RANGE

    def block(self, index: int, size: int | None = None) -> memoryview:
        """Return a block without copying it.

        Args:
            index: number of the block in the file, from 0.
            size: bytes, at most the block size, which is the default.
        """
        start = (self._first + index * _STRIDE) % WINDOW_RANGE  # start(), without a call: the inner loop
        return self._view[start : start + (size or self.block_size)]

    def matches(self, index: int, offset: int, data: memoryview | bytes) -> bool:
        """Return whether the data is what the block holds at this offset."""
        start = self.start(index) + offset
        return self._view[start : start + len(data)] == data

    def close(self) -> None:
        """Let go of it; the bytes stay for the next run."""
        self._view.release()

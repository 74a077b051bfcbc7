"""Base of all workloads: reads from the server instead of the cache, results from counters, and test data.

The data is incompressible and does not repeat. Each block is a window into one pool of random bytes, at its
own offset, so that nothing is computed or copied between two write calls. A compressing or deduplicating
server finds no equal aligned data within several gigabytes. The pool is created once in a process. Each run
has its own order of windows, so that the file of another run is not mistaken for its own.
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
    """Raised when the test was cancelled."""


class Workload(ABC):
    """Writes and reads the test files of one run, in each repeat.

    Args:
        spec: specification of the test.
        directory: directory of the files.
        pool: contents of the files.
        meter: sampler of the transfers.

    Attributes:
        notes: sentences on deviations from the specification.
        rates: operations per second of the current repeat, by name.
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
        #: Bytes per call and phase name of the current read.
        self._call_size = spec.block_size
        self._read_phase: TestPhase = "read"
        self.notes: list[str] = []
        self.rates: dict[str, float] = {}

    @property
    def spec(self) -> TestSpec:
        """Specification of the test, possibly shrunk after the warm-up."""
        return self._spec

    @property
    def total(self) -> int:
        """Total bytes of the files."""
        return self._spec.total

    def moved(self, direction: TransferDirection) -> int:
        """Return the bytes that a transfer in this direction moves."""
        return self.total * (self._spec.passes if direction == "read" else 1)

    def resize(self, spec: TestSpec) -> None:
        """Continue with a smaller test; no files of the previous repeat exist."""
        self._spec = spec

    @abstractmethod
    def write(self) -> Transfer:
        """Write the files and measure it.

        Raises:
            OSError: from any step; a full server may report its error only at fsync or close.
            StoppedError: if the test was cancelled.
        """

    @abstractmethod
    def prepare(self) -> None:
        """Write the files without measuring it, for a test that only reads."""

    @abstractmethod
    def measure_operations(self) -> None:
        """Measure operations on the written files, as the last step of a repeat."""

    @abstractmethod
    def clear(self) -> None:
        """Remove the files before the next repeat."""

    def read(self, call_size: int | None = None) -> tuple[Transfer, CacheMethod]:
        """Read the files and measure it; return the transfer and the cache method used.

        Args:
            call_size: bytes of each call, None for the specified size. With a size, it is a second, separate
                read; "fadvise" then replaces "fresh-mount", as the mount is no longer fresh.

        Raises:
            OSError: from any step.
            AppError: IO if the data read differs from the data written.
            StoppedError: if the test was cancelled.
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

    def _begin(self, direction: TransferDirection) -> float:
        """Start a transfer; return its start time on the monotonic clock, s."""
        phase = self._read_phase if direction == "read" else direction
        return self._meter.begin(direction, phase, total=self.moved(direction))

    def note(self, text: str) -> None:
        """Add a sentence to the notes unless it is there."""
        if text not in self.notes:
            self.notes.append(text)

    @abstractmethod
    def _read_once(self, flags: int) -> Transfer: ...

    @abstractmethod
    def _drop_cache(self) -> None: ...

    def _transfer(
        self,
        direction: TransferDirection,
        times: tuple[float, float, float],
        added: TransferCounters,
        samples: list[Sample],
    ) -> Transfer:
        transfer_s, fsync_s, close_s = times
        probe = self._probe
        tcp = added.tcp_retransmissions if probe.tcp else None
        if direction == "read":
            server, ops, rtt_ms = added.server_read, added.read_ops, added.read_rtt_ms
        else:
            server, ops, rtt_ms = added.server_written, added.write_ops, added.write_rtt_ms
        moved = self.moved(direction)
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
            # While a TCP connection lives, RPC requests are not retransmitted: TCP retransmits segments.
            retransmissions=added.rpc_retransmissions if tcp is None else tcp,
            retransmissions_from="mountstats" if tcp is None else "tcp_info",
            rpc_retransmissions=added.rpc_retransmissions,
            tcp_retransmissions=tcp,
            server_bytes=server,
            mean_rtt_s=rtt_ms / ops / 1000 if ops else None,
            load=self._meter.last_load,
        )


def close_quietly(fd: int) -> None:
    """Close after another error; an error of close itself is ignored, as it repeats the first one."""
    with contextlib.suppress(OSError):
        os.close(fd)


#: Range of window offsets, bytes. Small enough for the processor's cache together with the page cache in use.
WINDOW_RANGE = 4 * 2**20
#: Alignment of windows, bytes: copying from an odd address is a few percent slower.
_ALIGNMENT = 8
#: Distance of consecutive windows, bytes; odd in units of the alignment, so that all offsets are used first.
_STRIDE = 190_027 * _ALIGNMENT


_CHUNK_BYTES = 2**20


def _random_bytes(size: int) -> memoryview:
    """Return at least `size` random bytes, the same in every process."""
    if len(_random_pool[-1]) < size:
        # A private mapping: forked processes inherit its pages without a page fault for each.
        pool = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        source = random.Random("mountwright")  # noqa: S311 - only needs to be incompressible
        for start in range(0, size, _CHUNK_BYTES):
            pool[start : start + _CHUNK_BYTES] = source.randbytes(_CHUNK_BYTES)[: size - start]
        _random_pool.append(memoryview(pool).toreadonly())
        del _random_pool[0]
    return _random_pool[-1]


_random_pool = [memoryview(b"")]


def preload_random_bytes(block_size: int) -> None:
    """Create the random bytes for blocks of this size before the first run needs them."""
    _random_bytes(block_size + WINDOW_RANGE)


class DataPool:
    """Random contents of one file.

    Args:
        block_size: bytes of each block.
        run: name of the run; it determines the contents, so that another process can verify them.
    """

    def __init__(self, block_size: int, run: str) -> None:
        self.block_size = block_size
        self._view = _random_bytes(block_size + WINDOW_RANGE)[:]
        self._first = random.Random(run).randrange(WINDOW_RANGE // _ALIGNMENT) * _ALIGNMENT  # noqa: S311

    def start(self, index: int) -> int:
        """Return the offset in the pool of the block with this number."""
        return (self._first + index * _STRIDE) % WINDOW_RANGE

    def block(self, index: int, size: int | None = None) -> memoryview:
        """Return a block without copying it.

        Args:
            index: number of the block in the file, from 0.
            size: bytes, at most the block size, which is the default.
        """
        start = (self._first + index * _STRIDE) % WINDOW_RANGE  # as in start(): no call in the inner loop
        return self._view[start : start + (size or self.block_size)]

    def matches(self, index: int, offset: int, data: memoryview | bytes) -> bool:
        """Return whether the data equals the contents of the block at this offset."""
        start = self.start(index) + offset
        return self._view[start : start + len(data)] == data

    def close(self) -> None:
        """Release the view; the random bytes stay for the next run."""
        self._view.release()

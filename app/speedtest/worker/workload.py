"""What every workload of a test has in common: reads that are kept honest, and figures from the counters."""

from __future__ import annotations

import contextlib
import errno
import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import msgspec

from app.speedtest.model import Transfer

if TYPE_CHECKING:
    from app.bench.data import DataPool
    from app.bench.probe import Look
    from app.speedtest.model import CacheMethod, Phase, Sample, TestSpec
    from app.speedtest.sampler import Meter, Way
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

    def __init__(self, spec: TestSpec, directory: TestDirectory, pool: DataPool, meter: Meter) -> None:
        self._spec = spec
        self._directory = directory
        self._pool = pool
        self._meter = meter
        self._progress = meter.progress
        self._probe = meter.probe
        #: Of the reading that goes on: bytes of its calls, and how it is told of.
        self._call_size = spec.block_size
        self._read_phase: Phase = "read"
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

    def moved(self, way: Way) -> int:
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

    def _begin(self, way: Way) -> float:
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
        self, way: Way, times: tuple[float, float, float], added: Look, samples: list[Sample]
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
            load=self._meter.did,
        )


def close_quietly(fd: int) -> None:
    """Close after an error: that one is to be told, and a full disk repeats itself at close."""
    with contextlib.suppress(OSError):
        os.close(fd)

"""The sampler: 20 looks a second at a running transfer, from a thread of the worker.

It goes on through fsync and close: on a slow link write() returns at the speed of memory, and only the
server's byte counter shows what the wire does.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Literal

from app.bench.load import LoadWatch
from app.bench.probe import Look
from app.speedtest.messages import WorkerMessage
from app.speedtest.model import SAMPLE_INTERVAL_S, Sample, TestEvent

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.bottleneck import Load
    from app.bench.probe import Probe
    from app.speedtest.model import Phase

_ALIVE_INTERVAL_S = 1.0

Way = Literal["write", "read"]


class Progress:
    """What the transferring thread tells the sampler, and the way to stop it.

    Attributes:
        bytes: bytes that calls of the present transfer have returned for.
        steps: operations done that move no bytes.
        stopped: set when the transfer is to end at the next block.
        parts: of the streams that move bytes for it at the same time.
    """

    __slots__ = ("bytes", "parts", "steps", "stopped")

    def __init__(self) -> None:
        self.bytes = 0
        self.steps = 0
        self.stopped = False
        self.parts: list[Progress] = []

    @property
    def moved(self) -> int:
        """Bytes of the transfer and of its parts."""
        return self.bytes + sum(part.bytes for part in self.parts)


class Meter:
    """Samples transfers, one after the other.

    Args:
        probe: the counters.
        progress: of the transferring thread.
        send: takes each message; called from both threads, one at a time.

    Attributes:
        probe: as given.
        progress: as given.
        round: which repeat of the test it is.
        load: watches what the transfers do.
        did: what the last transfer did.
    """

    did: Load | None = None

    def __init__(self, probe: Probe, progress: Progress, send: Callable[[WorkerMessage], None]) -> None:
        self.probe = probe
        self.progress = progress
        self._send = send
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self.round = 0
        self.load = LoadWatch()
        self._way: Way = "write"
        self._phase: Phase = "prepare"
        self._active = False
        self._asleep = False
        self._began = 0.0
        self._base = Look()
        self._last = Look()
        self._samples: list[Sample] = []
        self._watched = (Look(), 0.0)
        self._moved: tuple[int, ...] = ()
        self._told_phase: Phase | None = None
        self._lively: bool = False
        self._alive_at = 0.0
        self._thread = threading.Thread(target=self._run, name="bench-meter", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread and close the probe."""
        self._ended.set()
        self._thread.join()
        self.probe.close()

    def phase(self, way: Way, phase: Phase) -> None:
        """Say that a phase begins."""
        with self._lock:
            self._way, self._phase = way, phase
            self._send(WorkerMessage(event=TestEvent(direction=way, phase=phase, round=self.round)))

    def begin(self, way: Way, phase: Phase, *, asleep: bool = False, total: int = 0) -> float:
        """Start a transfer at zero and return its time 0 on the monotonic clock.

        Args:
            way: of the transfer.
            phase: its first one.
            asleep: another program makes the transfer, and is being started: time 0 is its first request.
            total: bytes that it will move, 0 if that is not known.
        """
        with self._lock:
            self._way, self._phase = way, phase
            self.progress.bytes = 0
            self._samples = []
            self.load.begin()
            self._base = self._last = self.probe.look()
            self._active = True
            self._asleep = asleep and self.probe.nfs
            event = TestEvent(direction=way, phase=phase, round=self.round, total=total)
            self._send(WorkerMessage(event=event))
            self._take(self._base, 0.0)
            self._began = time.monotonic()
            return self._began

    @property
    def asked(self) -> bool:
        """Whether the transfer's first request was made."""
        return self._active and not self._asleep

    def watch(self) -> None:
        """Have :meth:`watched` count from here: what came before is another program's start and warm-up."""
        with self._lock:
            self._watched = (self.probe.look(), time.monotonic())
            self.load.begin()

    def watched(self) -> Load:
        """Return what was done since, the bytes by the server's counters."""
        with self._lock:
            base, began = self._watched
            added = self.probe.look().since(base)
            moved = added.server_read if self._way == "read" else added.server_written
            return self.load.end(time.monotonic() - began, moved, added)

    def finish(self) -> tuple[Look, list[Sample]]:
        """End a transfer with a last sample; return what its counters added, and all samples."""
        with self._lock:
            look = self.probe.look()
            self._take(look, time.monotonic() - self._began)
            self._active = self._asleep = False
            added = look.since(self._base)
            self.did = self.load.end(self._samples[-1].t_s, self.progress.moved, added)
            return added, self._samples

    def _run(self) -> None:
        due = time.monotonic()
        while True:
            now = time.monotonic()
            due = max(due + SAMPLE_INTERVAL_S, now)
            if self._ended.wait(due - now):
                return
            with self._lock:
                if self._ended.is_set():
                    return
                look = self.probe.look()
                if self._asleep:
                    self._wake(look)
                elif self._active:
                    self._take(look, time.monotonic() - self._began)
                self._tell_alive(look)

    def _wake(self, look: Look) -> None:
        """Begin once something is asked of the server."""
        added = look.since(self._base)
        self._asleep = added.calls + added.segments == 0
        if self._asleep:
            self._base = self._last = look
            self._began = time.monotonic()
        else:
            self._take(look, time.monotonic() - self._began)

    def _take(self, look: Look, t_s: float) -> None:
        added, step = look.since(self._base), look.since(self._last)
        self._last = look
        done = self.progress.moved
        self.load.take(self.probe)
        if self._way == "read":
            server, ops, rtt_ms = added.server_read, step.read_ops, step.read_rtt_ms
        else:
            server, ops, rtt_ms = added.server_written, step.write_ops, step.write_rtt_ms
        sample = Sample(
            t_s=t_s,
            bytes=done,
            server_bytes=server if self.probe.nfs else done,
            timeouts=added.timeouts,
            retransmissions=added.tcp_retransmissions if self.probe.tcp else added.rpc_retransmissions,
            rtt_s=rtt_ms / ops / 1000 if ops else None,
        )
        self._samples.append(sample)
        event = TestEvent(direction=self._way, phase=self._phase, sample=sample, round=self.round)
        self._send(WorkerMessage(event=event))

    def _tell_alive(self, look: Look) -> None:
        """Say once a second that something moves; a local file system has no counter to doubt it by."""
        now = time.monotonic()
        # Time-outs and retransmissions also grow while the server is dead, and a connection that is given up
        # takes its bytes with it: only what grows is life.
        moved = (
            look.server_read, look.server_written, look.read_ops, look.write_ops, look.tcp_bytes,
            self.progress.moved, self.progress.steps,
        )  # fmt: skip
        grown = not self._moved or any(new > old for new, old in zip(moved, self._moved, strict=True))
        self._lively = self._lively or grown or self._phase != self._told_phase or not self.probe.nfs
        self._moved, self._told_phase = moved, self._phase
        if self._lively and now - self._alive_at >= _ALIVE_INTERVAL_S:
            self._alive_at, self._lively = now, False
            self._send(WorkerMessage(alive=True))

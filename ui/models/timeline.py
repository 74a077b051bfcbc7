"""A running test as curves: speed over time for each direction, and the moments where phases changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from app.bench.result import Phase, Sample, TestEvent

Way = Literal["write", "read"]

#: Speed is taken over at least this long: the server's counters step with each finished request.
WINDOW_S = 0.5
#: Room between the two directions.
GAP_S = 0.5
#: Phases that are marked on the plot: a read has nothing to flush.
_MARKED = frozenset({("write", "fsync"), ("write", "close")})


@dataclass(slots=True)
class Curve:
    """One direction.

    Attributes:
        start_s: where it begins on the plot's time axis.
        times_s: moments on the plot's time axis.
        speeds: bytes a second at each.
        moved: bytes that the calls have returned for.
        server_moved: bytes exchanged with the server.
    """

    start_s: float
    times_s: list[float] = field(default_factory=list[float])
    speeds: list[float] = field(default_factory=list[float])
    moved: int = 0
    server_moved: int = 0
    samples: list[Sample] = field(default_factory=list["Sample"])

    @property
    def recent_speed(self) -> float | None:
        """The mean speed of the last second, bytes a second; None before the first sample."""
        if not self.samples:
            return None
        last = self.samples[-1]
        earlier = _before(self.samples, last.t_s - 1.0)
        elapsed = last.t_s - earlier.t_s if earlier else last.t_s
        moved = last.server_bytes - (earlier.server_bytes if earlier else 0)
        return max(0, moved) / elapsed if elapsed > 0 else None

    @property
    def end_s(self) -> float:
        """Its latest moment on the time axis."""
        return self.times_s[-1] if self.times_s else self.start_s


@dataclass(frozen=True, slots=True)
class Mark:
    """A phase that began."""

    time_s: float
    way: Way
    phase: Phase


class Timeline:
    """Takes the events of one test and keeps what the plot shows. Plain data, no Qt."""

    def __init__(self) -> None:
        self.curves: dict[Way, Curve] = {}
        self.marks: list[Mark] = []
        self.way: Way | None = None
        self.phase: Phase | None = None
        self.version = 0

    @property
    def end_s(self) -> float:
        """The latest moment on the time axis."""
        return max((curve.end_s for curve in self.curves.values()), default=0.0)

    @property
    def peak(self) -> float:
        """The highest speed so far, bytes a second."""
        return max((speed for curve in self.curves.values() for speed in curve.speeds), default=0.0)

    def take(self, event: TestEvent) -> None:
        """Add an event."""
        self.version += 1
        if (event.direction, event.phase) != (self.way, self.phase):
            self._on_phase(event)
        if event.sample is not None:
            self._on_sample(event.direction, event.sample)

    def _on_phase(self, event: TestEvent) -> None:
        self.way, self.phase = event.direction, event.phase
        if (event.direction, event.phase) in _MARKED:
            time_s = event.sample.t_s if event.sample else None
            curve = self._curve(event.direction)
            moment = curve.end_s if time_s is None else curve.start_s + time_s
            self.marks.append(Mark(moment, event.direction, event.phase))

    def _on_sample(self, way: Way, sample: Sample) -> None:
        curve = self._curve(way)
        curve.moved, curve.server_moved = sample.bytes, sample.server_bytes
        curve.samples.append(sample)
        earlier = _before(curve.samples, sample.t_s - WINDOW_S)
        elapsed = sample.t_s - earlier.t_s if earlier else sample.t_s
        if elapsed <= 0:
            return
        moved = sample.server_bytes - (earlier.server_bytes if earlier else 0)
        curve.times_s.append(curve.start_s + sample.t_s)
        curve.speeds.append(max(0, moved) / elapsed)

    def _curve(self, way: Way) -> Curve:
        if way not in self.curves:
            start = self.end_s + GAP_S if self.curves else 0.0
            self.curves[way] = Curve(start)
        return self.curves[way]


def _before(samples: list[Sample], moment_s: float) -> Sample | None:
    """Return the latest sample at or before the moment, else None (the transfer began at 0 with 0 bytes)."""
    for sample in reversed(samples):
        if sample.t_s <= moment_s + 1e-9:
            return sample
    return None

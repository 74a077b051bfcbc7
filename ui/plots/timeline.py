"""Timeline of a test: its events or samples as curves of speed and round-trip time, with phases and losses.

Plain data, no Qt. Finished tests become curves over the time since each transfer began, to be drawn over
each other.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from app.history.model import option_string
from app.speedtest.model import TestEvent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.speedtest.model import Sample, TestPhase, TestResult
    from ui.common.theme import ColorName

TransferDirection = Literal["write", "read"]
#: What is told of a request that was lost or late.
LossKind = Literal["timeout", "retransmission"]

#: Speed is taken over at least this long: the server's counters step with each finished request.
WINDOW_S = 0.5
#: Room between two transfers: what lies between them (making, dropping and removing files) is not drawn.
GAP_S = 0.5
#: Phases that are shaded on the plot: a read has nothing to flush.
_SHADED_PHASES = frozenset({("write", "fsync"), ("write", "close")})


@dataclass(slots=True)
class SpeedCurve:
    """One direction of one repeat.

    Attributes:
        way: to the server or from it.
        start_s: where it begins on the plot's time axis.
        times_s: moments on the plot's time axis.
        speeds: bytes a second at each.
        trips_s: round trip at each, NaN where no request ended.
        round: which repeat it is.
        warm_up: it does not count.
        samples: what was told at each moment.
        peak: the highest speed, bytes a second.
        longest_trip_s: the longest round trip, 0 for none.
    """

    way: TransferDirection
    start_s: float
    times_s: list[float] = field(default_factory=list[float])
    speeds: list[float] = field(default_factory=list[float])
    trips_s: list[float] = field(default_factory=list[float])
    round: int = 0
    warm_up: bool = False
    samples: list[Sample] = field(default_factory=list["Sample"])
    peak: float = 0.0
    longest_trip_s: float = 0.0

    def add(self, time_s: float, speed: float, trip_s: float | None) -> None:
        """Go on with this; the round trip is None where no request ended."""
        self.times_s.append(time_s)
        self.speeds.append(speed)
        self.trips_s.append(math.nan if trip_s is None else trip_s)
        self.peak = max(self.peak, speed)
        self.longest_trip_s = max(self.longest_trip_s, trip_s or 0.0)

    @property
    def recent_speed(self) -> float | None:
        """The mean speed of the last second, bytes a second; None before the first sample."""
        if not self.samples:
            return None
        last = self.samples[-1]
        earlier = _sample_before(self.samples, last.t_s - 1.0)
        elapsed = last.t_s - earlier.t_s if earlier else last.t_s
        moved = last.server_bytes - (earlier.server_bytes if earlier else 0)
        return max(0, moved) / elapsed if elapsed > 0 else None

    @property
    def average(self) -> float | None:
        """The mean speed from its beginning until now; None before the first sample."""
        return self.average_at(-1) if self.samples else None

    def average_at(self, place: int) -> float:
        """Return the mean speed from its beginning until this sample, bytes a second."""
        sample = self.samples[place]
        return max(0, sample.server_bytes) / sample.t_s

    @property
    def moved(self) -> int:
        """Bytes that the calls have returned for."""
        return self.samples[-1].bytes if self.samples else 0

    @property
    def end_s(self) -> float:
        """Its latest moment on the time axis."""
        return self.times_s[-1] if self.times_s else self.start_s


@dataclass(slots=True)
class PhaseInterval:
    """A phase that took a while."""

    phase: TestPhase
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class LossEvent:
    """Requests or segments that were late or sent again."""

    time_s: float
    trouble: LossKind
    count: int


@dataclass(frozen=True, slots=True)
class CursorReadout:
    """What one curve says of a moment.

    Attributes:
        curve: whose.
        time_s: the moment on the time axis that has a sample.
        speed: bytes a second.
        average: since the beginning of the curve, None if unknown.
        trip_s: round trip, None if no request ended.
        phase: fsync or close, None for copying.
    """

    curve: SpeedCurve
    time_s: float
    speed: float
    average: float | None
    trip_s: float | None
    phase: TestPhase | None


class Timeline:
    """Takes the events of one test and keeps what the plot shows. Plain data, no Qt.

    Repeats come one after the other: what drifts with time, such as a server's cache that fills, is seen.

    Args:
        warm_up: the first repeat does not count.
    """

    def __init__(self, *, warm_up: bool = False) -> None:
        self.curves: list[SpeedCurve] = []
        self.phase_intervals: list[PhaseInterval] = []
        self.loss_events: list[LossEvent] = []
        self.way: TransferDirection | None = None
        self.phase: TestPhase | None = None
        self.round = 0
        self.version = 0
        #: Bytes that the transfer which runs will move, 0 if that is not known.
        self.total = 0
        self._warm_up = warm_up
        self._open: PhaseInterval | None = None

    @property
    def end_s(self) -> float:
        """The latest moment on the time axis."""
        return max((curve.end_s for curve in self.curves), default=0.0)

    @property
    def peak(self) -> float:
        """The highest speed so far, bytes a second."""
        return max((curve.peak for curve in self.curves), default=0.0)

    @property
    def longest_trip_s(self) -> float:
        """The longest round trip so far, 0 for none."""
        return max((curve.longest_trip_s for curve in self.curves), default=0.0)

    def latest(self, way: TransferDirection) -> SpeedCurve | None:
        """Return the curve of this direction that is drawn or was drawn last."""
        return next((curve for curve in reversed(self.curves) if curve.way == way), None)

    def rounds(self) -> list[tuple[float, int]]:
        """Return where on the time axis each repeat begins, and its number: 0 for the warm-up."""
        found: dict[int, float] = {}
        for curve in self.curves:
            found.setdefault(curve.round if self._warm_up else curve.round + 1, curve.start_s)
        return [(start_s, number) for number, start_s in found.items()]

    def readings(self, time_s: float) -> list[CursorReadout]:
        """Return what each curve that is drawn there says of a moment."""
        return [
            self._reading(curve, time_s)
            for curve in self.curves
            if curve.times_s and curve.start_s <= time_s <= curve.end_s
        ]

    def take(self, event: TestEvent) -> None:
        """Add an event."""
        self.version += 1
        if (event.direction, event.phase, event.round) != (self.way, self.phase, self.round):
            self._on_phase(event)
        self.total = event.total or self.total
        if event.sample is not None:
            self._on_sample(event, event.sample)

    def _on_phase(self, event: TestEvent) -> None:
        self.way, self.phase, self.round = event.direction, event.phase, event.round
        self._open = None
        if (event.direction, event.phase) in _SHADED_PHASES:
            end_s = self._curve(event).end_s
            self._open = PhaseInterval(event.phase, end_s, end_s)
            self.phase_intervals.append(self._open)

    def _on_sample(self, event: TestEvent, sample: Sample) -> None:
        curve = self._curve(event)
        if sample.t_s <= 0:
            # A grid measures cell after cell in one repeat: each begins at 0.
            if curve.samples:
                self._begin(event)
            return
        earlier = _sample_before(curve.samples, sample.t_s - WINDOW_S)
        elapsed = sample.t_s - earlier.t_s if earlier else sample.t_s
        if elapsed <= 0:
            return
        moved = sample.server_bytes - (earlier.server_bytes if earlier else 0)
        time_s = curve.start_s + sample.t_s
        self._add_losses(curve, sample, time_s)
        curve.samples.append(sample)
        curve.add(time_s, max(0, moved) / elapsed, sample.rtt_s)
        if self._open is not None:
            self._open.end_s = time_s

    def _add_losses(self, curve: SpeedCurve, sample: Sample, time_s: float) -> None:
        last = curve.samples[-1] if curve.samples else None
        timeouts = sample.timeouts - (last.timeouts if last else 0)
        resent = sample.retransmissions - (last.retransmissions if last else 0)
        if timeouts > 0:
            self.loss_events.append(LossEvent(time_s, "timeout", timeouts))
        if resent > 0:
            self.loss_events.append(LossEvent(time_s, "retransmission", resent))

    def _curve(self, event: TestEvent) -> SpeedCurve:
        for curve in reversed(self.curves):
            if (curve.way, curve.round) == (event.direction, event.round):
                return curve
        return self._begin(event)

    def _begin(self, event: TestEvent) -> SpeedCurve:
        start = self.end_s + GAP_S if self.curves else 0.0
        warm_up = self._warm_up and event.round == 0
        curve = SpeedCurve(event.direction, start, round=event.round, warm_up=warm_up)
        self.curves.append(curve)
        return curve

    def _reading(self, curve: SpeedCurve, time_s: float) -> CursorReadout:
        place = min(bisect_left(curve.times_s, time_s), len(curve.times_s) - 1)
        if place and time_s - curve.times_s[place - 1] < curve.times_s[place] - time_s:
            place -= 1
        moment = curve.times_s[place]
        trip_s = curve.trips_s[place]
        phases: list[TestPhase] = [
            span.phase for span in self.phase_intervals if span.start_s < moment <= span.end_s
        ]
        phase = phases[0] if phases and curve.way == "write" else None
        return CursorReadout(
            curve,
            moment,
            curve.speeds[place],
            curve.average_at(place) if curve.samples else None,
            None if math.isnan(trip_s) else trip_s,
            phase,
        )


def _sample_before(samples: list[Sample], moment_s: float) -> Sample | None:
    """Return the latest sample at or before the moment, else None (the transfer began at 0 with 0 bytes)."""
    for sample in reversed(samples):
        if sample.t_s <= moment_s + 1e-9:
            return sample
    return None


#: Fields of ui.common.theme.Colors by place: as many tests can be told apart.
SERIES_COLORS: tuple[ColorName, ...] = ("write", "read", "trip", "ok", "text")
_DIRECTIONS: tuple[TransferDirection, ...] = ("write", "read")


class OverlayLine(NamedTuple):
    """One direction of one test.

    Attributes:
        place: of the test among those that are shown, from 0: its color.
        way: to the server or from it.
        times_s: moments since the transfer began.
        speeds: bytes a second at each.
    """

    place: int
    way: TransferDirection
    times_s: list[float]
    speeds: list[float]


def differing_options(results: Sequence[TestResult]) -> list[str]:
    """Return the options in use in each test, of several only those that are not the same in all."""
    names = list(dict.fromkeys(name for result in results for name in result.effective))
    if len(results) > 1:
        names = [name for name in names if len({result.effective.get(name) for result in results}) > 1]
    shown = [{name: each.effective[name] for name in names if name in each.effective} for each in results]
    # With blanks, so that the line can be broken.
    return [option_string(values).replace(",", ", ") for values in shown]


def overlay_lines(results: Sequence[TestResult]) -> list[OverlayLine]:
    """Return the lines of some tests: of several repeats, the one with the median speed is kept."""
    found: list[OverlayLine] = []
    for place, result in enumerate(results):
        for way in _DIRECTIONS:
            transfer = result.write if way == "write" else result.read
            timeline = Timeline()
            for sample in transfer.samples if transfer is not None else ():
                timeline.take(TestEvent(direction=way, phase=way, sample=sample))
            found += [OverlayLine(place, way, curve.times_s, curve.speeds) for curve in timeline.curves]
    return found

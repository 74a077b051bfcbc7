"""Timeline of a test: curves of speed and round-trip time, phases and losses, built from its events.

Plain data. For the overlay plot, finished tests become curves over the time since the start of each
transfer.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from app.history.model import option_string
from app.speedtest.model import TestEvent
from app.text.units import format_duration
from ui.common.speed_units import speed_text
from ui.common.translation import tr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.speedtest.model import Sample, TestPhase, TestResult

TransferDirection = Literal["write", "read"]
#: Kind of loss event.
LossKind = Literal["timeout", "retransmission"]

#: Rows of the table of one long curve; more would tire whoever has it read out.
_TABLE_ROWS = 12
#: Minimum time over which a speed is averaged, s, because the counters step with each finished request.
WINDOW_S = 0.5
#: Gap between two transfers on the time axis, s, instead of the time for creating and removing files.
GAP_S = 0.5
#: Directions and phases that are shaded on the plot; a read has nothing to flush.
_SHADED_PHASES = frozenset({("write", "fsync"), ("write", "close")})


@dataclass(slots=True)
class SpeedCurve:
    """Curve of one direction of one repeat.

    Attributes:
        way: direction, "write" to the server or "read" from it.
        start_s: start on the time axis of the plot, s.
        times_s: times of the samples on the time axis of the plot, s.
        speeds: speed at each time, bytes/s.
        trips_s: round-trip time at each time, s, NaN if no request ended.
        round: number of the repeat, from 0.
        warm_up: whether the repeat is the warm-up, which no result includes.
        samples: samples of the agent at each time.
        peak: highest speed, bytes/s.
        longest_trip_s: longest round-trip time, s, 0 for none.
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
        """Append a point: time (s), speed (bytes/s) and round-trip time (s), None if no request ended."""
        self.times_s.append(time_s)
        self.speeds.append(speed)
        self.trips_s.append(math.nan if trip_s is None else trip_s)
        self.peak = max(self.peak, speed)
        self.longest_trip_s = max(self.longest_trip_s, trip_s or 0.0)

    @property
    def recent_speed(self) -> float | None:
        """Mean speed of the last second, bytes/s; None before the first sample."""
        if not self.samples:
            return None
        last = self.samples[-1]
        earlier = _sample_before(self.samples, last.t_s - 1.0)
        elapsed = last.t_s - earlier.t_s if earlier else last.t_s
        moved = last.server_bytes - (earlier.server_bytes if earlier else 0)
        return max(0, moved) / elapsed if elapsed > 0 else None

    @property
    def average(self) -> float | None:
        """Mean speed since the start of the curve, bytes/s; None before the first sample."""
        return self.average_at(-1) if self.samples else None

    def average_at(self, index: int) -> float:
        """Return the mean speed from the start of the curve to a sample, by its index, bytes/s."""
        sample = self.samples[index]
        return max(0, sample.server_bytes) / sample.t_s

    @property
    def moved(self) -> int:
        """Bytes that the read or write calls have transferred."""
        return self.samples[-1].bytes if self.samples else 0

    @property
    def end_s(self) -> float:
        """Latest time of the curve on the time axis, s."""
        return self.times_s[-1] if self.times_s else self.start_s


@dataclass(slots=True)
class PhaseInterval:
    """Interval of a phase (fsync or close) on the time axis, s."""

    phase: TestPhase
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class LossEvent:
    """Timeouts or retransmissions at a time.

    Attributes:
        time_s: time on the time axis, s.
        trouble: kind of loss.
        count: number of timeouts or retransmissions since the previous sample.
    """

    time_s: float
    trouble: LossKind
    count: int


@dataclass(frozen=True, slots=True)
class CursorReadout:
    """Values of one curve at the sample nearest to the cursor.

    Attributes:
        curve: the curve.
        time_s: time of the sample on the time axis, s.
        speed: speed, bytes/s.
        average: mean speed since the start of the curve, bytes/s, None if unknown.
        trip_s: round-trip time, s, None if no request ended.
        phase: fsync or close, None during the transfer.
    """

    curve: SpeedCurve
    time_s: float
    speed: float
    average: float | None
    trip_s: float | None
    phase: TestPhase | None


class Timeline:
    """Curves, phases and losses of one test, built from its events.

    Repeats follow each other on the time axis, so that drift is visible, for example a filling server cache.

    Args:
        warm_up: whether the first repeat is a warm-up.

    Attributes:
        curves: curves in the order of their start.
        phase_intervals: shaded intervals.
        loss_events: timeouts and retransmissions.
        way: direction of the present transfer, None before the first event.
        phase: present phase, None before the first event.
        round: number of the present repeat, from 0.
        version: number of events so far.
        total: bytes that the present transfer will move, 0 if unknown.
    """

    def __init__(self, *, warm_up: bool = False) -> None:
        self.curves: list[SpeedCurve] = []
        self.phase_intervals: list[PhaseInterval] = []
        self.loss_events: list[LossEvent] = []
        self.way: TransferDirection | None = None
        self.phase: TestPhase | None = None
        self.round = 0
        self.version = 0
        self.total = 0
        self._warm_up = warm_up
        self._open_interval: PhaseInterval | None = None

    @property
    def end_s(self) -> float:
        """Latest time on the time axis, s."""
        return max((curve.end_s for curve in self.curves), default=0.0)

    @property
    def peak(self) -> float:
        """Highest speed so far, bytes/s."""
        return max((curve.peak for curve in self.curves), default=0.0)

    @property
    def longest_trip_s(self) -> float:
        """Longest round-trip time so far, s; 0 for none."""
        return max((curve.longest_trip_s for curve in self.curves), default=0.0)

    def latest(self, direction: TransferDirection) -> SpeedCurve | None:
        """Return the latest curve of a direction, None without one."""
        return next((curve for curve in reversed(self.curves) if curve.way == direction), None)

    def rounds(self) -> list[tuple[float, int]]:
        """Return the start (s) and the number of each repeat; 0 is the warm-up."""
        starts: dict[int, float] = {}
        for curve in self.curves:
            starts.setdefault(curve.round if self._warm_up else curve.round + 1, curve.start_s)
        return [(start_s, number) for number, start_s in starts.items()]

    def readings(self, time_s: float) -> list[CursorReadout]:
        """Return the values of all curves that cover a time of the axis (s)."""
        return [
            self._readout(curve, time_s)
            for curve in self.curves
            if curve.times_s and curve.start_s <= time_s <= curve.end_s
        ]

    def take(self, event: TestEvent) -> None:
        """Add an event of the test."""
        self.version += 1
        if (event.direction, event.phase, event.round) != (self.way, self.phase, self.round):
            self._on_phase(event)
        self.total = event.total or self.total
        if event.sample is not None:
            self._on_sample(event, event.sample)

    def _on_phase(self, event: TestEvent) -> None:
        self.way, self.phase, self.round = event.direction, event.phase, event.round
        self._open_interval = None
        if (event.direction, event.phase) in _SHADED_PHASES:
            end_s = self._curve(event).end_s
            self._open_interval = PhaseInterval(event.phase, end_s, end_s)
            self.phase_intervals.append(self._open_interval)

    def _on_sample(self, event: TestEvent, sample: Sample) -> None:
        curve = self._curve(event)
        if sample.t_s <= 0:
            # A grid measures several cells in one repeat; the time of each starts at 0.
            if curve.samples:
                self._add_curve(event)
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
        if self._open_interval is not None:
            self._open_interval.end_s = time_s

    def _add_losses(self, curve: SpeedCurve, sample: Sample, time_s: float) -> None:
        last = curve.samples[-1] if curve.samples else None
        timeouts = sample.timeouts - (last.timeouts if last else 0)
        retransmissions = sample.retransmissions - (last.retransmissions if last else 0)
        if timeouts > 0:
            self.loss_events.append(LossEvent(time_s, "timeout", timeouts))
        if retransmissions > 0:
            self.loss_events.append(LossEvent(time_s, "retransmission", retransmissions))

    def _curve(self, event: TestEvent) -> SpeedCurve:
        for curve in reversed(self.curves):
            if (curve.way, curve.round) == (event.direction, event.round):
                return curve
        return self._add_curve(event)

    def _add_curve(self, event: TestEvent) -> SpeedCurve:
        start = self.end_s + GAP_S if self.curves else 0.0
        warm_up = self._warm_up and event.round == 0
        curve = SpeedCurve(event.direction, start, round=event.round, warm_up=warm_up)
        self.curves.append(curve)
        return curve

    def _readout(self, curve: SpeedCurve, time_s: float) -> CursorReadout:
        index = min(bisect_left(curve.times_s, time_s), len(curve.times_s) - 1)
        if index and time_s - curve.times_s[index - 1] < curve.times_s[index] - time_s:
            index -= 1
        sample_time_s = curve.times_s[index]
        trip_s = curve.trips_s[index]
        phases: list[TestPhase] = [
            interval.phase
            for interval in self.phase_intervals
            if interval.start_s < sample_time_s <= interval.end_s
        ]
        phase = phases[0] if phases and curve.way == "write" else None
        return CursorReadout(
            curve,
            sample_time_s,
            curve.speeds[index],
            curve.average_at(index) if curve.samples else None,
            None if math.isnan(trip_s) else trip_s,
            phase,
        )


def _sample_before(samples: list[Sample], time_s: float) -> Sample | None:
    """Return the latest sample at or before a time; None stands for the start (0 s, 0 bytes)."""
    for sample in reversed(samples):
        if sample.t_s <= time_s + 1e-9:
            return sample
    return None


_DIRECTIONS: tuple[TransferDirection, ...] = ("write", "read")


def timeline_table(timeline: Timeline) -> list[list[str]]:
    """Return the curves of a test as a table: titles, and one row per transfer.

    A curve without samples is that of a watched mount, whose course matters; its rows are times.
    """
    names = {"write": tr("To the server"), "read": tr("From the server")}
    if timeline.curves and not any(curve.samples for curve in timeline.curves):
        step = max(1, -(-len(timeline.curves[0].times_s) // _TABLE_ROWS))
        titles = [tr("Time"), *(names[curve.way] for curve in timeline.curves)]
        return [titles, *(
            [format_duration(timeline.curves[0].times_s[index]),
             *(speed_text(curve.speeds[index]) for curve in timeline.curves)]
            for index in range(0, len(timeline.curves[0].times_s), step)
        )]  # fmt: skip
    rows = [[tr("Repeat"), tr("Direction"), tr("Average"), tr("Highest"), tr("Longest wait per request")]]
    for curve in timeline.curves:
        if curve.average is not None:
            wait = format_duration(curve.longest_trip_s) if curve.longest_trip_s else "—"
            number = tr("Warm-up") if curve.warm_up else str(max(curve.round, 1))
            rows.append([number, names[curve.way], speed_text(curve.average), speed_text(curve.peak), wait])
    return rows


class OverlayLine(NamedTuple):
    """Curve of one direction of one test in the overlay plot.

    Attributes:
        place: index of the test among those shown, which determines its lightness and dashes.
        way: direction, "write" to the server or "read" from it.
        times_s: times since the start of the transfer, s.
        speeds: speed at each time, bytes/s.
    """

    place: int
    way: TransferDirection
    times_s: list[float]
    speeds: list[float]


def timeline_of(result: TestResult) -> Timeline:
    """Return the timeline of a saved test, which has the samples of the repeat with the median speed."""
    timeline = Timeline()
    for direction in _DIRECTIONS:
        transfer = result.write if direction == "write" else result.read
        for sample in transfer.samples if transfer is not None else ():
            timeline.take(TestEvent(direction=direction, phase=direction, sample=sample))
    return timeline


def differing_options(results: Sequence[TestResult]) -> list[str]:
    """Return the options in use of each test; of several tests, only the options that differ."""
    names = list(dict.fromkeys(name for result in results for name in result.effective))
    if len(results) > 1:
        names = [name for name in names if len({result.effective.get(name) for result in results}) > 1]
    shown = [{name: each.effective[name] for name in names if name in each.effective} for each in results]
    # Spaces allow a label to wrap the text.
    return [option_string(values).replace(",", ", ") for values in shown]


def overlay_lines(results: Sequence[TestResult]) -> list[OverlayLine]:
    """Return the curves of some tests; a test with several repeats has that of the median speed."""
    return [
        OverlayLine(index, curve.way, [time_s - curve.start_s for time_s in curve.times_s], curve.speeds)
        for index, result in enumerate(results)
        for curve in timeline_of(result).curves
    ]

"""Sample window: the last two minutes of a mount as curves, and the losses in them. Plain data, no Qt."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from ui.plots.timeline import LossEvent, SpeedCurve, Timeline

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.stats.model import StatsSample

#: What the plot shows, seconds.
SPAN_S = 120.0


class LossCounts(NamedTuple):
    """What went wrong in the time that is kept; None where nobody counts it.

    Attributes:
        span_s: that time, seconds.
        timeouts: major time-outs.
        retransmissions: requests sent again.
        segments: TCP segments sent again.
        disordered: TCP segments that came out of order.
        errors: answers with an error.
    """

    span_s: float
    timeouts: int
    retransmissions: int
    segments: int | None
    disordered: int | None
    errors: int | None


class SampleWindow:
    """Keeps samples and forgets those that have gone out of sight. Plain data, no Qt."""

    def __init__(self) -> None:
        self._samples: deque[StatsSample] = deque()
        #: When the first interval that is kept began.
        self._since_s = 0.0

    @property
    def latest(self) -> StatsSample | None:
        """The newest sample."""
        return self._samples[-1] if self._samples else None

    def clear(self) -> None:
        """Forget everything."""
        self._samples.clear()
        self._since_s = 0.0

    def take(self, sample: StatsSample) -> None:
        """Add a sample."""
        self._samples.append(sample)
        while sample.t_s - self._samples[0].t_s > SPAN_S:
            self._since_s = self._samples.popleft().t_s

    def trouble(self) -> LossCounts:
        """Return what went wrong in all of it."""
        samples = self._samples
        return LossCounts(
            span_s=samples[-1].t_s - self._since_s if samples else 0.0,
            timeouts=sum(sample.timeouts for sample in samples),
            retransmissions=sum(sample.retransmissions for sample in samples),
            segments=_sum(sample.segments for sample in samples),
            disordered=_sum(sample.disordered for sample in samples),
            errors=_sum(sample.errors for sample in samples),
        )

    def timeline(self) -> Timeline:
        """Return the curves; their time begins at the oldest sample that is kept."""
        timeline = Timeline()
        if not self._samples:
            return timeline
        start = self._samples[0].t_s
        write, read = SpeedCurve("write", 0.0), SpeedCurve("read", 0.0)
        for sample in self._samples:
            time_s = sample.t_s - start
            write.add(time_s, sample.write_bytes_per_s, sample.rtt_s)
            read.add(time_s, sample.read_bytes_per_s, None)
            if sample.timeouts:
                timeline.loss_events.append(LossEvent(time_s, "timeout", sample.timeouts))
            again = sample.retransmissions + (sample.segments or 0)
            if again:
                timeline.loss_events.append(LossEvent(time_s, "retransmission", again))
        timeline.curves = [write, read]
        return timeline


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None

"""Sample window: the samples of the last two minutes of a mount, as curves and sums of losses.

Plain data, no Qt.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from app.stats.unusual import unusual_figures
from ui.plots.timeline import LossEvent, SpeedCurve, Timeline

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.stats.model import StatsSample
    from app.stats.unusual import UnusualFigure

#: Length of the window, and of the plot, s.
SPAN_S = 120.0


class LossCounts(NamedTuple):
    """Sums of losses and errors over the window; None where the kernel has no counter.

    Attributes:
        span_s: time covered by the samples, s.
        timeouts: major timeouts of requests.
        retransmissions: retransmitted requests.
        segments: retransmitted TCP segments.
        disordered: TCP segments received out of order.
        errors: replies with an error status.
    """

    span_s: float
    timeouts: int
    retransmissions: int
    segments: int | None
    disordered: int | None
    errors: int | None


class SampleWindow:
    """Queue of the samples of the last ``SPAN_S`` seconds."""

    def __init__(self) -> None:
        self._samples: deque[StatsSample] = deque()
        #: Start of the first interval in the window, s since the start of the watch.
        self._since_s = 0.0

    @property
    def latest(self) -> StatsSample | None:
        """Latest sample, None if the window is empty."""
        return self._samples[-1] if self._samples else None

    def clear(self) -> None:
        """Remove all samples."""
        self._samples.clear()
        self._since_s = 0.0

    def take(self, sample: StatsSample) -> None:
        """Add a sample, and remove those older than ``SPAN_S``."""
        self._samples.append(sample)
        while sample.t_s - self._samples[0].t_s > SPAN_S:
            self._since_s = self._samples.popleft().t_s

    def trouble(self) -> LossCounts:
        """Return the sums of losses and errors over the window."""
        samples = self._samples
        return LossCounts(
            span_s=samples[-1].t_s - self._since_s if samples else 0.0,
            timeouts=sum(sample.timeouts for sample in samples),
            retransmissions=sum(sample.retransmissions for sample in samples),
            segments=_sum(sample.segments for sample in samples),
            disordered=_sum(sample.disordered for sample in samples),
            errors=_sum(sample.errors for sample in samples),
        )

    def values(self, name: str) -> list[float]:
        """Return the course of a figure, by its field name in StatsSample; unknown values are 0."""
        return [float(getattr(sample, name) or 0.0) for sample in self._samples]

    def unusual(self) -> frozenset[UnusualFigure]:
        """Return the figures that are unusual."""
        return unusual_figures(list(self._samples))

    def timeline(self) -> Timeline:
        """Return the speed curves and loss events; time 0 is the oldest sample in the window."""
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
            retransmitted = sample.retransmissions + (sample.segments or 0)
            if retransmitted:
                timeline.loss_events.append(LossEvent(time_s, "retransmission", retransmitted))
        timeline.curves = [write, read]
        return timeline


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None

"""The last two minutes of a mount as curves."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from ui.models.timeline import Curve, Timeline

if TYPE_CHECKING:
    from app.agent.protocol import StatsSample

#: What the plot shows, seconds.
SPAN_S = 120.0


class LiveWindow:
    """Keeps samples and forgets those that have gone out of sight. Plain data, no Qt."""

    def __init__(self) -> None:
        self._samples: deque[StatsSample] = deque()

    @property
    def latest(self) -> StatsSample | None:
        """The newest sample."""
        return self._samples[-1] if self._samples else None

    def clear(self) -> None:
        """Forget everything."""
        self._samples.clear()

    def take(self, sample: StatsSample) -> None:
        """Add a sample."""
        self._samples.append(sample)
        while sample.t_s - self._samples[0].t_s > SPAN_S:
            self._samples.popleft()

    def timeline(self) -> Timeline:
        """Return the curves; their time begins at the oldest sample that is kept."""
        timeline = Timeline()
        if not self._samples:
            return timeline
        start = self._samples[0].t_s
        write, read = Curve("write", 0.0), Curve("read", 0.0)
        for sample in self._samples:
            time_s = sample.t_s - start
            write.add(time_s, sample.write_bytes_per_s, sample.rtt_s)
            read.add(time_s, sample.read_bytes_per_s, None)
        timeline.curves = [write, read]
        return timeline

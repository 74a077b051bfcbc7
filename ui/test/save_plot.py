"""The samples of a test as a table that other programs read."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ui.plots.timeline import Timeline

#: Units stand in the names; a figure that is not known is empty.
_COLUMNS = ("repeat", "warm_up", "direction", "phase", "seconds", "bytes_called", "bytes_with_server",
            "bytes_per_second", "round_trip_seconds", "timeouts", "retransmissions")  # fmt: skip


def timeline_csv(timeline: Timeline) -> str:
    """Return every sample (RFC 4180, in full precision); seconds and counters begin with each transfer."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)
    for curve in timeline.curves:
        for time_s, speed, sample in zip(curve.times_s, curve.speeds, curve.samples, strict=True):
            phases = [span.phase for span in timeline.spans if span.start_s < time_s <= span.end_s]
            writer.writerow([
                curve.round, int(curve.warm_up), curve.way, phases[0] if phases else curve.way, sample.t_s,
                sample.bytes, sample.server_bytes, speed, "" if sample.rtt_s is None else sample.rtt_s,
                sample.timeouts, sample.retransmissions,
            ])  # fmt: skip
    return text.getvalue()

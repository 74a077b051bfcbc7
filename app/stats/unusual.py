"""Unusual figures of a mount: which counters of the last minutes point to a fault or to a limit.

A few retransmissions and errors are usual. One lost segment in a hundred already makes a long link slow, and
a timeout is never usual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.stats.model import StatsSample

#: Figures that can be unusual, by the names of :class:`app.stats.model.StatsSample`.
UnusualFigure = Literal["timeouts", "retransmissions", "segments", "disordered", "errors", "queue"]

#: Payload of a TCP segment on Ethernet, bytes: MTU 1500 without the headers of IP and TCP with time stamps.
_SEGMENT_BYTES = 1448
#: Fraction of lost segments from which a link becomes slow, and the fewest of them that say something.
_LOSS_PART, _MIN_LOST_SEGMENTS = 0.01, 5
#: Fraction of replies with an error that is more than look-ups of missing files, and their fewest.
_ERROR_PART, _MIN_ERRORS = 0.2, 20
#: Shortest mean wait for sending that a person could notice, s.
_MIN_QUEUE_S = 0.001


def unusual_figures(samples: Sequence[StatsSample]) -> frozenset[UnusualFigure]:
    """Return the figures of some seconds that are unusual."""
    if not samples:
        return frozenset()
    found: set[UnusualFigure] = set()
    if any(sample.timeouts for sample in samples):
        found.add("timeouts")
    if any(sample.retransmissions for sample in samples):
        found.add("retransmissions")
    calls = sum(sample.ops_per_s for sample in samples)
    sent = calls + sum(sample.write_bytes_per_s for sample in samples) / _SEGMENT_BYTES
    received = calls + sum(sample.read_bytes_per_s for sample in samples) / _SEGMENT_BYTES
    if _many(sum(sample.segments or 0 for sample in samples), sent, _LOSS_PART, _MIN_LOST_SEGMENTS):
        found.add("segments")
    if _many(sum(sample.disordered or 0 for sample in samples), received, _LOSS_PART, _MIN_LOST_SEGMENTS):
        found.add("disordered")
    if _many(sum(sample.errors or 0 for sample in samples), calls, _ERROR_PART, _MIN_ERRORS):
        found.add("errors")
    latest = samples[-1]
    if (latest.queue_s or 0.0) > max(latest.rtt_s or 0.0, _MIN_QUEUE_S):
        found.add("queue")
    return frozenset(found)


def _many(count: int, total: float, part: float, least: int) -> bool:
    return count >= least and count > part * total

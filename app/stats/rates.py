"""From counters to rates: what happened between two looks at a mount."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.agent.protocol import StatsSample
from app.stats.totals import restarted, totals

if TYPE_CHECKING:
    from app.stats.mountstats import MountStats
    from app.stats.totals import Totals


class RateMeter:
    """Turns looks at one mount into samples; a mount that began anew gives a new baseline, no sample."""

    def __init__(self) -> None:
        self._previous: Totals | None = None
        self._previous_share = ""
        self._previous_t_s = 0.0

    def update(self, stats: MountStats, t_s: float) -> StatsSample | None:
        """Return the rates since the last look, or None for a first look.

        Args:
            stats: the mount now.
            t_s: seconds since the watch began (monotonic).
        """
        now = totals(stats)
        before, elapsed = self._previous, t_s - self._previous_t_s
        joined = stats.share == self._previous_share
        self._previous, self._previous_share, self._previous_t_s = now, stats.share, t_s
        if before is None or not joined or elapsed <= 0 or restarted(before, now):
            return None
        return _sample(before, now, t_s, elapsed)


def _sample(before: Totals, now: Totals, t_s: float, elapsed: float) -> StatsSample:
    ops = now.ops - before.ops
    return StatsSample(
        t_s=t_s,
        read_bytes_per_s=(now.server_read - before.server_read) / elapsed,
        write_bytes_per_s=(now.server_written - before.server_written) / elapsed,
        ops_per_s=ops / elapsed,
        rtt_s=(now.rtt_ms - before.rtt_ms) / ops / 1000 if ops else None,
        queue_s=(now.queue_ms - before.queue_ms) / ops / 1000 if ops else None,
        timeouts=now.timeouts - before.timeouts,
        retransmissions=now.retransmissions - before.retransmissions,
        connections=now.connections,
    )

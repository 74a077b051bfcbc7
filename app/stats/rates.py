"""From counters to rates: what happened between two looks at a mount."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.kernel.mountstats import OpCounters
from app.stats.model import ConnectionRate, OperationRate, StatsSample
from app.stats.totals import restarted, totals

if TYPE_CHECKING:
    from app.kernel.mountstats import MountStats, Xprt
    from app.stats.totals import Totals

#: The first version of the format whose lines count errors (fs/nfs/super.c).
_WITH_ERRORS = "1.1"


class RateMeter:
    """Turns looks at one mount into samples; a mount that began anew gives a new baseline, no sample."""

    def __init__(self) -> None:
        self._previous: tuple[MountStats, Totals] | None = None
        self._previous_t_s = 0.0

    def update(self, stats: MountStats, t_s: float, read_ahead_kb: int | None = None) -> StatsSample | None:
        """Return the rates since the last look, or None for a first look.

        Args:
            stats: the mount now.
            t_s: seconds since the watch began (monotonic).
            read_ahead_kb: of the mount now.
        """
        now = totals(stats)
        previous, elapsed = self._previous, t_s - self._previous_t_s
        self._previous, self._previous_t_s = (stats, now), t_s
        if previous is None or previous[0].share != stats.share or elapsed <= 0:
            return None
        if restarted(previous[1], now):
            return None
        return _sample(previous, (stats, now), t_s, elapsed, read_ahead_kb)


def _sample(
    previous: tuple[MountStats, Totals],
    current: tuple[MountStats, Totals],
    t_s: float,
    elapsed: float,
    read_ahead_kb: int | None,
) -> StatsSample:
    (old, before), (new, now) = previous, current
    ops = now.ops - before.ops
    operations = _operations(old, new, elapsed)
    counted = [operation.errors for operation in operations if operation.errors is not None]
    execute_s = sum(operation.execute_s * operation.ops_per_s for operation in operations) * elapsed
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
        execute_s=execute_s / ops if ops else None,
        errors=sum(counted) if new.statvers >= _WITH_ERRORS else None,
        read_ahead_kb=read_ahead_kb,
        operations=operations,
        transports=_transports(old.xprts, new.xprts, elapsed),
    )


def _operations(old: MountStats, new: MountStats, elapsed: float) -> list[OperationRate]:
    """Return the procedures that were called; one whose counters went back is left out (damaged text)."""
    found: list[OperationRate] = []
    for name, now in new.ops.items():
        before = old.ops.get(name, OpCounters())
        delta = OpCounters(*(b - a for a, b in zip(before, now, strict=True)))
        if delta.ops <= 0 or min(delta) < 0:
            continue
        found.append(
            OperationRate(
                name=name,
                ops_per_s=delta.ops / elapsed,
                bytes_per_s=(delta.bytes_sent + delta.bytes_received) / elapsed,
                queue_s=delta.queue_ms / delta.ops / 1000,
                rtt_s=delta.rtt_ms / delta.ops / 1000,
                execute_s=delta.execute_ms / delta.ops / 1000,
                timeouts=delta.timeouts,
                retransmissions=max(delta.transmissions - delta.ops, 0),
                errors=delta.errors if new.statvers >= _WITH_ERRORS else None,
            )
        )
    return sorted(found, key=lambda operation: -operation.ops_per_s)


def _transports(old: tuple[Xprt, ...], new: tuple[Xprt, ...], elapsed: float) -> list[ConnectionRate]:
    if len(old) != len(new):
        return []
    found: list[ConnectionRate] = []
    for before, now in zip(old, new, strict=True):
        sends = now.sends - before.sends
        if sends < 0 or now.receives < before.receives or now.connect_count < before.connect_count:
            return []
        waiting = now.backlog_u - before.backlog_u
        found.append(
            ConnectionRate(
                kind=now.kind,
                sends_per_s=sends / elapsed,
                receives_per_s=(now.receives - before.receives) / elapsed,
                reconnections=now.connect_count - before.connect_count,
                waiting=max(waiting, 0) / sends if sends else None,
            )
        )
    return found

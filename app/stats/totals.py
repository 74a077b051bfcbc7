"""Sums over a mount's counters, from which tests and live rates take their differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.kernel.mountstats import MountStats, OpCounters

#: A 4.2 client of Linux 6.12 and later reads with READ_PLUS where an older one reads with READ.
READ_OPS = ("READ", "READ_PLUS")
WRITE_OPS = ("WRITE",)
COMMIT_OPS = ("COMMIT",)


class Totals(NamedTuple):
    """A mount's counters, summed as a rate needs them; all of them only grow while it stays mounted.

    Attributes:
        age_s: seconds since the file system was mounted.
        server_read: payload bytes from the server.
        server_written: payload bytes to the server.
        ops: RPC operations.
        rtt_ms: sum of their round trips.
        queue_ms: sum of their waits before sending.
        timeouts: major time-outs.
        retransmissions: transmissions minus operations; with NFSv4 it stays 0 while the connection lives.
        connections: transports.
    """

    age_s: int
    server_read: int
    server_written: int
    ops: int
    rtt_ms: int
    queue_ms: int
    timeouts: int
    retransmissions: int
    connections: int


def sum_ops(stats: MountStats, names: Iterable[str] | None = None) -> list[OpCounters]:
    """Return the counters of these procedures (of all, if None) that the mount has."""
    if names is None:
        return list(stats.ops.values())
    return [stats.ops[name] for name in names if name in stats.ops]


def totals(stats: MountStats) -> Totals:
    """Return the sums over all procedures of a mount."""
    ops = sum_ops(stats)
    return Totals(
        age_s=stats.age_s,
        server_read=stats.bytes.server_read,
        server_written=stats.bytes.server_written,
        ops=sum(op.ops for op in ops),
        rtt_ms=sum(op.rtt_ms for op in ops),
        queue_ms=sum(op.queue_ms for op in ops),
        timeouts=sum(op.timeouts for op in ops),
        retransmissions=sum(max(op.transmissions - op.ops, 0) for op in ops),
        connections=len(stats.xprts),
    )


def restarted(before: Totals, after: Totals) -> bool:
    """Return whether the counters began anew in between: unmounted and mounted again, or damaged text."""
    pairs = zip(before[:-1], after[:-1], strict=True)  # the number of connections may shrink
    return any(new < old for old, new in pairs)

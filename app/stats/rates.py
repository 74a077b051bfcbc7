"""Rates of one mount from successive readings of /proc/self/mountstats (the verb ``stats.watch``)."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Self

import msgspec

from app.errors import AppError
from app.helper import readahead
from app.kernel import mountinfo
from app.kernel.mount_of_path import MountOfPath
from app.kernel.mountstats import OpCounters, counters_restarted, parse_one, read_text, totals
from app.kernel.tcp_info import RetransCounter, SockDiag
from app.stats.model import ConnectionRate, OperationRate, StatsSample
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.kernel.mountinfo import MountRow
    from app.kernel.mountstats import CounterTotals, MountStats, Xprt
    from app.tasks import CancelToken

#: First mountstats version (statvers) whose per-operation lines count errors (fs/nfs/super.c).
_WITH_ERRORS = "1.1"


class RateMeter:
    """Computes samples from successive readings of one mount's counters.

    Counters that restarted, because the share was mounted again, set a new baseline and give no sample.
    """

    def __init__(self) -> None:
        self._previous: tuple[MountStats, CounterTotals] | None = None
        self._previous_t_s = 0.0

    def update(self, stats: MountStats, t_s: float, read_ahead_kb: int | None = None) -> StatsSample | None:
        """Return the rates since the previous reading, None for the first one or after a restart.

        Args:
            stats: present counters of the mount.
            t_s: time since the watch began, s (monotonic clock).
            read_ahead_kb: present readahead of the mount, KiB, None if it is not known.
        """
        now = totals(stats)
        previous, elapsed = self._previous, t_s - self._previous_t_s
        self._previous, self._previous_t_s = (stats, now), t_s
        if previous is None or previous[0].share != stats.share or elapsed <= 0:
            return None
        if counters_restarted(previous[1], now):
            return None
        return _sample(previous, (stats, now), t_s, elapsed, read_ahead_kb)


def _sample(
    previous: tuple[MountStats, CounterTotals],
    current: tuple[MountStats, CounterTotals],
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
    """Return the rates of the procedures called, without those whose counters decreased (damaged text)."""
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


#: Shortest interval between two samples, s.
MIN_INTERVAL_S = 0.05


def watch_rates(
    mount_point: str,
    interval_s: float,
    token: CancelToken,
    emit: Callable[[StatsSample], None],
    root: str = "/",
) -> None:
    """Send the rates of a mount at every interval until an error or cancellation.

    Args:
        mount_point: mount point as in mountinfo, unescaped.
        interval_s: interval between samples, s; raised to MIN_INTERVAL_S.
        token: ends the watch.
        emit: receives each sample, the first one after one interval.
        root: directory that contains proc.

    Raises:
        AppError: NOT_MOUNTED when no NFS share is mounted there, at the beginning or later.
        CancelledError: when the token is set.
    """
    meter = RateMeter()
    began = time.monotonic()
    interval = max(interval_s, MIN_INTERVAL_S)
    due = 0.0
    with _SegmentCounter() as segments:
        while True:
            now = time.monotonic() - began
            row = _row(mount_point, root)
            read_ahead = readahead.read(row.device, root) if row is not None else None
            sample = meter.update(_read_counters(mount_point, root), now, read_ahead)
            retransmitted, disordered = segments.since_last(row)
            if sample is not None:
                emit(msgspec.structs.replace(sample, segments=retransmitted, disordered=disordered))
            # Due times are a grid from the beginning, so that the time of each reading does not add up.
            due = max(due + interval, now)
            token.wait(max(due - (time.monotonic() - began), 0.0))


class _SegmentCounter:
    """Counts retransmitted and disordered segments on a mount's TCP connections; a context manager."""

    def __init__(self) -> None:
        self._counter = RetransCounter()
        self._previous = (0, 0)
        self._diag: SockDiag | None = None

    def __enter__(self) -> Self:
        with contextlib.suppress(OSError):  # a sandbox may lack netlink; the other rates still work
            self._diag = SockDiag()
        return self

    def __exit__(self, *_: object) -> None:
        if self._diag is not None:
            self._diag.close()

    def since_last(self, row: MountRow | None) -> tuple[int | None, int | None]:
        """Return segments retransmitted and received out of order since the last call, None if unknown."""
        if self._diag is None or row is None:
            return None, None
        mount = MountOfPath(
            mount_id=row.mount_id, device=row.device, mount_point=row.mount_point, share=row.source,
            fstype=row.fstype, options=row.super_options,
        )  # fmt: skip
        if not mount.tcp:
            return None, None
        try:
            self._counter.update(self._diag.connections(*mount.server))
        except (OSError, ValueError):
            return None, None
        previous, self._previous = self._previous, (self._counter.segments, self._counter.disordered)
        return self._previous[0] - previous[0], self._previous[1] - previous[1]


def _row(mount_point: str, root: str) -> MountRow | None:
    """Return the mount's row of mountinfo, None if there is none; reading it contacts no server."""
    try:
        rows = [row for row in mountinfo.read(root).nfs_rows() if row.mount_point == mount_point]
    except OSError:
        return None
    return rows[-1] if rows else None


def _read_counters(mount_point: str, root: str) -> MountStats:
    try:
        stats = parse_one(read_text(root), mount_point)
    except FileNotFoundError:
        stats = None
    if stats is None:
        raise AppError(ErrorCode.NO_SHARE_MOUNTED, mount_point=mount_point)
    return stats

"""The agent's ``stats.watch``: rates of one mount until cancelled."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Self

import msgspec

from app.errors import AppError, ErrorKind
from app.kernel import mountinfo
from app.kernel.mount_of_path import Where
from app.kernel.mountstats import parse_one, read_text
from app.kernel.tcp_info import RetransCounter, SockDiag
from app.mounts.table import read_ahead_kb
from app.stats.rates import RateMeter

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.kernel.mountinfo import MountRow
    from app.kernel.mountstats import MountStats
    from app.stats.model import StatsSample
    from app.tasks import CancelToken

MIN_INTERVAL_S = 0.05


def watch(
    mount_point: str,
    interval_s: float,
    token: CancelToken,
    emit: Callable[[StatsSample], None],
    root: str = "/",
) -> None:
    """Send the rates of a mount every interval; ends only by an error or the token.

    Args:
        mount_point: of an NFS mount, as mountinfo spells it (unescaped).
        interval_s: seconds, at least MIN_INTERVAL_S.
        token: ends the watch.
        emit: gets each sample; the first comes after one interval.
        root: of the /proc that is read.

    Raises:
        AppError: NOT_MOUNTED when no NFS is mounted there, now or any longer.
        CancelledError: when the token is set.
    """
    meter = RateMeter()
    began = time.monotonic()
    interval = max(interval_s, MIN_INTERVAL_S)
    due = 0.0
    with _Segments() as segments:
        while True:
            now = time.monotonic() - began
            row = _row(mount_point, root)
            read_ahead = read_ahead_kb(row.device, root) if row is not None else None
            sample = meter.update(_look(mount_point, root), now, read_ahead)
            again, disordered = segments.since_last(row)
            if sample is not None:
                emit(msgspec.structs.replace(sample, segments=again, disordered=disordered))
            # Kept to a grid, so that a slow reader does not stretch the intervals one after the other.
            due = max(due + interval, now)
            token.wait(max(due - (time.monotonic() - began), 0.0))


class _Segments:
    """Counts what is lost on the TCP connections to the server of a mount; a context manager."""

    def __init__(self) -> None:
        self._counter = RetransCounter()
        self._told = (0, 0)
        self._diag: SockDiag | None = None

    def __enter__(self) -> Self:
        with contextlib.suppress(OSError):  # a sandbox without netlink: the rest is watched all the same
            self._diag = SockDiag()
        return self

    def __exit__(self, *_: object) -> None:
        if self._diag is not None:
            self._diag.close()

    def since_last(self, row: MountRow | None) -> tuple[int | None, int | None]:
        """Return what was sent again, and what came out of order, since the last call; None if unknown."""
        if self._diag is None or row is None:
            return None, None
        where = Where(
            mount_id=row.mount_id, device=row.device, mount_point=row.mount_point, share=row.source,
            fstype=row.fstype, options=row.super_options,
        )  # fmt: skip
        if not where.tcp:
            return None, None
        try:
            self._counter.update(self._diag.connections(*where.server))
        except (OSError, ValueError):
            return None, None
        told, self._told = self._told, (self._counter.segments, self._counter.disordered)
        return self._told[0] - told[0], self._told[1] - told[1]


def _row(mount_point: str, root: str) -> MountRow | None:
    """Return the mount's row; reading mountinfo asks no server."""
    try:
        rows = [row for row in mountinfo.read(root).nfs_rows() if row.mount_point == mount_point]
    except OSError:
        return None
    return rows[-1] if rows else None


def _look(mount_point: str, root: str) -> MountStats:
    try:
        stats = parse_one(read_text(root), mount_point)
    except FileNotFoundError:
        stats = None
    if stats is None:
        raise AppError(
            ErrorKind.NOT_MOUNTED,
            f"No NFS share is mounted at {mount_point}.",
            hint="It may have been unmounted in the meantime; mount it and try again.",
        )
    return stats

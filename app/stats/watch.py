"""The agent's ``stats.watch``: rates of one mount until cancelled."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from app.errors import AppError, ErrorKind
from app.mounts import mountinfo
from app.mounts.table import read_ahead_kb
from app.stats.mountstats import parse_one, read_text
from app.stats.rates import RateMeter

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.agent.protocol import StatsSample
    from app.stats.mountstats import MountStats
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
    while True:
        now = time.monotonic() - began
        sample = meter.update(_look(mount_point, root), now, _read_ahead(mount_point, root))
        if sample is not None:
            emit(sample)
        # Kept to a grid, so that a slow reader does not stretch the intervals one after the other.
        due = max(due + interval, now)
        token.wait(max(due - (time.monotonic() - began), 0.0))


def _read_ahead(mount_point: str, root: str) -> int | None:
    """Return the mount's readahead, KiB; reading mountinfo and sysfs asks no server."""
    try:
        rows = [row for row in mountinfo.read(root).nfs_rows() if row.mount_point == mount_point]
    except OSError:
        return None
    return read_ahead_kb(rows[-1].device, root) if rows else None


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

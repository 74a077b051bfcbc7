"""Last tests of a share: the newest saved copies of one large file, as the overview of a mount shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.history.model import RunFilter
from app.history.store import HistoryStore
from app.speedtest.model import SMALL_READS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from advisor.bottleneck import BottleneckKind
    from app.history.model import RunSummary
    from app.speedtest.model import TestResult

#: Newest tests that are read: a before-and-after test saves eight.
_MAX_TESTS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class LastTest:
    """A saved test of a share.

    Attributes:
        id: number in the history.
        started_at: start time, UTC, ISO 8601.
        speeds: median speeds in bytes per second, by figure: write, read, small-read. Reads from the client's
            cache are left out.
        requested: requested options, by name; empty if unknown.
        read_ahead_kb: readahead of the mount, KiB; None if unknown.
        bottleneck: what held the test back, None if unknown.
    """

    id: int
    started_at: str
    speeds: Mapping[str, float]
    requested: Mapping[str, str]
    read_ahead_kb: int | None = None
    bottleneck: BottleneckKind | None = None


def find_last_tests(share: str, link: str = "", *, path: Path | None = None) -> list[LastTest]:
    """Return the newest tests that copied one large file as cp does, newest first.

    Args:
        share: server:/export.
        link: name of the lab's emulated link, "" for a real link.
        path: history database; the user's own history if None.

    Raises:
        AppError: if the history cannot be read.
    """
    run_filter = RunFilter(share=share, link=link, kind="file", limit=_MAX_TESTS)
    with HistoryStore.open(path) as store:
        rows = [row for row in store.retry_after_recovery(lambda: store.find(run_filter)) if row.link == link]
        results = [(row, store.get(row.id).result) for row in rows]
    return [_last_test(row, result) for row, result in results if result.as_copy]


def _last_test(row: RunSummary, result: TestResult) -> LastTest:
    speeds = {
        "write": row.write,
        "read": None if row.read_cached else row.read,
        SMALL_READS: _small_read_speed(result),
    }
    environment = result.environment
    return LastTest(
        id=row.id,
        started_at=row.started_at,
        speeds={name: speed for name, speed in speeds.items() if speed},
        requested=dict(result.requested),
        read_ahead_kb=environment.read_ahead_kb if environment is not None else None,
        bottleneck=result.bottleneck.kind if result.bottleneck is not None else None,
    )


def _small_read_speed(result: TestResult) -> float | None:
    figure, transfer = result.figures.get(SMALL_READS), result.small_read
    if transfer is None or transfer.cached:
        return None
    return figure.median if figure is not None else transfer.bytes_per_s

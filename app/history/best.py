"""The best speeds that earlier tests of the same share reached: what a new one is compared with."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from advisor.experiment.intervals import ENOUGH
from app.history.compare_runs import are_alike
from app.history.model import Filter
from app.history.store import HistoryStore

if TYPE_CHECKING:
    from pathlib import Path

    from app.history.model import Row
    from app.speedtest.model import TestSpec

log = logging.getLogger("history")

#: Older ones have probably seen another network.
_NEWEST = 500


def best_speeds(spec: TestSpec, share: str, link: str = "", *, path: Path | None = None) -> dict[str, float]:
    """Return the best medians of tests that did the same, by direction ("write", "read"); bytes a second.

    A median counts if it is of enough repeats that are not far apart: the best of many single looks would be
    the luckiest one.

    Args:
        spec: compared with tests that moved half to twice as much, small files with files of the same size.
        share: server:/export.
        link: name of the lab's link, "" on a real one.
        path: of the history; the person's own if None.

    Raises:
        AppError: if the history cannot be read.
    """
    wanted = Filter(share=share, link=link, kind=spec.workload, limit=_NEWEST)
    with HistoryStore.open(path) as store:
        rows = [row for row in store.find(wanted) if row.link == link and _is_like(row, spec)]
        for message in store.messages:
            log.warning("%s", message)
        speeds = {
            "write": [(row.write, row.id) for row in rows if row.write is not None],
            "read": [(row.read, row.id) for row in rows if row.read is not None and not row.read_cached],
        }
        found = {
            way: next((speed for speed, number in sorted(medians, reverse=True)
                       if _counts(store, number, way, spec)), None)
            for way, medians in speeds.items()
        }  # fmt: skip
    return {way: speed for way, speed in found.items() if speed is not None}


def _is_like(row: Row, spec: TestSpec) -> bool:
    """Return whether a test moved about as much, often enough."""
    if row.repeats < ENOUGH or not are_alike(row.size, spec.total):
        return False
    return spec.workload != "files" or row.size == row.count * spec.size


def _counts(store: HistoryStore, number: int, way: str, spec: TestSpec) -> bool:
    """Return whether a test's median can be concluded from, and its file was opened alike."""
    result = store.get(number).result
    figure = result.figures.get(way)
    return result.sync == spec.sync and figure is not None and not figure.wide

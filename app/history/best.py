"""The best speeds that earlier tests of the same share reached: what a new one is compared with."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from app.history.model import Filter
from app.history.store import HistoryStore

if TYPE_CHECKING:
    from pathlib import Path

    from app.bench.result import TestSpec

log = logging.getLogger("history")

#: Older ones have probably seen another network.
_NEWEST = 500


def best_speeds(spec: TestSpec, share: str, link: str = "", *, path: Path | None = None) -> dict[str, float]:
    """Return the best medians of tests that did the same, by direction ("write", "read"); bytes a second.

    Args:
        spec: small files are compared with files of the same size, a file with files of any size.
        share: server:/export.
        link: name of the lab's link, "" on a real one.
        path: of the history; the person's own if None.

    Raises:
        AppError: if the history cannot be read.
    """
    wanted = Filter(share=share, link=link, kind=spec.workload, limit=_NEWEST)
    with HistoryStore.open(path) as store:
        rows = [row for row in store.find(wanted) if row.link == link]
        for message in store.messages:
            log.warning("%s", message)
    if spec.workload == "files":
        rows = [row for row in rows if row.size == row.count * spec.size]
    speeds = {
        "write": [row.write for row in rows if row.write is not None],
        "read": [row.read for row in rows if row.read is not None and not row.read_cached],
    }
    return {way: max(values) for way, values in speeds.items() if values}

"""What a new test is compared with: the best of those that did the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import history_world as world
import msgspec

from advisor.facts import LinkFacts
from app.bench.result import TestSpec
from app.history.best import best_speeds
from app.history.model import Run
from app.history.store import HistoryStore

if TYPE_CHECKING:
    from pathlib import Path


def test_the_best_of_the_same_share_kind_and_link(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    lab = LinkFacts(name="gigabit", rate_bps=1e9, emulated=True)
    with HistoryStore.open(path) as store:
        for number, result in enumerate([
            world.result([90e6], [80e6]), world.result([70e6], [95e6]),
            world.result([500e6], [999e6], share="nas:/other"),
            world.result([60e6], [900e6], cached=True),
            world.result([800e6], [800e6], link=lab),
            world.result([700e6], [700e6], workload="files", count=1000),
        ]):  # fmt: skip
            moment = f"2026-03-01T10:00:0{number}+00:00"
            store.add(Run(result=msgspec.structs.replace(result, started_at=moment)))
    file = TestSpec(path="/mnt/home")
    assert best_speeds(file, "nas:/home", path=path) == {"write": 90e6, "read": 95e6}
    assert best_speeds(file, "nas:/home", "gigabit", path=path) == {"write": 800e6, "read": 800e6}
    assert best_speeds(file, "nobody:/home", path=path) == {}
    small = TestSpec(path="/mnt/home", workload="files", size=4096, count=1000)
    assert best_speeds(small, "nas:/home", path=path) == {}  # those were larger

"""Best speeds of earlier similar tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import sample_results as world

from advisor.facts import LinkFacts
from app.history.model import Run
from app.history.record_test import best_speeds
from app.history.store import HistoryStore
from app.speedtest.model import TestSpec

if TYPE_CHECKING:
    from pathlib import Path

    from app.speedtest.model import TestResult


MIB = 2**20


def repeated(write: float, read: float, **changes: Any) -> TestResult:
    return world.result([write] * 6, [read] * 6, **changes)


def test_single_measurements_and_wide_intervals_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    wide = msgspec.structs.replace(world.figure([400e6] * 6), wide=True)
    small = msgspec.structs.replace(world.transfer(900e6), bytes=MIB)
    with HistoryStore.open(path) as store:
        for number, result in enumerate([
            repeated(90e6, 80e6),
            world.result([300e6] * 5, [300e6] * 5),
            repeated(400e6, 85e6, figures={"write": wide, "read": world.figure([85e6] * 6)}),
            repeated(500e6, 500e6, sync=True),
            msgspec.structs.replace(repeated(900e6, 900e6), write=small),
        ]):  # fmt: skip
            moment = f"2026-03-01T10:00:0{number}+00:00"
            store.add(Run(result=msgspec.structs.replace(result, started_at=moment)))

    def best(size: int, **changes: Any) -> dict[str, float]:
        return best_speeds(TestSpec(path="/mnt/home", size=size, **changes), "nas:/home", path=path)

    assert best(64 * MIB) == best(33 * MIB) == best(127 * MIB) == {"write": 90e6, "read": 85e6}
    assert best(64 * MIB, sync=True) == {"write": 500e6, "read": 500e6}
    assert best(MIB) == {"write": 900e6, "read": 900e6}
    assert best(200 * MIB) == best(31 * MIB) == {}


def test_only_tests_of_the_same_share_workload_and_link_count(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    lab = LinkFacts(name="gigabit", rate_bps=1e9, emulated=True)
    with HistoryStore.open(path) as store:
        for number, result in enumerate([
            repeated(90e6, 80e6), repeated(70e6, 95e6),
            repeated(500e6, 999e6, share="nas:/other"),
            repeated(60e6, 900e6, cached=True),
            repeated(800e6, 800e6, link=lab),
            repeated(700e6, 700e6, workload="files", count=1000),
        ]):  # fmt: skip
            moment = f"2026-03-01T10:00:0{number}+00:00"
            store.add(Run(result=msgspec.structs.replace(result, started_at=moment)))
    file = TestSpec(path="/mnt/home", size=64 * MIB)
    assert best_speeds(file, "nas:/home", path=path) == {"write": 90e6, "read": 95e6}
    assert best_speeds(file, "nas:/home", "gigabit", path=path) == {"write": 800e6, "read": 800e6}
    assert best_speeds(file, "nobody:/home", path=path) == {}
    small = TestSpec(path="/mnt/home", workload="files", size=4096, count=1000)
    assert best_speeds(small, "nas:/home", path=path) == {}  # the saved tests have larger files

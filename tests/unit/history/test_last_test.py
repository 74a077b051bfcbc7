"""The newest copies of a share, with the settings that they ran with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sample_results import figure, result, transfer

from app.history.last_test import find_last_tests
from app.history.record_test import record_test
from app.speedtest.model import SMALL_READS, Environment

if TYPE_CHECKING:
    from pathlib import Path


def test_the_newest_copies_come_first(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    share = result([1e6], [1e6]).share or ""
    assert find_last_tests(share, path=path) == []
    older = result([50e6], [60e6], as_copy=True, started_at="2026-03-01T10:00:00+00:00")
    newer = result(
        [70e6], [80e6], as_copy=True, started_at="2026-03-02T10:00:00+00:00", cached=True,
        requested={"rsize": "8192"}, environment=Environment(read_ahead_kb=1024),
    )  # fmt: skip
    for test in (
        newer,
        older,
        result([1e6], [1e6], as_copy=False, started_at="2026-03-03T10:00:00+00:00"),
        result([1e6], [1e6], as_copy=True, share="nas:/other"),
        result([1e6], [1e6], as_copy=True, workload="files"),
    ):
        record_test(test, path=path)
    found = find_last_tests(share, path=path)
    assert [test.started_at[:10] for test in found] == ["2026-03-02", "2026-03-01"]
    assert found[0].speeds == {"write": 70e6}
    assert (found[0].requested, found[0].read_ahead_kb) == ({"rsize": "8192"}, 1024)
    assert found[1].speeds == {"write": 50e6, "read": 60e6}


def test_small_reads_count_unless_they_came_from_the_cache(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    for number, cached in enumerate((True, False)):
        test = result(
            [5e6], [6e6], as_copy=True, started_at=f"2026-03-0{number + 1}T10:00:00+00:00",
            small_read=transfer(4e6, cached=cached), figures={SMALL_READS: figure([4e6])} if number else {},
        )  # fmt: skip
        record_test(test, path=path)
    found = find_last_tests(result([1e6], [1e6]).share or "", path=path)
    assert [SMALL_READS in test.speeds for test in found] == [True, False]

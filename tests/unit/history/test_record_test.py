"""Recording of a finished test: saving, comparison with the baseline, and fallback to a file."""

import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sample_results import MIB, figure, grid, result

from app.errors import AppError, ErrorKind
from app.history import database
from app.history.compare_runs import compare_runs, compare_with_baseline
from app.history.import_export import history_from_json
from app.history.model import Run
from app.history.record_test import record_test
from app.history.schema import MIGRATIONS
from app.history.store import HistoryStore
from app.speedtest.model import CacheReport, Environment, TestResult

FAST = [100e6, 101e6, 99e6, 100.5e6, 98e6, 102e6]
SLOW = [60e6, 61e6, 59e6, 60.5e6, 58e6, 62e6]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data/history.sqlite"


def with_baseline(path: Path) -> None:
    recorded = record_test(result(FAST, FAST, environment=Environment(kernel="6.1")), path=path)
    assert (recorded.warning, recorded.comparison) == ("", "")
    with HistoryStore.open(path) as store:
        store.set_baseline(recorded.id)


def test_slower_than_the_baseline_is_a_warning(path: Path) -> None:
    with_baseline(path)
    slow = result(SLOW, FAST, environment=Environment(kernel="6.12"), effective={"vers": "3"})
    recorded = record_test(slow, path=path)
    assert recorded.warning.startswith(
        "Slower than the baseline of 2026-03-01: to the server 40 % slower (100 MB/s"
    )
    assert "vers (4.2 → 3)" in recorded.warning
    assert "kernel (6.1 → 6.12)" in recorded.warning
    assert "This is of these two tests alone: repeat the test" in recorded.warning
    assert "From the server no significant difference" in recorded.comparison


def test_no_warning_without_a_significant_difference(path: Path) -> None:
    with_baseline(path)
    for other in (
        result(FAST[::-1], FAST, started_at="2026-03-02T10:00:00+00:00"),
        result([50e6], [50e6]),  # a single repeat has no interval
        result(SLOW, SLOW, share="nas:/other"),
        result(FAST, SLOW, cached=True),
        result(SLOW, SLOW, workload="files"),
    ):
        assert record_test(other, path=path).warning == ""
    assert "too few repeats" in record_test(result([50e6], [51e6]), path=path).comparison
    # The same result has the same uid, so it is the same run.
    assert record_test(result(SLOW, SLOW, workload="files"), path=path).comparison == ""


def sized(size: int, **changes: Any) -> TestResult:
    """Return the result of a slow test with files of a size in bytes."""
    slow = result(SLOW, SLOW, **changes)
    assert slow.write is not None
    moved = msgspec.structs.replace(slow.write, bytes=size * slow.count)
    return msgspec.structs.replace(slow, write=moved)


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (sized(16 * MIB), "file size (64 MiB → 16 MiB)"),
        (sized(256 * MIB), "file size (64 MiB → 256 MiB)"),
        (sized(64 * MIB, block_size=2**16), "call size (1 MiB → 64 KiB)"),
        (sized(64 * MIB, sync=True), "O_SYNC (no → yes)"),
        (sized(64 * MIB, count=4), "number of files (1 → 4)"),
        (result(SLOW, SLOW, read=None), "direction (both ways → to the server)"),
        (
            result(SLOW, SLOW, cache=CacheReport(method="direct", checked=True, cached=False, note="")),
            "cache method (fadvise → direct)",
        ),
        (sized(64 * MIB, sync=True, block_size=2**16), "call size (1 MiB → 64 KiB), O_SYNC (no → yes)"),
    ],
)
def test_different_settings_are_not_compared_with_the_baseline(
    path: Path, other: TestResult, named: str
) -> None:
    with_baseline(path)
    recorded = record_test(other, path=path)
    assert recorded.warning == ""
    assert recorded.comparison == (
        "It is not compared with the baseline of 2026-03-01, which was another test. What of it differs: "
        f"{named}."
    )


def test_a_grid_with_other_cells_is_not_compared(path: Path) -> None:
    recorded = record_test(grid(1000), path=path)
    with HistoryStore.open(path) as store:
        store.set_baseline(recorded.id)
    larger = [msgspec.structs.replace(cell, record=65536) for cell in grid(1000).grid]
    other = msgspec.structs.replace(grid(1000), grid=larger)
    recorded = record_test(other, path=path)
    assert (
        "What of it differs: cells (randread of 4 KiB, 1 job, 4 at once, and 1 more → " in recorded.comparison
    )
    with HistoryStore.open(path) as store:
        assert store.set_baseline(recorded.id) == []
    both = msgspec.structs.replace(grid(900), grid=[*grid(900).grid, *larger])
    assert "no significant difference" in record_test(both, path=path).comparison


@pytest.mark.parametrize(
    ("workload", "before", "after", "warns"),
    [
        ("file", (64 * MIB, 1), (40 * MIB, 1), True),
        ("files", (4096, 1000), (4096, 700), True),
        ("files", (4096, 1000), (4096, 100), False),
        ("files", (4096, 1000), (8192, 1000), False),
        ("streams", (64 * MIB, 4), (64 * MIB, 8), False),
        ("own", (64 * MIB, 10), (60 * MIB, 11), True),
    ],
)
def test_similar_sizes_are_compared(
    workload: str, before: tuple[int, int], after: tuple[int, int], warns: bool
) -> None:
    old, new = (
        sized(size, workload=workload, count=count, source="/home/x" if workload == "own" else "")
        for size, count in (before, after)
    )
    old = msgspec.structs.replace(old, figures={"write": figure(FAST)})
    warning, comparison = compare_with_baseline(Run(result=old), new)
    assert bool(warning) == warns
    assert ("another test" in comparison) != warns
    if workload == "own":
        elsewhere = msgspec.structs.replace(new, source="/home/y")
        assert "own files (/home/x → /home/y)" in compare_with_baseline(Run(result=old), elsewhere)[1]


def fallback_file(error: AppError) -> Path:
    return Path(error.message.rpartition(" it is in ")[2].rstrip("."))


@pytest.mark.parametrize("trouble", ["locked", "newer", "folder"])
def test_a_test_that_cannot_be_saved_is_written_to_a_file(
    path: Path, trouble: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(database, "_LOCK_TIMEOUT_S", 0.05)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    if trouble == "folder":
        path.parent.write_text("in the way")
    else:
        record_test(result(), path=path)
    other = sqlite3.connect(path, isolation_level=None) if trouble != "folder" else None
    if other is not None:
        other.execute(
            "BEGIN IMMEDIATE" if trouble == "locked" else f"PRAGMA user_version = {len(MIGRATIONS) + 1}"
        )
    with pytest.raises(AppError) as caught:
        record_test(result(FAST, samples=5), path=path)
    if other is not None:
        other.close()
    assert caught.value.kind is {"locked": ErrorKind.BUSY, "newer": ErrorKind.UNAVAILABLE}.get(
        trouble, ErrorKind.IO
    )
    file = fallback_file(caught.value)
    assert file.parent == (tmp_path if trouble == "folder" else path.parent)
    assert file.stat().st_mode & 0o777 == 0o600
    assert f"history import {file}" in caught.value.hint
    (run,) = history_from_json(file.read_bytes()).runs
    assert run.result == result(FAST, samples=5)


def test_a_damaged_history_does_not_lose_the_test(path: Path) -> None:
    with HistoryStore.open(path) as store:
        for place in range(40):
            store.add(Run(result=result([1e6 + place])))
    raw = path.read_bytes()
    path.write_bytes(raw[:4096] + b"\xa5" * (len(raw) - 4096))
    recorded = record_test(result(FAST), path=path)
    assert any("damaged" in message for message in recorded.messages)
    with HistoryStore.open(path) as store:
        assert store.get(recorded.id).result == result(FAST)


def test_a_comparison_lists_other_differences() -> None:
    one = Run(result=result(FAST, FAST))
    plain = result(FAST, SLOW)
    assert plain.write is not None
    other = Run(
        result=msgspec.structs.replace(
            plain,
            effective={"vers": "4.2", "rsize": "1048576", "soft": ""},
            block_size=2**16,
            environment=Environment(host="desk", rtt_s=0.002),
            write=msgspec.structs.replace(plain.write, bytes=2**30),
        )
    )
    found = compare_runs([one], [other])
    assert [item.verdict for item in found.comparisons] == ["same", "slower"]
    assert found.differing == [
        ("rsize", "65536", "1048576"),
        ("hard", "yes", "—"),
        ("soft", "—", "yes"),
        ("round trip", "—", "2 ms"),
    ]
    assert found.notes == [
        "The tests themselves differ: file size (64 MiB → 1 GiB), call size (1 MiB → 64 KiB).",
        (
            "They were made with other call sizes: a speed follows how much a program asks for at once, so "
            "this compares two kinds of programs as well."
        ),
    ]
    synced = Run(result=result(FAST, FAST, sync=True))
    assert compare_runs([one], [one, synced]).notes == [
        "The tests themselves differ: O_SYNC (no → no or yes)."
    ]
    cached = compare_runs([one], [Run(result=result(FAST, FAST, cached=True))])
    assert [item.figure for item in cached.comparisons] == ["write"]
    assert "left out" in cached.notes[0]
    for wrong in ([], [Run(result=result(workload="files"))]):
        with pytest.raises(AppError) as caught:
            compare_runs([one], wrong)
        assert caught.value.kind is ErrorKind.USAGE


def test_the_cells_of_grids_are_compared_one_by_one() -> None:
    found = compare_runs([Run(result=grid(1000))], [Run(result=grid(1500))])
    assert [(item.figure, item.verdict) for item in found.comparisons] == [
        ("randread of 4 KiB, 1 job, 4 at once", "faster"),
        ("seqwrite of 4 KiB, 1 job, 4 at once", "faster"),
    ]
    assert found.comparisons[0].text() == (
        "randread of 4 KiB, 1 job, 4 at once: 50 % faster (1002 requests/s before and 1502 requests/s after; "
        "96 % interval +50 to +50 %)"
    )
    assert found.notes == ["Each of 2 cells is compared for itself: about one of 20 differs by chance."]
    cached = compare_runs([Run(result=grid(1000))], [Run(result=grid(1500, cached=True))])
    assert [item.figure for item in cached.comparisons] == ["seqwrite of 4 KiB, 1 job, 4 at once"]
    warning, comparison = compare_with_baseline(Run(result=grid(1000)), grid(500))
    assert warning == ""
    assert "Seqwrite of 4 KiB, 1 job, 4 at once: 50 % slower" in comparison

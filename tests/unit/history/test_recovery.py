"""Recovery of a damaged history: readable records are copied, and the damaged file is renamed."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_results import result

from advisor.experiment.measurements import TrialOutcome
from advisor.recommendation import MeasuredOption
from app.errors import AppError, ErrorKind
from app.history import database
from app.history.model import Run
from app.history.recovery import RecoveryReport, recover
from app.history.sqlite_pages import SqlitePageReader
from app.history.store import HistoryStore

RUNS = 24
PAGE = 4096


def fill(path: Path) -> None:
    """Create a history with runs of many lengths, some with overflow pages."""
    source = random.Random(7)
    with HistoryStore.open(path) as store:
        for place in range(RUNS):
            speeds = [source.uniform(1e6, 1e9) for _ in range(3 + place)]
            number = store.add(
                Run(
                    result=result(speeds, speeds, samples=place * 5),
                    tags=("kept",),
                    note=f"Note {place}. " * (1 + place * 4),
                )
            )
        store.set_baseline(number)
        for seed in range(3):
            experiment = store.start_experiment(b'{"plan":"%s"}' % (b"x" * 2000), "nas:/home", seed)
            for order in range(12):
                store.add_outcome(experiment, trial(order))
        store.learn(
            "nas:/home", "", [MeasuredOption(option="rsize", value="65536", status="confirmed", text="So.")]
        )


def trial(order: int) -> TrialOutcome:
    return TrialOutcome(
        levels={"rsize": "65536"}, workload="1 MB file", block=0, order=order, figures={"write": 9e6},
        effective={"vers": "3"}, started_at="2026-03-01T10:00:00+00:00", note="n" * 300,
    )  # fmt: skip


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "history.sqlite"
    fill(path)
    return path.read_bytes()


def runs_of(path: Path) -> dict[int, Run]:
    with HistoryStore.open(path) as store:
        assert store.messages == []
        return {number: store.get(number) for number in sorted(row.id for row in store.find())}


def recovered_runs(folder: Path, content: bytes) -> dict[int, Run]:
    """Write a damaged file, and return the runs of the recovered history."""
    path = folder / "history.sqlite"
    path.write_bytes(content)
    damaged_file, found = recover(path)
    assert damaged_file.read_bytes() == content
    assert sorted(item.name for item in folder.iterdir()) == sorted([path.name, damaged_file.name])
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    runs = runs_of(path)
    assert len(runs) == found.runs <= len(found.known)
    assert path.stat().st_mode & 0o777 == 0o600
    return runs


def test_an_undamaged_file_loses_nothing(tmp_path: Path, intact: bytes) -> None:
    plain = tmp_path / "plain.sqlite"
    plain.write_bytes(intact)
    before = runs_of(plain)
    plain.unlink()
    assert recovered_runs(tmp_path, intact) == before
    with HistoryStore.open(tmp_path / "history.sqlite") as store:
        experiments = [store.experiment(row.id) for row in store.experiments()]
        assert sorted(item.seed for item in experiments) == [0, 1, 2]
        assert all(item.outcomes == [trial(order) for order in range(12)] for item in experiments)
        assert len(store.learned("nas:/home", "")) == 1
        (baseline,) = store.baselines("nas:/home")
        assert baseline.id == RUNS


def test_a_damaged_page_loses_only_its_own_records(
    intact: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Damage each page in turn, including the first one and the interior pages of b-trees."""
    for page in range(0, len(intact) // PAGE, 4):
        content = intact[: page * PAGE] + b"\xa5" * PAGE + intact[(page + 1) * PAGE :]
        runs = recovered_runs(tmp_path_factory.mktemp("page"), content)
        # A page holds at most a dozen short runs.
        assert len(runs) >= RUNS - 12, page


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_random_damage_does_not_raise(
    intact: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(intact)
    for _ in range(data.draw(st.integers(1, 30))):
        content[data.draw(st.integers(0, len(intact) - 1))] ^= data.draw(st.integers(1, 255))
    runs = recovered_runs(tmp_path_factory.mktemp("flips"), bytes(content))
    for run in runs.values():
        assert run.result.share == "nas:/home"


@pytest.mark.parametrize("part", [0.0, 0.01, 0.3, 0.5, 0.75, 0.999])
def test_a_truncated_file_keeps_its_beginning(tmp_path: Path, intact: bytes, part: float) -> None:
    runs = recovered_runs(tmp_path, intact[: int(part * len(intact))])
    assert len(runs) <= RUNS
    assert bool(runs) == (part > 0.1)


def test_samples_or_notes_may_be_lost_alone(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with HistoryStore.open(path) as store:
        store.add(Run(result=result(samples=50), note="Whole."))
        store.add(Run(result=result([3e6], samples=50), note="Its samples are not."))
        store.add(Run(result=result([4e6], samples=50), note="Its row is not."))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE bodies SET samples = x'01ff' WHERE run = 2")
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("DELETE FROM runs WHERE id = 3")
        connection.commit()
    damaged_file, found = recover(path)
    assert (found.runs, found.bare, found.known) == (3, 1, {1, 2, 3})
    assert found.text().endswith("Of 1 of them the tags and the note are lost.")
    runs = runs_of(path)
    assert [bool(run.result.write and run.result.write.samples) for run in runs.values()] == [
        True,
        False,
        True,
    ]
    assert [run.note for run in runs.values()] == ["Whole.", "Its samples are not.", ""]
    assert damaged_file.exists()


def test_trials_of_a_lost_experiment_join_no_other(tmp_path: Path, intact: bytes) -> None:
    """An overflow page of an experiment is unreadable; the next new experiment gets its number."""
    path = tmp_path / "history.sqlite"
    path.write_bytes(intact)
    with HistoryStore.open(path) as store:
        plan = b'{"plan":"%s"}' % (b"y" * 5 * PAGE)
        number = store.start_experiment(plan, "nas:/home", 9)
        for order in range(12):
            store.add_outcome(number, trial(order))
    content = bytearray(path.read_bytes())
    place = content.rindex(b"y" * 3000) // PAGE * PAGE
    content[place : place + PAGE] = b"\xa5" * PAGE
    path.write_bytes(content)
    _, found = recover(path)
    assert (found.experiments, found.lost_experiments) == (3, 1)
    assert found.text().endswith("are recovered. Experiments recovered: 3; lost with their trials: 1.")
    assert RecoveryReport(lost_experiments=1).text() == "Experiments recovered: 0; lost with their trials: 1."
    with HistoryStore.open(path) as store:
        assert [len(store.experiment(row.id).outcomes) for row in store.experiments()] == [12, 12, 12]
        assert store.start_experiment(b"{}", "nas:/other", 1) == number
        assert store.experiment(number).outcomes == []


@pytest.mark.parametrize("links", [True, False])
def test_the_file_is_replaced_without_a_gap(
    tmp_path: Path, intact: bytes, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """Without a file, another program would create one, which would be overwritten."""
    path = tmp_path / "history.sqlite"
    path.write_bytes(intact)
    seen: list[bool] = []
    rename = Path.rename

    def watched(self: Path, target: Path) -> Path:
        seen.append(path.exists())
        return rename(self, target)

    def refused(_self: Path, _target: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "rename", watched)
    if not links:
        monkeypatch.setattr(Path, "hardlink_to", refused)
    damaged_file, _ = recover(path)
    assert seen[-1] == links  # without hard links the file is missing for a moment
    assert damaged_file.read_bytes() == intact
    assert len(runs_of(path)) == RUNS


def test_deleted_runs_stay_deleted(tmp_path: Path, intact: bytes) -> None:
    path = tmp_path / "history.sqlite"
    path.write_bytes(intact)
    with HistoryStore.open(path) as store:
        store.delete(range(5, RUNS + 1))
    recover(path)
    assert sorted(runs_of(path)) == [1, 2, 3, 4]


def test_records_in_the_write_ahead_log_are_recovered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A network file system would have no write-ahead log.
    monkeypatch.setattr(database, "_on_network", lambda _path: False)
    path, crashed = tmp_path / "history.sqlite", tmp_path / "crashed/history.sqlite"
    crashed.parent.mkdir()
    with HistoryStore.open(path) as store:
        store.add(Run(result=result()))
        for tail in ("", "-wal"):
            content = path.with_name(path.name + tail).read_bytes()
            crashed.with_name(crashed.name + tail).write_bytes(content)
    before = [item.read_bytes() for item in sorted(crashed.parent.iterdir())]
    damaged_file, found = recover(crashed)
    assert (found.runs, len(found.known)) == (1, 1)
    assert [damaged_file.with_name(damaged_file.name + tail).read_bytes() for tail in ("", "-wal")] == before


def test_a_full_disk_leaves_the_damaged_file(
    tmp_path: Path, intact: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "history.sqlite"
    damaged = b"\0" * PAGE + intact[PAGE:]
    path.write_bytes(damaged)

    def full(_path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("app.history.database.recover", full)
    with pytest.raises(AppError) as caught:
        HistoryStore.open(path)
    assert caught.value.kind is ErrorKind.IO
    assert "No space left" in caught.value.message
    assert path.read_bytes() == damaged


def test_the_report_counts_recovered_and_lost_tests(tmp_path: Path, intact: bytes) -> None:
    path = tmp_path / "history.sqlite"
    path.write_bytes(b"\0" * PAGE + intact[PAGE:])
    with HistoryStore.open(path) as store:
        (message,) = store.messages
        assert store.count() == RUNS
    assert f"All {RUNS} tests that it tells of are recovered. Experiments recovered: 3." in message
    (damaged_file,) = tmp_path.glob("history-damaged-*.sqlite")
    assert message.endswith(f"The damaged file is kept as {damaged_file}.")


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=3 * PAGE))
def test_random_bytes_do_not_raise(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes") / "file"
    path.write_bytes(b"SQLite format 3\0" + content)
    with path.open("rb") as file:
        list(SqlitePageReader(file).records())

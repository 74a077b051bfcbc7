"""Of a damaged history all that can be read is in the new one, and the damaged file is kept as it was."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_results import result

from advisor.experiment.measurements import TrialOutcome
from advisor.recommend import MeasuredOption
from app.errors import AppError, ErrorKind
from app.history import database
from app.history.model import Run
from app.history.recovery import RecoveryReport, recover
from app.history.sqlite_pages import SqlitePageReader
from app.history.store import HistoryStore

RUNS = 24
PAGE = 4096


def fill(path: Path) -> None:
    """Make a history whose runs are of many lengths: some on a page of their own and more."""
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
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "history.sqlite"
    fill(path)
    return path.read_bytes()


def runs_of(path: Path) -> dict[int, Run]:
    with HistoryStore.open(path) as store:
        assert store.messages == []
        return {number: store.get(number) for number in sorted(row.id for row in store.find())}


def salvaged(folder: Path, content: bytes) -> dict[int, Run]:
    """Return the runs of the history that takes a damaged one's place."""
    path = folder / "history.sqlite"
    path.write_bytes(content)
    aside, found = recover(path)
    assert aside.read_bytes() == content
    assert sorted(item.name for item in folder.iterdir()) == sorted([path.name, aside.name])
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    runs = runs_of(path)
    assert len(runs) == found.runs <= len(found.known)
    assert path.stat().st_mode & 0o777 == 0o600
    return runs


def test_nothing_is_lost_where_nothing_is_damaged(tmp_path: Path, whole: bytes) -> None:
    plain = tmp_path / "plain.sqlite"
    plain.write_bytes(whole)
    before = runs_of(plain)
    plain.unlink()
    assert salvaged(tmp_path, whole) == before
    with HistoryStore.open(tmp_path / "history.sqlite") as store:
        experiments = [store.experiment(row.id) for row in store.experiments()]
        assert sorted(item.seed for item in experiments) == [0, 1, 2]
        assert all(item.outcomes == [trial(order) for order in range(12)] for item in experiments)
        assert len(store.learned("nas:/home", "")) == 1
        (baseline,) = store.baselines("nas:/home")
        assert baseline.id == RUNS


def test_any_broken_page_costs_only_what_is_on_it(
    whole: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Each page in turn, the first one and those that lead to all others too."""
    for page in range(0, len(whole) // PAGE, 4):
        content = whole[: page * PAGE] + b"\xa5" * PAGE + whole[(page + 1) * PAGE :]
        runs = salvaged(tmp_path_factory.mktemp("page"), content)
        # A page holds at most a dozen of the short measurements.
        assert len(runs) >= RUNS - 12, page


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_any_flipped_bytes_are_survived(
    whole: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 30))):
        content[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    runs = salvaged(tmp_path_factory.mktemp("flips"), bytes(content))
    for run in runs.values():
        assert run.result.share == "nas:/home"


@pytest.mark.parametrize("part", [0.0, 0.01, 0.3, 0.5, 0.75, 0.999])
def test_a_file_that_was_cut_off_gives_its_beginning(tmp_path: Path, whole: bytes, part: float) -> None:
    runs = salvaged(tmp_path, whole[: int(part * len(whole))])
    assert len(runs) <= RUNS
    assert bool(runs) == (part > 0.1)


def test_samples_and_remarks_may_be_lost_alone(tmp_path: Path) -> None:
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
    aside, found = recover(path)
    assert (found.runs, found.bare, found.known) == (3, 1, {1, 2, 3})
    assert found.text().endswith("Of 1 of them the tags and the note are lost.")
    runs = runs_of(path)
    assert [bool(run.result.write and run.result.write.samples) for run in runs.values()] == [
        True,
        False,
        True,
    ]
    assert [run.note for run in runs.values()] == ["Whole.", "Its samples are not.", ""]
    assert aside.exists()


def test_trials_whose_experiment_is_lost_go_to_no_other_one(tmp_path: Path, whole: bytes) -> None:
    """A row of many pages, one of which is unreadable; the next new experiment gets its number."""
    path = tmp_path / "history.sqlite"
    path.write_bytes(whole)
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
def test_its_place_is_never_empty(
    tmp_path: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """Another program would begin a new one there, which would be overwritten."""
    path = tmp_path / "history.sqlite"
    path.write_bytes(whole)
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
    aside, _ = recover(path)
    assert seen[-1] == links  # where there are no links, it is for a moment
    assert aside.read_bytes() == whole
    assert len(runs_of(path)) == RUNS


def test_what_was_deleted_stays_so(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "history.sqlite"
    path.write_bytes(whole)
    with HistoryStore.open(path) as store:
        store.delete(range(5, RUNS + 1))
    recover(path)
    assert sorted(runs_of(path)) == [1, 2, 3, 4]


def test_what_is_only_in_the_log_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_on_network", lambda _path: False)  # there it has no log
    path, other = tmp_path / "history.sqlite", tmp_path / "crashed/history.sqlite"
    other.parent.mkdir()
    with HistoryStore.open(path) as store:
        store.add(Run(result=result()))
        for tail in ("", "-wal"):
            content = path.with_name(path.name + tail).read_bytes()
            other.with_name(other.name + tail).write_bytes(content)
    before = [item.read_bytes() for item in sorted(other.parent.iterdir())]
    aside, found = recover(other)
    assert (found.runs, len(found.known)) == (1, 1)
    assert [aside.with_name(aside.name + tail).read_bytes() for tail in ("", "-wal")] == before


def test_a_disk_without_place_leaves_the_damaged_file(
    tmp_path: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "history.sqlite"
    damaged = b"\0" * PAGE + whole[PAGE:]
    path.write_bytes(damaged)

    def full(_path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("app.history.database.recover", full)
    with pytest.raises(AppError) as caught:
        HistoryStore.open(path)
    assert caught.value.kind is ErrorKind.IO
    assert "No space left" in caught.value.message
    assert path.read_bytes() == damaged


def test_a_person_is_told_how_much(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "history.sqlite"
    path.write_bytes(b"\0" * PAGE + whole[PAGE:])
    with HistoryStore.open(path) as store:
        (message,) = store.messages
        assert store.count() == RUNS
    assert f"All {RUNS} tests that it tells of are recovered. Experiments recovered: 3." in message
    (aside,) = tmp_path.glob("history-damaged-*.sqlite")
    assert message.endswith(f"The damaged file is kept as {aside}.")


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=3 * PAGE))
def test_any_bytes_are_pages(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes") / "file"
    path.write_bytes(b"SQLite format 3\0" + content)
    with path.open("rb") as file:
        list(SqlitePageReader(file).records())

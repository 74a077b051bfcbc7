"""Experiments in the database, saved trial by trial, and migrations of older databases."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from advisor.experiment.measurements import TrialOutcome
from app.errors import AppError, ErrorKind
from app.history.model import RunFilter
from app.history.schema import MIGRATIONS
from app.history.store import HistoryStore
from app.speedtest.model import Environment

DATA = Path(__file__).parents[2] / "data/history"
#: Schema versions with a sample file written by the program of that time.
RECORDED = (1, 3)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HistoryStore]:
    with HistoryStore.open(tmp_path / "history.sqlite") as found:
        yield found


def outcome(order: int, **changes: object) -> TrialOutcome:
    plain = TrialOutcome(
        levels={"rsize": "65536"}, workload="1 MB file", block=order // 2, order=order,
        figures={"write": 9e6, "mount_s": 0.1}, effective={"vers": "3"},
        started_at="2026-03-01T10:00:00+00:00",
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


def test_outcomes_are_saved_one_by_one(store: HistoryStore) -> None:
    spec = b'{"factors":{"rsize":["8192","65536"]}}'
    number = store.start_experiment(spec, "nas:/a", 7, name="quick", environment=Environment(host="desk"))
    for order in (1, 0, 2):
        store.add_outcome(number, outcome(order))
    store.add_outcome(number, outcome(2, state="failed", note="The server did not answer."))
    found = store.experiment(number)
    assert [item.order for item in found.outcomes] == [0, 1, 2]
    assert found.outcomes[0] == outcome(0)
    assert found.outcomes[2].state == "failed"
    assert (bytes(found.spec), found.seed, found.share) == (spec, 7, "nas:/a")
    assert found.environment == Environment(host="desk")
    (row,) = store.experiments()
    assert (row.name, row.host, row.done, row.uid) == ("quick", "desk", 3, found.uid)
    assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)).outcomes == found.outcomes


def test_unknown_numbers_and_bad_specs_are_refused(store: HistoryStore) -> None:
    for act in (
        lambda: store.start_experiment(b"{", "nas:/a", 1),
        lambda: store.add_outcome(5, outcome(0)),
        lambda: store.experiment(5),
    ):
        with pytest.raises(AppError) as caught:
            act()
        assert caught.value.kind is ErrorKind.USAGE


def old_history(path: Path, version: int) -> None:
    """Write a history with the schema of an older version."""
    recorded = max(number for number in RECORDED if number <= version)
    with closing(sqlite3.connect(path)) as old:
        old.executescript((DATA / f"version-{recorded}.sql").read_text())
        for script in MIGRATIONS[recorded:version]:
            old.executescript(script)
        old.execute(f"PRAGMA user_version = {version}")
        old.commit()


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS) + 1))
def test_every_earlier_version_is_migrated(tmp_path: Path, version: int) -> None:
    path = tmp_path / "history.sqlite"
    old_history(path, version)
    with HistoryStore.open(path) as store:
        assert store.messages == []
        assert [row.id for row in store.find()] == [2, 1]
        word = "first" if version < 3 else "third"
        (row,) = store.find(RunFilter(baseline=True, text=f"{word.upper()} version"))
        run = store.get(row.id)
        assert run.tags == (word,)
        assert run.result.figures["write"].values == [100e6, 101e6, 99e6, 100.5e6, 98e6, 102e6]
        assert run.result.write is not None
        assert len(run.result.write.samples) == 40
        assert len(store.experiments()) == (version >= 3)
        assert len(store.learned("nas:/home", "")) == (version >= 3)
        store.add_outcome(store.start_experiment(b"{}", "nas:/a", 1), outcome(0))
    with HistoryStore.open(tmp_path / "new.sqlite"):
        pass
    assert tables_of(path) == tables_of(tmp_path / "new.sqlite")


def tables_of(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
        return [(name, "".join(sql.split())) for name, sql in found]

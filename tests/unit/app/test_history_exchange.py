"""Runs leave as JSON and CSV and come back once; what no test measured is refused."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from history_world import figure, result, transfer

from advisor.trials import Outcome
from app.errors import AppError, ErrorKind
from app.history.exchange import from_json, take_in, to_csv, to_json
from app.history.model import Experiment, Row, Run
from app.history.store import HistoryStore
from app.history.tables import csv_text


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HistoryStore]:
    with HistoryStore.open(tmp_path / "history.sqlite") as found:
        yield found


@pytest.fixture
def other(tmp_path: Path) -> Iterator[HistoryStore]:
    with HistoryStore.open(tmp_path / "other.sqlite") as found:
        yield found


def test_another_machines_export_is_taken_in_once(store: HistoryStore, other: HistoryStore) -> None:
    store.add(Run(result=result([7e6])))
    one = other.add(Run(result=result(samples=50), tags=("x",), note="There."))
    other.set_baseline(one)
    other.add(Run(result=result([8e6]), origin="third.json"))
    number = other.start_experiment(b'{"a": 1}', "nas:/a", 3)
    other.add_outcome(number, Outcome(levels={}, workload="w", block=0, order=0))
    raw = to_json([other.get(1), other.get(2)], [other.experiment(number)])
    first = take_in(store, from_json(raw), "den.json")
    assert (len(first.added), first.known, len(first.experiments)) == (2, 0, 1)
    again = take_in(store, from_json(raw), "den.json")
    assert (again.added, again.known, again.experiments, again.known_experiments) == ([], 2, [], 1)
    taken, third = (store.get(number) for number in first.added)
    there = other.get(one)
    assert taken.result == there.result
    assert (taken.uid, taken.tags, taken.note) == (there.uid, ("x",), "There.")
    assert (taken.origin, third.origin, taken.baseline) == ("den.json", "third.json", False)
    kept = store.experiment(first.experiments[0])
    assert (bytes(kept.spec), kept.origin, len(kept.outcomes)) == (b'{"a":1}', "den.json", 1)


def test_one_result_of_the_command_line_is_taken(store: HistoryStore) -> None:
    raw = msgspec.json.encode(result())
    assert len(take_in(store, from_json(raw), "test.json").added) == 1
    assert take_in(store, from_json(raw), "test.json").known == 1


def broken(**changes: Any) -> bytes:
    return to_json([Run(result=result(**changes))])


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b"[1]",
        b"\xff\xfe",
        b'{"format": "other", "version": 1}',
        b'{"format": "mountwright-history", "version": 2}',
        b'{"format": "mountwright-history", "version": 1, "runs": [{"result": {}}]}',
        b'{"a": ' + b"[" * 100_000,
        broken(started_at="now"),
        broken(started_at="0001-01-01T00:00:00"),
        broken(started_at="9999-12-31T23:59:59-10:00"),
        broken(count=2**63),
        broken(write=msgspec.structs.replace(transfer(1e6), bytes=2**63)),
        broken(write=msgspec.structs.replace(transfer(1e6), bytes=-1)),
        broken(figures={"write": figure([-1.0])}),
        broken(count=0),
        to_json([Run(result=result(), tags=("two words",))]),
        to_json([Run(result=result(), note="x" * 10_001)]),
    ],
)
def test_what_is_refused(raw: bytes) -> None:
    with pytest.raises(AppError) as caught:
        from_json(raw)
    assert caught.value.kind is ErrorKind.USAGE


def test_what_cannot_be_kept_changes_nothing(store: HistoryStore) -> None:
    plain = Experiment(
        started_at="2026-03-01T10:00:00", name="x", share="nas:/a", seed=1, spec=msgspec.Raw(b"{}")
    )
    odd: list[dict[str, Any]] = [{"started_at": "0001-01-01T00:00:00"}, {"seed": 2**63}, {"name": "\udcff"}]
    for changes in odd:
        with pytest.raises(AppError) as caught:
            store.add_experiment(msgspec.structs.replace(plain, **changes))
        assert caught.value.kind is ErrorKind.USAGE
    assert store.experiments() == []
    (number,) = take_in(store, from_json(to_json([Run(result=result())])), "\udcff.json").added
    assert store.get(number).origin == "?.json"


def test_csv_has_a_line_for_each_run_and_no_formula(store: HistoryStore) -> None:
    store.add(Run(result=result(), note='=cmd|"/c calc"!A1', tags=("a", "b")))
    store.add(Run(result=result([5e6], share="nas:/ä,b"), note="two\nlines"))
    lines = list(csv.DictReader(io.StringIO(to_csv(store.find()), newline="")))
    assert tuple(lines[0]) == Row.__struct_fields__
    second, first = lines
    assert first["note"] == """'=cmd|"/c calc"!A1"""
    assert (first["tags"], first["nfs"], float(first["write"])) == ("a b", "1", 100e6)
    assert (second["share"], second["note"]) == ("nas:/ä,b", "two\nlines")


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_no_cell_of_text_is_a_formula(sign: str) -> None:
    assert list(csv.reader(io.StringIO(csv_text([[f"{sign}1+1", -1.5, f"a{sign}"]]), newline=""))) == [
        [f"'{sign}1+1", "-1.5", f"a{sign}"]
    ]

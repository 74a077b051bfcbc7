"""Export to JSON and CSV, and import: each run once, impossible values refused."""

import csv
import io
import sqlite3
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sample_results import figure, result, transfer

from advisor.experiment.measurements import TrialOutcome
from app.errors import AppError, ErrorKind
from app.history.import_export import history_from_json, history_to_json, import_history
from app.history.model import ExperimentRecord, Run, RunSummary
from app.history.store import HistoryStore
from app.report.export import runs_file
from app.report.tables import csv_text
from app.speedtest.model import Environment


@pytest.fixture
def store(tmp_path: Path) -> Iterator[HistoryStore]:
    with HistoryStore.open(tmp_path / "history.sqlite") as found:
        yield found


@pytest.fixture
def other(tmp_path: Path) -> Iterator[HistoryStore]:
    with HistoryStore.open(tmp_path / "other.sqlite") as found:
        yield found


def test_an_export_is_imported_once(store: HistoryStore, other: HistoryStore) -> None:
    store.add(Run(result=result([7e6])))
    one = other.add(Run(result=result(samples=50), tags=("x",), note="There."))
    other.set_baseline(one)
    other.add(Run(result=result([8e6]), origin="third.json"))
    number = other.start_experiment(b'{"a": 1}', "nas:/a", 3)
    other.add_outcome(number, TrialOutcome(levels={}, workload="w", block=0, order=0))
    raw = history_to_json([other.get(1), other.get(2)], [other.experiment(number)])
    first = import_history(store, history_from_json(raw), "den.json")
    assert (len(first.added), first.known, len(first.experiments)) == (2, 0, 1)
    again = import_history(store, history_from_json(raw), "den.json")
    assert (again.added, again.known, again.experiments, again.known_experiments) == ([], 2, [], 1)
    taken, third = (store.get(number) for number in first.added)
    exported = other.get(one)
    assert taken.result == exported.result
    assert (taken.uid, taken.tags, taken.note) == (exported.uid, ("x",), "There.")
    assert (taken.origin, third.origin, taken.baseline) == ("den.json", "third.json", False)
    kept = store.experiment(first.experiments[0])
    assert (bytes(kept.spec), kept.origin, len(kept.outcomes)) == (b'{"a":1}', "den.json", 1)


def test_missing_trials_of_an_imported_experiment_are_added(store: HistoryStore, other: HistoryStore) -> None:
    number = other.start_experiment(b"{}", "nas:/a", 3)

    def export(*states: str) -> bytes:
        for order, state in enumerate(states):
            other.add_outcome(
                number, TrialOutcome(levels={}, workload="w", block=0, order=order, state=state)
            )
        return history_to_json([], [other.experiment(number)])

    half, whole = export("ok", "failed"), export("ok", "ok", "failed", "ok")
    (here,) = import_history(store, history_from_json(half), "half.json").experiments
    again = import_history(store, history_from_json(whole), "whole.json")
    assert (again.experiments, again.known_experiments, again.trials) == ([], 1, 3)
    assert [item.state for item in store.experiment(here).outcomes] == ["ok", "ok", "failed", "ok"]
    assert store.experiment(here).origin == "half.json"
    for raw in (whole, half):
        assert import_history(store, history_from_json(raw), "again.json").trials == 0
    assert len(store.experiment(here).outcomes) == 4


def test_an_experiment_of_this_computer_gets_no_imported_trials(store: HistoryStore) -> None:
    number = store.start_experiment(b"{}", "nas:/a", 3)
    mine = store.experiment(number)
    more = msgspec.structs.replace(mine, outcomes=[TrialOutcome(levels={}, workload="w", block=0, order=0)])
    assert import_history(store, history_from_json(history_to_json([], [more])), "x.json").trials == 0
    assert store.experiment(number).outcomes == []


def test_a_single_result_of_the_command_line_is_imported(store: HistoryStore) -> None:
    raw = msgspec.json.encode(result())
    assert len(import_history(store, history_from_json(raw), "test.json").added) == 1
    assert import_history(store, history_from_json(raw), "test.json").known == 1


def broken(**changes: Any) -> bytes:
    return history_to_json([Run(result=result(**changes))])


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
        history_to_json([Run(result=result(), tags=("two words",))]),
        history_to_json([Run(result=result(), note="x" * 10_001)]),
    ],
)
def test_broken_files_are_refused(raw: bytes) -> None:
    with pytest.raises(AppError) as caught:
        history_from_json(raw)
    assert caught.value.kind is ErrorKind.USAGE


def test_a_failed_import_changes_nothing(store: HistoryStore) -> None:
    plain = ExperimentRecord(
        started_at="2026-03-01T10:00:00", name="x", share="nas:/a", seed=1, spec=msgspec.Raw(b"{}")
    )
    odd: list[dict[str, Any]] = [{"started_at": "0001-01-01T00:00:00"}, {"seed": 2**63}, {"name": "\udcff"}]
    for changes in odd:
        with pytest.raises(AppError) as caught:
            store.add_experiment(msgspec.structs.replace(plain, **changes))
        assert caught.value.kind is ErrorKind.USAGE
    assert store.experiments() == []
    (number,) = import_history(
        store, history_from_json(history_to_json([Run(result=result())])), "\udcff.json"
    ).added
    assert store.get(number).origin == "?.json"


def test_csv_has_a_line_for_each_run_and_no_formula(store: HistoryStore) -> None:
    store.add(Run(result=result(), note='=cmd|"/c calc"!A1', tags=("a", "b")))
    store.add(Run(result=result([5e6], share="nas:/ä,b"), note="two\nlines"))
    lines = runs_lines(store)
    names = list(RunSummary.__struct_fields__)
    assert list(lines[0])[: len(names)] == names
    second, first = lines
    assert first["note"] == """'=cmd|"/c calc"!A1"""
    assert (first["tags"], first["nfs"], float(first["write"])) == ("a b", "1", 100e6)
    assert (second["share"], second["note"]) == ("nas:/ä,b", "two\nlines")


def test_csv_has_the_environment_by_json_names(store: HistoryStore) -> None:
    where = Environment(
        host="desk", kernel="6.1.0", server_kind="linux", rate_bps=1e9, rtt_s=0.0004, mtu=9000
    )
    store.add(Run(result=result(environment=where)))
    store.add(Run(result=result([5e6], environment=None)))
    broken_body = store.add(Run(result=result([6e6], environment=where)))
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE bodies SET body = x'02' WHERE run = ?", (broken_body,))
    connection.close()
    unread, unknown, known = runs_lines(store)
    facts = msgspec.to_builtins(where)
    assert {f"environment_{name}": "" if value is None else str(value) for name, value in facts.items()} == {
        name: value for name, value in known.items() if name.startswith("environment_")
    }
    for line in (unread, unknown):
        assert {value for name, value in line.items() if name.startswith("environment_")} == {""}
    workbook = zipfile.ZipFile(io.BytesIO(runs_file(store, store.find(), "xlsx")))
    assert b">environment_kernel<" in (sheet := workbook.read("xl/worksheets/sheet1.xml"))
    assert b">6.1.0<" in sheet


def runs_lines(store: HistoryStore) -> list[dict[str, str]]:
    text = runs_file(store, store.find(), "csv").decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_no_cell_of_text_is_a_formula(sign: str) -> None:
    assert list(csv.reader(io.StringIO(csv_text([[f"{sign}1+1", -1.5, f"a{sign}"]]), newline=""))) == [
        [f"'{sign}1+1", "-1.5", f"a{sign}"]
    ]

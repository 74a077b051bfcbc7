"""Exports of tests and experiments: files for a spreadsheet, for another machine, or for readers."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Literal, TypeVar

from advisor.speeds import SpeedUnit
from app.errors import AppError, ErrorKind
from app.files.safe_write import save_file
from app.history.import_export import history_to_json
from app.history.store import HistoryStore
from app.report.experiment_report import experiment_to_html
from app.report.runs_report import runs_to_html
from app.report.tables import csv_text, experiment_table, runs_table, trials_table
from app.report.xlsx import tables_to_xlsx

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from app.history.model import ExperimentRecord, RunSummary

T = TypeVar("T")

#: A line for each run or trial, the same as an Excel workbook, everything (for import), or a report.
ExportFormat = Literal["csv", "xlsx", "json", "html"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = ("csv", "xlsx", "json", "html")


def save_runs(numbers: Sequence[int], path: str, kind: ExportFormat, unit: SpeedUnit) -> None:
    """Write tests of the history to a new file; the speeds of a report are in this unit.

    Raises:
        AppError: as the store, or if the file cannot be written.
    """
    with HistoryStore.open() as store:
        data = runs_file(store, store.rows(numbers), kind, unit=unit)
    save_file(path, data)


def save_experiment(number: int, path: str, kind: ExportFormat, unit: SpeedUnit) -> None:
    """Write an experiment of the history to a new file: its raw trials, everything, or its report.

    Raises:
        AppError: as the store, or if the file cannot be written.
    """
    with HistoryStore.open() as store:
        data = experiment_file(store.experiment(number), kind, unit)
    save_file(path, data)


def runs_file(
    store: HistoryStore,
    rows: Sequence[RunSummary],
    kind: ExportFormat,
    experiments: Sequence[ExperimentRecord] = (),
    *,
    unreadable: list[AppError] | None = None,
    unit: SpeedUnit = SpeedUnit.BYTES,
) -> bytes:
    """Return a file of runs.

    Args:
        store: that they are in.
        rows: of the runs, in the order in which they are written.
        kind: of the file.
        experiments: to go along, where the kind is "json".
        unreadable: gets an error for each run that cannot be read, which is left out; None raises the first.
        unit: of the speeds of a report; all other kinds have bytes a second.

    Raises:
        AppError: as the store.
    """
    if kind in {"csv", "xlsx"}:
        table = runs_table(rows, store.environments(row.id for row in rows))
        return csv_text(table).encode() if kind == "csv" else tables_to_xlsx({"Tests": table})
    runs = read_valid(store.get, [row.id for row in rows], unreadable)
    return runs_to_html(runs, unit=unit).encode() if kind == "html" else history_to_json(runs, experiments)


def read_valid(
    read: Callable[[int], T], numbers: Iterable[int], unreadable: list[AppError] | None
) -> list[T]:
    """Return what of a store can be read, the errors of the rest in ``unreadable``; None raises the first.

    Raises:
        AppError: as the store, where it is more than one that cannot be read.
    """
    found: list[T] = []
    for number in numbers:
        try:
            found.append(read(number))
        except AppError as error:
            of_all = error.kind is not ErrorKind.IO or isinstance(error.__cause__, sqlite3.Error)
            if unreadable is None or of_all:
                raise
            unreadable.append(error)
    return found


def experiment_file(
    experiment: ExperimentRecord, kind: ExportFormat, unit: SpeedUnit = SpeedUnit.BYTES
) -> bytes:
    """Return a file of an experiment; a report has its speeds in this unit.

    Raises:
        AppError: IO if the kind is "html" and its plan cannot be read.
    """
    if kind == "csv":
        return csv_text(trials_table(experiment)).encode()
    if kind == "xlsx":
        return tables_to_xlsx({"Trials": trials_table(experiment), "About": experiment_table(experiment)})
    if kind == "html":
        return experiment_to_html(experiment, unit).encode()
    return history_to_json([], [experiment])

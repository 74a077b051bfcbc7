"""Export of saved tests and experiments as CSV, Excel workbook, JSON or HTML report."""

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

#: CSV with a line for each run or trial, the same as an Excel workbook, JSON with all data, or HTML report.
ExportFormat = Literal["csv", "xlsx", "json", "html"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = ("csv", "xlsx", "json", "html")


def save_runs(numbers: Sequence[int], path: str, kind: ExportFormat, unit: SpeedUnit) -> None:
    """Write saved tests to a new file; ``unit`` is the unit of speeds in an HTML report.

    Raises:
        AppError: if a test cannot be read, or the file cannot be written.
    """
    with HistoryStore.open() as store:
        data = runs_file(store, store.rows(numbers), kind, unit=unit)
    save_file(path, data)


def save_experiment(number: int, path: str, kind: ExportFormat, unit: SpeedUnit) -> None:
    """Write a saved experiment to a new file; ``unit`` is the unit of speeds in an HTML report.

    Raises:
        AppError: if the experiment cannot be read, or the file cannot be written.
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
    """Return the content of an export file of runs.

    Args:
        store: history with the runs.
        rows: summaries of the runs, in the order of the file.
        kind: format of the file.
        experiments: experiments to add to a JSON file; other formats ignore them.
        unreadable: list that receives an error for each unreadable run, which is left out; None raises the
            first error.
        unit: unit of speeds in an HTML report; all other formats have bytes per second.

    Raises:
        AppError: raised by the store.
    """
    if kind in {"csv", "xlsx"}:
        table = runs_table(rows, store.environments(row.id for row in rows))
        return csv_text(table).encode() if kind == "csv" else tables_to_xlsx({"Tests": table})
    runs = read_valid(store.get, [row.id for row in rows], unreadable)
    return runs_to_html(runs, unit=unit).encode() if kind == "html" else history_to_json(runs, experiments)


def read_valid(
    read: Callable[[int], T], numbers: Iterable[int], unreadable: list[AppError] | None
) -> list[T]:
    """Read records of a store by number, and append the error of each unreadable one to ``unreadable``.

    Raises:
        AppError: the error of a record if ``unreadable`` is None, or an error of the database in any case.
    """
    found: list[T] = []
    for number in numbers:
        try:
            found.append(read(number))
        except AppError as error:
            affects_store = error.kind is not ErrorKind.IO or isinstance(error.__cause__, sqlite3.Error)
            if unreadable is None or affects_store:
                raise
            unreadable.append(error)
    return found


def experiment_file(
    experiment: ExperimentRecord, kind: ExportFormat, unit: SpeedUnit = SpeedUnit.BYTES
) -> bytes:
    """Return the content of an export file of an experiment; ``unit`` is that of speeds in an HTML report.

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

"""What is exported, as the bytes of one file of each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from app.history.exchange import to_csv, to_json
from app.history.experiment_report import experiment_to_html
from app.history.report import to_html
from app.history.spreadsheet import to_xlsx
from app.history.tables import about_table, csv_text, runs_table, trials_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.history.model import Experiment, Row
    from app.history.store import HistoryStore

#: A line for each run or trial, the same as an Excel workbook, everything (for import), or a report.
Format = Literal["csv", "xlsx", "json", "html"]
FORMATS: tuple[Format, ...] = ("csv", "xlsx", "json", "html")


def runs_file(
    store: HistoryStore, rows: Sequence[Row], kind: Format, experiments: Sequence[Experiment] = ()
) -> bytes:
    """Return a file of runs.

    Args:
        store: that they are in.
        rows: of the runs, in the order in which they are written.
        kind: of the file.
        experiments: to go along, where the kind is "json".

    Raises:
        AppError: as the store.
    """
    if kind == "csv":
        return to_csv(rows).encode()
    if kind == "xlsx":
        return to_xlsx({"Tests": runs_table(rows)})
    runs = [store.get(row.id) for row in rows]
    return to_html(runs).encode() if kind == "html" else to_json(runs, experiments)


def experiment_file(experiment: Experiment, kind: Format) -> bytes:
    """Return a file of an experiment.

    Raises:
        AppError: IO if the kind is "html" and its plan cannot be read.
    """
    if kind == "csv":
        return csv_text(trials_table(experiment)).encode()
    if kind == "xlsx":
        return to_xlsx({"Trials": trials_table(experiment), "About": about_table(experiment)})
    return experiment_to_html(experiment).encode() if kind == "html" else to_json([], [experiment])

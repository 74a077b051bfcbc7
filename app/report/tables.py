"""Tables of plain values from saved tests and experiments, for CSV files and Excel workbooks."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import msgspec

from app.history.model import RunSummary, option_string
from app.speedtest.model import Environment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.history.model import ExperimentRecord
    from app.report.xlsx import Cell

#: First characters of a CSV cell that a spreadsheet would read as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def runs_table(rows: Sequence[RunSummary], environments: Mapping[int, Environment]) -> list[list[Cell]]:
    """Return a heading row and a row for each run: its summary, speeds in bytes per second, then environment.

    Args:
        rows: summaries of the runs.
        environments: known environments by run number. The heading of a fact is "environment_" and its JSON
            name.
    """
    facts = [f"environment_{name}" for name in Environment.__struct_fields__]
    found: list[list[Cell]] = [[*RunSummary.__struct_fields__, *facts]]
    unknown = Environment()
    for row in rows:
        values = msgspec.structs.asdict(row) | {"tags": " ".join(row.tags)}
        environment = msgspec.structs.asdict(environments.get(row.id, unknown))
        found.append([*values.values(), *environment.values()])
    return found


def trials_table(experiment: ExperimentRecord) -> list[list[Cell]]:
    """Return a heading row and a row for each trial, in bytes, seconds, and bytes or files per second."""
    outcomes = experiment.outcomes
    factors = list(dict.fromkeys(name for item in outcomes for name in item.levels))
    figures = list(dict.fromkeys(name for item in outcomes for name in item.figures))
    head: list[Cell] = ["order", "block", "workload", "baseline", "state", *factors, *figures]
    found = [[*head, "timeouts", "retransmissions", "retest", "started_at", "in_use", "note"]]
    found += [
        [
            item.order, item.block, item.workload, item.baseline, item.state,
            *(item.levels.get(name) for name in factors), *(item.figures.get(name) for name in figures),
            item.timeouts, item.retransmissions, item.retest, item.started_at,
            option_string(item.effective), item.note,
        ]
        for item in outcomes
    ]  # fmt: skip
    return found


def experiment_table(experiment: ExperimentRecord) -> list[list[Cell]]:
    """Return a table of an experiment's recipe, share, environment and plan, with a row for each fact."""
    found: list[list[Cell]] = [["fact", "value"]]
    names = ("name", "share", "started_at", "seed", "note", "origin", "uid")
    found += [[name, getattr(experiment, name)] for name in names]
    if experiment.environment is not None:
        found += [[name, value] for name, value in msgspec.structs.asdict(experiment.environment).items()]
    found.append(["spec", bytes(experiment.spec).decode()])
    return found


def csv_text(table: Sequence[Sequence[Cell]]) -> str:
    """Return a table as CSV (RFC 4180), with booleans as 1 and 0 and formulas made plain text."""
    out = io.StringIO(newline="")
    csv.writer(out).writerows([_without_formula(value) for value in line] for line in table)
    return out.getvalue()


def _without_formula(value: Cell) -> Cell:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value

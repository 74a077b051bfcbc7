"""Tests and trials as tables of plain values, for CSV and for a spreadsheet."""

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

#: A spreadsheet takes a cell of CSV that begins so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def runs_table(rows: Sequence[RunSummary], environments: Mapping[int, Environment]) -> list[list[Cell]]:
    """Return a heading and a line for each run: speeds in bytes a second, then where it ran.

    Args:
        rows: of the runs.
        environments: by the runs' numbers, of those of which it is known. A column has the name that the fact
            has in JSON, after "environment_".
    """
    facts = [f"environment_{name}" for name in Environment.__struct_fields__]
    found: list[list[Cell]] = [[*RunSummary.__struct_fields__, *facts]]
    nowhere = Environment()
    for row in rows:
        values = msgspec.structs.asdict(row) | {"tags": " ".join(row.tags)}
        environment = msgspec.structs.asdict(environments.get(row.id, nowhere))
        found.append([*values.values(), *environment.values()])
    return found


def trials_table(experiment: ExperimentRecord) -> list[list[Cell]]:
    """Return a heading and a line for each trial, raw: bytes, seconds and bytes or files a second."""
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
    """Return what an experiment was and where it ran, a line for each fact."""
    found: list[list[Cell]] = [["fact", "value"]]
    names = ("name", "share", "started_at", "seed", "note", "origin", "uid")
    found += [[name, getattr(experiment, name)] for name in names]
    if experiment.environment is not None:
        found += [[name, value] for name, value in msgspec.structs.asdict(experiment.environment).items()]
    found.append(["spec", bytes(experiment.spec).decode()])
    return found


def csv_text(table: Sequence[Sequence[Cell]]) -> str:
    """Return a table as CSV (RFC 4180), yes and no as 1 and 0; no cell is a formula."""
    out = io.StringIO(newline="")
    csv.writer(out).writerows([_without_formula(value) for value in line] for line in table)
    return out.getvalue()


def _without_formula(value: Cell) -> Cell:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value

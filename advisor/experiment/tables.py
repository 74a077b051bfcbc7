"""Tables and curves of an experiment: one factor alone, two as a matrix or surface, levels against a base.

The forms are those of the published studies: curves as in seed 000, matrices as in seed 001, comparisons as
in seed 003, surfaces as in seed 004.
"""

from __future__ import annotations

import itertools
from math import exp, log
from typing import TYPE_CHECKING

import msgspec

from advisor.experiment.error_model import bonferroni_confidence, estimate_error_model
from advisor.experiment.intervals import CONFIDENCE, confidence_interval, median
from advisor.experiment.measurements import (
    READ_TOTAL_S,
    RETRANSMISSIONS,
    WRITE_TOTAL_S,
    direction_timeouts,
    figure_value,
    is_repeat,
    level_number,
    lower_is_better,
    outcomes_of_workload,
    outcomes_with_figure,
    varied_levels,
)
from advisor.experiment.ranking import rank_sets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from advisor.experiment.error_model import ErrorModel
    from advisor.experiment.measurements import RandomSource, TrialOutcome

#: Greatest number of repeats in the bootstrap; medians of more values are treated as medians of this many.
_MAX_REPEATS_DRAWN = 25


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One point of a curve: a level and its figures.

    Attributes:
        level: level of the factor.
        values: figure of each repeat.
        mean: mean of the values, as in seed 000.
        median: median of the values.
        low: lower end of the median's confidence interval.
        high: upper end of the median's confidence interval.
        timeouts: mean number of timeouts per repeat.
        retransmissions: mean number of retransmissions per repeat.
    """

    level: str
    values: list[float]
    mean: float
    median: float
    low: float
    high: float
    timeouts: float
    retransmissions: float


class FactorCurve(msgspec.Struct, frozen=True, kw_only=True):
    """A figure and the timeouts against one factor, all others at their base: Figures 4 to 13 of seed 000.

    Attributes:
        factor: the varied factor.
        figure: name of the figure.
        workload: name of the workload.
        points: points of the curve, numeric levels in ascending order, then other levels.
        best: the level to choose: among the levels that do not differ significantly from the best one, the
            level with the fewest timeouts. None if no level differs significantly ("-" in Figure 14).
        told: whether the error is known, so that significance can be tested.
    """

    factor: str
    figure: str
    workload: str
    points: list[CurvePoint]
    best: str | None
    told: bool = True


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """A figure over two factors: seed 001's matrices, seed 004's surfaces.

    Attributes:
        figure: name of the figure in the cells.
        workload: name of the workload.
        fixed: levels of the other factors.
        row_factor: factor of the rows.
        column_factor: factor of the columns.
        rows: levels of the row factor, numeric levels in ascending order, then other levels.
        columns: levels of the column factor, in the same order.
        cells: median figure by row and column; None without values.
        repeats: number of values of each cell.
        differs: whether the cells differ significantly; None if the error is unknown.
        apart: smallest ratio of two cells that is significant, above 1; None if the error is unknown.
    """

    figure: str
    workload: str
    fixed: dict[str, str]
    row_factor: str
    column_factor: str
    rows: list[str]
    columns: list[str]
    cells: list[list[float | None]]
    repeats: list[list[int]]
    differs: bool | None = None
    apart: float | None = None

    def best(self) -> float | None:
        """Return the best cell's figure, None if no cell has a value."""
        known = [cell for row in self.cells for cell in row if cell is not None]
        return (min if lower_is_better(self.figure) else max)(known, default=None)

    def shades(self) -> list[list[float]]:
        """Return the color strength of each cell, from 0 to 1.

        It is 1 for cells that do not differ significantly from the best, and 0 for cells half as good.
        Without significant differences all are 0.
        """
        best = self.best()
        return [[self._shade(cell, best) for cell in row] for row in self.cells]

    def _shade(self, cell: float | None, best: float | None) -> float:
        if not self.differs or cell is None or best is None:
            return 0.0
        if cell <= 0 or best <= 0:  # ratios to 0 are undefined; 0 timeouts are the best possible value
            return float(cell == best)
        ratio = min(cell, best) / max(cell, best)
        if self.apart is not None and 1 / ratio <= self.apart:
            return 1.0
        return max(0.0, 2 * ratio - 1)

    def axes(self) -> tuple[list[float], list[float]]:
        """Return the positions of rows and columns on a surface's axes: numbers, or 0, 1, 2 for words."""
        return _axis_positions(self.rows), _axis_positions(self.columns)


class LevelConsistency(msgspec.Struct, frozen=True, kw_only=True):
    """Consistency of one level over all columns of a set of matrices.

    Attributes:
        level: level of the row factor.
        worst: least ratio of its figure to the best of the column: 0.7 means that in one column another
            level is 10/7 times as good.
        mean: mean ratio of its figure to the best of the column.
        columns: number of columns.
    """

    level: str
    worst: float
    mean: float
    columns: int


class ComparisonCell(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of a comparison.

    Attributes:
        level: level of the column.
        values: figure of each repeat.
        mean: mean of the values, as in seed 003.
        median: median of the values.
        ratio: median divided by the base's median.
        differs: whether the difference from the base is significant; None if too few trials were repeated.
    """

    level: str
    values: list[float]
    mean: float
    median: float
    ratio: float
    differs: bool | None


class ComparisonRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a comparison with a base: seed 003's cache table.

    Attributes:
        workload: name of the workload.
        figure: name of the figure.
        cells: cells of the row, the base first.
    """

    workload: str
    figure: str
    cells: list[ComparisonCell]


def factor_curve(
    outcomes: Sequence[TrialOutcome],
    factor: str,
    base: Mapping[str, str],
    figure: str,
    *,
    chance: RandomSource,
    counted: bool = False,
    confidence: float = CONFIDENCE,
) -> FactorCurve | None:
    """Return a figure against one factor, all others at their base; None if less than two levels have it.

    Args:
        outcomes: trials of one workload.
        factor: the varied factor.
        base: base level of each factor; factors that it lacks may have any level.
        figure: a name of advisor.experiment.measurements.
        chance: random source for the bootstrap.
        counted: whether to include the time to sync and unmount.
        confidence: probability that equal levels are in one group; higher if several factors are tested.
    """
    fixed = {name: level for name, level in base.items() if name != factor}
    known = outcomes_with_figure(outcomes, figure, counted=counted)
    on_curve = [each for each in known if factor in each.levels and _has_levels(each, fixed)]
    # The baseline's repeats show the error even if each level ran once.
    baseline = [each for each in outcomes if each.baseline]
    ranked = rank_sets([*on_curve, *baseline], figure, chance=chance, counted=counted, confidence=confidence)
    if len(ranked.standings) < 2:
        return None
    points = [
        _curve_point(
            level, [each for each in on_curve if each.levels[factor] == level], figure, counted=counted
        )
        for level in varied_levels(on_curve).get(factor, [])
    ]
    first = ranked.group(1)
    best = min(first, key=lambda standing: (standing.timeouts, standing.place), default=None)
    return FactorCurve(
        factor=factor, figure=figure, workload=ranked.workload, points=points, told=best is not None,
        best=None if best is None or len(first) == len(ranked.standings) else best.levels[factor],
    )  # fmt: skip


def matrices(
    outcomes: Sequence[TrialOutcome],
    row_factor: str,
    column_factor: str,
    figure: str,
    *,
    split: Sequence[str] | None = None,
    counted: bool = False,
    noise: ErrorModel | None = None,
) -> list[Matrix]:
    """Return a figure over two factors, one matrix for each workload and setting of other factors.

    Args:
        outcomes: trials of any workloads.
        row_factor: factor of the rows.
        column_factor: factor of the columns.
        figure: a name of advisor.experiment.measurements.
        split: other factors with a separate matrix for each level, all of them if None; the levels of the
            rest are pooled.
        counted: whether to include the time to sync and unmount.
        noise: error model of single values; without it no significance is computed.
    """
    usable = [
        each for each in outcomes if is_repeat(each) and {row_factor, column_factor} <= each.levels.keys()
    ]
    varied = varied_levels(usable)
    apart = [
        name
        for name in varied
        if name not in (row_factor, column_factor) and (split is None or name in split)
    ]
    found: list[Matrix] = []
    for workload in dict.fromkeys(outcome.workload for outcome in usable):
        for levels in itertools.product(*(varied[name] for name in apart)):
            fixed = dict(zip(apart, levels, strict=True))
            here = [each for each in outcomes_of_workload(usable, workload) if _has_levels(each, fixed)]
            if any(figure_value(each, figure) is not None for each in here):
                found.append(_matrix(here, (row_factor, column_factor), figure, fixed, counted=counted))
    if noise is None:
        return found
    confidence = bonferroni_confidence(len(found))
    return [_with_significance(one, noise, confidence) for one in found]


def _with_significance(matrix: Matrix, noise: ErrorModel, confidence: float) -> Matrix:
    """Return a copy of a matrix with ``differs`` and ``apart`` set."""
    known = [
        (cell, count)
        for row, counts_of in zip(matrix.cells, matrix.repeats, strict=True)
        for cell, count in zip(row, counts_of, strict=True)
        if cell is not None
    ]
    if len(known) < 2 or min(cell for cell, _count in known) <= 0:
        return matrix
    repeats = min(*(count for _cell, count in known), _MAX_REPEATS_DRAWN)
    limit = noise.limit(repeats, len(known), confidence=confidence)
    low, high = min(known)[0], max(known)[0]
    return msgspec.structs.replace(matrix, differs=log(high / low) > limit, apart=exp(limit))


def level_consistency(tables: Sequence[Matrix]) -> list[LevelConsistency]:
    """Return each row level's ratios to the best of its column, the most consistent level first.

    Seed 001 chooses sizes by this criterion: consistently high performance over all block sizes and loads,
    not a single peak.
    """
    parts: dict[str, list[float]] = {}
    for table in tables:
        less = lower_is_better(table.figure)
        for number in range(len(table.columns)):
            column = {row: cells[number] for row, cells in zip(table.rows, table.cells, strict=True)}
            known = {row: cell for row, cell in column.items() if cell is not None and cell > 0}
            for row, cell in known.items():
                part = min(known.values()) / cell if less else cell / max(known.values())
                parts.setdefault(row, []).append(part)
    found = [
        LevelConsistency(level=level, worst=min(row), mean=sum(row) / len(row), columns=len(row))
        for level, row in parts.items()
    ]
    return sorted(found, key=lambda each: (-each.worst, -each.mean))


def compare_with_base(
    outcomes: Sequence[TrialOutcome],
    factor: str,
    base: str,
    *,
    chance: RandomSource,
    figures: Sequence[str] = (WRITE_TOTAL_S, READ_TOTAL_S),
    counted: bool = False,
) -> list[ComparisonRow]:
    """Compare the levels of one factor with its base level, in a row for each figure and workload.

    Args:
        outcomes: trials of any workloads; levels of other factors are pooled.
        factor: factor of the columns.
        base: the level that the others are compared with.
        chance: random source for the bootstrap.
        figures: names of advisor.experiment.measurements.
        counted: whether to include the time to sync and unmount.
    """
    found: list[ComparisonRow] = []
    usable = [each for each in outcomes if is_repeat(each) and factor in each.levels]
    names = [name for name in {each.levels[factor]: None for each in usable} if name != base]
    for figure in figures:
        for workload in dict.fromkeys(outcome.workload for outcome in usable):
            columns: dict[str, list[float]] = {}
            for outcome in outcomes_of_workload(usable, workload):
                number = figure_value(outcome, figure, counted=counted)
                if number is not None:
                    columns.setdefault(outcome.levels[factor], []).append(number)
            if base in columns:
                cells = _comparison_cells(
                    columns, [base, *(name for name in names if name in columns)], chance
                )
                found.append(ComparisonRow(workload=workload, figure=figure, cells=cells))
    return found


def _has_levels(outcome: TrialOutcome, fixed: Mapping[str, str]) -> bool:
    return all(outcome.levels.get(name, level) == level for name, level in fixed.items())


def _curve_point(level: str, outcomes: Sequence[TrialOutcome], figure: str, *, counted: bool) -> CurvePoint:
    values = [
        number for each in outcomes if (number := figure_value(each, figure, counted=counted)) is not None
    ]
    low, high, _ = confidence_interval(values)
    return CurvePoint(
        level=level, values=values, mean=sum(values) / len(values), median=median(values), low=low, high=high,
        timeouts=sum(direction_timeouts(each, figure) for each in outcomes) / len(outcomes),
        retransmissions=sum(figure_value(each, RETRANSMISSIONS) or 0 for each in outcomes) / len(outcomes),
    )  # fmt: skip


def _matrix(
    outcomes: Sequence[TrialOutcome],
    factors: tuple[str, str],
    figure: str,
    fixed: dict[str, str],
    *,
    counted: bool,
) -> Matrix:
    row_factor, column_factor = factors
    values: dict[tuple[str, str], list[float]] = {}
    for outcome in outcomes:
        number = figure_value(outcome, figure, counted=counted)
        if number is not None:
            values.setdefault((outcome.levels[row_factor], outcome.levels[column_factor]), []).append(number)
    varied = varied_levels(outcomes)
    rows = varied.get(row_factor, [outcomes[0].levels[row_factor]])
    columns = varied.get(column_factor, [outcomes[0].levels[column_factor]])
    of = [[values.get((row, column), []) for column in columns] for row in rows]
    return Matrix(
        figure=figure, workload=outcomes[0].workload, fixed=fixed, row_factor=row_factor,
        column_factor=column_factor, rows=rows, columns=columns,
        cells=[[median(cell) if cell else None for cell in row] for row in of],
        repeats=[[len(cell) for cell in row] for row in of],
    )  # fmt: skip


def _axis_positions(levels: Sequence[str]) -> list[float]:
    numbers = [level_number(level) for level in levels]
    known = [number for number in numbers if number is not None]
    return known if len(known) == len(levels) else [float(place) for place in range(len(levels))]


def _comparison_cells(
    columns: Mapping[str, list[float]], levels: Sequence[str], chance: RandomSource
) -> list[ComparisonCell]:
    noise = estimate_error_model(columns.values(), chance)
    base = median(columns[levels[0]])
    cells: list[ComparisonCell] = []
    for level in levels:
        values = columns[level]
        ratio = median(values) / base if base else 1.0
        differs: bool | None = None
        if noise is not None and ratio > 0:
            limit = noise.limit(min(len(columns[levels[0]]), len(values)), len(levels))
            differs = level != levels[0] and abs(log(ratio)) > limit
        cells.append(
            ComparisonCell(
                level=level, values=values, mean=sum(values) / len(values), median=median(values),
                ratio=ratio, differs=differs,
            )
        )  # fmt: skip
    return cells

"""Tables and curves of an experiment: one factor alone, two as a matrix or surface, levels against a base."""

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

#: A median of more values than these is thought to be of as many.
_MAX_REPEATS_DRAWN = 25


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One level of a curve.

    Attributes:
        level: of the factor.
        values: of its repeats.
        mean: of them, as seed 000 gives it.
        median: of them.
        low: lower end of the median's interval.
        high: its upper end.
        timeouts: mean number of a repeat.
        retransmissions: likewise.
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
    """A figure and the time-outs against one factor, all others at their base: Figures 4 to 13 of seed 000.

    Attributes:
        factor: that is varied.
        figure: over it.
        workload: that it is of.
        points: sizes and numbers from small to large, then words.
        best: the level to choose: the best figure; of those that cannot be told apart from it the one with
            the fewest time-outs. None if no level can be told apart from the others ("-" in Figure 14).
        told: whether differences can be told from chance at all.
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
        figure: in the cells.
        workload: that it is of.
        fixed: levels of the other factors.
        row_factor: down.
        column_factor: across.
        rows: levels, sizes and numbers from small to large, then words.
        columns: likewise.
        cells: medians by row and column; None where there is none.
        repeats: how many values each cell is the median of.
        differs: whether the cells differ by more than chance; None if that cannot be told.
        apart: cells whose ratio is nearer to 1 than this cannot be told apart; None likewise.
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
        """Return the best cell's figure, None if there is no cell."""
        known = [cell for row in self.cells for cell in row if cell is not None]
        return (min if lower_is_better(self.figure) else max)(known, default=None)

    def shades(self) -> list[list[float]]:
        """Return how strongly each cell is colored, from 0 to 1: nothing where chance makes the pattern.

        Cells that cannot be told apart from the best have its color, and those that are half as good none.
        """
        best = self.best()
        return [[self._shade(cell, best) for cell in row] for row in self.cells]

    def _shade(self, cell: float | None, best: float | None) -> float:
        if not self.differs or cell is None or best is None:
            return 0.0
        if cell <= 0 or best <= 0:  # no time-outs are the best that can be
            return float(cell == best)
        ratio = min(cell, best) / max(cell, best)
        if self.apart is not None and 1 / ratio <= self.apart:
            return 1.0
        return max(0.0, 2 * ratio - 1)

    def axes(self) -> tuple[list[float], list[float]]:
        """Return where rows and columns are on the axes of a surface: numbers as such, words as 0, 1, 2."""
        return _axis_positions(self.rows), _axis_positions(self.columns)


class LevelConsistency(msgspec.Struct, frozen=True, kw_only=True):
    """How one level does over all of a set of matrices.

    Attributes:
        level: of the row factor.
        worst: its figure over the best of its column, where that is least: 0.7 means that somewhere another
            level does 10/7 as well.
        mean: the same on average.
        columns: over how many columns.
    """

    level: str
    worst: float
    mean: float
    columns: int


class ComparisonCell(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of a comparison.

    Attributes:
        level: its column.
        values: of the repeats.
        mean: of them, as seed 003 gives it.
        median: of them.
        ratio: of the median to the base's.
        differs: whether the difference from the base is more than chance; None if too few trials were
            repeated to say.
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
        workload: of the row.
        figure: of the row.
        cells: the base first.
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
        outcomes: of one workload.
        factor: that is varied.
        base: level of each factor; those that it does not name are not looked at.
        figure: a name of advisor.experiment.measurements.
        chance: for the bootstrap.
        counted: count the time to sync and unmount in.
        confidence: how often equal levels are to be told as equal; more where several factors are asked for.
    """
    fixed = {name: level for name, level in base.items() if name != factor}
    known = outcomes_with_figure(outcomes, figure, counted=counted)
    on_it = [each for each in known if factor in each.levels and _has_levels(each, fixed)]
    # Those that watch for drift tell of chance where each level ran once.
    watching = [each for each in outcomes if each.baseline]
    ranked = rank_sets([*on_it, *watching], figure, chance=chance, counted=counted, confidence=confidence)
    if len(ranked.standings) < 2:
        return None
    points = [
        _curve_point(level, [each for each in on_it if each.levels[factor] == level], figure, counted=counted)
        for level in varied_levels(on_it).get(factor, [])
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
        outcomes: of any workloads.
        row_factor: down.
        column_factor: across.
        figure: a name of advisor.experiment.measurements.
        split: the other factors that have matrices of their own, all of them if None; over the rest the
            medians are taken together.
        counted: count the time to sync and unmount in.
        noise: what chance does to single values; without it no cell is told from another.
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
    sure = bonferroni_confidence(len(found))
    return [_with_significance(one, noise, sure) for one in found]


def _with_significance(matrix: Matrix, noise: ErrorModel, confidence: float) -> Matrix:
    """Return a matrix with whether its cells differ by more than chance."""
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
    """Return how far each row's level falls behind the best of a column, the steadiest first.

    Seed 001 chooses its sizes so: not by one peak, but by the highest and most consistent performance over
    all block sizes and loads.
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
    """Return the levels of one factor beside its base, a row for each figure and workload.

    Args:
        outcomes: of any workloads; other factors that vary are taken together.
        factor: across.
        base: the level that the others are compared with.
        chance: for the bootstrap.
        figures: names of advisor.experiment.measurements.
        counted: count the time to sync and unmount in.
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


def _curve_point(level: str, here: Sequence[TrialOutcome], figure: str, *, counted: bool) -> CurvePoint:
    values = [number for each in here if (number := figure_value(each, figure, counted=counted)) is not None]
    low, high, _ = confidence_interval(values)
    return CurvePoint(
        level=level, values=values, mean=sum(values) / len(values), median=median(values), low=low, high=high,
        timeouts=sum(direction_timeouts(each, figure) for each in here) / len(here),
        retransmissions=sum(figure_value(each, RETRANSMISSIONS) or 0 for each in here) / len(here),
    )  # fmt: skip


def _matrix(
    here: Sequence[TrialOutcome],
    factors: tuple[str, str],
    figure: str,
    fixed: dict[str, str],
    *,
    counted: bool,
) -> Matrix:
    row_factor, column_factor = factors
    values: dict[tuple[str, str], list[float]] = {}
    for outcome in here:
        number = figure_value(outcome, figure, counted=counted)
        if number is not None:
            values.setdefault((outcome.levels[row_factor], outcome.levels[column_factor]), []).append(number)
    varied = varied_levels(here)
    rows = varied.get(row_factor, [here[0].levels[row_factor]])
    columns = varied.get(column_factor, [here[0].levels[column_factor]])
    of = [[values.get((row, column), []) for column in columns] for row in rows]
    return Matrix(
        figure=figure, workload=here[0].workload, fixed=fixed, row_factor=row_factor,
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
            away = noise.limit(min(len(columns[levels[0]]), len(values)), len(levels))
            differs = level != levels[0] and abs(log(ratio)) > away
        cells.append(
            ComparisonCell(
                level=level, values=values, mean=sum(values) / len(values), median=median(values),
                ratio=ratio, differs=differs,
            )
        )  # fmt: skip
    return cells

"""Effects of the factors of an experiment: rank sums as in seed 002, main effects, interactions.

A rank sum says which level is usually ahead and forgets by how much; a main effect says by how much, and an
interaction which levels together do not do what they do alone. All on logarithms: speeds multiply.

The additive model is fitted by least squares. Where every combination has a figure, the effect of a level is
the average of its sets. Where one is missing, that average lacks its partners as well, and their effects
would look like an interaction.
"""

from __future__ import annotations

import itertools
from math import exp, log, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from advisor.experiment.error_model import bonferroni_confidence, estimate_error_model
from advisor.experiment.intervals import confidence_interval, median
from advisor.experiment.measurements import (
    figure_value,
    is_repeat,
    lower_is_better,
    outcomes_with_figure,
    repeats_by_set,
    set_key,
    values_by_set,
    varied_levels,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from advisor.experiment.error_model import ErrorModel
    from advisor.experiment.measurements import RandomSource, SetKey, TrialOutcome

if TYPE_CHECKING:
    #: Of each option set, the logarithm of its figure.
    LogFigures = dict[SetKey, float]

#: Where hardly any combination was tried, the parts approach what they are slowly.
_MAX_PASSES = 200
_CONVERGED = 1e-9


class AdditiveFit(NamedTuple):
    """Parts that add up to the logarithms.

    Attributes:
        parts: of each set, by factor, what its level does.
        left: of each set, what they all together do not explain.
    """

    parts: dict[str, dict[SetKey, float]]
    left: LogFigures

    def squares(self, factor: str) -> float:
        """Return the sum of squares over all sets of what a factor's levels do."""
        parts = self.parts.get(factor, {}).values()
        middle = sum(parts) / len(parts) if parts else 0.0
        return sum((part - middle) ** 2 for part in parts)


def fit_additive_model(logs: LogFigures) -> AdditiveFit:
    """Return the parts of the least squares: each factor in turn takes the average of what is left."""
    members: dict[str, dict[str, list[SetKey]]] = {}
    for key in logs:
        for factor, level in key:
            members.setdefault(factor, {}).setdefault(level, []).append(key)
    middle = sum(logs.values()) / len(logs) if logs else 0.0
    left = {key: number - middle for key, number in logs.items()}
    parts = {factor: dict.fromkeys(logs, 0.0) for factor in members}
    for _ in range(_MAX_PASSES):
        moved = 0.0
        for factor, levels in members.items():
            for keys in levels.values():
                step = sum(left[key] for key in keys) / len(keys)
                moved = max(moved, abs(step))
                for key in keys:
                    left[key] -= step
                    parts[factor][key] += step
        if moved < _CONVERGED:
            break
    return AdditiveFit(parts, left)


def interaction_degrees_of_freedom(cells: Iterable[tuple[str, str]]) -> int:
    """Return in how many ways cells of a table may differ from the sums of its rows and columns."""
    cells = list(cells)
    # A table of two parts has a level for each.
    apart = connected_components(cells)
    return len(cells) - sum(len(part) for part in apart) + len(apart)


def connected_components(cells: Iterable[tuple[Hashable, Hashable]]) -> list[set[tuple[int, Hashable]]]:
    """Return the parts of a table that share no row and no column, each as (0, row) and (1, column)."""
    apart: list[set[tuple[int, Hashable]]] = []
    for cell in cells:
        ends = set(enumerate(cell))
        touched = [part for part in apart if part & ends]
        whole = touched[0] if touched else ends
        whole.update(ends, *touched[1:])
        apart = [part for part in apart if part not in touched[1:]] + ([] if touched else [whole])
    return apart


class LevelRanks(msgspec.Struct, frozen=True, kw_only=True):
    """The places of one level's trials.

    Attributes:
        level: of the factor.
        sum: of the places.
        trials: how many it has.
    """

    level: str
    sum: float
    trials: int

    @property
    def mean(self) -> float:
        """The average place."""
        return self.sum / self.trials


class RankSums(msgspec.Struct, frozen=True, kw_only=True):
    """The places of one factor's levels.

    Attributes:
        factor: its name.
        levels: sizes and numbers from small to large, then words.
        best: the level with the lowest average place.
        notable: whether the best is ahead, and the places differ by more than chance makes any factor's
            differ in 95 of 100 experiments (the test of Kruskal and Wallis), where all levels ran beside
            the same others.
    """

    factor: str
    levels: list[LevelRanks]
    best: str
    notable: bool


class LevelEffect(msgspec.Struct, frozen=True, kw_only=True):
    """What a level does.

    Attributes:
        level: of the factor.
        ratio: of the figure to the geometric mean of all levels of the factor, everything else being equal;
            the median over all settings of the other factors.
        low: lower end of its interval (of the sign test).
        high: upper end.
        contexts: how many settings of the other factors it is over.
    """

    level: str
    ratio: float
    low: float
    high: float
    contexts: int


class FactorEffect(msgspec.Struct, frozen=True, kw_only=True):
    """What a factor does.

    Attributes:
        factor: its name.
        levels: its levels, sizes and numbers from small to large, then words.
        best: the level that does best.
        gain: of the best level over the worst, as a fraction: 0.5 is half as fast again, or takes half as
            much time again the other way round.
        share: of all differences between the option sets (the variance of the logarithms), what the factor
            explains alone.
        notable: whether the best and the worst level differ by more than chance makes any factor's differ in
            95 of 100 experiments; None if too few trials were repeated to say.
    """

    factor: str
    levels: list[LevelEffect]
    best: str
    gain: float
    share: float
    notable: bool | None


class Interaction(msgspec.Struct, frozen=True, kw_only=True):
    """What two factors do together that they do not do alone.

    Attributes:
        factors: their names.
        rows: levels of the first.
        columns: levels of the second.
        cells: by row and column: the figure over what both levels alone would give.
        share: of all differences between the option sets.
        notable: more than chance gives any two factors in 95 of 100 experiments; None if too few trials were
            repeated to say.
    """

    factors: tuple[str, str]
    rows: list[str]
    columns: list[str]
    cells: list[list[float | None]]
    share: float
    notable: bool | None


def rank_sums(outcomes: Sequence[TrialOutcome], figure: str, *, counted: bool = False) -> list[RankSums]:
    """Return the sum of the places of each level's trials, as the study of seed 002 adds them.

    All trials are sorted, the best is in place 1, and each adds its place to its level of every factor.
    Trials that are equal share their places. The best level is the one with the lowest average place: where
    all levels have the same number of trials that is the study's lowest sum, and where they have not, a sum
    would reward the level that was tried less often.
    """
    known: list[tuple[float, TrialOutcome]] = []
    for outcome in outcomes:
        number = figure_value(outcome, figure, counted=counted)
        if is_repeat(outcome) and number is not None:
            known.append((number, outcome))
    known.sort(key=lambda pair: pair[0], reverse=not lower_is_better(figure))
    varied = varied_levels(outcome for _, outcome in known)
    sure = bonferroni_confidence(len(varied))
    return [_factor_rank_sums(factor, levels, known, sure) for factor, levels in varied.items()]


def factor_effects(
    outcomes: Iterable[TrialOutcome], figure: str, *, chance: RandomSource, counted: bool = False
) -> list[FactorEffect]:
    """Return what each factor does to a figure, the strongest first.

    A level is compared with the others only where all other factors are the same, so that a set that failed
    or was struck out does not shift the balance.
    """
    outcomes = list(outcomes)
    sets = values_by_set(outcomes, figure, counted=counted)
    logs = _log_medians(sets)
    better = -1.0 if lower_is_better(figure) else 1.0
    noise = estimate_error_model(repeats_by_set(outcomes, figure, counted=counted), chance)
    repeats = min((len(values) for values in sets.values()), default=1)
    # A level that never had a figure says nothing of the others.
    varied = varied_levels(outcomes_with_figure(outcomes, figure, counted=counted))
    fitted = fit_additive_model(logs)
    found: list[FactorEffect] = []
    for factor, levels in varied.items():
        effect = _factor_effect(factor, levels, logs, better, _variance_share(fitted.squares(factor), logs))
        if effect is not None:
            notable = _is_notable(effect, noise, repeats, len(varied))
            found.append(msgspec.structs.replace(effect, notable=notable))
    return sorted(found, key=lambda each: -each.share)


def interactions(
    outcomes: Iterable[TrialOutcome], figure: str, *, chance: RandomSource, counted: bool = False
) -> list[Interaction]:
    """Return what each two factors do together beyond what they do alone, the strongest first."""
    outcomes = list(outcomes)
    sets = values_by_set(outcomes, figure, counted=counted)
    logs = _log_medians(sets)
    left = fit_additive_model(logs).left
    noise = estimate_error_model(repeats_by_set(outcomes, figure, counted=counted), chance)
    repeats = len(sets) / sum(1 / len(values) for values in sets.values()) if sets else 1
    # The median's variance is about pi / 2 times the mean's.
    variance = None if noise is None else noise.variance() / repeats * (1.57 if repeats > 2 else 1.0)
    varied = varied_levels(outcomes_with_figure(outcomes, figure, counted=counted))
    pairs = list(itertools.combinations(varied, 2))
    found: list[Interaction] = []
    for pair in pairs:
        beyond = _cell_residuals(pair, left)
        freedom = interaction_degrees_of_freedom(beyond)
        if freedom < 1:
            # No more cells than both alone explain, as when one factor at a time is varied.
            continue
        squares = sum(count * away**2 for away, count in beyond.values())
        notable = None
        if noise is not None and variance is not None:
            ratio = squares / freedom / variance if variance else 0.0
            notable = _exceeds_f_quantile(
                ratio, freedom, noise.degrees_of_freedom, bonferroni_confidence(len(pairs))
            )
        rows, columns = varied[pair[0]], varied[pair[1]]
        found.append(
            Interaction(
                factors=pair, rows=rows, columns=columns,
                cells=[[_cell_ratio(beyond.get((row, column))) for column in columns] for row in rows],
                share=_variance_share(squares, logs), notable=notable,
            )
        )  # fmt: skip
    return sorted(found, key=lambda each: -each.share)


def _is_notable(effect: FactorEffect, noise: ErrorModel | None, repeats: int, factors: int) -> bool | None:
    if noise is None:
        return None
    # Fewer contexts than of a level: the comparison is as uncertain as its weakest part.
    contexts = min(level.contexts for level in effect.levels)
    limit = noise.limit(
        repeats, len(effect.levels), contexts=contexts, confidence=bonferroni_confidence(factors)
    )
    return log(1 + effect.gain) > limit


def _midranks(values: Sequence[float]) -> list[float]:
    """Return the place of each value of a sorted row; equal ones share theirs."""
    found: list[float] = []
    for _, same in itertools.groupby(values):
        count = len(list(same))
        found += [len(found) + (count + 1) / 2] * count
    return found


def _tie_correction(values: Sequence[float]) -> float:
    """Return by what equal values of a sorted row narrow the spread of places: 1 if there are none."""
    count = len(values)
    shared = sum(n**3 - n for n in (len(list(same)) for _, same in itertools.groupby(values)))
    return 1 - shared / (count**3 - count) if count > 1 else 0.0


def _factor_rank_sums(
    factor: str, levels: Sequence[str], known: Sequence[tuple[float, TrialOutcome]], confidence: float
) -> RankSums:
    rows = _level_ranks(factor, levels, known)
    best = min(rows, key=lambda row: row.mean).level
    # A level that ran only beside good ones of other factors is in good places by these.
    fair = _balanced_trials(factor, levels, known)
    fair_rows = _level_ranks(factor, levels, fair) if fair else rows
    same = min(fair_rows, key=lambda row: row.mean).level == best
    differ = bool(fair) and _ranks_differ(
        fair_rows, _tie_correction([number for number, _ in fair]), confidence
    )
    return RankSums(factor=factor, levels=rows, best=best, notable=same and differ)


def _level_ranks(
    factor: str, levels: Sequence[str], known: Sequence[tuple[float, TrialOutcome]]
) -> list[LevelRanks]:
    """Return the places of each level's trials among sorted ones."""
    places: dict[str, list[float]] = {level: [] for level in levels}
    for place, (_, outcome) in zip(_midranks([number for number, _ in known]), known, strict=True):
        if factor in outcome.levels:
            places[outcome.levels[factor]].append(place)
    return [LevelRanks(level=level, sum=sum(row), trials=len(row)) for level, row in places.items()]


def _balanced_trials(
    factor: str, levels: Sequence[str], known: Sequence[tuple[float, TrialOutcome]]
) -> list[tuple[float, TrialOutcome]]:
    """Return the trials whose other levels ran beside every level of a factor."""
    rests = [_other_levels(set_key(outcome.levels), factor) for _, outcome in known]
    beside: dict[SetKey, set[str | None]] = {}
    for rest, (_, outcome) in zip(rests, known, strict=True):
        beside.setdefault(rest, set()).add(outcome.levels.get(factor))
    whole = {rest for rest, ran in beside.items() if ran.issuperset(levels)}
    return [pair for rest, pair in zip(rests, known, strict=True) if rest in whole]


def _ranks_differ(rows: Sequence[LevelRanks], ties: float, confidence: float) -> bool:
    """Return the verdict of the test of Kruskal and Wallis.

    Source: Use of Ranks in One-Criterion Variance Analysis (1952).
    """
    count = sum(row.trials for row in rows)
    if count <= len(rows) or not ties:
        return False
    middle = (count + 1) / 2
    away = sum(row.trials * (row.mean - middle) ** 2 for row in rows)
    return 12 * away / (count * (count + 1)) / ties > _chi_square_quantile(len(rows) - 1, confidence)


def _log_medians(sets: Mapping[SetKey, Sequence[float]]) -> LogFigures:
    """Return the logarithm of each set's median; nothing where a trial has none.

    Without the sets that have no time-outs, the best of all would be left out.
    """
    if any(min(values) <= 0 for values in sets.values()):
        return {}
    return {key: log(median(values)) for key, values in sets.items()}


def _factor_effect(
    factor: str, levels: Sequence[str], logs: LogFigures, better: float, share: float
) -> FactorEffect | None:
    levels = _connected_levels(factor, levels, logs)
    if len(levels) < 2:
        return None
    away = _deviations(factor, levels, logs)
    rows: list[LevelEffect] = []
    for level in levels:
        low, high, _ = confidence_interval(away[level])
        rows.append(
            LevelEffect(
                level=level, ratio=exp(median(away[level])), low=exp(low), high=exp(high),
                contexts=len(away[level]),
            )
        )  # fmt: skip
    best = max(rows, key=lambda row: better * log(row.ratio))
    worst = min(rows, key=lambda row: better * log(row.ratio))
    gain = (best.ratio / worst.ratio) ** better - 1
    return FactorEffect(factor=factor, levels=rows, best=best.level, gain=gain, share=share, notable=None)


def _connected_levels(factor: str, levels: Sequence[str], logs: LogFigures) -> list[str]:
    """Return the most levels that ran beside each other, or beside the same third ones.

    One that never did says nothing of them, and takes nothing from them.
    """
    parts = connected_components((dict(key).get(factor), _other_levels(key, factor)) for key in logs)
    beside = [[level for level in levels if (0, level) in part] for part in parts]
    return max(beside, key=len) if beside else []


def _other_levels(key: SetKey, factor: str) -> SetKey:
    return tuple(pair for pair in key if pair[0] != factor)


def _deviations(factor: str, levels: Sequence[str], logs: LogFigures) -> dict[str, list[float]]:
    """Return each level's distances from the mean of all levels, where all other factors are the same.

    Where no setting of the others has all levels, those with some of them must do.
    """
    contexts: dict[SetKey, dict[str, float]] = {}
    for key, number in logs.items():
        level = dict(key).get(factor)
        if level is not None and level in levels:
            contexts.setdefault(_other_levels(key, factor), {})[level] = number
    whole = [row for row in contexts.values() if len(row) == len(levels)]
    found: dict[str, list[float]] = {level: [] for level in levels}
    for row in whole or [row for row in contexts.values() if len(row) > 1]:
        middle = sum(row.values()) / len(row)
        for level, number in row.items():
            found[level].append(number - middle)
    return found


def _variance_share(squares: float, logs: LogFigures) -> float:
    middle = sum(logs.values()) / max(1, len(logs))
    total = sum((number - middle) ** 2 for number in logs.values())
    return min(1.0, squares / total) if total else 0.0


def _cell_residuals(pair: tuple[str, str], left: LogFigures) -> dict[tuple[str, str], tuple[float, int]]:
    """Return each cell's distance from what all levels alone would give, and its number of sets."""
    rows: dict[tuple[str, str], list[float]] = {}
    for key, number in left.items():
        named = dict(key)
        if named.keys() >= {*pair}:
            rows.setdefault((named[pair[0]], named[pair[1]]), []).append(number)
    return {cell: (sum(row) / len(row), len(row)) for cell, row in rows.items()}


def _cell_ratio(cell: tuple[float, int] | None) -> float | None:
    return None if cell is None else exp(cell[0])


def _chi_square_quantile(freedom: int, confidence: float) -> float:
    """Return what a sum of squares of so many normal values is below in so many cases (Wilson, Hilferty)."""
    part = 2 / (9 * freedom)
    return float(freedom * (1 - part + NormalDist().inv_cdf(confidence) * part**0.5) ** 3)


def _exceeds_f_quantile(ratio: float, freedom: int, below: int, confidence: float) -> bool:
    """Return whether a ratio of variances is more than chance gives.

    Args:
        ratio: of the variances, F.
        freedom: degrees of freedom of the upper one.
        below: of the lower one.
        confidence: in so many cases chance gives less.

    Source: Paulson, An Approximate Normalization of the Analysis of Variance Distribution (1942).
    """
    upper, lower = 2 / (9 * freedom), 2 / (9 * below)
    root = float(ratio ** (1 / 3))
    away = ((1 - lower) * root - (1 - upper)) / sqrt(lower * root**2 + upper)
    return away > NormalDist().inv_cdf(confidence)

"""Effects of the factors of an experiment: rank sums as in seed 002, main effects, interactions.

A rank sum orders the levels of a factor without a size of the differences. A main effect is the size of a
level's effect, and an interaction is the deviation of two levels together from the sum of their effects.
All effects are computed on logarithms, because effects on speeds multiply.

The additive model is fitted by least squares. With a value for every combination of levels, the effect of a
level is the mean over its sets. With missing combinations, plain means would confuse effects of other factors
with interactions.
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
    #: Option set to the logarithm of its figure.
    LogFigures = dict[SetKey, float]

#: Greatest number of backfitting passes; with few combinations the effects converge slowly.
_MAX_PASSES = 200
#: The iteration ends when no effect changes by more than this (natural logarithm).
_CONVERGED = 1e-9


class AdditiveFit(NamedTuple):
    """An additive model of the logarithms: mean, one effect per factor, and residual.

    Attributes:
        parts: factor to the effect of its level in each set.
        left: residual of each set.
    """

    parts: dict[str, dict[SetKey, float]]
    left: LogFigures

    def squares(self, factor: str) -> float:
        """Return the sum of squares of a factor's effects over all sets."""
        parts = self.parts.get(factor, {}).values()
        mean = sum(parts) / len(parts) if parts else 0.0
        return sum((part - mean) ** 2 for part in parts)


def fit_additive_model(logs: LogFigures) -> AdditiveFit:
    """Fit the additive model by backfitting: each factor in turn takes the mean residual of its levels."""
    members: dict[str, dict[str, list[SetKey]]] = {}
    for key in logs:
        for factor, level in key:
            members.setdefault(factor, {}).setdefault(level, []).append(key)
    mean = sum(logs.values()) / len(logs) if logs else 0.0
    left = {key: number - mean for key, number in logs.items()}
    parts = {factor: dict.fromkeys(logs, 0.0) for factor in members}
    for _ in range(_MAX_PASSES):
        largest_step = 0.0
        for factor, levels in members.items():
            for keys in levels.values():
                step = sum(left[key] for key in keys) / len(keys)
                largest_step = max(largest_step, abs(step))
                for key in keys:
                    left[key] -= step
                    parts[factor][key] += step
        if largest_step < _CONVERGED:
            break
    return AdditiveFit(parts, left)


def interaction_degrees_of_freedom(cells: Iterable[tuple[str, str]]) -> int:
    """Return the degrees of freedom of the interaction in a two-way table with missing cells.

    Args:
        cells: row and column of each cell that has a value.
    """
    cells = list(cells)
    # Each connected part of the table has its own mean.
    components = connected_components(cells)
    return len(cells) - sum(len(component) for component in components) + len(components)


def connected_components(cells: Iterable[tuple[Hashable, Hashable]]) -> list[set[tuple[int, Hashable]]]:
    """Return the connected components of a table: rows and columns are nodes, cells are edges.

    Each component is a set of nodes (0, row) and (1, column).
    """
    components: list[set[tuple[int, Hashable]]] = []
    for cell in cells:
        nodes = set(enumerate(cell))
        touched = [component for component in components if component & nodes]
        merged = touched[0] if touched else nodes
        merged.update(nodes, *touched[1:])
        components = [component for component in components if component not in touched[1:]]
        components += [] if touched else [merged]
    return components


class LevelRanks(msgspec.Struct, frozen=True, kw_only=True):
    """Rank sum of one level.

    Attributes:
        level: level of the factor.
        sum: sum of the ranks of its trials.
        trials: number of its trials.
    """

    level: str
    sum: float
    trials: int

    @property
    def mean(self) -> float:
        """Mean rank of the level's trials."""
        return self.sum / self.trials


class RankSums(msgspec.Struct, frozen=True, kw_only=True):
    """Rank sums of one factor's levels.

    Attributes:
        factor: name of the factor.
        levels: numeric levels in ascending order, then other levels.
        best: the level with the lowest mean rank.
        notable: whether the mean ranks differ significantly (Kruskal-Wallis test at 5 % over all factors)
            among the trials whose other levels ran with every level of this factor, and best is best there.
    """

    factor: str
    levels: list[LevelRanks]
    best: str
    notable: bool


class LevelEffect(msgspec.Struct, frozen=True, kw_only=True):
    """Main effect of one level.

    Attributes:
        level: level of the factor.
        ratio: figure divided by the geometric mean over all levels with all other factors equal; the median
            over all combinations of the other factors.
        low: lower end of the 95 % interval of the ratio (sign test).
        high: upper end of the 95 % interval of the ratio.
        contexts: number of combinations of the other factors.
    """

    level: str
    ratio: float
    low: float
    high: float
    contexts: int


class FactorEffect(msgspec.Struct, frozen=True, kw_only=True):
    """Main effect of one factor.

    Attributes:
        factor: name of the factor.
        levels: effects of the levels, numeric levels in ascending order, then other levels.
        best: the best level.
        gain: advantage of the best level over the worst as a fraction: 0.5 means 1.5 times the speed, or
            that the worst level takes 1.5 times as long.
        share: fraction of the variance of the logarithms between option sets that the factor explains.
        notable: whether best and worst level differ significantly (5 % over all factors); None if too few
            trials were repeated.
    """

    factor: str
    levels: list[LevelEffect]
    best: str
    gain: float
    share: float
    notable: bool | None


class Interaction(msgspec.Struct, frozen=True, kw_only=True):
    """Interaction of two factors: the deviation from the product of their main effects.

    Attributes:
        factors: names of the two factors.
        rows: levels of the first factor.
        columns: levels of the second factor.
        cells: by row and column: figure divided by the prediction from both main effects; None if missing.
        share: fraction of the variance of the logarithms between option sets.
        notable: whether the interaction is significant (5 % over all pairs of factors); None if too few
            trials were repeated.
    """

    factors: tuple[str, str]
    rows: list[str]
    columns: list[str]
    cells: list[list[float | None]]
    share: float
    notable: bool | None


def rank_sums(outcomes: Sequence[TrialOutcome], figure: str, *, counted: bool = False) -> list[RankSums]:
    """Return the rank sums of the levels of each varied factor, computed as in the study of seed 002.

    All trials are ranked, the best with rank 1; equal trials share their mean rank. Each trial adds its rank
    to its level of every factor. The best level has the lowest mean rank: with equally many trials that is
    the study's lowest sum; otherwise a sum would favor levels with fewer trials.

    Args:
        outcomes: trials of one workload.
        figure: a name of advisor.experiment.measurements.
        counted: whether to include the time to sync and unmount.
    """
    ranked: list[tuple[float, TrialOutcome]] = []
    for outcome in outcomes:
        number = figure_value(outcome, figure, counted=counted)
        if is_repeat(outcome) and number is not None:
            ranked.append((number, outcome))
    ranked.sort(key=lambda pair: pair[0], reverse=not lower_is_better(figure))
    varied = varied_levels(outcome for _, outcome in ranked)
    confidence = bonferroni_confidence(len(varied))
    return [_factor_rank_sums(factor, levels, ranked, confidence) for factor, levels in varied.items()]


def factor_effects(
    outcomes: Iterable[TrialOutcome], figure: str, *, chance: RandomSource, counted: bool = False
) -> list[FactorEffect]:
    """Return the main effect of each factor on a figure, the strongest first.

    Levels are compared only where all other factors are equal, so that missing sets cause no bias.

    Args:
        outcomes: trials of one workload.
        figure: a name of advisor.experiment.measurements.
        chance: random source for the bootstrap.
        counted: whether to include the time to sync and unmount.
    """
    outcomes = list(outcomes)
    sets = values_by_set(outcomes, figure, counted=counted)
    logs = _log_medians(sets)
    better = -1.0 if lower_is_better(figure) else 1.0
    noise = estimate_error_model(repeats_by_set(outcomes, figure, counted=counted), chance)
    repeats = min((len(values) for values in sets.values()), default=1)
    # Levels without any value of the figure are left out.
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
    """Return the interaction of each pair of factors, the strongest first.

    Args:
        outcomes: trials of one workload.
        figure: a name of advisor.experiment.measurements.
        chance: random source for the bootstrap.
        counted: whether to include the time to sync and unmount.
    """
    outcomes = list(outcomes)
    sets = values_by_set(outcomes, figure, counted=counted)
    logs = _log_medians(sets)
    left = fit_additive_model(logs).left
    noise = estimate_error_model(repeats_by_set(outcomes, figure, counted=counted), chance)
    repeats = len(sets) / sum(1 / len(values) for values in sets.values()) if sets else 1
    # The variance of a median is about pi / 2 times that of a mean.
    variance = None if noise is None else noise.variance() / repeats * (1.57 if repeats > 2 else 1.0)
    varied = varied_levels(outcomes_with_figure(outcomes, figure, counted=counted))
    pairs = list(itertools.combinations(varied, 2))
    found: list[Interaction] = []
    for pair in pairs:
        residuals = _cell_residuals(pair, left)
        freedom = interaction_degrees_of_freedom(residuals)
        if freedom < 1:
            # The main effects explain every cell, as when one factor at a time is varied.
            continue
        squares = sum(count * residual**2 for residual, count in residuals.values())
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
                cells=[[_cell_ratio(residuals.get((row, column))) for column in columns] for row in rows],
                share=_variance_share(squares, logs), notable=notable,
            )
        )  # fmt: skip
    return sorted(found, key=lambda each: -each.share)


def _is_notable(effect: FactorEffect, noise: ErrorModel | None, repeats: int, factors: int) -> bool | None:
    if noise is None:
        return None
    # The level with the fewest contexts determines the uncertainty of the comparison.
    contexts = min(level.contexts for level in effect.levels)
    limit = noise.limit(
        repeats, len(effect.levels), contexts=contexts, confidence=bonferroni_confidence(factors)
    )
    return log(1 + effect.gain) > limit


def _midranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value of a sorted sequence; equal values share their mean rank."""
    found: list[float] = []
    for _, same in itertools.groupby(values):
        count = len(list(same))
        found += [len(found) + (count + 1) / 2] * count
    return found


def _tie_correction(values: Sequence[float]) -> float:
    """Return the tie correction of the Kruskal-Wallis test for sorted values: 1 without ties."""
    count = len(values)
    shared = sum(n**3 - n for n in (len(list(same)) for _, same in itertools.groupby(values)))
    return 1 - shared / (count**3 - count) if count > 1 else 0.0


def _factor_rank_sums(
    factor: str, levels: Sequence[str], ranked: Sequence[tuple[float, TrialOutcome]], confidence: float
) -> RankSums:
    rows = _level_ranks(factor, levels, ranked)
    best = min(rows, key=lambda row: row.mean).level
    # Only balanced trials are tested: a level that ran only with good levels of other factors has good ranks.
    balanced = _balanced_trials(factor, levels, ranked)
    balanced_rows = _level_ranks(factor, levels, balanced) if balanced else rows
    same = min(balanced_rows, key=lambda row: row.mean).level == best
    differ = bool(balanced) and _ranks_differ(
        balanced_rows, _tie_correction([number for number, _ in balanced]), confidence
    )
    return RankSums(factor=factor, levels=rows, best=best, notable=same and differ)


def _level_ranks(
    factor: str, levels: Sequence[str], ranked: Sequence[tuple[float, TrialOutcome]]
) -> list[LevelRanks]:
    """Return the rank sum of each level; ``known`` has value and outcome of each trial, sorted by value."""
    ranks: dict[str, list[float]] = {level: [] for level in levels}
    for rank, (_, outcome) in zip(_midranks([number for number, _ in ranked]), ranked, strict=True):
        if factor in outcome.levels:
            ranks[outcome.levels[factor]].append(rank)
    return [LevelRanks(level=level, sum=sum(row), trials=len(row)) for level, row in ranks.items()]


def _balanced_trials(
    factor: str, levels: Sequence[str], ranked: Sequence[tuple[float, TrialOutcome]]
) -> list[tuple[float, TrialOutcome]]:
    """Return the trials whose combination of other levels was tried with every level of a factor."""
    contexts = [_other_levels(set_key(outcome.levels), factor) for _, outcome in ranked]
    tried: dict[SetKey, set[str | None]] = {}
    for context, (_, outcome) in zip(contexts, ranked, strict=True):
        tried.setdefault(context, set()).add(outcome.levels.get(factor))
    complete = {context for context, ran in tried.items() if ran.issuperset(levels)}
    return [pair for context, pair in zip(contexts, ranked, strict=True) if context in complete]


def _ranks_differ(rows: Sequence[LevelRanks], ties: float, confidence: float) -> bool:
    """Return whether mean ranks differ significantly by the test of Kruskal and Wallis.

    Source: Kruskal and Wallis, Use of Ranks in One-Criterion Variance Analysis (1952).

    Args:
        rows: rank sums of the levels.
        ties: tie correction.
        confidence: one minus the significance level.
    """
    count = sum(row.trials for row in rows)
    if count <= len(rows) or not ties:
        return False
    mean = (count + 1) / 2
    deviation = sum(row.trials * (row.mean - mean) ** 2 for row in rows)
    return 12 * deviation / (count * (count + 1)) / ties > _chi_square_quantile(len(rows) - 1, confidence)


def _log_medians(sets: Mapping[SetKey, Sequence[float]]) -> LogFigures:
    """Return the logarithm of each set's median; empty if any value is 0 or less.

    Leaving out only the sets with a value of 0 would leave out the best sets, for example without timeouts.
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
    deviation = _deviations(factor, levels, logs)
    rows: list[LevelEffect] = []
    for level in levels:
        low, high, _ = confidence_interval(deviation[level])
        rows.append(
            LevelEffect(
                level=level, ratio=exp(median(deviation[level])), low=exp(low), high=exp(high),
                contexts=len(deviation[level]),
            )
        )  # fmt: skip
    best = max(rows, key=lambda row: better * log(row.ratio))
    worst = min(rows, key=lambda row: better * log(row.ratio))
    gain = (best.ratio / worst.ratio) ** better - 1
    return FactorEffect(factor=factor, levels=rows, best=best.level, gain=gain, share=share, notable=None)


def _connected_levels(factor: str, levels: Sequence[str], logs: LogFigures) -> list[str]:
    """Return the largest group of levels that are comparable, directly or through other levels.

    Two levels are directly comparable if they ran with the same combination of the other factors.
    """
    parts = connected_components((dict(key).get(factor), _other_levels(key, factor)) for key in logs)
    groups = [[level for level in levels if (0, level) in part] for part in parts]
    return max(groups, key=len) if groups else []


def _other_levels(key: SetKey, factor: str) -> SetKey:
    return tuple(pair for pair in key if pair[0] != factor)


def _deviations(factor: str, levels: Sequence[str], logs: LogFigures) -> dict[str, list[float]]:
    """Return each level's deviations from the mean over all levels, one per combination of the others.

    If no combination of the other factors has all levels, those with at least two levels are used.
    """
    contexts: dict[SetKey, dict[str, float]] = {}
    for key, number in logs.items():
        level = dict(key).get(factor)
        if level is not None and level in levels:
            contexts.setdefault(_other_levels(key, factor), {})[level] = number
    complete = [row for row in contexts.values() if len(row) == len(levels)]
    found: dict[str, list[float]] = {level: [] for level in levels}
    for row in complete or [row for row in contexts.values() if len(row) > 1]:
        mean = sum(row.values()) / len(row)
        for level, number in row.items():
            found[level].append(number - mean)
    return found


def _variance_share(squares: float, logs: LogFigures) -> float:
    mean = sum(logs.values()) / max(1, len(logs))
    total = sum((number - mean) ** 2 for number in logs.values())
    return min(1.0, squares / total) if total else 0.0


def _cell_residuals(pair: tuple[str, str], left: LogFigures) -> dict[tuple[str, str], tuple[float, int]]:
    """Return the mean residual and the number of sets of each cell (row, column) of two factors."""
    rows: dict[tuple[str, str], list[float]] = {}
    for key, number in left.items():
        named = dict(key)
        if named.keys() >= {*pair}:
            rows.setdefault((named[pair[0]], named[pair[1]]), []).append(number)
    return {cell: (sum(row) / len(row), len(row)) for cell, row in rows.items()}


def _cell_ratio(cell: tuple[float, int] | None) -> float | None:
    return None if cell is None else exp(cell[0])


def _chi_square_quantile(freedom: int, confidence: float) -> float:
    """Return a quantile of the chi-square distribution (approximation of Wilson and Hilferty).

    Args:
        freedom: degrees of freedom.
        confidence: probability below the quantile.
    """
    part = 2 / (9 * freedom)
    return float(freedom * (1 - part + NormalDist().inv_cdf(confidence) * part**0.5) ** 3)


def _exceeds_f_quantile(ratio: float, freedom: int, below: int, confidence: float) -> bool:
    """Return whether a ratio of variances exceeds the quantile of the F distribution.

    Source: Paulson, An Approximate Normalization of the Analysis of Variance Distribution (1942).

    Args:
        ratio: ratio of the variances, F.
        freedom: degrees of freedom of the numerator.
        below: degrees of freedom of the denominator.
        confidence: probability below the quantile.
    """
    upper, lower = 2 / (9 * freedom), 2 / (9 * below)
    root = float(ratio ** (1 / 3))
    deviation = ((1 - lower) * root - (1 - upper)) / sqrt(lower * root**2 + upper)
    return deviation > NormalDist().inv_cdf(confidence)

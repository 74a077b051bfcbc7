"""Ranking of the option sets of an experiment: intervals, groups without significant difference, conclusion.

A set counts as better than its reference only if both are in different groups of the ranking, which accounts
for the number of compared sets, and if their confidence intervals do not overlap.
"""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING, Literal

import msgspec

from advisor.experiment.conclusions import BaselineDrift
from advisor.experiment.error_model import ErrorModel, estimate_error_model
from advisor.experiment.intervals import (
    CONFIDENCE,
    MIN_INTERVAL_VALUES,
    MIN_SAMPLE_SIZE,
    compare_samples,
    confidence_interval,
    median,
)
from advisor.experiment.measurements import (
    direction_timeouts,
    figure_value,
    is_repeat,
    lower_is_better,
    repeats_by_set,
    set_key,
    values_by_set,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from advisor.experiment.effects import FactorEffect
    from advisor.experiment.measurements import RandomSource, SetKey, TrialOutcome

#: Method of an interval: exact by the sign test; bootstrap of the error model of all sets; or the range of
#: the values, which covers less than 95 %.
IntervalMethod = Literal["sign-test", "bootstrap", "range"]


class RankedSet(msgspec.Struct, frozen=True, kw_only=True):
    """One option set in the ranking.

    Attributes:
        place: rank, from 1.
        group: number of the group, from 1; sets of one group do not differ significantly from its first
            set. 0 if the error is unknown because too few trials were repeated.
        levels: factor to level.
        values: figure of each repeat.
        median: median of the values.
        low: lower end of the median's confidence interval.
        high: upper end of the median's confidence interval.
        confidence: coverage of the interval, for example 0.95.
        method: method of the interval.
        timeouts: mean number of RPC timeouts per repeat.
        retransmissions: mean number of retransmissions per repeat.
    """

    place: int
    group: int
    levels: dict[str, str]
    values: list[float]
    median: float
    low: float
    high: float
    confidence: float
    method: IntervalMethod
    timeouts: float
    retransmissions: float


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """All option sets of one workload, the best first.

    Attributes:
        figure: name of the figure that determines the order.
        counted: whether the figure includes the time to sync and unmount.
        workload: name of the workload.
        standings: the option sets, the best first.
        scatter: 95 % limit of the relative deviation of a single trial: 0.1 means a factor of 1.1; None if
            too few trials were repeated.
        shows: smallest significant difference between the best and the worst of this many sets, as a
            fraction; None if too few trials were repeated.
        left_out: number of trials without a valid value: failed, stopped early, run with other values than
            planned, or without this figure (as when a read came from the client's cache).
        unmeasured: number of the trials in left_out that ran as planned but lack this figure.
    """

    figure: str
    counted: bool
    workload: str
    standings: list[RankedSet]
    scatter: float | None
    shows: float | None
    left_out: int
    unmeasured: int

    def group(self, number: int) -> list[RankedSet]:
        """Return the option sets of a group."""
        return [standing for standing in self.standings if standing.group == number]

    def of(self, levels: dict[str, str]) -> RankedSet | None:
        """Return the ranked set with these levels, or None if there is none."""
        return next((standing for standing in self.standings if standing.levels == levels), None)


def rank_sets(
    outcomes: Sequence[TrialOutcome],
    figure: str,
    *,
    chance: RandomSource,
    counted: bool = False,
    confidence: float = CONFIDENCE,
) -> Ranking:
    """Return the option sets of one workload ranked by the median of a figure, the best first.

    With six repeats or more the interval is that of the sign test, which assumes no distribution. With fewer
    repeats it comes from the error model of all sets together, the baseline included.

    Args:
        outcomes: trials of one workload.
        figure: a name of advisor.experiment.measurements.
        chance: random source for the bootstrap; the same seed gives the same result.
        counted: whether to include the time to sync and unmount.
        confidence: probability that equal sets are in one group.

    Raises:
        ValueError: if the outcomes are of several workloads.
    """
    sets = values_by_set(outcomes, figure, counted=counted)
    noise = estimate_error_model(repeats_by_set(outcomes, figure, counted=counted), chance)
    order = sorted(sets, key=lambda key: median(sets[key]), reverse=not lower_is_better(figure))
    groups = _equivalence_groups([sets[key] for key in order], noise, confidence)
    ran: dict[SetKey, list[TrialOutcome]] = {}
    for outcome in outcomes:
        if is_repeat(outcome):
            ran.setdefault(set_key(outcome.levels), []).append(outcome)
    standings = [
        _ranked_set((place, groups[place - 1]), sets[key], ran[key], noise, figure)
        for place, key in enumerate(order, 1)
    ]
    unmeasured = sum(is_repeat(each) and figure_value(each, figure) is None for each in outcomes)
    return Ranking(
        figure=figure,
        counted=counted,
        workload=next((outcome.workload for outcome in outcomes), ""),
        standings=standings,
        scatter=None if noise is None else exp(noise.half_width(1)) - 1,
        shows=_detectable_difference(list(sets.values()), noise),
        left_out=sum(outcome.state != "ok" for outcome in outcomes) + unmeasured,
        unmeasured=unmeasured,
    )


def baseline_drifts(outcomes: Iterable[TrialOutcome], figures: Iterable[str]) -> list[BaselineDrift]:
    """Return the drift of each figure of the baseline, for each workload with two or more baseline trials."""
    ran = sorted(
        (each for each in outcomes if each.baseline and each.state == "ok"), key=lambda each: each.order
    )
    found: list[BaselineDrift] = []
    for workload in dict.fromkeys(outcome.workload for outcome in ran):
        for figure in figures:
            values = [figure_value(outcome, figure) for outcome in ran if outcome.workload == workload]
            known = [each for each in values if each is not None and each > 0]
            if len(known) >= 2:
                found.append(_baseline_drift(figure, workload, known))
    return found


def _baseline_drift(figure: str, workload: str, values: list[float]) -> BaselineDrift:
    half = len(values) // 2
    difference = compare_samples(values[:half], values[-half:])
    notable = None if half < MIN_SAMPLE_SIZE else difference.verdict != "same"
    return BaselineDrift(
        figure=figure, workload=workload, values=values, change=difference.ratio - 1, notable=notable
    )


def _detectable_difference(sets: Sequence[Sequence[float]], noise: ErrorModel | None) -> float | None:
    if noise is None or not sets:
        return None
    return exp(noise.limit(min(len(values) for values in sets), len(sets))) - 1


def _equivalence_groups(
    sets: Sequence[Sequence[float]], noise: ErrorModel | None, confidence: float
) -> list[int]:
    """Return the group number of each set; the sets are sorted, the best first.

    A group contains the sets that do not differ significantly from its first set. The next set begins a new
    group.
    """
    found: list[int] = []
    first, group = 0, 1
    for place, values in enumerate(sets):
        if noise is None or min(median(values), median(sets[first])) <= 0:
            found.append(0)
            continue
        difference = abs(log(median(sets[first])) - log(median(values)))
        repeats, remaining = min(len(sets[first]), len(values)), len(sets) - first
        if place > first and difference > noise.limit(repeats, remaining, confidence=confidence):
            first, group = place, group + 1
        found.append(group)
    return found


def _ranked_set(
    where: tuple[int, int],
    values: list[float],
    ran: list[TrialOutcome],
    noise: ErrorModel | None,
    figure: str,
) -> RankedSet:
    place, group = where
    center = median(values)
    low, high, confidence = confidence_interval(values)
    method: IntervalMethod = "sign-test" if len(values) >= MIN_INTERVAL_VALUES else "range"
    if method == "range" and noise is not None and center > 0:
        factor = exp(noise.half_width(len(values)))
        low, high, confidence, method = center / factor, center * factor, CONFIDENCE, "bootstrap"
    return RankedSet(
        place=place, group=group, levels=ran[0].levels, values=values, median=center, low=low, high=high,
        confidence=confidence, method=method,
        timeouts=sum(direction_timeouts(outcome, figure) for outcome in ran) / len(ran),
        retransmissions=sum(outcome.retransmissions for outcome in ran) / len(ran),
    )  # fmt: skip


#: Smallest effect that is reported, as a fraction.
_MIN_RELEVANT_EFFECT = 0.03
#: Conclusion of an experiment. better: a set is better than its reference. effect: a level of one setting is
#: better than the reference's over all sets together. none-better: sets differ, but none is better than the
#: reference. no-difference: no significant difference. too-few: too few repeats to say. alone: only one set
#: has values. nothing: no set has values.
ConclusionVerdict = Literal["better", "effect", "none-better", "no-difference", "too-few", "alone", "nothing"]


class SetGain(msgspec.Struct, frozen=True, kw_only=True):
    """Gain of an option set over its reference.

    Attributes:
        levels: levels of the set.
        reference: levels of the reference set: those of the baseline, with the same test factors.
        at: levels of the factors that change the test and not the mount.
        median: median of the set's figure.
        reference_median: median of the reference's figure.
        ratio: factor by which the set is better, above 1; for times, reference divided by set.
        low: lower end of the ratio, from the ends of both sets' intervals.
        high: upper end of the ratio, from the ends of both sets' intervals.
    """

    levels: dict[str, str]
    reference: dict[str, str]
    at: dict[str, str]
    median: float
    reference_median: float
    ratio: float
    low: float
    high: float


class LevelGain(msgspec.Struct, frozen=True, kw_only=True):
    """Gain of a setting's best level over its reference level, over all other settings together.

    Attributes:
        factor: name of the setting.
        level: the best level.
        reference: the level of the baseline.
        ratio: factor by which the best level is better, above 1.
    """

    factor: str
    level: str
    reference: str
    ratio: float


class Conclusion(msgspec.Struct, frozen=True, kw_only=True):
    """Conclusion of an experiment.

    Attributes:
        verdict: see ConclusionVerdict.
        gain: gain of the set with the greatest advantage over its reference, None if no set is better.
        effect: gain of the level with the greatest advantage, if no set is better; None if no level is.
        sets: number of compared sets.
        shows: smallest significant difference, as a fraction; None if unknown.
    """

    verdict: ConclusionVerdict
    gain: SetGain | None
    effect: LevelGain | None = None
    sets: int
    shows: float | None


def conclude(ranking: Ranking, base: Mapping[str, str], of_test: Collection[str] = ()) -> Conclusion:
    """Return the conclusion of a ranking.

    Args:
        ranking: ranking of the sets.
        base: levels of the baseline.
        of_test: factors that change the test and not the mount; only sets with equal levels of these are
            compared.
    """
    standings = ranking.standings
    by_levels = {set_key(one.levels): one for one in standings}
    gains: list[SetGain] = []
    for one in standings:
        other = by_levels.get(set_key(reference_levels(one.levels, base, of_test)))
        if other is not None and is_significantly_better(one, other, ranking.figure):
            gains.append(_set_gain(one, other, ranking.figure, of_test))
    best = max(gains, key=lambda gain: gain.ratio, default=None)
    return Conclusion(
        verdict=_conclusion_verdict(ranking, best), gain=best, sets=len(standings), shows=ranking.shows
    )


def with_effects(
    found: Conclusion, effects: Iterable[FactorEffect], base: Mapping[str, str], of_test: Collection[str] = ()
) -> Conclusion:
    """Return a conclusion extended by main effects, which all sets together may show.

    Args:
        found: conclusion of :func:`conclude` from single sets, which have few repeats each.
        effects: main effects of the settings.
        base: levels of the baseline.
        of_test: factors that change the test and not the mount.
    """
    relevant = [
        one
        for one in effects
        if one.notable and one.gain >= _MIN_RELEVANT_EFFECT and one.factor not in of_test
    ]
    if found.verdict not in {"no-difference", "none-better"} or not relevant:
        return found
    gains = [gain for one in relevant if (gain := _level_gain(one, base)) is not None]
    best = max(gains, key=lambda gain: gain.ratio, default=None)
    verdict: ConclusionVerdict = "none-better" if best is None else "effect"
    return msgspec.structs.replace(found, verdict=verdict, effect=best)


def _level_gain(one: FactorEffect, base: Mapping[str, str]) -> LevelGain | None:
    ratios = {level.level: level.ratio for level in one.levels}
    reference = base.get(one.factor, "")
    if reference not in ratios or reference == one.best:
        return None
    ratio = ratios[one.best] / ratios[reference]
    return LevelGain(
        factor=one.factor, level=one.best, reference=reference, ratio=ratio if ratio > 1 else 1 / ratio
    )


def reference_levels(
    levels: Mapping[str, str], base: Mapping[str, str], of_test: Collection[str] = ()
) -> dict[str, str]:
    """Return the levels of a set's reference: those of the baseline, with the same test factors."""
    return {name: level if name in of_test else base.get(name, level) for name, level in levels.items()}


def is_significantly_better(one: RankedSet, other: RankedSet, figure: str) -> bool:
    """Return whether a set is significantly better than another one.

    Both conditions are needed. Different groups: among many equal sets, the best one often differs from a
    given set by chance. Disjoint intervals: the last set of a group may equal the first of the next.
    """
    known = one.group and other.group and one.group != other.group
    if not known or one.method == "range" or other.method == "range":
        return False
    return one.high < other.low if lower_is_better(figure) else one.low > other.high


def _conclusion_verdict(ranking: Ranking, best: SetGain | None) -> ConclusionVerdict:
    standings = ranking.standings
    if len(standings) < 2:
        return "alone" if standings else "nothing"
    if best is not None:
        return "better"
    if not standings[0].group:
        same = len({one.median for one in standings}) == 1
        return "no-difference" if same else "too-few"
    return "no-difference" if len(ranking.group(1)) == len(standings) else "none-better"


def _set_gain(one: RankedSet, other: RankedSet, figure: str, of_test: Collection[str]) -> SetGain:
    better, worse = (other, one) if lower_is_better(figure) else (one, other)
    return SetGain(
        levels=one.levels, reference=other.levels,
        at={name: level for name, level in one.levels.items() if name in of_test},
        median=one.median, reference_median=other.median, ratio=better.median / worse.median,
        low=better.low / worse.high, high=better.high / worse.low,
    )  # fmt: skip

"""Ranking of the option sets of an experiment: intervals, groups without significant difference, conclusion.

A set is better than its reference only where chance alone would not have put it there among as many sets as
were compared: it is in another group of the ranking than its reference, and their intervals do not overlap.
"""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING, Literal

import msgspec

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

#: How an interval was made: the exact one of the sign test; by bootstrap of what chance does to all sets; or
#: it is the range of the values, which covers less.
IntervalMethod = Literal["sign test", "bootstrap", "range"]


class RankedSet(msgspec.Struct, frozen=True, kw_only=True):
    """One option set in the ranking.

    Attributes:
        place: from 1.
        group: those of the same number cannot be told apart from the first of them; 0 if nothing can be said,
            because too few trials were repeated.
        levels: factor to level.
        values: of its repeats.
        median: of them.
        low: lower end of the median's interval.
        high: its upper end.
        confidence: what the interval covers.
        method: how it was made.
        timeouts: mean of its repeats.
        retransmissions: likewise.
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
        figure: that it goes by.
        counted: whether sync and unmount time count in.
        workload: that it is of.
        standings: the option sets.
        scatter: by which factor a single trial differs from another one of its set in 95 of 100 cases at
            most, less one; None if too few were repeated.
        shows: the smallest difference between the best and the worst of as many equal sets that would have
            been more than chance, as a fraction; None likewise.
        left_out: trials that failed, were given up, ran with other values than planned, or have no such
            figure, as when a read came from this computer's memory.
        unmeasured: those among them that ran as planned and have no such figure.
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
        """Return the standing of an option set, or None if it has none."""
        return next((standing for standing in self.standings if standing.levels == levels), None)


class BaselineDrift(msgspec.Struct, frozen=True, kw_only=True):
    """How the baseline's figure moved while the experiment ran.

    Attributes:
        figure: name of the figure.
        workload: that it is of.
        values: in the order of time.
        change: from the first half to the second half (advisor.experiment.intervals), as a fraction.
        notable: more than chance, and enough to matter; None if there are too few to tell.
    """

    figure: str
    workload: str
    values: list[float]
    change: float
    notable: bool | None


def rank_sets(
    outcomes: Sequence[TrialOutcome],
    figure: str,
    *,
    chance: RandomSource,
    counted: bool = False,
    confidence: float = CONFIDENCE,
) -> Ranking:
    """Return the option sets of one workload by the median of a figure, the best first.

    With six repeats or more an interval is that of the sign test, which assumes nothing; with fewer, what
    chance does is taken from the repeats of all sets together, those of the baseline among them.

    Args:
        outcomes: of one workload.
        figure: a name of advisor.experiment.measurements.
        chance: for the bootstrap; the same one gives the same answer.
        counted: count the time to sync and unmount in.
        confidence: how often equal sets are to be one group.

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
    """Return how each figure of the baseline moved, for each workload where it ran twice or more."""
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
    moved = compare_samples(values[:half], values[-half:])
    notable = None if half < MIN_SAMPLE_SIZE else moved.verdict != "same"
    return BaselineDrift(
        figure=figure, workload=workload, values=values, change=moved.ratio - 1, notable=notable
    )


def _detectable_difference(sets: Sequence[Sequence[float]], noise: ErrorModel | None) -> float | None:
    if noise is None or not sets:
        return None
    return exp(noise.limit(min(len(values) for values in sets), len(sets))) - 1


def _equivalence_groups(
    sets: Sequence[Sequence[float]], noise: ErrorModel | None, confidence: float
) -> list[int]:
    """Return the group of each set, which come the best first.

    A group is those that chance alone may have put below its first one; the next group begins with the first
    that is farther away.
    """
    found: list[int] = []
    lead, group = 0, 1
    for place, values in enumerate(sets):
        if noise is None or min(median(values), median(sets[lead])) <= 0:
            found.append(0)
            continue
        away = abs(log(median(sets[lead])) - log(median(values)))
        repeats, rest = min(len(sets[lead]), len(values)), len(sets) - lead
        if place > lead and away > noise.limit(repeats, rest, confidence=confidence):
            lead, group = place, group + 1
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
    middle = median(values)
    low, high, confidence = confidence_interval(values)
    method: IntervalMethod = "sign test" if len(values) >= MIN_INTERVAL_VALUES else "range"
    if method == "range" and noise is not None and middle > 0:
        factor = exp(noise.half_width(len(values)))
        low, high, confidence, method = middle / factor, middle * factor, CONFIDENCE, "bootstrap"
    return RankedSet(
        place=place, group=group, levels=ran[0].levels, values=values, median=middle, low=low, high=high,
        confidence=confidence, method=method,
        timeouts=sum(direction_timeouts(outcome, figure) for outcome in ran) / len(ran),
        retransmissions=sum(outcome.retransmissions for outcome in ran) / len(ran),
    )  # fmt: skip


#: An effect below this is not worth a word.
_MIN_RELEVANT_EFFECT = 0.03
#: A set is better than the reference; a level of one setting is, over all sets together; sets differ, and
#: none is better than it; all came out alike; nothing tells a difference from chance; there is one set alone;
#: there is none.
ConclusionVerdict = Literal["better", "effect", "none-better", "no-difference", "too-few", "alone", "nothing"]


class SetGain(msgspec.Struct, frozen=True, kw_only=True):
    """What a set does better than its reference.

    Attributes:
        levels: of the set.
        reference: of the set that it is compared with: the baseline's, with the same test.
        at: what of the levels is of the test.
        median: of the figure.
        reference_median: likewise.
        ratio: by how many times it is better, above 1; of a time, the reference's over the set's.
        low: lower end of its interval, from the ends of both sets' intervals.
        high: upper end.
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
    """What a level of a setting does better than the reference's, over all other settings together.

    Attributes:
        factor: the setting.
        level: that is best.
        reference: the level of the reference.
        ratio: by how many times it is better, above 1.
    """

    factor: str
    level: str
    reference: str
    ratio: float


class Conclusion(msgspec.Struct, frozen=True, kw_only=True):
    """What may be claimed.

    Attributes:
        verdict: see Verdict.
        gain: of the set that is ahead of its reference by most, None if none is.
        effect: of the level that is ahead of the reference's by most, where no set is; None likewise.
        sets: how many were compared.
        shows: the smallest difference that would have been more than chance, as a fraction; None if unknown.
    """

    verdict: ConclusionVerdict
    gain: SetGain | None
    effect: LevelGain | None = None
    sets: int
    shows: float | None


def conclude(ranking: Ranking, base: Mapping[str, str], of_test: Collection[str] = ()) -> Conclusion:
    """Return what a ranking shows.

    Args:
        ranking: of the sets.
        base: levels of the baseline.
        of_test: factors that change the test and not the mount: sets are compared where these are the same.
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
    """Return a conclusion that does not deny what all sets together show of a setting.

    Args:
        found: of the sets alone, each of which has few repeats.
        effects: of the settings.
        base: levels of the baseline.
        of_test: factors that change the test and not the mount.
    """
    acts = [
        one
        for one in effects
        if one.notable and one.gain >= _MIN_RELEVANT_EFFECT and one.factor not in of_test
    ]
    if found.verdict not in {"no-difference", "none-better"} or not acts:
        return found
    gains = [gain for one in acts if (gain := _level_gain(one, base)) is not None]
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
    """Return the levels of the set that another one is compared with: the baseline's, with the same test."""
    return {name: level if name in of_test else base.get(name, level) for name, level in levels.items()}


def is_significantly_better(one: RankedSet, other: RankedSet, figure: str) -> bool:
    """Return whether a set is better than another by more than chance.

    The pair itself counts, too: of two neighbouring groups, the last of one may equal the first of the other.
    Of many sets that are the same, the luckiest alone would often be told apart from a given one.
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

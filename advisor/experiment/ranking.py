"""Which option sets of an experiment did best, how sure that is, and which cannot be told apart."""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING, Literal

import msgspec

from advisor.difference import ENOUGH_EACH, difference
from advisor.experiment.error_model import Noise, noise_of
from advisor.experiment.intervals import CONFIDENCE, ENOUGH, interval, median
from advisor.experiment_values import (
    counts,
    key_of,
    lower_is_better,
    repeats_of,
    timeouts,
    value,
    values_by_set,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from advisor.experiment.measurements import Outcome
    from advisor.experiment_values import Chance, Key

#: How an interval was made: the exact one of the sign test; by bootstrap of what chance does to all sets; or
#: it is the range of the values, which covers less.
Method = Literal["sign test", "bootstrap", "range"]


class Standing(msgspec.Struct, frozen=True, kw_only=True):
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
    method: Method
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
    standings: list[Standing]
    scatter: float | None
    shows: float | None
    left_out: int
    unmeasured: int

    def group(self, number: int) -> list[Standing]:
        """Return the option sets of a group."""
        return [standing for standing in self.standings if standing.group == number]

    def of(self, levels: dict[str, str]) -> Standing | None:
        """Return the standing of an option set, or None if it has none."""
        return next((standing for standing in self.standings if standing.levels == levels), None)


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """How the baseline's figure moved while the experiment ran.

    Attributes:
        figure: name of the figure.
        workload: that it is of.
        values: in the order of time.
        change: from the first half to the second half (advisor.difference), as a fraction.
        notable: more than chance, and enough to matter; None if there are too few to tell.
    """

    figure: str
    workload: str
    values: list[float]
    change: float
    notable: bool | None


def ranking(
    outcomes: Sequence[Outcome],
    figure: str,
    *,
    chance: Chance,
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
    noise = noise_of(repeats_of(outcomes, figure, counted=counted), chance)
    order = sorted(sets, key=lambda key: median(sets[key]), reverse=not lower_is_better(figure))
    groups = _groups([sets[key] for key in order], noise, confidence)
    ran: dict[Key, list[Outcome]] = {}
    for outcome in outcomes:
        if counts(outcome):
            ran.setdefault(key_of(outcome.levels), []).append(outcome)
    standings = [
        _standing((place, groups[place - 1]), sets[key], ran[key], noise, figure)
        for place, key in enumerate(order, 1)
    ]
    unmeasured = sum(counts(each) and value(each, figure) is None for each in outcomes)
    return Ranking(
        figure=figure,
        counted=counted,
        workload=next((outcome.workload for outcome in outcomes), ""),
        standings=standings,
        scatter=None if noise is None else exp(noise.half_width(1)) - 1,
        shows=_shows(list(sets.values()), noise),
        left_out=sum(outcome.state != "ok" for outcome in outcomes) + unmeasured,
        unmeasured=unmeasured,
    )


def drifts(outcomes: Iterable[Outcome], figures: Iterable[str]) -> list[Drift]:
    """Return how each figure of the baseline moved, for each workload where it ran twice or more."""
    ran = sorted(
        (each for each in outcomes if each.baseline and each.state == "ok"), key=lambda each: each.order
    )
    found: list[Drift] = []
    for workload in dict.fromkeys(outcome.workload for outcome in ran):
        for figure in figures:
            values = [value(outcome, figure) for outcome in ran if outcome.workload == workload]
            known = [each for each in values if each is not None and each > 0]
            if len(known) >= 2:
                found.append(_drift(figure, workload, known))
    return found


def _drift(figure: str, workload: str, values: list[float]) -> Drift:
    half = len(values) // 2
    moved = difference(values[:half], values[-half:])
    notable = None if half < ENOUGH_EACH else moved.verdict != "same"
    return Drift(figure=figure, workload=workload, values=values, change=moved.ratio - 1, notable=notable)


def _shows(sets: Sequence[Sequence[float]], noise: Noise | None) -> float | None:
    if noise is None or not sets:
        return None
    return exp(noise.limit(min(len(values) for values in sets), len(sets))) - 1


def _groups(sets: Sequence[Sequence[float]], noise: Noise | None, confidence: float) -> list[int]:
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


def _standing(
    where: tuple[int, int], values: list[float], ran: list[Outcome], noise: Noise | None, figure: str
) -> Standing:
    place, group = where
    middle = median(values)
    low, high, confidence = interval(values)
    method: Method = "sign test" if len(values) >= ENOUGH else "range"
    if method == "range" and noise is not None and middle > 0:
        factor = exp(noise.half_width(len(values)))
        low, high, confidence, method = middle / factor, middle * factor, CONFIDENCE, "bootstrap"
    return Standing(
        place=place, group=group, levels=ran[0].levels, values=values, median=middle, low=low, high=high,
        confidence=confidence, method=method,
        timeouts=sum(timeouts(outcome, figure) for outcome in ran) / len(ran),
        retransmissions=sum(outcome.retransmissions for outcome in ran) / len(ran),
    )  # fmt: skip

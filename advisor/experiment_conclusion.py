"""What an experiment shows: a set that is better than the reference, no difference, or too little to say.

A set is better only where chance alone would not have put it there among as many sets as were compared: it
is of another group of the ranking than its reference, and their intervals lie apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from advisor.experiment_values import key_of, lower_is_better

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from advisor.experiment_analysis import Ranking, Standing

#: A set is better than the reference; sets differ, and none is better than it; all came out alike; nothing
#: tells a difference from chance; there is one set alone; there is none.
Verdict = Literal["better", "none-better", "no-difference", "too-few", "alone", "nothing"]


class Gain(msgspec.Struct, frozen=True, kw_only=True):
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


class Conclusion(msgspec.Struct, frozen=True, kw_only=True):
    """What may be claimed.

    Attributes:
        verdict: see Verdict.
        gain: of the set that is ahead of its reference by most, None if none is.
        sets: how many were compared.
        shows: the smallest difference that would have been more than chance, as a fraction; None if unknown.
    """

    verdict: Verdict
    gain: Gain | None
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
    by_levels = {key_of(one.levels): one for one in standings}
    gains: list[Gain] = []
    for one in standings:
        other = by_levels.get(key_of(reference_of(one.levels, base, of_test)))
        if other is not None and is_better(one, other, ranking.figure):
            gains.append(_gain(one, other, ranking.figure, of_test))
    best = max(gains, key=lambda gain: gain.ratio, default=None)
    return Conclusion(verdict=_verdict(ranking, best), gain=best, sets=len(standings), shows=ranking.shows)


def reference_of(
    levels: Mapping[str, str], base: Mapping[str, str], of_test: Collection[str] = ()
) -> dict[str, str]:
    """Return the levels of the set that another one is compared with: the baseline's, with the same test."""
    return {name: level if name in of_test else base.get(name, level) for name, level in levels.items()}


def is_better(one: Standing, other: Standing, figure: str) -> bool:
    """Return whether a set is better than another by more than chance.

    The pair itself counts, too: of two neighbouring groups, the last of one may equal the first of the other.
    Of many sets that are the same, the luckiest alone would often be told apart from a given one.
    """
    known = one.group and other.group and one.group != other.group
    if not known or one.method == "range" or other.method == "range":
        return False
    return one.high < other.low if lower_is_better(figure) else one.low > other.high


def _verdict(ranking: Ranking, best: Gain | None) -> Verdict:
    standings = ranking.standings
    if len(standings) < 2:
        return "alone" if standings else "nothing"
    if best is not None:
        return "better"
    if not standings[0].group:
        same = len({one.median for one in standings}) == 1
        return "no-difference" if same else "too-few"
    return "no-difference" if len(ranking.group(1)) == len(standings) else "none-better"


def _gain(one: Standing, other: Standing, figure: str, of_test: Collection[str]) -> Gain:
    better, worse = (other, one) if lower_is_better(figure) else (one, other)
    return Gain(
        levels=one.levels, reference=other.levels,
        at={name: level for name, level in one.levels.items() if name in of_test},
        median=one.median, reference_median=other.median, ratio=better.median / worse.median,
        low=better.low / worse.high, high=better.high / worse.low,
    )  # fmt: skip

"""What an experiment shows: a set that is better than the reference, no difference, or too little to say.

A set is better only where chance alone would not have put it there among as many sets as were compared: it
is of another group of the ranking than its reference, and their intervals lie apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from advisor.experiment_values import key_of, lower_is_better

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from advisor.experiment.ranking import Ranking, Standing
    from advisor.experiment_effects import Effect

#: An effect below this is not worth a word.
_WORTH = 0.03
#: A set is better than the reference; a level of one setting is, over all sets together; sets differ, and
#: none is better than it; all came out alike; nothing tells a difference from chance; there is one set alone;
#: there is none.
Verdict = Literal["better", "effect", "none-better", "no-difference", "too-few", "alone", "nothing"]


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

    verdict: Verdict
    gain: Gain | None
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
    by_levels = {key_of(one.levels): one for one in standings}
    gains: list[Gain] = []
    for one in standings:
        other = by_levels.get(key_of(reference_of(one.levels, base, of_test)))
        if other is not None and is_better(one, other, ranking.figure):
            gains.append(_gain(one, other, ranking.figure, of_test))
    best = max(gains, key=lambda gain: gain.ratio, default=None)
    return Conclusion(verdict=_verdict(ranking, best), gain=best, sets=len(standings), shows=ranking.shows)


def with_effects(
    found: Conclusion, effects: Iterable[Effect], base: Mapping[str, str], of_test: Collection[str] = ()
) -> Conclusion:
    """Return a conclusion that does not deny what all sets together show of a setting.

    Args:
        found: of the sets alone, each of which has few repeats.
        effects: of the settings.
        base: levels of the baseline.
        of_test: factors that change the test and not the mount.
    """
    acts = [one for one in effects if one.notable and one.gain >= _WORTH and one.factor not in of_test]
    if found.verdict not in {"no-difference", "none-better"} or not acts:
        return found
    gains = [gain for one in acts if (gain := _level_gain(one, base)) is not None]
    best = max(gains, key=lambda gain: gain.ratio, default=None)
    verdict: Verdict = "none-better" if best is None else "effect"
    return msgspec.structs.replace(found, verdict=verdict, effect=best)


def _level_gain(one: Effect, base: Mapping[str, str]) -> LevelGain | None:
    ratios = {level.level: level.ratio for level in one.levels}
    reference = base.get(one.factor, "")
    if reference not in ratios or reference == one.best:
        return None
    ratio = ratios[one.best] / ratios[reference]
    return LevelGain(
        factor=one.factor, level=one.best, reference=reference, ratio=ratio if ratio > 1 else 1 / ratio
    )


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

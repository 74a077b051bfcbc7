"""The re-test of a search: its winner is run again, in turns with the present setting.

The first of many sets is in part the luckiest of them, and so its figure is too high. What is measured again,
of this one pair and in turns, has no such luck in it, and a drift of the server or the link hits both alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from advisor.difference import ENOUGH_EACH, Verdict, difference
from advisor.experiment.intervals import median
from advisor.experiment.measurements import READ, WRITE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from advisor.experiment.measurements import Outcome

#: Rounds of a re-test, each with one trial of both; with fewer than FEWEST_ROUNDS no difference can be shown.
ROUNDS, FEWEST_ROUNDS = 6, ENOUGH_EACH
#: Bytes over the time of both directions together, in the place of a figure's name.
BOTH = "both"


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of both sets.

    Attributes:
        figure: write, read, or BOTH; bytes a second.
        before: median of the present setting.
        after: median of the winner.
        before_values: of the present setting's trials, in their order.
        after_values: of the winner's.
        ratio: after over before (advisor.difference).
        low: lower end of its interval.
        high: upper end.
        confidence: what the interval covers.
        verdict: higher, lower, same, or unknown.
    """

    figure: str
    before: float
    after: float
    before_values: list[float]
    after_values: list[float]
    ratio: float
    low: float
    high: float
    confidence: float
    verdict: Verdict


class Retest(msgspec.Struct, frozen=True, kw_only=True):
    """What a re-test found.

    Attributes:
        winner: levels of the search's winner.
        today: levels of the present setting.
        rounds: trials that the one of both has that has fewer.
        whole: what the search went by.
        ways: each direction for itself, if there are two.
    """

    winner: dict[str, str]
    today: dict[str, str]
    rounds: int
    whole: Compared
    ways: list[Compared] = []

    @property
    def gained(self) -> bool:
        """Whether the winner was shown to be better than the present setting."""
        return self.whole.verdict == "higher"


def speed_of(outcome: Outcome, names: Sequence[str]) -> float | None:
    """Return bytes over the time of all directions of a trial, None if one of them has no figure.

    Args:
        outcome: of the trial.
        names: of the speeds that count.
    """
    known = [speed for name in names if (speed := outcome.figures.get(name))]
    if outcome.state != "ok" or len(known) < len(names):
        return None
    return len(known) / sum(1 / speed for speed in known)


def retest_of(
    outcomes: Iterable[Outcome],
    winner: Mapping[str, str],
    today: Mapping[str, str],
    names: Sequence[str] = (WRITE, READ),
) -> Retest | None:
    """Return what the trials of a re-test say, None if one of both has no figure.

    Args:
        outcomes: of a search; those that are no re-test, or of other sets, are left out.
        winner: levels of the search's winner.
        today: levels of the present setting.
        names: of the speeds that count.
    """
    trials = [one for one in outcomes if one.retest and speed_of(one, names) is not None]
    before = [one for one in trials if one.levels == today]
    after = [one for one in trials if one.levels == winner]
    if not before or not after or winner == today:
        return None
    ways = [_compared(name, before, after, [name]) for name in names] if len(names) > 1 else []
    return Retest(
        winner=dict(winner), today=dict(today), rounds=min(len(before), len(after)), ways=ways,
        whole=_compared(names[0] if len(names) == 1 else BOTH, before, after, names),
    )  # fmt: skip


def _compared(
    figure: str, before: Sequence[Outcome], after: Sequence[Outcome], names: Sequence[str]
) -> Compared:
    old, new = ([speed for one in side if (speed := speed_of(one, names))] for side in (before, after))
    found = difference(old, new)
    return Compared(
        figure=figure, before=median(old), after=median(new), before_values=old, after_values=new,
        **found._asdict(),
    )  # fmt: skip

"""The best of many option sets with few trials: which one to try next, which to give up, and what was found.

A race in three parts. First what should be good and what everything is compared with: the kernel's defaults,
the present setting, the order of the advisor and the model, then sets that show every level of every factor.
Then, in turn, the set that may be best by the upper end of what is likely (search_model), which leads away
from a peak that is not the highest; and the set of which one more trial is worth most, tried or not: by how
much the choice at the end is likely to gain by it (the knowledge gradient: Frazier, Powell, Dayanik, 2008).
At last only the second counts, so that repeats go where the difference is undecided.
"""

from __future__ import annotations

from itertools import chain, combinations
from math import erf, exp, inf, log, pi, prod, sqrt
from typing import TYPE_CHECKING, Literal

import msgspec

from advisor.experiment.gaussian_process import Surface
from advisor.experiment.intervals import ENOUGH, interval, median
from advisor.experiment_values import key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from advisor.experiment_values import Chance

#: Parts of the budget: of the sets that show each level; of the final, at least and at most. It has the most
#: where a trial scatters by as much as matters (NEAR), and less where fewer repeats tell the sets apart.
_SHOWN = 0.2
_SHORT_FINAL, _LONG_FINAL = 0.15, 0.3
#: What a pair of levels that was seen counts beside a single level.
_PAIR = 0.3
#: Deviations above the mean that count as what may be.
_BOLD = 6.0
#: So many of those that should be good are tried first.
_HOPED = 6
#: Differences below this are not worth trials: the answer is to be so near to the best.
NEAR = 0.05
#: A running trial is given up when it is this unlikely that the set is as good as the best: three deviations.
_HOPELESS = 3.0
#: Part of a trial that is measured before it may be given up: the beginning is slow.
_BEGUN = 0.25
#: Deviations of what holds in 95 of 100 cases; and of many sets at once, none of which is to be better.
_Z, _Z_OF_ALL = 1.96, 2.6

Method = Literal["sign test", "model"]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one option set at the end.

    Attributes:
        levels: factor to level.
        values: of its trials, not of those given up.
        median: of the values if there are six or more, else what all trials together say of it.
        low: lower end of the interval that holds it in 95 of 100 cases.
        high: its upper end.
        method: how the interval was made: of the sign test, or by the model of all trials.
    """

    levels: dict[str, str]
    values: list[float]
    median: float
    low: float
    high: float
    method: Method


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a search.

    Attributes:
        winner: the best set.
        runner_up: the next.
        default: the kernel's defaults, if they are among the candidates.
        current: the present setting, likewise.
        decided: whether no other set is likely to be better by more than 5 %.
        trials: how many were run.
        tried: how many sets.
        candidates: of so many.
    """

    winner: Found
    runner_up: Found | None
    default: Found | None
    current: Found | None
    decided: bool
    trials: int
    tried: int
    candidates: int


class Racer:
    """Chooses trials one by one. The same chance and the same figures give the same race.

    Figures must be positive, and more must be better: of a time, tell its inverse.
    """

    def __init__(
        self,
        candidates: Sequence[Mapping[str, str]],
        *,
        prior_order: Sequence[Mapping[str, str]] = (),
        chance: Chance,
        budget: float,
        default: Mapping[str, str] | None = None,
        current: Mapping[str, str] | None = None,
    ) -> None:
        """Begin.

        Args:
            candidates: option sets, all with the same factors.
            prior_order: those that should be good, the best first; they are tried first.
            chance: for choices that are equal.
            budget: what all trials may cost, in the unit of the costs that will be told.
            default: the kernel's defaults, if they are a candidate.
            current: the present setting, if it is one.

        Raises:
            ValueError: if there is no candidate.
        """
        if not candidates:
            raise ValueError("no candidates")
        self._candidates = [dict(each) for each in candidates]
        self._numbers = {key_of(each): number for number, each in enumerate(self._candidates)}
        self._chance = chance
        self._budget = budget
        self._default = None if default is None else self._numbers.get(key_of(dict(default)))
        self._current = None if current is None else self._numbers.get(key_of(dict(current)))
        ahead = (self._numbers.get(key_of(dict(each))) for each in prior_order)
        wanted = [self._default, self._current, *list(ahead)[:_HOPED]]
        self._queue = list(dict.fromkeys(number for number in wanted if number is not None))
        self._levels = {name: len({each[name] for each in self._candidates}) for name in candidates[0]}
        self._surface = Surface(self._candidates)
        self._values: dict[int, list[float]] = {}
        self._failed: set[int] = set()
        self._given_up: dict[int, int] = {}
        self._spent = 0.0
        self._trials = 0
        self._asked: int | None = None

    @property
    def done(self) -> bool:
        """Whether the budget is spent, or it is decided."""
        if self._spent >= self._budget or len(self._failed) == len(self._candidates):
            return True
        return self._progress >= self._searched and self._decided()

    def next(self) -> dict[str, str]:
        """Return the set to try next; the same one until its figure has been told.

        Raises:
            ValueError: if all candidates have failed.
        """
        if len(self._failed) == len(self._candidates):
            raise ValueError("all candidates have failed")
        if self._asked is None:
            self._asked = self._choose()
        return dict(self._candidates[self._asked])

    def tell(
        self, candidate: Mapping[str, str], value: float | None, cost: float = 1.0, *, partial: bool = False
    ) -> None:
        """Take in what a trial measured.

        Args:
            candidate: the option set, which need not be the one that was asked for.
            value: its figure; None if it failed: the set is not tried again.
            cost: of the trial.
            partial: it was given up on the way; the value is what it would have come to.

        Raises:
            KeyError: if it is no candidate.
            ValueError: if the value is not above 0.
        """
        number = self._numbers[key_of(dict(candidate))]
        when = self._progress
        self._spent += cost
        self._trials += 1
        self._asked = None
        if value is None:
            self._failed.add(number)
            return
        if not value > 0:
            raise ValueError("a figure must be above 0")
        if partial:
            self._given_up[number] = self._given_up.get(number, 0) + 1
        else:
            self._values.setdefault(number, []).append(value)
        self._surface.add(number, log(value), when, 2.0 if partial else 1.0)

    def pass_over(self, cost: float) -> None:
        """Take in a trial that tells nothing of its set, which stays a candidate; it has cost something.

        Args:
            cost: of the trial.
        """
        self._spent += cost
        self._trials += 1
        self._asked = None

    def hopeless(self, candidate: Mapping[str, str], partial_value: float, fraction: float) -> bool:
        """Return whether a running trial need not go on: it will surely not come near the best.

        Args:
            candidate: that runs.
            partial_value: its figure so far.
            fraction: of the trial that is done, from 0 to 1.

        Raises:
            KeyError: if it is no candidate.
        """
        number = self._numbers[key_of(dict(candidate))]
        if fraction < _BEGUN or len(self._values) < ENOUGH or number in {self._default, self._current}:
            return False
        # Part of a trial scatters more than a whole one, by the root of what is missing.
        scatter = max(self._surface.noise, NEAR) / sqrt(min(1.0, fraction))
        return log(max(partial_value, 1e-300)) + _HOPELESS * scatter < self._surface.means[self._best()]

    def answer(self) -> Answer:
        """Return what was found; also before the end.

        Raises:
            ValueError: if no trial gave a figure.
        """
        order = sorted(self._values.keys() - self._failed, key=self._rating, reverse=True)
        if not order:
            raise ValueError("no trial gave a figure")
        return Answer(
            winner=self._found(order[0]),
            runner_up=self._found(order[1]) if len(order) > 1 else None,
            default=self._found(self._default) if self._default in self._values else None,
            current=self._found(self._current) if self._current in self._values else None,
            decided=self._decided(),
            trials=self._trials,
            tried=len(self._values.keys() | self._given_up.keys()),
            candidates=len(self._candidates),
        )  # fmt: skip

    @property
    def _progress(self) -> float:
        return self._spent / self._budget if self._budget else 1.0

    @property
    def _searched(self) -> float:
        """Part of the budget after which the final begins, as far as the noise is known so far."""
        return 1 - min(_LONG_FINAL, max(_SHORT_FINAL, _LONG_FINAL * self._surface.noise / NEAR))

    def _choose(self) -> int:
        while self._queue:
            number = self._queue.pop(0)
            if number not in self._failed and number not in self._values:
                return number
        progress = self._progress
        if progress < _SHOWN:
            return self._showing()
        searched = self._searched
        if progress < searched and (surprise := self._surprise()) is not None:
            return surprise
        if progress < searched and self._trials % 2 == 0:
            return self._promising()
        return self._worth_most()

    def _open(self) -> list[int]:
        return [number for number in range(len(self._candidates)) if number not in self._failed]

    def _showing(self) -> int:
        """Return a set whose levels, and pairs of levels, were seen least for how many there are."""
        seen: dict[tuple[tuple[str, str], ...], float] = {}
        for number in self._values:
            for shown in self._shown(number):
                seen[shown] = seen.get(shown, 0.0) + self._rarity(shown)
        fresh = [number for number in self._open() if number not in self._values] or self._open()

        def known(number: int) -> tuple[float, float]:
            return sum(seen.get(each, 0.0) for each in self._shown(number)), self._chance.random()

        return min(fresh, key=known)

    def _shown(self, number: int) -> Iterator[tuple[tuple[str, str], ...]]:
        """Return the levels of a set, and its pairs of levels."""
        levels = self._candidates[number].items()
        return chain(combinations(levels, 1), combinations(levels, 2))

    def _rarity(self, shown: tuple[tuple[str, str], ...]) -> float:
        """Return what it counts to have seen a level, or a pair: with many levels each is seen seldom."""
        return (1.0 if len(shown) == 1 else _PAIR) * prod(self._levels[name] for name, _level in shown)

    def _surprise(self) -> int | None:
        """Return a set whose only trial was better than all trials together make of the best one."""
        line = self._surface.means[self._best()] + log(1 + NEAR)
        once = (number for number in self._open() if len(self._values.get(number, ())) == 1)
        better = [number for number in once if log(self._values[number][0]) > line]
        return max(better, key=lambda number: self._values[number][0], default=None)

    def _promising(self) -> int:
        means, deviations = self._surface.means, self._surface.deviations
        tried = self._values.keys() | self._given_up.keys()
        fresh = [number for number in self._open() if number not in tried] or self._open()
        return max(fresh, key=lambda number: means[number] + _BOLD * deviations[number])

    def _worth_most(self) -> int:
        """Return the set by one more trial of which the choice at the end is likely to gain most."""
        means, deviations = self._surface.means, self._surface.deviations
        best = self._best()
        noise = max(self._surface.noise, 1e-6)
        others = [number for number in self._open() if number != best]
        rival = max((means[number] for number in others), default=means[best])

        def gain(number: int) -> float:
            apart = means[best] - (rival if number == best else means[number])
            # How far one more trial is likely to move what is thought of the set.
            moves = deviations[number] ** 2 / sqrt(deviations[number] ** 2 + noise**2)
            return _expected_excess(abs(apart), moves)

        return max((best, *others), key=gain)

    def _best(self) -> int:
        return max(self._values, key=self._rating)

    def _rating(self, number: int) -> float:
        return -inf if number in self._failed else self._surface.means[number]

    def _decided(self) -> bool:
        """Return whether no other set is likely to be better by more than 5 %."""
        if not self._values:
            return False
        best = self._best()
        means, deviations = self._surface.means, self._surface.deviations
        line = means[best] + log(1 + NEAR)
        return all(
            means[number] + _Z_OF_ALL * sqrt(deviations[number] ** 2 + deviations[best] ** 2) < line
            for number in self._open()
            if number != best
        )

    def _found(self, number: int) -> Found:
        values = self._values[number]
        if len(values) >= ENOUGH:
            low, high, _ = interval(values)
            return Found(
                levels=self._candidates[number], values=values, median=median(values), low=low, high=high,
                method="sign test",
            )  # fmt: skip
        mean, away = self._surface.means[number], _Z * self._surface.deviations[number]
        return Found(
            levels=self._candidates[number], values=values, median=exp(mean), low=exp(mean - away),
            high=exp(mean + away), method="model",
        )  # fmt: skip


def _expected_excess(above: float, deviation: float) -> float:
    """Return by how much a normal number of mean 0 exceeds this one, on average over all cases."""
    if deviation <= 0:
        return 0.0
    far = above / deviation
    return deviation * (exp(-far * far / 2) / sqrt(2 * pi) - far * (1 - erf(far / sqrt(2))) / 2)

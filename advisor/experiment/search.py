"""Bayesian search for the best of many option sets with few trials, and the retest of its winner.

It has three parts. First what should be good and what everything is compared with: the kernel's defaults,
the present setting, the order of the advisor and the model, then sets that sample every level of every
factor. Then, in turn, the set with the highest upper confidence bound of the model (gaussian_process),
which leads away from a peak that is not the highest; and the set with the highest knowledge gradient, tried
or not: by how much one more trial is expected to improve the choice at the end (Frazier, Powell, Dayanik,
2008). At last only the second counts, so that repeats go where the difference is undecided.

The first of many sets is in part the luckiest of them, and so its figure is too high. The retest measures
this one set again, in turns with the present setting: it has no such luck in it, and a drift of the server
or the link affects both alike.
"""

from __future__ import annotations

from itertools import chain, combinations
from math import erf, exp, inf, log, pi, prod, sqrt
from typing import TYPE_CHECKING, Literal

import msgspec

from advisor.experiment.gaussian_process import GaussianProcess
from advisor.experiment.intervals import (
    MIN_INTERVAL_VALUES,
    MIN_SAMPLE_SIZE,
    DifferenceVerdict,
    compare_samples,
    confidence_interval,
    median,
)
from advisor.experiment.measurements import READ, WRITE, set_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from advisor.experiment.measurements import RandomSource, TrialOutcome

#: Parts of the budget: of the sets that show each level; of the final, at least and at most. It has the most
#: where a trial scatters by as much as matters (INDIFFERENCE_ZONE), and less where fewer repeats tell the
#: sets apart.
_SAMPLING_SHARE = 0.2
_MIN_FINAL_SHARE, _MAX_FINAL_SHARE = 0.15, 0.3
#: What a pair of levels that was seen counts beside a single level.
_PAIR_WEIGHT = 0.3
#: Deviations above the mean that count as what may be.
_UCB_KAPPA = 6.0
#: So many of those that should be good are tried first.
_PRIOR_TRIALS = 6
#: Differences below this are not worth trials: the answer is to be so near to the best.
INDIFFERENCE_ZONE = 0.05
#: A running trial is given up when it is this unlikely that the set is as good as the best: three deviations.
_EARLY_STOP_SIGMAS = 3.0
#: Part of a trial that is measured before it may be given up: the beginning is slow.
_EARLY_STOP_FRACTION = 0.25
#: Deviations of what holds in 95 of 100 cases; and of many sets at once, none of which is to be better.
_Z_95, _Z_SIMULTANEOUS = 1.96, 2.6

EstimateMethod = Literal["sign test", "model"]


class SetEstimate(msgspec.Struct, frozen=True, kw_only=True):
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
    method: EstimateMethod


class SearchConclusion(msgspec.Struct, frozen=True, kw_only=True):
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

    winner: SetEstimate
    runner_up: SetEstimate | None
    default: SetEstimate | None
    current: SetEstimate | None
    decided: bool
    trials: int
    tried: int
    candidates: int


class BayesianSearch:
    """Chooses trials one by one. The same chance and the same figures give the same race.

    Figures must be positive, and more must be better: of a time, tell its inverse.
    """

    def __init__(
        self,
        candidates: Sequence[Mapping[str, str]],
        *,
        prior_order: Sequence[Mapping[str, str]] = (),
        chance: RandomSource,
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
        self._numbers = {set_key(each): number for number, each in enumerate(self._candidates)}
        self._chance = chance
        self._budget = budget
        self._default = None if default is None else self._numbers.get(set_key(dict(default)))
        self._current = None if current is None else self._numbers.get(set_key(dict(current)))
        ahead = (self._numbers.get(set_key(dict(each))) for each in prior_order)
        wanted = [self._default, self._current, *list(ahead)[:_PRIOR_TRIALS]]
        self._queue = list(dict.fromkeys(number for number in wanted if number is not None))
        self._levels = {name: len({each[name] for each in self._candidates}) for name in candidates[0]}
        self._surface = GaussianProcess(self._candidates)
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
        number = self._numbers[set_key(dict(candidate))]
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

    def skip_trial(self, cost: float) -> None:
        """Take in a trial that tells nothing of its set, which stays a candidate; it has cost something.

        Args:
            cost: of the trial.
        """
        self._spent += cost
        self._trials += 1
        self._asked = None

    def cannot_win(self, candidate: Mapping[str, str], partial_value: float, fraction: float) -> bool:
        """Return whether a running trial need not go on: it will surely not come near the best.

        Args:
            candidate: that runs.
            partial_value: its figure so far.
            fraction: of the trial that is done, from 0 to 1.

        Raises:
            KeyError: if it is no candidate.
        """
        number = self._numbers[set_key(dict(candidate))]
        if (
            fraction < _EARLY_STOP_FRACTION
            or len(self._values) < MIN_INTERVAL_VALUES
            or number in {self._default, self._current}
        ):
            return False
        # Part of a trial scatters more than a whole one, by the root of what is missing.
        scatter = max(self._surface.noise, INDIFFERENCE_ZONE) / sqrt(min(1.0, fraction))
        return (
            log(max(partial_value, 1e-300)) + _EARLY_STOP_SIGMAS * scatter < self._surface.means[self._best()]
        )

    def answer(self) -> SearchConclusion:
        """Return what was found; also before the end.

        Raises:
            ValueError: if no trial gave a figure.
        """
        order = sorted(self._values.keys() - self._failed, key=self._rating, reverse=True)
        if not order:
            raise ValueError("no trial gave a figure")
        return SearchConclusion(
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
        return 1 - min(
            _MAX_FINAL_SHARE,
            max(_MIN_FINAL_SHARE, _MAX_FINAL_SHARE * self._surface.noise / INDIFFERENCE_ZONE),
        )

    def _choose(self) -> int:
        while self._queue:
            number = self._queue.pop(0)
            if number not in self._failed and number not in self._values:
                return number
        progress = self._progress
        if progress < _SAMPLING_SHARE:
            return self._least_sampled_set()
        searched = self._searched
        if progress < searched and (surprise := self._unrepeated_leader()) is not None:
            return surprise
        if progress < searched and self._trials % 2 == 0:
            return self._highest_upper_bound()
        return self._highest_knowledge_gradient()

    def _open(self) -> list[int]:
        return [number for number in range(len(self._candidates)) if number not in self._failed]

    def _least_sampled_set(self) -> int:
        """Return a set whose levels, and pairs of levels, were seen least for how many there are."""
        seen: dict[tuple[tuple[str, str], ...], float] = {}
        for number in self._values:
            for shown in self._shown(number):
                seen[shown] = seen.get(shown, 0.0) + self._sampling_weight(shown)
        fresh = [number for number in self._open() if number not in self._values] or self._open()

        def known(number: int) -> tuple[float, float]:
            return sum(seen.get(each, 0.0) for each in self._shown(number)), self._chance.random()

        return min(fresh, key=known)

    def _shown(self, number: int) -> Iterator[tuple[tuple[str, str], ...]]:
        """Return the levels of a set, and its pairs of levels."""
        levels = self._candidates[number].items()
        return chain(combinations(levels, 1), combinations(levels, 2))

    def _sampling_weight(self, shown: tuple[tuple[str, str], ...]) -> float:
        """Return what it counts to have seen a level, or a pair: with many levels each is seen seldom."""
        return (1.0 if len(shown) == 1 else _PAIR_WEIGHT) * prod(self._levels[name] for name, _level in shown)

    def _unrepeated_leader(self) -> int | None:
        """Return a set whose only trial was better than all trials together make of the best one."""
        line = self._surface.means[self._best()] + log(1 + INDIFFERENCE_ZONE)
        once = (number for number in self._open() if len(self._values.get(number, ())) == 1)
        better = [number for number in once if log(self._values[number][0]) > line]
        return max(better, key=lambda number: self._values[number][0], default=None)

    def _highest_upper_bound(self) -> int:
        means, deviations = self._surface.means, self._surface.deviations
        tried = self._values.keys() | self._given_up.keys()
        fresh = [number for number in self._open() if number not in tried] or self._open()
        return max(fresh, key=lambda number: means[number] + _UCB_KAPPA * deviations[number])

    def _highest_knowledge_gradient(self) -> int:
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
        line = means[best] + log(1 + INDIFFERENCE_ZONE)
        return all(
            means[number] + _Z_SIMULTANEOUS * sqrt(deviations[number] ** 2 + deviations[best] ** 2) < line
            for number in self._open()
            if number != best
        )

    def _found(self, number: int) -> SetEstimate:
        values = self._values[number]
        if len(values) >= MIN_INTERVAL_VALUES:
            low, high, _ = confidence_interval(values)
            return SetEstimate(
                levels=self._candidates[number], values=values, median=median(values), low=low, high=high,
                method="sign test",
            )  # fmt: skip
        mean, away = self._surface.means[number], _Z_95 * self._surface.deviations[number]
        return SetEstimate(
            levels=self._candidates[number], values=values, median=exp(mean), low=exp(mean - away),
            high=exp(mean + away), method="model",
        )  # fmt: skip


def _expected_excess(above: float, deviation: float) -> float:
    """Return by how much a normal number of mean 0 exceeds this one, on average over all cases."""
    if deviation <= 0:
        return 0.0
    far = above / deviation
    return deviation * (exp(-far * far / 2) / sqrt(2 * pi) - far * (1 - erf(far / sqrt(2))) / 2)


#: Rounds of a re-test, each with one trial of both; with fewer than MIN_RETEST_ROUNDS no difference can be
#: shown.
RETEST_ROUNDS, MIN_RETEST_ROUNDS = 6, MIN_SAMPLE_SIZE
#: Bytes over the time of both directions together, in the place of a figure's name.
BOTH_DIRECTIONS = "both"


class RetestComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of both sets.

    Attributes:
        figure: write, read, or BOTH; bytes a second.
        before: median of the present setting.
        after: median of the winner.
        before_values: of the present setting's trials, in their order.
        after_values: of the winner's.
        ratio: after over before (advisor.experiment.intervals).
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
    verdict: DifferenceVerdict


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
    whole: RetestComparison
    ways: list[RetestComparison] = []

    @property
    def gained(self) -> bool:
        """Whether the winner was shown to be better than the present setting."""
        return self.whole.verdict == "higher"


def harmonic_mean_speed(outcome: TrialOutcome, names: Sequence[str]) -> float | None:
    """Return bytes over the time of all directions of a trial, None if one of them has no figure.

    Args:
        outcome: of the trial.
        names: of the speeds that count.
    """
    known = [speed for name in names if (speed := outcome.figures.get(name))]
    if outcome.state != "ok" or len(known) < len(names):
        return None
    return len(known) / sum(1 / speed for speed in known)


def evaluate_retest(
    outcomes: Iterable[TrialOutcome],
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
    trials = [one for one in outcomes if one.retest and harmonic_mean_speed(one, names) is not None]
    before = [one for one in trials if one.levels == today]
    after = [one for one in trials if one.levels == winner]
    if not before or not after or winner == today:
        return None
    ways = [_compare_retest(name, before, after, [name]) for name in names] if len(names) > 1 else []
    return Retest(
        winner=dict(winner), today=dict(today), rounds=min(len(before), len(after)), ways=ways,
        whole=_compare_retest(names[0] if len(names) == 1 else BOTH_DIRECTIONS, before, after, names),
    )  # fmt: skip


def _compare_retest(
    figure: str, before: Sequence[TrialOutcome], after: Sequence[TrialOutcome], names: Sequence[str]
) -> RetestComparison:
    old, new = (
        [speed for one in side if (speed := harmonic_mean_speed(one, names))] for side in (before, after)
    )
    found = compare_samples(old, new)
    return RetestComparison(
        figure=figure, before=median(old), after=median(new), before_values=old, after_values=new,
        **found._asdict(),
    )  # fmt: skip

"""Bayesian search for the best of many option sets with few trials, and the retest of its winner.

The search has three phases:

1. It tries the kernel's defaults, the current setting, and the first sets of a prior order (from advice and
   throughput model). Then it samples sets so that every level of every factor occurs.
2. It alternates between the set with the highest upper confidence bound (UCB) of the Gaussian process, which
   avoids local maxima, and the set with the highest knowledge gradient. The knowledge gradient is the
   expected improvement of the final choice by one more trial (Frazier, Powell and Dayanik, A Knowledge-
   Gradient Policy for Sequential Information Collection, 2008).
3. It uses only the knowledge gradient, so that repeats go to the sets whose order is undecided.

The figure of the winner of many sets is biased upward (winner's curse). The retest therefore measures the
winner again, alternating with the current setting, so that drift of the server or the link affects both
equally.
"""

from __future__ import annotations

from itertools import chain, combinations
from math import erf, exp, inf, log, pi, prod, sqrt
from typing import TYPE_CHECKING, Literal

from advisor.experiment.conclusions import Retest, RetestComparison, SearchConclusion, SetEstimate
from advisor.experiment.gaussian_process import GaussianProcess
from advisor.experiment.intervals import (
    MIN_INTERVAL_VALUES,
    MIN_SAMPLE_SIZE,
    compare_samples,
    confidence_interval,
    median,
)
from advisor.experiment.measurements import READ, WRITE, set_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from advisor.experiment.measurements import RandomSource, TrialOutcome

#: Fraction of the budget at which the sampling of levels ends.
_SAMPLING_SHARE = 0.2
#: Least and greatest fraction of the budget for the final phase; the greatest applies if a trial's noise
#: reaches INDIFFERENCE_ZONE.
_MIN_FINAL_SHARE, _MAX_FINAL_SHARE = 0.15, 0.3
#: Sampling weight of a pair of levels, relative to a single level.
_PAIR_WEIGHT = 0.3
#: kappa of the upper confidence bound: standard deviations above the mean.
_UCB_KAPPA = 6.0
#: Number of sets of the prior order to try first.
_PRIOR_TRIALS = 6
#: Greatest acceptable difference between the winner and the best set, as a fraction.
INDIFFERENCE_ZONE = 0.05
#: A trial is stopped early if its projected figure is this many standard deviations below the best mean.
_EARLY_STOP_SIGMAS = 3.0
#: Least fraction of a trial before it may be stopped early, since trials begin slowly.
_EARLY_STOP_FRACTION = 0.25
#: Standard deviations of a two-sided 95 % interval, and of the simultaneous comparison of many sets.
_Z_95, _Z_SIMULTANEOUS = 1.96, 2.6


class BayesianSearch:
    """Bayesian optimization over a list of option sets: chooses the next trial from all results so far.

    Figures must be positive, and greater ones better: pass the inverse of a time. The search is
    deterministic for a given random seed and given figures.
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
        """Set up the search.

        Args:
            candidates: option sets, all with the same factors.
            prior_order: sets that are expected to be good, the best first; the search tries them first.
            chance: random source, for ties.
            budget: greatest total cost of all trials, in the unit of the costs passed to :meth:`tell`.
            default: the set of the kernel's defaults; ignored if it is no candidate.
            current: the set of the current setting; ignored if it is no candidate.

        Raises:
            ValueError: if there are no candidates.
        """
        if not candidates:
            raise ValueError("no candidates")
        self._candidates = [dict(each) for each in candidates]
        self._numbers = {set_key(each): number for number, each in enumerate(self._candidates)}
        self._chance = chance
        self._budget = budget
        self._default = None if default is None else self._numbers.get(set_key(dict(default)))
        self._current = None if current is None else self._numbers.get(set_key(dict(current)))
        prior_numbers = (self._numbers.get(set_key(dict(each))) for each in prior_order)
        initial = [self._default, self._current, *list(prior_numbers)[:_PRIOR_TRIALS]]
        self._queue = list(dict.fromkeys(number for number in initial if number is not None))
        self._levels = {name: len({each[name] for each in self._candidates}) for name in candidates[0]}
        self._model = GaussianProcess(self._candidates)
        self._values: dict[int, list[float]] = {}
        self._failed: set[int] = set()
        self._stopped_early: dict[int, int] = {}
        self._spent = 0.0
        self._trials = 0
        self._pending: int | None = None

    @property
    def done(self) -> bool:
        """Whether the budget is spent, every set has failed, or the winner is decided."""
        if self._spent >= self._budget or len(self._failed) == len(self._candidates):
            return True
        return self._progress >= self._final_phase_start and self._decided()

    def next(self) -> dict[str, str]:
        """Return the set to try next; the same one until :meth:`tell` or :meth:`skip_trial` is called.

        Raises:
            ValueError: if all candidates have failed.
        """
        if len(self._failed) == len(self._candidates):
            raise ValueError("all candidates have failed")
        if self._pending is None:
            self._pending = self._choose()
        return dict(self._candidates[self._pending])

    def tell(
        self, candidate: Mapping[str, str], value: float | None, cost: float = 1.0, *, partial: bool = False
    ) -> None:
        """Add the result of a trial.

        Args:
            candidate: the tried option set, which may differ from the result of :meth:`next`.
            value: figure of the trial; None if it failed, so that the set is not tried again.
            cost: cost of the trial, in the unit of the budget.
            partial: whether the trial was stopped early; the value is then its projected figure.

        Raises:
            KeyError: if the set is no candidate.
            ValueError: if the value is 0 or less.
        """
        number = self._numbers[set_key(dict(candidate))]
        when = self._progress
        self._spent += cost
        self._trials += 1
        self._pending = None
        if value is None:
            self._failed.add(number)
            return
        if not value > 0:
            raise ValueError("a figure must be above 0")
        if partial:
            self._stopped_early[number] = self._stopped_early.get(number, 0) + 1
        else:
            self._values.setdefault(number, []).append(value)
        self._model.add(number, log(value), when, 2.0 if partial else 1.0)

    def skip_trial(self, cost: float) -> None:
        """Count a trial without a usable result; its set stays a candidate.

        Args:
            cost: cost of the trial, in the unit of the budget.
        """
        self._spent += cost
        self._trials += 1
        self._pending = None

    def cannot_win(self, candidate: Mapping[str, str], partial_value: float, fraction: float) -> bool:
        """Return whether a running trial can be stopped, since its set is almost certainly not the best.

        Args:
            candidate: the set of the running trial.
            partial_value: figure of the trial so far.
            fraction: finished fraction of the trial, from 0 to 1.

        Raises:
            KeyError: if the set is no candidate.
        """
        number = self._numbers[set_key(dict(candidate))]
        if (
            fraction < _EARLY_STOP_FRACTION
            or len(self._values) < MIN_INTERVAL_VALUES
            or number in {self._default, self._current}
        ):
            return False
        # The deviation of a partial trial grows with the inverse square root of its length.
        scatter = max(self._model.noise, INDIFFERENCE_ZONE) / sqrt(min(1.0, fraction))
        return (
            log(max(partial_value, 1e-300)) + _EARLY_STOP_SIGMAS * scatter < self._model.means[self._best()]
        )

    def answer(self) -> SearchConclusion:
        """Return the result so far, also before the search is done.

        Raises:
            ValueError: if no trial gave a figure.
        """
        order = sorted(self._values.keys() - self._failed, key=self._rating, reverse=True)
        if not order:
            raise ValueError("no trial gave a figure")
        return SearchConclusion(
            winner=self._estimate(order[0]),
            runner_up=self._estimate(order[1]) if len(order) > 1 else None,
            default=self._estimate(self._default) if self._default in self._values else None,
            current=self._estimate(self._current) if self._current in self._values else None,
            decided=self._decided(),
            trials=self._trials,
            tried=len(self._values.keys() | self._stopped_early.keys()),
            candidates=len(self._candidates),
        )  # fmt: skip

    @property
    def _progress(self) -> float:
        return self._spent / self._budget if self._budget else 1.0

    @property
    def _final_phase_start(self) -> float:
        """Fraction of the budget at which the final phase begins, from the current noise estimate."""
        return 1 - min(
            _MAX_FINAL_SHARE,
            max(_MIN_FINAL_SHARE, _MAX_FINAL_SHARE * self._model.noise / INDIFFERENCE_ZONE),
        )

    def _choose(self) -> int:
        while self._queue:
            number = self._queue.pop(0)
            if number not in self._failed and number not in self._values:
                return number
        progress = self._progress
        if progress < _SAMPLING_SHARE:
            return self._least_sampled_set()
        final_phase_start = self._final_phase_start
        if progress < final_phase_start and (leader := self._unrepeated_leader()) is not None:
            return leader
        if progress < final_phase_start and self._trials % 2 == 0:
            return self._highest_upper_bound()
        return self._highest_knowledge_gradient()

    def _remaining_candidates(self) -> list[int]:
        return [number for number in range(len(self._candidates)) if number not in self._failed]

    def _least_sampled_set(self) -> int:
        """Return a set whose levels and pairs of levels occurred least, relative to their expected frequency.

        The random source breaks ties.
        """
        seen: dict[tuple[tuple[str, str], ...], float] = {}
        for number in self._values:
            for subset in self._level_subsets(number):
                seen[subset] = seen.get(subset, 0.0) + self._sampling_weight(subset)
        untried = [
            number for number in self._remaining_candidates() if number not in self._values
        ] or self._remaining_candidates()

        def coverage(number: int) -> tuple[float, float]:
            return sum(seen.get(each, 0.0) for each in self._level_subsets(number)), self._chance.random()

        return min(untried, key=coverage)

    def _level_subsets(self, number: int) -> Iterator[tuple[tuple[str, str], ...]]:
        """Return the single levels and the pairs of levels of a set."""
        levels = self._candidates[number].items()
        return chain(combinations(levels, 1), combinations(levels, 2))

    def _sampling_weight(self, subset: tuple[tuple[str, str], ...]) -> float:
        """Return the weight of one occurrence: the inverse of its expected frequency, less for pairs."""
        return (1.0 if len(subset) == 1 else _PAIR_WEIGHT) * prod(
            self._levels[name] for name, _level in subset
        )

    def _unrepeated_leader(self) -> int | None:
        """Return a set with a single trial that exceeds the best set's mean by INDIFFERENCE_ZONE, or None."""
        limit = self._model.means[self._best()] + log(1 + INDIFFERENCE_ZONE)
        tried_once = (
            number for number in self._remaining_candidates() if len(self._values.get(number, ())) == 1
        )
        better = [number for number in tried_once if log(self._values[number][0]) > limit]
        return max(better, key=lambda number: self._values[number][0], default=None)

    def _highest_upper_bound(self) -> int:
        means, deviations = self._model.means, self._model.deviations
        tried = self._values.keys() | self._stopped_early.keys()
        untried = [
            number for number in self._remaining_candidates() if number not in tried
        ] or self._remaining_candidates()
        return max(untried, key=lambda number: means[number] + _UCB_KAPPA * deviations[number])

    def _highest_knowledge_gradient(self) -> int:
        """Return the set with the highest knowledge gradient: the expected gain of the final choice."""
        means, deviations = self._model.means, self._model.deviations
        best = self._best()
        noise = max(self._model.noise, 1e-6)
        others = [number for number in self._remaining_candidates() if number != best]
        rival = max((means[number] for number in others), default=means[best])

        def gain(number: int) -> float:
            difference = means[best] - (rival if number == best else means[number])
            # Standard deviation of the change of the set's mean by one more trial.
            change = deviations[number] ** 2 / sqrt(deviations[number] ** 2 + noise**2)
            return _expected_excess(abs(difference), change)

        return max((best, *others), key=gain)

    def _best(self) -> int:
        return max(self._values, key=self._rating)

    def _rating(self, number: int) -> float:
        return -inf if number in self._failed else self._model.means[number]

    def _decided(self) -> bool:
        """Return whether no other set is likely to be better by more than 5 %."""
        if not self._values:
            return False
        best = self._best()
        means, deviations = self._model.means, self._model.deviations
        limit = means[best] + log(1 + INDIFFERENCE_ZONE)
        return all(
            means[number] + _Z_SIMULTANEOUS * sqrt(deviations[number] ** 2 + deviations[best] ** 2) < limit
            for number in self._remaining_candidates()
            if number != best
        )

    def _estimate(self, number: int) -> SetEstimate:
        values = self._values[number]
        if len(values) >= MIN_INTERVAL_VALUES:
            low, high, _ = confidence_interval(values)
            return SetEstimate(
                levels=self._candidates[number], values=values, median=median(values), low=low, high=high,
                method="sign-test",
            )  # fmt: skip
        mean, half_width = self._model.means[number], _Z_95 * self._model.deviations[number]
        return SetEstimate(
            levels=self._candidates[number], values=values, median=exp(mean), low=exp(mean - half_width),
            high=exp(mean + half_width), method="model",
        )  # fmt: skip


def _expected_excess(above: float, deviation: float) -> float:
    """Return the expected positive part of X - above, for a normal X with mean 0 and a standard deviation."""
    if deviation <= 0:
        return 0.0
    z = above / deviation
    return deviation * (exp(-z * z / 2) / sqrt(2 * pi) - z * (1 - erf(z / sqrt(2))) / 2)


#: Rounds of a retest, each with one trial of both sets; with fewer than MIN_RETEST_ROUNDS no difference is
#: significant.
RETEST_ROUNDS, MIN_RETEST_ROUNDS = 6, MIN_SAMPLE_SIZE
#: Pseudo figure name: harmonic mean of write and read speed, bytes per second.
BOTH_DIRECTIONS = "both"


def harmonic_mean_speed(outcome: TrialOutcome, names: Sequence[str]) -> float | None:
    """Return the harmonic mean of a trial's speeds, bytes per second; None if one of them is missing.

    It is the total of bytes divided by the total time of all directions.

    Args:
        outcome: outcome of the trial.
        names: figure names of the speeds.
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
    """Return the result of a retest, None if one of the two sets has no value or both are the same.

    Args:
        outcomes: trials of a search; only retests of the two sets are used.
        winner: levels of the search's winner.
        today: levels of the current setting.
        names: figure names of the speeds.
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


#: Verdict about the winner of a search: better, no-difference or worse in the retest; present: it is the
#: current setting; untested: no retest, or too few rounds.
SearchVerdict = Literal["better", "no-difference", "worse", "present", "untested"]


def search_verdict(answer: SearchConclusion, retest: Retest | None) -> SearchVerdict:
    """Return the verdict about the winner; the search alone proves nothing, since its figure is biased."""
    if answer.current is not None and answer.current.levels == answer.winner.levels:
        return "present"
    if retest is None:
        return "untested"
    verdicts: dict[str, SearchVerdict] = {"higher": "better", "lower": "worse", "same": "no-difference"}
    return verdicts.get(retest.whole.verdict, "untested")

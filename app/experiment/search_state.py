"""State of a search: next option set, estimates from the trials so far, and early stopping of a trial.

A running trial is compared with the best one at the same byte count, because every trial begins slowly, on a
long link for most of its time. Nothing here waits or mounts; :mod:`advisor.search` chooses the sets.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from advisor.experiment.measurements import MOUNT_S, PROJECTED_SPEED, READ, TRIAL_S, WRITE, set_key
from advisor.experiment.search import MIN_RETEST_ROUNDS, RETEST_ROUNDS, BayesianSearch, harmonic_mean_speed
from app.experiment.estimate import max_trial_bytes
from app.experiment.factors import trial_spec
from app.experiment.feasibility import SetProbeResult, mount_signature, same_set_reason
from app.experiment.model import ExcludedSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from advisor.experiment.conclusions import SearchConclusion
    from advisor.experiment.measurements import SetKey, TrialOutcome
    from app.experiment.model import ExperimentPlan, OptionSet
    from app.speedtest.model import TestEvent

#: Consecutive failures after which a set that worked before is given up; fewer are attributed to the server.
_MAX_FAILURES = 3


class SearchState:
    """Candidates of a search with the results of their trials.

    Outcomes of an earlier part can be replayed in order; the search then continues as if it had run them.

    Attributes:
        struck: candidates found to be infeasible: they cannot be mounted, their options in use differ from
            their levels, or equal those of another candidate.
    """

    def __init__(self, plan: ExperimentPlan, budget_s: float) -> None:
        """Create the state before the first trial.

        Args:
            plan: plan with the candidates, the kernel's defaults first.
            budget_s: time limit of all trials, including replayed ones and the re-test, s.
        """
        budget_s -= retest_share(plan, budget_s, plan.sets[0].seconds[0] if plan.sets[0].seconds else 0.0)
        self._work = plan.experiment.workloads[0]
        self._names = search_figures(plan)
        self._sets = {set_key(one.levels): one for one in plan.sets}
        self._optimizer = BayesianSearch(
            [one.levels for one in plan.sets],
            prior_order=[one.levels for one in sorted(plan.sets, key=lambda one: one.seconds[0])],
            chance=random.Random(plan.experiment.seed),  # noqa: S311 - no secret, only an order
            budget=max(budget_s, 1.0),
            default=plan.sets[0].levels,
            current=plan.current or None,
        )
        #: Minimum cost of a trial, s: its share of the time limit if bytes are limited.
        self._min_cost_s = max(budget_s, 1.0) / max_search_trials(plan) if plan.bytes else 0.0
        self._trials = 0
        #: Best trial that was observed completely, by figure.
        self._best: dict[str, ProgressProfile] = {}
        #: First candidate with the given options in use.
        self._first_in_use: dict[object, OptionSet] = {}
        #: Failures since the last success, of sets that succeeded before.
        self._failures: dict[SetKey, int] = {}
        self.struck: dict[SetKey, ExcludedSet] = {}

    @property
    def done(self) -> bool:
        """Whether the time is spent, or the winner is decided."""
        return self._optimizer.done

    def next(self) -> OptionSet:
        """Return the candidate to try next; the same one until its outcome is added."""
        return self._sets[set_key(self._optimizer.next())]

    def take(self, outcome: TrialOutcome) -> None:
        """Add the outcome of a trial."""
        option_set = self._sets[set_key(outcome.levels)]
        cost_s = max(outcome.figures.get(TRIAL_S, 0.0), self._min_cost_s)
        self._trials += 1
        if self._is_transient_failure(outcome):
            self._optimizer.skip_trial(cost_s)
            return
        if (struck := self._exclusion(option_set, outcome)) is not None:
            self.struck[set_key(option_set.levels)] = struck
            equivalent = (
                self._sets.get(set_key({**option_set.levels, **struck.same_as})) if struck.same_as else None
            )
            value = self._value(outcome)
            if equivalent is not None and value is not None:
                self._optimizer.tell(equivalent.levels, value, cost_s)
                cost_s = 0.0
            self._optimizer.tell(option_set.levels, None, cost_s)
            return
        reached = outcome.figures.get(PROJECTED_SPEED, 0.0)
        if outcome.state == "skipped" and reached > 0:
            self._optimizer.tell(option_set.levels, reached, cost_s, partial=True)
            return
        value = self._value(outcome)
        if value is not None:
            self._failures[set_key(option_set.levels)] = 0
        self._optimizer.tell(option_set.levels, value, cost_s)

    def cannot_win(self, option_set: OptionSet, running: TrialProgress) -> bool:
        """Return whether a running trial cannot become the winner any more."""
        value, fraction = running.upper_bound(self._best)
        return value is not None and self._optimizer.cannot_win(option_set.levels, value, fraction)

    def running(self, option_set: OptionSet) -> TrialProgress:
        """Return a progress recorder for a trial that begins."""
        return TrialProgress(self._names, trial_spec(self._work, option_set.levels).total)

    def learn(self, running: TrialProgress, outcome: TrialOutcome) -> None:
        """Update the best progress profiles from a finished trial."""
        for name in self._names:
            speed = outcome.figures.get(name)
            if speed and (name not in self._best or speed > self._best[name].speed):
                self._best[name] = running.pace(name, speed)

    def reached(self, running: TrialProgress) -> float:
        """Return the projected speed of a trial that is stopped early, bytes per second; 0.0 if unknown."""
        return running.reached(self._best)

    def answer(self) -> SearchConclusion:
        """Return the conclusion so far.

        Raises:
            ValueError: if no trial gave a figure.
        """
        count = len(self._sets) - len(self.struck)
        return msgspec.structs.replace(self._optimizer.answer(), trials=self._trials, candidates=count)

    def set_of(self, levels: dict[str, str]) -> OptionSet:
        """Return the candidate with these levels."""
        return self._sets[set_key(levels)]

    def _is_transient_failure(self, outcome: TrialOutcome) -> bool:
        """Return whether a trial failed although its set has succeeded before."""
        key = set_key(outcome.levels)
        if outcome.state != "failed" or key not in self._failures:
            return False
        self._failures[key] += 1
        return self._failures[key] < _MAX_FAILURES

    def _exclusion(self, option_set: OptionSet, outcome: TrialOutcome) -> ExcludedSet | None:
        if outcome.state == "mismatch":
            return ExcludedSet(levels=option_set.levels, reason=outcome.note)
        if outcome.state == "failed" and MOUNT_S not in outcome.figures:
            return ExcludedSet(levels=option_set.levels, reason=f"It cannot be mounted. {outcome.note}")
        if not outcome.effective:
            return None
        in_use = (mount_signature(option_set.options, outcome.effective), option_set.read_ahead_kb)
        first = self._first_in_use.setdefault(in_use, option_set)
        if first.levels == option_set.levels:
            return None
        differing = {name: level for name, level in first.levels.items() if option_set.levels[name] != level}
        reason = same_set_reason(differing, option_set.options, SetProbeResult(effective=outcome.effective))
        return ExcludedSet(levels=option_set.levels, reason=reason, same_as=differing)

    def _value(self, outcome: TrialOutcome) -> float | None:
        """Return the objective: the harmonic mean of the speeds, None if the trial has none."""
        return harmonic_mean_speed(outcome, self._names)


def search_figures(plan: ExperimentPlan) -> list[str]:
    """Return the names of the speeds that a search maximizes."""
    return {"write": [WRITE], "read": [READ], "both": [WRITE, READ]}[plan.experiment.workloads[0].direction]


def max_trials(plan: ExperimentPlan) -> int:
    """Return the number of trials within a search's byte limit, without the warm-up; 0 for no limit."""
    return max(plan.bytes // max_trial_bytes(plan) - 1, 1) if plan.bytes else 0


def max_search_trials(plan: ExperimentPlan) -> int:
    """Return the number of trials within a search's byte limit that are not reserved for the re-test."""
    whole = max_trials(plan)
    return whole - int(retest_share(plan, float(whole), 1.0))


def retest_share(plan: ExperimentPlan, whole: float, trial: float) -> float:
    """Return the share of a search's budget that is reserved for its re-test.

    The share is a quarter, or more if the minimum number of rounds needs it. Nothing is reserved if that
    minimum exceeds half of the budget.

    Args:
        plan: plan of the search.
        whole: budget of the search, in seconds or trials.
        trial: cost of one trial, in the same unit.
    """
    fewest, most = 2 * MIN_RETEST_ROUNDS * trial, 2 * RETEST_ROUNDS * trial
    if plan.present is None or fewest > whole / 2:
        return 0.0
    return min(most, max(fewest, whole / 4))


def replay(
    plan: ExperimentPlan,
    outcomes: Iterable[TrialOutcome],
    budget_s: float,
    check: Callable[[], None] | None = None,
) -> SearchState:
    """Return the state of a search after these outcomes.

    Args:
        plan: plan with the candidates.
        outcomes: outcomes in order; those of a re-test are ignored.
        budget_s: time limit as in SearchState, s.
        check: called before each outcome; it may raise an exception to cancel.
    """
    state = SearchState(plan, budget_s)
    for outcome in outcomes:
        if check is not None:
            check()
        if outcome.retest:
            continue
        state.next()  # advances the random number generator as in the original search
        state.take(outcome)
    return state


def harmonic_mean(speeds: Sequence[float]) -> float:
    """Return the harmonic mean of speeds: bytes over the total time of all directions."""
    return len(speeds) / sum(1 / speed for speed in speeds)


class ProgressProfile(NamedTuple):
    """Progress of one direction of a finished trial.

    Attributes:
        speed: speed of the direction, bytes per second.
        total: bytes of the direction.
        points: pairs of bytes and seconds since the beginning.
    """

    speed: float
    total: int
    points: Sequence[tuple[int, float]]

    def seconds(self, done: int) -> float:
        """Return the time to reach a number of bytes, by linear interpolation, s."""
        whole_s = self.total / self.speed
        points = [(0, 0.0), *self.points, (self.total, whole_s)]
        index = max(1, bisect_left(points, done, key=lambda point: point[0]))
        (before, began), (after, ended) = points[index - 1], points[min(index, len(points) - 1)]
        part = (done - before) / (after - before) if after > before else 1.0
        return min(whole_s, began + part * (ended - began))


class TrialProgress:
    """Progress of a running trial in each direction."""

    def __init__(self, names: list[str], total: int) -> None:
        """Create an empty record.

        Args:
            names: names of the speeds, in measuring order.
            total: bytes of each direction.
        """
        self._names = names
        self._total = total
        self._current: dict[str, tuple[int, float]] = {}
        self._points: dict[str, list[tuple[int, float]]] = {}

    def take(self, test: TestEvent) -> None:
        """Add the sample of a test event."""
        sample = test.sample
        if sample is None or sample.t_s <= 0:
            return
        done = min(sample.server_bytes, self._total)
        points = self._points.setdefault(test.direction, [])
        if done > (points[-1][0] if points else 0):
            points.append((done, sample.t_s))
        self._current[test.direction] = done, sample.t_s

    def pace(self, name: str, speed: float) -> ProgressProfile:
        """Return the profile of a finished direction with this speed."""
        return ProgressProfile(speed, self._total, self._points.get(name, []))

    def upper_bound(self, best: Mapping[str, ProgressProfile]) -> tuple[float | None, float]:
        """Return the maximum speed that the trial may still reach, and the fraction that is measured.

        The beginning of every trial is slow, on a long link for most of the trial. The rest of this trial is
        therefore assumed to be as fast as the rest of the best trial.

        Args:
            best: profile of the best trial, by figure; the speed is None if one is missing.
        """
        fraction = sum(done for done, _seconds in self._current.values()) / (self._total * len(self._names))
        if not self._current or not all(name in best for name in self._names):
            return None, fraction
        return harmonic_mean([self._best_end(name, best[name]) for name in self._names]), fraction

    def _best_end(self, name: str, best: ProgressProfile) -> float:
        done, seconds = self._current.get(name, (0, 0.0))
        return self._total / (seconds + best.seconds(self._total) - best.seconds(done))

    def reached(self, best: Mapping[str, ProgressProfile]) -> float:
        """Return the projected speed of a trial that is stopped early, bytes per second; 0.0 if unknown.

        The ratio to the best trial's speed stays as measured; unmeasured directions are assumed as fast as
        the best.
        """
        if not all(name in best for name in self._names):
            return 0.0
        speeds: list[float] = []
        for name in self._names:
            done, seconds = self._current.get(name, (0, 0.0))
            best_s = best[name].seconds(done)
            speeds.append(best[name].speed * (best_s / seconds if best_s and seconds else 1.0))
        return harmonic_mean(speeds)

"""State of a search: the next option set, what the trials so far say, and when a running trial cannot win.

A running trial is compared with the best one at the same byte count: every trial begins slowly, on a long
link for most of its time. Nothing here waits or mounts; the choice is that of :mod:`advisor.search`.
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

    from advisor.experiment.measurements import SetKey, TrialOutcome
    from advisor.experiment.search import SearchConclusion
    from app.experiment.model import ExperimentPlan, OptionSet
    from app.speedtest.model import TestEvent

#: A set that was measured is given up after so many failures in a row: fewer are the server's, not its own.
_MAX_FAILURES = 3


class SearchState:
    """A search's candidates, and what their trials have said so far.

    It can be told the outcomes of an earlier part, in their order, and goes on as if it had run them.

    Attributes:
        struck: candidates that turned out not to be ones: they cannot be mounted, come out otherwise than
            their levels ask for, or the same as another.
    """

    def __init__(self, plan: ExperimentPlan, budget_s: float) -> None:
        """Begin.

        Args:
            plan: the candidates, the kernel's defaults first.
            budget_s: seconds that all trials may take, also those that will be told of, and those of the
                re-test, for which a part is left.
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
        #: Of the time, what each trial costs at least where bytes are limited, too.
        self._least_s = max(budget_s, 1.0) / max_search_trials(plan) if plan.bytes else 0.0
        self._trials = 0
        #: Of each figure, the best trial that was followed.
        self._best: dict[str, ProgressProfile] = {}
        #: What is in use to the candidate that was the first to have it.
        self._first: dict[object, OptionSet] = {}
        #: Of the sets that gave a figure, how often each has failed since.
        self._failures: dict[SetKey, int] = {}
        self.struck: dict[SetKey, ExcludedSet] = {}

    @property
    def done(self) -> bool:
        """Whether the time is spent, or it is decided."""
        return self._optimizer.done

    def next(self) -> OptionSet:
        """Return the candidate to try next; the same one until its outcome has been taken."""
        return self._sets[set_key(self._optimizer.next())]

    def take(self, outcome: TrialOutcome) -> None:
        """Take in how a trial ended."""
        one = self._sets[set_key(outcome.levels)]
        cost = max(outcome.figures.get(TRIAL_S, 0.0), self._least_s)
        self._trials += 1
        if self._is_transient_failure(outcome):
            self._optimizer.skip_trial(cost)
            return
        if (struck := self._exclusion(one, outcome)) is not None:
            self.struck[set_key(one.levels)] = struck
            other = self._sets.get(set_key({**one.levels, **struck.same_as})) if struck.same_as else None
            value = self._value(outcome)
            if other is not None and value is not None:
                self._optimizer.tell(other.levels, value, cost)
                cost = 0.0
            self._optimizer.tell(one.levels, None, cost)
            return
        reached = outcome.figures.get(PROJECTED_SPEED, 0.0)
        if outcome.state == "skipped" and reached > 0:
            self._optimizer.tell(one.levels, reached, cost, partial=True)
            return
        value = self._value(outcome)
        if value is not None:
            self._failures[set_key(one.levels)] = 0
        self._optimizer.tell(one.levels, value, cost)

    def cannot_win(self, one: OptionSet, running: TrialProgress) -> bool:
        """Return whether a running trial cannot win any more."""
        value, fraction = running.upper_bound(self._best)
        return value is not None and self._optimizer.cannot_win(one.levels, value, fraction)

    def running(self, one: OptionSet) -> TrialProgress:
        """Return what follows a trial that begins."""
        return TrialProgress(self._names, trial_spec(self._work, one.levels).total)

    def learn(self, running: TrialProgress, outcome: TrialOutcome) -> None:
        """See from a trial that has come to its end how a good one goes."""
        for name in self._names:
            speed = outcome.figures.get(name)
            if speed and (name not in self._best or speed > self._best[name].speed):
                self._best[name] = running.pace(name, speed)

    def reached(self, running: TrialProgress) -> float:
        """Return what a trial that is given up would have come to, 0.0 if nothing is known."""
        return running.reached(self._best)

    def answer(self) -> SearchConclusion:
        """Return what was found.

        Raises:
            ValueError: if no trial gave a figure.
        """
        count = len(self._sets) - len(self.struck)
        return msgspec.structs.replace(self._optimizer.answer(), trials=self._trials, candidates=count)

    def set_of(self, levels: dict[str, str]) -> OptionSet:
        """Return the candidate with these levels."""
        return self._sets[set_key(levels)]

    def _is_transient_failure(self, outcome: TrialOutcome) -> bool:
        """Return whether a trial failed, but its set is one that can be measured."""
        key = set_key(outcome.levels)
        if outcome.state != "failed" or key not in self._failures:
            return False
        self._failures[key] += 1
        return self._failures[key] < _MAX_FAILURES

    def _exclusion(self, one: OptionSet, outcome: TrialOutcome) -> ExcludedSet | None:
        if outcome.state == "mismatch":
            return ExcludedSet(levels=one.levels, reason=outcome.note)
        if outcome.state == "failed" and MOUNT_S not in outcome.figures:
            return ExcludedSet(levels=one.levels, reason=f"It cannot be mounted. {outcome.note}")
        if not outcome.effective:
            return None
        in_use = (mount_signature(one.options, outcome.effective), one.read_ahead_kb)
        first = self._first.setdefault(in_use, one)
        if first.levels == one.levels:
            return None
        differing = {name: level for name, level in first.levels.items() if one.levels[name] != level}
        reason = same_set_reason(differing, one.options, SetProbeResult(effective=outcome.effective))
        return ExcludedSet(levels=one.levels, reason=reason, same_as=differing)

    def _value(self, outcome: TrialOutcome) -> float | None:
        """Return the figure that counts, None if the trial has none."""
        return harmonic_mean_speed(outcome, self._names)


def search_figures(plan: ExperimentPlan) -> list[str]:
    """Return the speeds that a search goes by."""
    return {"write": [WRITE], "read": [READ], "both": [WRITE, READ]}[plan.experiment.workloads[0].direction]


def max_trials(plan: ExperimentPlan) -> int:
    """Return the trials that a search's bytes allow, the one that warms up not among them; 0 for no limit."""
    return max(plan.bytes // max_trial_bytes(plan) - 1, 1) if plan.bytes else 0


def max_search_trials(plan: ExperimentPlan) -> int:
    """Return those of all_trials that are not left for the re-test."""
    whole = max_trials(plan)
    return whole - int(retest_share(plan, float(whole), 1.0))


def retest_share(plan: ExperimentPlan, whole: float, trial: float) -> float:
    """Return what a re-test gets: a quarter, and more only for the fewest rounds that show a difference.

    A search that is too short for that is not made shorter still.
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
    """Return the race as it stands after these outcomes.

    Args:
        plan: the candidates.
        outcomes: in their order; those of a re-test are left out.
        budget_s: as SearchState takes it.
        check: called before each is taken; it may raise.
    """
    race = SearchState(plan, budget_s)
    for outcome in outcomes:
        if check is not None:
            check()
        if outcome.retest:
            continue
        race.next()  # so that it draws from chance as if it had chosen it
        race.take(outcome)
    return race


def harmonic_mean(speeds: Sequence[float]) -> float:
    """Return bytes over the time of all directions together: their harmonic mean."""
    return len(speeds) / sum(1 / speed for speed in speeds)


class ProgressProfile(NamedTuple):
    """How one direction of a whole trial went.

    Attributes:
        speed: its figure, bytes a second.
        total: its bytes.
        points: bytes and the seconds that they took, from the beginning on.
    """

    speed: float
    total: int
    points: Sequence[tuple[int, float]]

    def seconds(self, done: int) -> float:
        """Return how long so many bytes took, between two points as on a straight line."""
        whole_s = self.total / self.speed
        points = [(0, 0.0), *self.points, (self.total, whole_s)]
        place = max(1, bisect_left(points, done, key=lambda point: point[0]))
        (before, began), (after, ended) = points[place - 1], points[min(place, len(points) - 1)]
        part = (done - before) / (after - before) if after > before else 1.0
        return min(whole_s, began + part * (ended - began))


class TrialProgress:
    """What a running trial has reached, each direction for itself."""

    def __init__(self, names: list[str], total: int) -> None:
        """Begin.

        Args:
            names: of the figures that count, in the order in which they are measured.
            total: bytes of each direction.
        """
        self._names = names
        self._total = total
        self._now: dict[str, tuple[int, float]] = {}
        self._points: dict[str, list[tuple[int, float]]] = {}

    def take(self, test: TestEvent) -> None:
        """Take what the test says."""
        sample = test.sample
        if sample is None or sample.t_s <= 0:
            return
        done = min(sample.server_bytes, self._total)
        points = self._points.setdefault(test.direction, [])
        if done > (points[-1][0] if points else 0):
            points.append((done, sample.t_s))
        self._now[test.direction] = done, sample.t_s

    def pace(self, name: str, speed: float) -> ProgressProfile:
        """Return how a direction went that has come to its end with this figure."""
        return ProgressProfile(speed, self._total, self._points.get(name, []))

    def upper_bound(self, best: Mapping[str, ProgressProfile]) -> tuple[float | None, float]:
        """Return the figure that it may come to, and the part of it that is measured.

        Of every trial the beginning is slow, on a long way most of it may be: what is left of this one may
        go as it did in the best one from there on.

        Args:
            best: of each figure; None is the answer where one is not known.
        """
        fraction = sum(done for done, _seconds in self._now.values()) / (self._total * len(self._names))
        if not self._now or not all(name in best for name in self._names):
            return None, fraction
        return harmonic_mean([self._best_end(name, best[name]) for name in self._names]), fraction

    def _best_end(self, name: str, best: ProgressProfile) -> float:
        done, seconds = self._now.get(name, (0, 0.0))
        return self._total / (seconds + best.seconds(self._total) - best.seconds(done))

    def reached(self, best: Mapping[str, ProgressProfile]) -> float:
        """Return what a trial that is given up would have come to, as slow beside the best as it was; or 0.0.

        What is not measured may be as good as the best.
        """
        if not all(name in best for name in self._names):
            return 0.0
        speeds: list[float] = []
        for name in self._names:
            done, seconds = self._now.get(name, (0, 0.0))
            there = best[name].seconds(done)
            speeds.append(best[name].speed * (there / seconds if there and seconds else 1.0))
        return harmonic_mean(speeds)

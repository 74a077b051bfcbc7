"""The race of a search: the next candidate, what each trial says, and what was found; nothing of it waits."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import msgspec

from advisor.experiment.measurements import MOUNT_S, REACHED, READ, TRIAL_S, WRITE
from advisor.experiment.search import Racer
from advisor.experiment_values import key_of
from advisor.retest import FEWEST_ROUNDS, ROUNDS, speed_of
from app.bench.experiment.pace import Pace, Running
from app.experiment.estimate import largest_crossing
from app.experiment.factors import spec_of
from app.experiment.feasibility import Tried, same_text, signature
from app.experiment.model import Struck

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from advisor.experiment.measurements import Outcome
    from advisor.experiment.search import Answer
    from advisor.experiment_values import Key
    from app.experiment.model import ExperimentPlan, PlannedSet

#: A set that was measured is given up after so many failures in a row: fewer are the server's, not its own.
_FAILURES = 3


class Race:
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
        budget_s -= for_retest(plan, budget_s, plan.sets[0].seconds[0] if plan.sets[0].seconds else 0.0)
        self._work = plan.experiment.workloads[0]
        self._names = names_of(plan)
        self._sets = {key_of(one.levels): one for one in plan.sets}
        self._racer = Racer(
            [one.levels for one in plan.sets],
            prior_order=[one.levels for one in sorted(plan.sets, key=lambda one: one.seconds[0])],
            chance=random.Random(plan.experiment.seed),  # noqa: S311 - no secret, only an order
            budget=max(budget_s, 1.0),
            default=plan.sets[0].levels,
            current=plan.current or None,
        )
        #: Of the time, what each trial costs at least where bytes are limited, too.
        self._least_s = max(budget_s, 1.0) / search_trials(plan) if plan.bytes else 0.0
        self._trials = 0
        #: Of each figure, the best trial that was followed.
        self._best: dict[str, Pace] = {}
        #: What is in use to the candidate that was the first to have it.
        self._first: dict[object, PlannedSet] = {}
        #: Of the sets that gave a figure, how often each has failed since.
        self._failures: dict[Key, int] = {}
        self.struck: dict[Key, Struck] = {}

    @property
    def done(self) -> bool:
        """Whether the time is spent, or it is decided."""
        return self._racer.done

    def next(self) -> PlannedSet:
        """Return the candidate to try next; the same one until its outcome has been taken."""
        return self._sets[key_of(self._racer.next())]

    def take(self, outcome: Outcome) -> None:
        """Take in how a trial ended."""
        one = self._sets[key_of(outcome.levels)]
        cost = max(outcome.figures.get(TRIAL_S, 0.0), self._least_s)
        self._trials += 1
        if self._is_hiccup(outcome):
            self._racer.pass_over(cost)
            return
        if (struck := self._no_candidate(one, outcome)) is not None:
            self.struck[key_of(one.levels)] = struck
            other = self._sets.get(key_of({**one.levels, **struck.same_as})) if struck.same_as else None
            value = self._value(outcome)
            if other is not None and value is not None:
                self._racer.tell(other.levels, value, cost)
                cost = 0.0
            self._racer.tell(one.levels, None, cost)
            return
        reached = outcome.figures.get(REACHED, 0.0)
        if outcome.state == "skipped" and reached > 0:
            self._racer.tell(one.levels, reached, cost, partial=True)
            return
        value = self._value(outcome)
        if value is not None:
            self._failures[key_of(one.levels)] = 0
        self._racer.tell(one.levels, value, cost)

    def hopeless(self, one: PlannedSet, running: Running) -> bool:
        """Return whether a running trial cannot win any more."""
        value, fraction = running.at_most(self._best)
        return value is not None and self._racer.hopeless(one.levels, value, fraction)

    def running(self, one: PlannedSet) -> Running:
        """Return what follows a trial that begins."""
        return Running(self._names, spec_of(self._work, one.levels).total)

    def learn(self, running: Running, outcome: Outcome) -> None:
        """See from a trial that has come to its end how a good one goes."""
        for name in self._names:
            speed = outcome.figures.get(name)
            if speed and (name not in self._best or speed > self._best[name].speed):
                self._best[name] = running.pace(name, speed)

    def reached(self, running: Running) -> float:
        """Return what a trial that is given up would have come to, 0.0 if nothing is known."""
        return running.reached(self._best)

    def answer(self) -> Answer:
        """Return what was found.

        Raises:
            ValueError: if no trial gave a figure.
        """
        count = len(self._sets) - len(self.struck)
        return msgspec.structs.replace(self._racer.answer(), trials=self._trials, candidates=count)

    def set_of(self, levels: dict[str, str]) -> PlannedSet:
        """Return the candidate with these levels."""
        return self._sets[key_of(levels)]

    def _is_hiccup(self, outcome: Outcome) -> bool:
        """Return whether a trial failed, but its set is one that can be measured."""
        key = key_of(outcome.levels)
        if outcome.state != "failed" or key not in self._failures:
            return False
        self._failures[key] += 1
        return self._failures[key] < _FAILURES

    def _no_candidate(self, one: PlannedSet, outcome: Outcome) -> Struck | None:
        if outcome.state == "mismatch":
            return Struck(levels=one.levels, reason=outcome.note)
        if outcome.state == "failed" and MOUNT_S not in outcome.figures:
            return Struck(levels=one.levels, reason=f"It cannot be mounted. {outcome.note}")
        if not outcome.effective:
            return None
        in_use = (signature(one.options, outcome.effective), one.read_ahead_kb)
        first = self._first.setdefault(in_use, one)
        if first.levels == one.levels:
            return None
        differing = {name: level for name, level in first.levels.items() if one.levels[name] != level}
        reason = same_text(differing, one.options, Tried(effective=outcome.effective))
        return Struck(levels=one.levels, reason=reason, same_as=differing)

    def _value(self, outcome: Outcome) -> float | None:
        """Return the figure that counts, None if the trial has none."""
        return speed_of(outcome, self._names)


def names_of(plan: ExperimentPlan) -> list[str]:
    """Return the speeds that a search goes by."""
    return {"write": [WRITE], "read": [READ], "both": [WRITE, READ]}[plan.experiment.workloads[0].direction]


def all_trials(plan: ExperimentPlan) -> int:
    """Return the trials that a search's bytes allow, the one that warms up not among them; 0 for no limit."""
    return max(plan.bytes // largest_crossing(plan) - 1, 1) if plan.bytes else 0


def search_trials(plan: ExperimentPlan) -> int:
    """Return those of all_trials that are not left for the re-test."""
    whole = all_trials(plan)
    return whole - int(for_retest(plan, float(whole), 1.0))


def for_retest(plan: ExperimentPlan, whole: float, trial: float) -> float:
    """Return what a re-test gets: a quarter, and more only for the fewest rounds that show a difference.

    A search that is too short for that is not made shorter still.
    """
    fewest, most = 2 * FEWEST_ROUNDS * trial, 2 * ROUNDS * trial
    if plan.present is None or fewest > whole / 2:
        return 0.0
    return min(most, max(fewest, whole / 4))


def raced(
    plan: ExperimentPlan,
    outcomes: Iterable[Outcome],
    budget_s: float,
    check: Callable[[], None] | None = None,
) -> Race:
    """Return the race as it stands after these outcomes.

    Args:
        plan: the candidates.
        outcomes: in their order; those of a re-test are left out.
        budget_s: as Race takes it.
        check: called before each is taken; it may raise.
    """
    race = Race(plan, budget_s)
    for outcome in outcomes:
        if check is not None:
            check()
        if outcome.retest:
            continue
        race.next()  # so that it draws from chance as if it had chosen it
        race.take(outcome)
    return race

"""The best setting for a share within a time: a race among all combinations, each on a private mount."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING

import msgspec

from advisor.facts import payload_rate_bps
from advisor.options import MountOptions, to_mount
from advisor.search import Racer
from advisor.trials import READ, WRITE, Outcome
from app.bench.experiment.estimate import trial_seconds
from app.bench.experiment.factors import DEFAULT, READ_AHEAD, TRANSFER_SIZE, mounting, spec_of
from app.bench.experiment.model import (
    SEARCH,
    BestResult,
    Experiment,
    ExperimentArgs,
    ExperimentEvent,
    Factor,
    PlannedSet,
    Work,
)
from app.bench.experiment.plan import MAX_SETS, plan_experiment
from app.bench.experiment.run import FAILED_IN_A_ROW
from app.bench.experiment.trial import Surroundings, run_trial
from app.errors import AppError, ErrorKind
from app.mounts.asked import parse_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.bench.experiment.hands import Hands
    from app.bench.experiment.model import BestArgs, ExperimentPlan, Phase
    from app.bench.result import TestEvent
    from app.tasks import CancelToken

#: What makes most of a difference to speed and is the mount's alone.
FACTORS = (
    Factor(name="vers", levels=[DEFAULT, "3", "4.1", "4.2"]),
    Factor(name=TRANSFER_SIZE, levels=[DEFAULT, "32768", "65536", "131072", "262144", "1048576"]),
    Factor(name="nconnect", levels=[DEFAULT, "2", "4", "8"]),
    Factor(name=READ_AHEAD, levels=["128", "1024", "4096", "16384"]),
)
_WORK = "best"
#: The kernel's own readahead of a new mount, KiB.
_READ_AHEAD = "128"
#: Of the time, what one trial may copy: enough of them fit to tell the candidates apart.
_PART = 100
_SHORTEST_S, _LONGEST_S = 0.4, 8.0
_GUESS_BPS = 1e9
_LEAST_SIZE, _GRAIN = 2**20, 2**20


def find_best(
    args: BestArgs, hands: Hands, token: CancelToken, emit: Callable[[ExperimentEvent], None]
) -> BestResult:
    """Search; every level is tried alone before, and struck out if it cannot be measured here.

    Args:
        args: what is asked for.
        hands: the world.
        token: ends it within 200 ms.
        emit: gets the plan, progress, samples and outcomes, on this thread.

    Raises:
        AppError: if nothing can be mounted or measured.
        CancelledError: when the token is set.
    """
    return _Search(args, hands, token, emit).result()


class _Search:
    """One search from start to end."""

    def __init__(
        self, args: BestArgs, hands: Hands, token: CancelToken, emit: Callable[[ExperimentEvent], None]
    ) -> None:
        self._args = args
        self._hands = hands
        self._token = token
        self._emit = emit
        self._began = hands.now()
        factors = args.factors or list(FACTORS)
        asked = to_mount(parse_options(args.options))
        self._current = {factor.name: _level(factor.name, asked) for factor in factors}
        for name in [TRANSFER_SIZE, *(factor.name for factor in factors)]:
            for option in ("rsize", "wsize") if name == TRANSFER_SIZE else (name,):
                asked.remove(option)
        self._factors = [_with(factor, self._current[factor.name]) for factor in factors]
        self._options = str(asked)
        self._work = Work(name=_WORK, size=args.size or self._size(), direction=args.direction)
        #: What the running trial had reached.
        self._reached = 0.0

    def result(self) -> BestResult:
        plan = self._plan()
        self._emit(ExperimentEvent(phase="warm-up", number=0, total=0, plan=plan))
        sets = {_key(one.levels): one for one in plan.sets}
        racer = Racer(
            [one.levels for one in plan.sets],
            prior_order=[one.levels for one in sorted(plan.sets, key=lambda one: one.seconds[0])],
            chance=random.Random(self._args.seed),  # noqa: S311 - no secret, only an order
            budget=max(self._left_s(), 1.0),
            default=plan.sets[0].levels,
            current=self._current if _key(self._current) in sets else None,
        )
        self._trial(plan.sets[0], -1, "warm-up", racer)
        stopped = self._race(racer, sets)
        try:
            answer = racer.answer()
        except ValueError as error:
            raise AppError(
                ErrorKind.UNAVAILABLE,
                f"No trial gave a result. {stopped}".strip(),
                hint="Allow more time, or look at the single outcomes.",
            ) from error
        winner = sets[_key(answer.winner.levels)]
        return BestResult(
            plan=plan,
            answer=answer,
            options=winner.options,
            read_ahead_kb=winner.read_ahead_kb,
            stopped=stopped,
            seconds=self._hands.now() - self._began,
        )

    def _plan(self) -> ExperimentPlan:
        """Try each level alone, and combine those that are left."""
        experiment = Experiment(
            share=self._args.share,
            recipe=SEARCH,
            title="The best setting",
            options=self._options,
            strategy="one-at-a-time",
            factors=self._factors,
            workloads=[self._work],
            repeats=1,
            seed=self._args.seed,
        )
        alone = plan_experiment(ExperimentArgs(experiment=experiment), self._hands, self._token, self._emit)
        experiment = alone.experiment  # its file may be smaller, for the free space
        self._work = experiment.workloads[0]
        levels = [dict.fromkeys(one.levels[name] for one in alone.sets) for name in alone.sets[0].levels]
        names = list(alone.sets[0].levels)
        count = 1
        for each in levels:
            count *= len(each)
        if count > MAX_SETS:
            raise AppError(
                ErrorKind.USAGE,
                f"These factors make {count} option sets; {MAX_SETS} are the most.",
                hint="Leave some levels out.",
            )
        sets = [self._candidate(experiment, dict(zip(names, each, strict=True)))
                for each in itertools.product(*levels)]  # fmt: skip
        # What comes out the same as another level is measured as that one.
        same = {(name, level): one.same_as.get(name, level)
                for one in alone.struck for name, level in one.levels.items()}  # fmt: skip
        self._current = {name: same.get((name, self._current[name]), self._current[name]) for name in names}
        # The baseline of the plan is the first: the kernel's defaults.
        sets.sort(key=lambda one: one.levels != alone.sets[0].levels)
        return msgspec.structs.replace(alone, sets=sets, trials=0, seconds=self._args.budget_s, bytes=0)

    def _candidate(self, experiment: Experiment, levels: dict[str, str]) -> PlannedSet:
        mount = mounting(experiment, levels)
        one = PlannedSet(levels=levels, options=mount.options, read_ahead_kb=mount.read_ahead_kb)
        return msgspec.structs.replace(one, seconds=trial_seconds(experiment, one, self._hands.facts, 0.0))

    def _race(self, racer: Racer, sets: dict[tuple[tuple[str, str], ...], PlannedSet]) -> str:
        """Run trials until the time is over or it is decided; return why it ended early, or ""."""
        failed = number = 0
        longest_s = 0.0
        while not racer.done and self._left_s() > longest_s:
            began = self._hands.now()
            one = sets[_key(racer.next())]
            outcome = self._trial(one, number, "trial", racer)
            spent = self._hands.now() - began
            longest_s = max(longest_s, spent)
            number += 1
            value = self._value(outcome)
            if outcome.state == "skipped" and self._reached > 0:
                racer.tell(one.levels, self._reached, spent, partial=True)
            else:
                racer.tell(one.levels, value, spent)
            failed = failed + 1 if outcome.state == "failed" else 0
            if failed == FAILED_IN_A_ROW:
                return f"{failed} trials failed one after the other, the last one so: {outcome.note}"
        return ""

    def _trial(self, one: PlannedSet, number: int, phase: Phase, racer: Racer) -> Outcome:
        begun = Outcome(levels=one.levels, workload=_WORK, block=0, order=number)
        event = ExperimentEvent(
            phase=phase, number=number + 1, total=0, eta_s=max(self._left_s(), 0.0), levels=one.levels,
            workload=_WORK,
        )  # fmt: skip
        self._emit(event)
        self._reached = 0.0

        def tell(test: TestEvent) -> None:
            self._emit(msgspec.structs.replace(event, test=test))

        def give_up(test: TestEvent) -> bool:
            return number >= 0 and self._is_hopeless(test, one, racer)

        outcome = run_trial(one, self._work, begun, Surroundings(self._hands, self._token, tell, give_up))
        if number >= 0:
            self._emit(msgspec.structs.replace(event, phase="done", outcome=outcome))
        return outcome

    def _is_hopeless(self, test: TestEvent, one: PlannedSet, racer: Racer) -> bool:
        """Return whether a running trial cannot win; of both directions the second is not known yet."""
        sample = test.sample
        if sample is None or test.direction != self._args.direction or sample.t_s <= 0:
            return False
        self._reached = sample.server_bytes / sample.t_s
        fraction = sample.server_bytes / spec_of(self._work, one.levels).total
        return racer.hopeless(one.levels, self._reached, min(fraction, 1.0))

    def _value(self, outcome: Outcome) -> float | None:
        """Return the figure that counts, None if the trial has none."""
        names = {"write": [WRITE], "read": [READ], "both": [WRITE, READ]}[self._args.direction]
        speeds = [outcome.figures.get(name) for name in names]
        known = [speed for speed in speeds if speed]
        if outcome.state != "ok" or len(known) < len(speeds):
            return None
        return len(known) / sum(1 / speed for speed in known)

    def _left_s(self) -> float:
        return self._args.budget_s - (self._hands.now() - self._began)

    def _size(self) -> int:
        """Return a file's size that a good setting copies in a small part of the time."""
        link = self._hands.facts.link
        rate = link.slowest_of(self._args.direction) if link is not None else None
        speed = payload_rate_bps(rate or _GUESS_BPS) / 8
        seconds = min(max(self._args.budget_s / _PART, _SHORTEST_S), _LONGEST_S)
        ways = 1 if self._args.direction == "write" else 2  # what is read is written before
        return max(int(speed * seconds / ways) // _GRAIN * _GRAIN, _LEAST_SIZE)


def _level(name: str, options: MountOptions) -> str:
    """Return the level that an option string stands for."""
    if name == READ_AHEAD:
        return _READ_AHEAD
    if name == TRANSFER_SIZE:
        read, write = options.get("rsize"), options.get("wsize")
        return read if read is not None and read == write else DEFAULT
    return options.get(name) or DEFAULT


def _with(factor: Factor, level: str) -> Factor:
    """Return a factor that has the kernel's default first, and the level in use too."""
    default = _READ_AHEAD if factor.name == READ_AHEAD else DEFAULT
    levels = list(dict.fromkeys([default, *factor.levels, level]))
    return msgspec.structs.replace(factor, levels=levels, base=default)


def _key(levels: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(levels.items()))

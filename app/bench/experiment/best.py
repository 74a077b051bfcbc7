"""The best setting for a share within a time: a race among all combinations, each on a private mount."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from advisor.trials import REACHED, TRIAL_S, Outcome
from app.bench.experiment.candidates import plan_search
from app.bench.experiment.estimate import largest_crossing
from app.bench.experiment.model import SEARCH, BestResult, ExperimentEvent, counted
from app.bench.experiment.race import raced
from app.bench.experiment.run import FAILED_IN_A_ROW
from app.bench.experiment.trial import Surroundings, run_trial
from app.errors import AppError, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.bench.experiment.hands import Hands
    from app.bench.experiment.model import BestArgs, ExperimentPlan, ExperimentRunArgs, Phase, PlannedSet
    from app.bench.result import TestEvent
    from app.tasks import CancelToken


def find_best(
    args: BestArgs, hands: Hands, token: CancelToken, emit: Callable[[ExperimentEvent], None]
) -> BestResult:
    """Search; levels and pairs of them are tried before, and struck out if they cannot be measured here.

    Args:
        args: what is asked for.
        hands: the world.
        token: ends it within 200 ms; the outcomes told until then are good, and it can be gone on with.
        emit: gets the plan, progress, samples and outcomes, on this thread.

    Raises:
        AppError: if nothing can be mounted or measured.
        CancelledError: when the token is set.
    """
    plan = plan_search(args, hands, token, emit)
    emit(ExperimentEvent(phase="warm-up", number=0, total=0, plan=plan))
    return _Search(plan, [], None, Surroundings(hands, token, _unheard), emit).result()


def go_on(
    args: ExperimentRunArgs, hands: Hands, token: CancelToken, emit: Callable[[ExperimentEvent], None]
) -> BestResult:
    """Go on with a search where it was cancelled, or died; of one that has ended the answer is given again.

    Args:
        args: the plan as it was told, all outcomes, and the time, by default what was left of the search's.
        hands: the world.
        token: as for find_best.
        emit: likewise; the plan is not told again.

    Raises:
        AppError: USAGE if it is no search; as for find_best.
        CancelledError: when the token is set.
    """
    if args.plan.experiment.recipe != SEARCH:
        raise AppError(ErrorKind.USAGE, "This is no search.", hint="Run it as an experiment.")
    done = counted(args.done)
    return _Search(args.plan, done, args.budget_s, Surroundings(hands, token, _unheard), emit).result()


def _unheard(_test: TestEvent) -> None:
    """Each trial has a listener of its own."""


class _Search:
    """One search, or a part of one, from start to end."""

    def __init__(
        self,
        plan: ExperimentPlan,
        done: Sequence[Outcome],
        budget_s: float | None,
        around: Surroundings,
        emit: Callable[[ExperimentEvent], None],
    ) -> None:
        self._plan = plan
        self._work = plan.experiment.workloads[0]
        self._around = around
        self._hands = around.hands
        self._emit = emit
        self._began = around.hands.now()
        costs = [outcome.figures.get(TRIAL_S, 0.0) for outcome in done]
        self._longest_s = max(costs, default=0.0)
        #: What the last trial had to say.
        self._last = ""
        self._done = list(done)
        if budget_s is None:
            self._allowed_s = (done[-1].left_s or 0.0) if done else plan.seconds
            self._budget_s = plan.seconds
        else:
            self._allowed_s = budget_s
            self._budget_s = sum(costs) + budget_s
        self._race = raced(plan, done, self._budget_s, around.token.check)
        #: Whether it has a part before this one, in whose time it was warmed up.
        self._resumed = bool(done) and budget_s is None
        self._number = done[-1].order + 1 if done else 0
        #: Trials that the bytes allow, the one that warms up not among them; 0 for no limit.
        self._most = max(plan.bytes // largest_crossing(plan) - 1, 1) if plan.bytes else 0

    def result(self) -> BestResult:
        stopped = ""
        if self._goes_on():
            warm_up = self._try(self._plan.sets[0], -1, "warm-up")
            if self._resumed:
                # Otherwise what was left for one more trial would never do for it, however often it goes on.
                self._allowed_s += warm_up.figures[TRIAL_S]
            stopped = self._run()
        if stopped:
            self._race = raced(self._plan, counted(self._done), self._budget_s, self._around.token.check)
        try:
            answer = self._race.answer()
        except ValueError as error:
            raise AppError(
                ErrorKind.UNAVAILABLE,
                f"No trial gave a result. {stopped or self._last}".strip(),
                hint="See to the cause if one is told; otherwise allow more time.",
            ) from error
        winner = self._race.set_of(answer.winner.levels)
        return BestResult(
            plan=self._plan,
            answer=answer,
            options=winner.options,
            read_ahead_kb=winner.read_ahead_kb,
            stopped=stopped,
            seconds=self._hands.now() - self._began,
            struck=list(self._race.struck.values()),
        )

    def _run(self) -> str:
        """Run trials until the time is over or it is decided; return why it ended early, or ""."""
        failed = 0
        # Asked once after each trial: what is told of it is what happens, although the clock goes on.
        goes_on = self._goes_on()
        while goes_on:
            outcome = self._try(self._race.next(), self._number, "trial")
            self._longest_s = max(self._longest_s, outcome.figures[TRIAL_S])
            self._last = outcome.note
            self._race.take(outcome)
            self._number += 1
            goes_on = self._goes_on()
            outcome = msgspec.structs.replace(outcome, left_s=self._left_s() if goes_on else 0.0)
            self._tell("done", outcome.levels, outcome=outcome)
            self._done.append(outcome)
            failed = failed + 1 if outcome.state == "failed" else 0
            if failed == FAILED_IN_A_ROW:
                if not self._answers():
                    return f"{failed} trials failed one after the other, the last one so: {outcome.note}"
                failed = 0
        return ""

    def _answers(self) -> bool:
        """Try again what went well last: whether it is the sets that fail, and not the server."""
        well = next((one.levels for one in reversed(self._done) if one.state == "ok"), None)
        one = self._plan.sets[0] if well is None else self._race.set_of(well)
        return self._try(one, -1, "warm-up").state != "failed"

    def _try(self, one: PlannedSet, number: int, phase: Phase) -> Outcome:
        self._tell(phase, one.levels)
        running = self._race.running(one)

        def tell(test: TestEvent) -> None:
            running.take(test)
            self._tell(phase, one.levels, test=test)

        def give_up(_test: TestEvent) -> bool:
            return number >= 0 and self._race.hopeless(one, running)

        begun = Outcome(levels=one.levels, workload=self._work.name, block=0, order=number)
        around = self._around._replace(tell=tell, give_up=give_up)
        outcome = run_trial(one, self._work, begun, around)
        if outcome.state == "ok":
            self._race.learn(running, outcome)
        if outcome.state != "skipped":
            return outcome
        reached = {REACHED: self._race.reached(running)}
        return msgspec.structs.replace(outcome, figures=outcome.figures | reached)

    def _tell(
        self,
        phase: Phase,
        levels: dict[str, str],
        *,
        test: TestEvent | None = None,
        outcome: Outcome | None = None,
    ) -> None:
        self._emit(
            ExperimentEvent(
                phase=phase, number=self._number + (phase == "trial"), total=self._most,
                eta_s=self._eta_s(), levels=levels, workload=self._work.name, test=test,
                outcome=outcome,
            )
        )  # fmt: skip

    def _goes_on(self) -> bool:
        """Whether time and bytes are left for another trial, and something to find out."""
        if self._most and self._number >= self._most:
            return False
        return not self._race.done and self._left_s() > self._longest_s

    def _eta_s(self) -> float:
        """Return the seconds until time or bytes are spent, at most."""
        left_s = max(self._left_s(), 0.0)
        each_s = self._longest_s or self._plan.sets[0].seconds[0]
        return min(left_s, each_s * (self._most - self._number)) if self._most else left_s

    def _left_s(self) -> float:
        return self._allowed_s - (self._hands.now() - self._began)

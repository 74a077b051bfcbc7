"""Runs the trials of a plan: each on a fresh private mount, in random order, each outcome told at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.experiment import measurements
from advisor.experiment.measurements import Outcome
from advisor.experiment.ranking import drifts
from app.bench.experiment.trial import Surroundings, run_trial
from app.experiment.design import Trial, schedule
from app.experiment.model import ExperimentEvent, ExperimentResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.experiment.context import Hands
    from app.experiment.model import ExperimentRunArgs, Phase
    from app.speedtest.model import TestEvent
    from app.tasks import CancelToken

#: After so many failures in a row it is seen whether the server, or the way to it, is gone.
FAILED_IN_A_ROW = 3


def run_experiment(
    args: ExperimentRunArgs, hands: Hands, token: CancelToken, emit: Callable[[ExperimentEvent], None]
) -> ExperimentResult:
    """Run what is left of a plan.

    A trial that fails is an outcome like any other, with the reason in it; FAILED_IN_A_ROW of them end the
    run, if what went well before fails as well then. Nothing of it stays mounted, however it ends.

    Args:
        args: the plan, what is done already, and the time.
        hands: the world.
        token: ends the run within 200 ms; the outcomes told until then are good.
        emit: gets progress, samples and outcomes, on this thread.

    Raises:
        CancelledError: when the token is set.
    """
    return _Run(args, hands, token, emit).result()


class _Run:
    """One run from start to end."""

    def __init__(
        self,
        args: ExperimentRunArgs,
        hands: Hands,
        token: CancelToken,
        emit: Callable[[ExperimentEvent], None],
    ) -> None:
        self._plan = args.plan
        self._budget_s = args.budget_s
        self._hands = hands
        self._token = token
        self._emit = emit
        self._trials = schedule(args.plan)
        self._outcomes = list(args.done)
        orders = {outcome.order for outcome in args.done}
        last = max(orders, default=-1)
        self._left = [trial for trial in self._trials if trial.order not in orders]
        # What is missing before the last one that is done has failed: it waits until all others have run.
        self._left.sort(key=lambda trial: trial.order < last)
        self._began = hands.now()
        #: Planned and real seconds of the trials of this part of the run.
        self._planned_s = self._took_s = 0.0

    def result(self) -> ExperimentResult:
        stopped = ""
        if self._left:
            self._warm_up()
            stopped = self._run_left()
        outcomes = self._outcomes
        return ExperimentResult(
            done=len(outcomes),
            planned=len(self._trials),
            failed=sum(outcome.state == "failed" for outcome in outcomes),
            mismatched=sum(outcome.state == "mismatch" for outcome in outcomes),
            stopped=stopped,
            drift=drifts(outcomes, (measurements.WRITE, measurements.READ)),
            seconds=self._hands.now() - self._began,
        )

    def _warm_up(self) -> None:
        """Run each workload once with the baseline; what it measures is not kept."""
        for work in range(len(self._plan.experiment.workloads)):
            trial = Trial(-1, 0, 0, work, baseline=True)
            self._tell(trial, "warm-up")
            self._timed(trial, "warm-up")

    def _run_left(self) -> str:
        """Run the trials that are left; return why not all, or ""."""
        failed = 0
        while self._left:
            trial = self._left[0]
            self._token.check()
            if self._budget_s is not None and not self._fits(trial, self._budget_s):
                return "The time that was allowed is over; it can be resumed."
            self._tell(trial, "trial")
            outcome = self._timed(trial, "trial")
            self._outcomes.append(outcome)
            del self._left[0]
            self._tell(trial, "done", outcome=outcome)
            failed = failed + 1 if outcome.state == "failed" else 0
            if failed == FAILED_IN_A_ROW:
                if not self._answers():
                    return f"{failed} trials failed one after the other, the last one so: {outcome.note}"
                failed = 0
        return ""

    def _answers(self) -> bool:
        """Try again what went well last: whether it is the sets that fail, and not the server."""
        well = next((one.order for one in reversed(self._outcomes) if one.state == "ok"), None)
        trial = self._trials[0 if well is None else well]
        self._tell(trial, "warm-up")
        return self._timed(trial, "warm-up").state != "failed"

    def _timed(self, trial: Trial, phase: Phase) -> Outcome:
        began = self._hands.now()
        outcome = self._try(trial, phase)
        if outcome.state != "failed":
            self._took_s += self._hands.now() - began
            self._planned_s += self._expected_s(trial)
        return outcome

    def _try(self, trial: Trial, phase: Phase) -> Outcome:
        work = self._plan.experiment.workloads[trial.work]
        begun = Outcome(
            levels=self._plan.sets[trial.set].levels,
            workload=work.name,
            block=trial.block,
            order=trial.order,
            baseline=trial.baseline,
        )

        def tell(event: TestEvent) -> None:
            self._tell(trial, phase, test=event)

        return run_trial(
            self._plan.sets[trial.set], work, begun, Surroundings(self._hands, self._token, tell)
        )

    def _tell(
        self, trial: Trial, phase: Phase, *, test: TestEvent | None = None, outcome: Outcome | None = None
    ) -> None:
        event = ExperimentEvent(
            phase=phase,
            number=len(self._outcomes) + (phase != "done"),
            total=len(self._trials),
            eta_s=self._eta_s(),
            levels=self._plan.sets[trial.set].levels,
            workload=self._plan.experiment.workloads[trial.work].name,
            test=test,
            outcome=outcome,
        )
        self._emit(event)

    def _expected_s(self, trial: Trial) -> float:
        return self._plan.sets[trial.set].seconds[trial.work]

    def _pace(self) -> float:
        """Return how much slower than planned the trials are."""
        return self._took_s / self._planned_s if self._planned_s else 1.0

    def _eta_s(self) -> float:
        return self._pace() * sum(self._expected_s(trial) for trial in self._left)

    def _fits(self, trial: Trial, budget_s: float) -> bool:
        spent = self._hands.now() - self._began
        return spent + self._pace() * self._expected_s(trial) <= budget_s

"""Fake agent's experiment verbs: plan, run and search with scripted outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from advisor.experiment.conclusions import SearchConclusion, SetEstimate
from advisor.experiment.measurements import TrialOutcome
from advisor.experiment.search import evaluate_retest
from app.experiment.model import (
    BestSettings,
    ExcludedSet,
    Experiment,
    ExperimentEvent,
    ExperimentPlan,
    ExperimentResult,
    Factor,
    OptionSet,
    WorkloadSpec,
)
from app.speedtest.model import Environment, Sample, TestEvent

if TYPE_CHECKING:
    from advisor.facts import LinkFacts
    from app.service.server import Context

Place = dict[str, Any]
SETS = [
    OptionSet(levels={"rsize": size, "nconnect": count}, options=f"vers=4.2,rsize={size},nconnect={count}",
               seconds=[1.0])
    for size in ("8192", "65536", "1048576") for count in ("1", "4")
]  # fmt: skip
PLAN = ExperimentPlan(
    experiment=Experiment(
        share="nas01:/export/home", title="Sizes", strategy="full",
        workloads=[WorkloadSpec(name="a file", size=2**20, direction="write")],
        factors=[Factor(name="rsize", levels=["8192", "65536", "1048576"]),
                 Factor(name="nconnect", levels=["1", "4"])],
    ),
    sets=SETS,
    struck=[ExcludedSet(levels={"vers": "2"}, reason="NFS version 2 is gone.")],
    environment=Environment(host="testhost"),
    trials=18, seconds=60.0, bytes=36 * 2**20, space=2**20,
)  # fmt: skip


def outcomes() -> list[TrialOutcome]:
    """Return three repeats of each option set; speed grows with rsize, plus 1% per repeat."""
    speeds = {"8192": 20e6, "65536": 80e6, "1048576": 110e6}
    return [
        TrialOutcome(
            levels=one.levels, workload="a file", block=block, order=block * len(SETS) + place,
            figures={
                "write": speeds[one.levels["rsize"]] * (1 + 0.01 * block),
                "write_bytes": 2**20, "sync_s": 0.5, "unmount_s": 0.1,
            },
        )
        for block in range(3) for place, one in enumerate(SETS)
    ]  # fmt: skip


class FakeExperiments:
    """Handlers of the experiment verbs with answers that the test sets.

    Attributes:
        experiment: plan that planning returns.
        outcomes: outcomes that a run reports.
        over: number of trials that finish before a run waits for ``hold``.
        again: speeds (bytes/s) of the smallest and the largest rsize in the re-test of a search.
        lab: whether the host is the lab; then plans are for `link`.
        link: facts of the lab's link.
    """

    calls: list[tuple[str, Any]]
    lab: bool
    link: LinkFacts

    def __init__(self) -> None:
        self.experiment = PLAN
        self.outcomes = outcomes()
        self.over = 0
        self.again = {"8192": 20e6, "1048576": 40e6}

    def _hold(self, context: Context) -> None:
        raise NotImplementedError

    def plan_experiment(self, args: Any, context: Context) -> ExperimentPlan:
        self.calls.append(("experiment.plan", args))
        self._hold(context)
        context.emit(ExperimentEvent(phase="trying", number=1, total=2, levels={"rsize": "8192"}))
        return self._planned()

    def _planned(self) -> ExperimentPlan:
        link = self.link.name if self.lab else None
        return msgspec.structs.replace(
            self.experiment, environment=Environment(host="testhost", emulated_link=link)
        )

    def find_best(self, args: Any, context: Context) -> BestSettings:
        self.calls.append(("experiment.best", args))
        search = msgspec.structs.replace(self.experiment.experiment, recipe="best")
        plan = msgspec.structs.replace(self._planned(), experiment=search, current=SETS[0].levels)
        context.emit(ExperimentEvent(phase="warm-up", number=0, total=0, plan=plan))
        return self._search(plan, self.outcomes, context)

    def go_on_searching(self, args: Any, context: Context) -> BestSettings:
        self.calls.append(("experiment.search", args))
        done = {outcome.order for outcome in args.done}
        return self._search(args.plan, [one for one in self.outcomes if one.order not in done], context)

    def _search(self, plan: ExperimentPlan, outcomes: list[TrialOutcome], context: Context) -> BestSettings:
        for outcome in outcomes:
            place: dict[str, Any] = {
                "number": outcome.order + 1,
                "total": 0,
                "eta_s": 30.0,
                "levels": outcome.levels,
            }
            context.emit(ExperimentEvent(phase="trial", workload=outcome.workload, **place))
            self._hold(context)
            left = float(len(self.outcomes) - 1 - outcome.order)
            kept = msgspec.structs.replace(outcome, left_s=left)
            context.emit(ExperimentEvent(phase="done", workload=outcome.workload, outcome=kept, **place))
        one = SETS[4]
        found = SetEstimate(
            levels=one.levels, values=[110e6, 110e6], median=110e6, low=105e6, high=115e6, method="model"
        )
        now = SetEstimate(
            levels=SETS[0].levels, values=[20e6], median=20e6, low=19e6, high=21e6, method="model"
        )
        answer = SearchConclusion(
            winner=found,
            runner_up=None,
            default=None,
            current=now,
            decided=True,
            trials=18,
            tried=6,
            candidates=6,
        )
        struck = [ExcludedSet(levels=SETS[0].levels, reason="In use it is the same as another.")]
        again = [
            TrialOutcome(
                levels=levels, workload="a file", block=0, order=0, retest=True,
                figures={"write": self.again[levels["rsize"]] + number * 1e5},
            )
            for number in range(6) for levels in (SETS[0].levels, one.levels)
        ]  # fmt: skip
        return BestSettings(
            plan=plan,
            answer=answer,
            options=one.options,
            read_ahead_kb=None,
            struck=struck,
            retest=evaluate_retest(again, one.levels, SETS[0].levels, ["write"]),
        )

    def run_experiment(self, args: Any, context: Context) -> ExperimentResult:
        self.calls.append(("experiment.run", args))
        done = {outcome.order for outcome in args.done}
        left = [outcome for outcome in self.outcomes if outcome.order not in done]
        for number, outcome in enumerate(left, len(done) + 1):
            place: dict[str, Any] = {
                "number": number,
                "total": args.plan.trials,
                "eta_s": 60.0,
                "levels": outcome.levels,
            }
            told = TestEvent(direction="write", phase="write", sample=Sample(0.05, 10**6, 10**6))
            context.emit(ExperimentEvent(phase="trial", workload=outcome.workload, test=told, **place))
            if number > self.over:
                self._hold(context)
            context.emit(ExperimentEvent(phase="done", workload=outcome.workload, outcome=outcome, **place))
        return ExperimentResult(done=len(self.outcomes), planned=args.plan.trials, failed=0, mismatched=0)

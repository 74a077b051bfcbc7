"""One experiment of the window: planned, run, kept trial by trial, resumed."""

from __future__ import annotations

import secrets
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QObject, Signal

from app.bench.experiment import keeping
from app.bench.experiment.model import SEARCH, UNLIMITED_S, BestArgs, ExperimentArgs, ExperimentRunArgs
from app.errors import AppError, ErrorKind
from ui.models.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.trials import Outcome
    from app.agent.protocol import HelloResult
    from app.bench.experiment.keeping import KeptExperiment
    from app.bench.experiment.model import (
        BestResult,
        ExperimentEvent,
        ExperimentPlan,
        ExperimentResult,
        Struck,
    )
    from app.bench.experiment.recipe import Recipe, Size
    from ui.bridge import BridgeCall
    from ui.dialogs.copy_as import Run

State = Literal["idle", "planning", "running"]


class Experimenting(QObject):
    """Knows the experiment that is planned, runs, or is looked at.

    Signals:
        changed: the plan, the state, or the outcomes are others now.
        ticked: progress was told.
        failed: something did not work (AppError).
    """

    changed = Signal()
    ticked = Signal()
    failed = Signal(object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], run: Run, parent: QObject) -> None:
        super().__init__(parent)
        self._submit = submit
        self._run = run
        self._call: BridgeCall | None = None
        self.state: State = "idle"
        self.share = ""
        self.number = 0
        self.plan: ExperimentPlan | None = None
        self.outcomes: dict[int, Outcome] = {}
        self.result: ExperimentResult | None = None
        self.best: BestResult | None = None
        self.progress: ExperimentEvent | None = None
        self.timeline = Timeline()
        self.stopping = False
        self._trial: tuple[str, int] = ("", 0)
        self._seen: list[Struck] | None = None
        #: Seconds that the trials may take from their start on, None for no limit.
        self._budget_s: float | None = None
        #: Outcomes on their way into the history.
        self._unkept = 0

    @property
    def busy(self) -> bool:
        """Whether something runs on the host."""
        return self.state != "idle"

    @property
    def settled(self) -> bool:
        """Whether nothing runs, and all that was measured is in the history."""
        return not self.busy and not self._unkept

    @property
    def resumable(self) -> bool:
        """Whether something is left of a begun experiment or search."""
        plan = self.plan
        return (
            not self.busy
            and bool(self.number)
            and plan is not None
            and keeping.unfinished(plan, list(self.outcomes.values()))
        )

    @property
    def searches(self) -> bool:
        """Whether it is a search for the best setting."""
        return self.plan is not None and self.plan.experiment.recipe == SEARCH

    def make_plan(
        self,
        recipe: Recipe,
        share: str,
        size: Size,
        budget_s: float | None,
        *,
        seen: list[Struck] | None = None,
    ) -> None:
        """Have every option set tried on the share.

        Args:
            recipe: what is asked for.
            share: server:/export.
            size: of the recipe.
            budget_s: seconds that it may take, None for no limit.
            seen: run it at once, if no more than this has to be struck out; None to wait for a start.
        """
        if self.busy:
            return
        self._clear()
        self._seen = seen
        self._budget_s = budget_s
        self.share = share
        experiment = recipe.experiment(share, size, seed=secrets.randbelow(2**31))
        self._begin(
            "planning", "experiment.plan", ExperimentArgs(experiment=experiment, budget_s=budget_s),
            self._on_planned,
        )  # fmt: skip

    def search(self, share: str, options: str, budget_s: float | None, budget_bytes: int | None) -> None:
        """Look for the best setting, beside the options given, within a time or so many bytes."""
        if self.busy:
            return
        self._clear()
        self.share = share
        args = BestArgs(
            share=share, options=options, budget_s=budget_s or UNLIMITED_S, budget_bytes=budget_bytes,
            seed=secrets.randbelow(2**31),
        )  # fmt: skip
        self._begin("running", "experiment.best", args, self._on_best)

    def start(self) -> None:
        """Keep what is planned as a new experiment, and run it."""
        plan = self.plan
        if plan is None or self.busy or self.number:
            return
        self.state = "running"
        self.stopping = False
        self.changed.emit()
        call = self._run("history", lambda: keeping.begin(plan))
        call.succeeded.connect(self._on_kept)
        call.failed.connect(self._on_failed)

    def resume(self, budget_s: float | None) -> None:
        """Run what is left, over the link that the rest was measured over; what failed is tried again.

        Args:
            budget_s: seconds that it may take from now on, None for no limit. A search has what was left of
                its own.
        """
        if self.resumable:
            self._budget_s = budget_s
            self._begin("planning", "hello", None, self._on_hello)

    def open(self, number: int) -> None:
        """Look at an experiment of the history."""
        self._open(number, self._on_opened)

    def go_on(self, number: int, budget_s: float | None) -> None:
        """Look at an experiment of the history and run what is left of it, within so many seconds."""
        self._open(number, partial(self._on_opened_to_resume, budget_s))

    def cancel(self) -> None:
        """End what runs; what was measured is kept."""
        if self.busy:
            self.stopping = True
            if self._call is not None:
                self._call.cancel()
            self.changed.emit()

    def forget(self) -> None:
        """Another host is shown now: what runs there ends with it."""
        self._call = None
        self.state = "idle"
        self._clear()
        self.changed.emit()

    def _open(self, number: int, done: Callable[[KeptExperiment], None]) -> None:
        if self.busy:
            return
        call = self._run("history", lambda: keeping.load(number))
        call.succeeded.connect(done)
        call.failed.connect(self.failed)

    def _clear(self) -> None:
        self.number = 0
        self.plan = self.result = self.best = self.progress = None
        self.outcomes = {}
        self.timeline = Timeline()
        self.stopping = False

    def _begin(self, state: State, verb: str, args: Any, done: Callable[[Any], None]) -> None:
        try:
            call = self._submit(verb, args)
        except AppError as error:
            self.state = "idle"
            self.failed.emit(error)
            self.changed.emit()
            return
        self._call = call
        self.state = state
        self.progress = None
        self.stopping = False
        call.progressed.connect(partial(self._on_event, call))
        call.succeeded.connect(partial(self._on_done, call, done))
        call.failed.connect(partial(self._on_ended, call))
        self.changed.emit()

    def _run_trials(self) -> None:
        if self.plan is not None:
            done = list(self.outcomes.values())
            if self.searches:
                args = ExperimentRunArgs(plan=self.plan, done=done)
                self._begin("running", "experiment.search", args, self._on_best)
            else:
                args = ExperimentRunArgs(plan=self.plan, done=done, budget_s=self._budget_s)
                self._begin("running", "experiment.run", args, self._on_result)

    # What happens

    def _on_planned(self, plan: ExperimentPlan) -> None:
        self.plan = plan
        seen = self._seen
        if seen is not None and all(one.levels in [known.levels for known in seen] for one in plan.struck):
            self.start()

    def _on_hello(self, hello: HelloResult) -> None:
        environment = self.plan.environment if self.plan is not None else None
        begun = environment.emulated_link if environment is not None else None
        now = hello.link.name if hello.link is not None else None
        if now != begun:
            self.failed.emit(AppError(
                ErrorKind.USAGE,
                self.tr("It was begun over the lab's link {link}.").format(link=begun) if begun
                else self.tr("It was begun over a real link, not in the lab."),
                hint=self.tr("Choose that host above, and go on with it there."),
            ))  # fmt: skip
            return
        if not self.searches:
            self.outcomes = {o: one for o, one in self.outcomes.items() if one.state != "failed"}
        self._run_trials()

    def _on_opened_to_resume(self, budget_s: float | None, kept: KeptExperiment) -> None:
        self._on_opened(kept)
        self.resume(budget_s)

    def _on_kept(self, number: int) -> None:
        self.number = number
        if self.stopping:  # before there was anything to cancel
            self.state = "idle"
            self.stopping = False
            self.changed.emit()
        else:
            self._run_trials()

    def _on_opened(self, kept: KeptExperiment) -> None:
        self._clear()
        self.share = kept.plan.experiment.share
        self.number = 0 if kept.origin else kept.number
        self.plan = kept.plan
        self.outcomes = {outcome.order: outcome for outcome in kept.outcomes}
        self.changed.emit()

    def _on_event(self, call: BridgeCall, event: ExperimentEvent) -> None:
        if call is not self._call:
            return
        self.progress = event
        trial = (event.phase, event.number)
        if event.phase in {"trial", "warm-up"} and trial != self._trial:
            self._trial = trial
            self.timeline = Timeline()
        if event.test is not None:
            self.timeline.take(event.test)
        if event.plan is not None:
            self._take_plan(event.plan)
        if event.outcome is not None:
            self._take(event.outcome)
        self.ticked.emit()

    def _take_plan(self, plan: ExperimentPlan) -> None:
        """Keep a search, whose plan is told while it runs."""
        self.plan = plan
        call = self._run("history", lambda: keeping.begin(plan))
        call.succeeded.connect(partial(self._on_search_kept, plan))
        call.failed.connect(self.failed)
        self.changed.emit()

    def _on_search_kept(self, plan: ExperimentPlan, number: int) -> None:
        if plan is self.plan:
            self.number = number
            for outcome in self.outcomes.values():
                self._keep(outcome)
            self.changed.emit()

    def _take(self, outcome: Outcome) -> None:
        self.outcomes[outcome.order] = outcome
        if self.number:
            self._keep(outcome)
        self.changed.emit()

    def _keep(self, outcome: Outcome) -> None:
        number = self.number
        kept = self._run("history", lambda: keeping.keep(number, outcome))
        self._unkept += 1
        kept.failed.connect(self.failed)
        kept.finished.connect(self._on_outcome_kept)

    def _on_outcome_kept(self) -> None:
        self._unkept -= 1
        if self.settled:
            self.changed.emit()

    def _on_result(self, result: ExperimentResult) -> None:
        self.result = result

    def _on_best(self, result: BestResult) -> None:
        self.best = result

    def _on_done(self, call: BridgeCall, done: Callable[[Any], None], answer: Any) -> None:
        if call is self._call:
            self._call = None
            self.state = "idle"
            done(answer)
            self.changed.emit()

    def _on_ended(self, call: BridgeCall, error: AppError) -> None:
        if call is self._call:
            self._call = None
            self._on_failed(error)

    def _on_failed(self, error: AppError) -> None:
        self.state = "idle"
        if error.kind is not ErrorKind.CANCELLED:
            self.failed.emit(error)
        self.changed.emit()

"""Experiment controller: plans, runs, records and resumes one experiment of the window."""

from __future__ import annotations

import secrets
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QObject, Signal

from app.errors import AppError, ErrorKind
from app.experiment.model import SEARCH_NAME, UNLIMITED_S, ExperimentArgs, ExperimentRunArgs, SearchArgs
from app.history import experiment_store
from ui.experiments.recorder import ExperimentLockHolder, ExperimentStart, TrialRecorder
from ui.plots.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.experiment.measurements import TrialOutcome
    from app.experiment.model import (
        BestSettings,
        ExcludedSet,
        ExperimentEvent,
        ExperimentPlan,
        ExperimentResult,
    )
    from app.experiment.recipes import Recipe, RecipeSize
    from app.history.experiment_store import StoredExperiment
    from app.service.protocol import HelloResult
    from ui.common.bridge import BridgeCall, RunInThread

ExperimentState = Literal["idle", "planning", "running"]


class ExperimentController(QObject):
    """Knows the experiment that is planned, runs, or is looked at.

    Signals:
        changed: the plan, the state, or the outcomes are others now.
        ticked: progress was told.
        failed: something did not work (AppError).
    """

    changed = Signal()
    ticked = Signal()
    failed = Signal(object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], run: RunInThread, parent: QObject) -> None:
        super().__init__(parent)
        self._submit = submit
        self._run = run
        self._keeping = TrialRecorder(run, self)
        self._keeping.settled.connect(self._on_settled)
        self._keeping.failed.connect(self.failed)
        self._claim = ExperimentLockHolder(run)
        self._beginning = ExperimentStart(run, self._claim, self)
        self._beginning.kept.connect(self._on_kept)
        self._beginning.reopened.connect(self._on_reopened)
        self._beginning.superseded.connect(self._keeping.save_detached)
        self._beginning.failed.connect(self._on_start_failed)
        self._beginning.lost.connect(self.failed)
        #: What is under way on the host, and an experiment that is read.
        self._call: BridgeCall | None = None
        self._opening: BridgeCall | None = None
        self.state: ExperimentState = "idle"
        self.share = ""
        self.number = 0
        #: The file that it was imported from, "" if it ran here.
        self.origin = ""
        self.plan: ExperimentPlan | None = None
        self.outcomes: dict[int, TrialOutcome] = {}
        self.result: ExperimentResult | None = None
        self.best: BestSettings | None = None
        self.progress: ExperimentEvent | None = None
        self.timeline = Timeline()
        self.stopping = False
        #: It should have stopped by now, and may be abandoned.
        self.overdue = False
        self._trial: tuple[str, int, str] | None = None
        self._seen: list[ExcludedSet] | None = None
        #: Seconds that the trials may take from their start on, None for no limit.
        self._budget_s: float | None = None

    @property
    def busy(self) -> bool:
        """Whether something runs on the host."""
        return self.state != "idle"

    @property
    def settled(self) -> bool:
        """Whether nothing runs, and nothing that was measured is on its way into the history."""
        return not self.busy and not self._keeping.busy

    @property
    def lost(self) -> int:
        """Trials that could not be kept in the history."""
        return self._keeping.unsaved_count

    @property
    def resumable(self) -> bool:
        """Whether something is left of an experiment or search that was begun here."""
        plan = self.plan
        return (
            not self.busy
            and bool(self.number)
            and not self.origin
            and plan is not None
            and experiment_store.is_unfinished(plan, list(self.outcomes.values()))
        )

    @property
    def searches(self) -> bool:
        """Whether it is a search for the best setting."""
        return self.plan is not None and self.plan.experiment.recipe == SEARCH_NAME

    def make_plan(
        self,
        recipe: Recipe,
        share: str,
        size: RecipeSize,
        budget_s: float | None,
        *,
        seen: list[ExcludedSet] | None = None,
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
        args = SearchArgs(
            share=share, options=options, budget_s=budget_s or UNLIMITED_S, budget_bytes=budget_bytes,
            seed=secrets.randbelow(2**31),
        )  # fmt: skip
        self._begin("running", "experiment.best", args, self._on_best)

    def start(self) -> None:
        """Keep what is planned as a new experiment, and run it over the link that it was planned for."""
        if self.plan is not None and not self.busy and not self.number:
            self._begin("planning", "hello", None, self._on_hello)

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

    def resume_saved(self, number: int, budget_s: float | None) -> None:
        """Look at an experiment of the history and run what is left of it, within so many seconds."""
        self._open(number, partial(self._on_opened_to_resume, budget_s))

    def cancel(self) -> None:
        """End what runs; what was measured is kept. What is overdue is abandoned."""
        if not self.busy:
            return
        if self.overdue and self._call is not None:
            self._call.abandon()
            return
        self.stopping = True
        if self._call is not None:
            self._call.cancel()
        self.changed.emit()

    def reset(self) -> None:
        """Another host is shown now: what runs there ends with it."""
        self._call = None
        self.state = "idle"
        self._clear()
        self.changed.emit()

    def _open(self, number: int, done: Callable[[StoredExperiment], None]) -> None:
        if self.busy:
            return
        call = self._run("history", lambda: experiment_store.load_experiment(number))
        self._opening = call
        call.succeeded.connect(partial(self._on_read, call, done))
        call.failed.connect(partial(self._on_read_failed, call))

    def _clear(self) -> None:
        self._opening = None
        self._beginning.reset()
        self._keeping.reset()
        self._claim.release()
        self.number = 0
        self.origin = ""
        self.plan = self.result = self.best = self.progress = None
        self.outcomes = {}
        self.timeline = Timeline()
        self.stopping = self.overdue = False

    def _begin(self, state: ExperimentState, verb: str, args: Any, done: Callable[[Any], None]) -> None:
        try:
            call = self._submit(verb, args)
        except AppError as error:
            self.state = "idle"
            self._claim.release()
            self.failed.emit(error)
            self.changed.emit()
            return
        self._call = call
        self._opening = None
        self._trial = None
        self.state = state
        self.progress = None
        self.stopping = self.overdue = False
        call.progressed.connect(partial(self._on_event, call))
        call.succeeded.connect(partial(self._on_done, call, done))
        call.failed.connect(partial(self._on_ended, call))
        call.overdue.connect(partial(self._on_overdue, call))
        self.changed.emit()

    def _run_trials(self) -> None:
        self.result = self.best = None  # they told how the part before ended
        if self.plan is not None:
            done = list(self.outcomes.values())
            if self.searches:
                args = ExperimentRunArgs(plan=self.plan, done=done)
                self._begin("running", "experiment.search", args, self._on_best)
            else:
                args = ExperimentRunArgs(plan=self.plan, done=done, budget_s=self._budget_s)
                self._begin("running", "experiment.run", args, self._on_result)

    # What happens

    def _on_overdue(self, call: BridgeCall) -> None:
        if call is self._call:
            self.overdue = True
            self.changed.emit()

    def _on_planned(self, plan: ExperimentPlan) -> None:
        self.plan = plan
        seen = self._seen
        if seen is None or self.stopping:
            return
        if all(one.levels in [known.levels for known in seen] for one in plan.struck):
            self.start()

    def _on_hello(self, hello: HelloResult) -> None:
        plan = self.plan
        if plan is None or self.stopping:
            return
        begun = plan.environment.emulated_link if plan.environment is not None else None
        now = hello.link.name if hello.link is not None else None
        if now != begun:
            self.failed.emit(self._elsewhere(begun))
            return
        self.state = "running"
        if self.number:
            self._beginning.reopen(self.number)
        else:
            self._beginning.keep(plan, self.outcomes)

    def _elsewhere(self, link: str | None) -> AppError:
        """Say that it belongs to another link."""
        hint = self.tr("Choose that host above, and go on with it there.")
        if self.number:
            lab = self.tr("It was begun over the lab's link {link}.")
            real = self.tr("It was begun over a real link, not in the lab.")
        else:
            lab = self.tr("It was planned over the lab's link {link}.")
            real = self.tr("It was planned over a real link, not in the lab.")
            hint = self.tr("Choose that host above, or plan it again here.")
        return AppError(ErrorKind.USAGE, lab.format(link=link) if link else real, hint=hint)

    def _on_read(
        self, call: BridgeCall, done: Callable[[StoredExperiment], None], kept: StoredExperiment
    ) -> None:
        if call is self._opening:  # else something newer was chosen, or begun
            done(kept)

    def _on_read_failed(self, call: BridgeCall, error: AppError) -> None:
        if call is self._opening:
            self.failed.emit(error)

    def _on_opened(self, kept: StoredExperiment) -> None:
        self._clear()
        self.share = kept.plan.experiment.share
        self.number = kept.number
        self.origin = kept.origin
        self.plan = kept.plan
        self.outcomes = {outcome.order: outcome for outcome in kept.outcomes}
        self.changed.emit()

    def _on_opened_to_resume(self, budget_s: float | None, kept: StoredExperiment) -> None:
        self._on_opened(kept)
        self.resume(budget_s)

    @property
    def _waiting(self) -> bool:
        """Whether it runs as soon as it is in the history."""
        return self.busy and self._call is None

    def _on_kept(self, number: int) -> None:
        self.number = number
        if self.busy and not self.stopping:
            self._claim.hold(number)
        self._keeping.keep(number, self.outcomes.values())
        if self._waiting and not self.stopping:
            self._run_trials()
            return
        if self._waiting:  # stopped before there was anything to cancel
            self.state = "idle"
            self.stopping = False
        self.changed.emit()

    def _on_reopened(self, kept: StoredExperiment) -> None:
        if self.stopping:  # before there was anything to cancel
            self._on_failed(AppError(ErrorKind.CANCELLED, ""))
            return
        for one in kept.outcomes:  # another program may have gone on with it since it was read
            if one.state != "failed" or one.order not in self.outcomes:
                self.outcomes[one.order] = one
        if not self.searches:
            self.outcomes = {o: one for o, one in self.outcomes.items() if one.state != "failed"}
        self._run_trials()

    def _on_start_failed(self, error: AppError) -> None:
        if self._waiting:
            self._on_failed(error)
        else:
            self.failed.emit(error)

    def _on_event(self, call: BridgeCall, event: ExperimentEvent) -> None:
        if call is not self._call:
            return
        self.progress = event
        trial = (event.phase, event.number, event.workload)
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
        self._beginning.keep(plan, self.outcomes)
        self.changed.emit()

    def _take(self, outcome: TrialOutcome) -> None:
        self.outcomes[outcome.order] = outcome
        if self.number:
            self._keeping.keep(self.number, [outcome])
        elif self.plan is not None:  # a search that could not be kept: all of it, then
            self._beginning.keep(self.plan, self.outcomes)
        self.changed.emit()

    def _on_settled(self) -> None:
        if self.settled:
            self._claim.release()
            self.changed.emit()

    def _on_result(self, result: ExperimentResult) -> None:
        self.result = result

    def _on_best(self, result: BestSettings) -> None:
        self.best = result

    def _on_done(self, call: BridgeCall, done: Callable[[Any], None], answer: Any) -> None:
        if call is self._call:
            self._call = None
            self.state = "idle"
            done(answer)
            if not self.busy:
                self._finish()
            self.changed.emit()

    def _on_ended(self, call: BridgeCall, error: AppError) -> None:
        if call is self._call:
            self._call = None
            self._on_failed(error)

    def _on_failed(self, error: AppError) -> None:
        self.state = "idle"
        self._finish()
        if error.kind is not ErrorKind.CANCELLED or error.remains:
            self.failed.emit(error)
        self.changed.emit()

    def _finish(self) -> None:
        """Nothing runs any more: others may go on with it once all of it is in the history."""
        self._keeping.finish()
        if self.settled:
            self._claim.release()

"""Experiment controller: plans, runs, saves and resumes the experiment that the window shows."""

from __future__ import annotations

import secrets
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QObject, Signal

from app.errors import AppError, ErrorKind
from app.experiment.model import SEARCH_NAME, UNLIMITED_S, ExperimentArgs, ExperimentRunArgs, SearchArgs
from app.history import experiment_store
from app.history.experiment_recorder import ExperimentRecorder
from ui.experiments.recorder import BackgroundRecorder
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
    """State of the one experiment that is planned, running, or loaded from the history.

    Args:
        submit: sends a request (verb and arguments) to the agent.
        run: runs blocking work on a thread.
        parent: Qt parent.

    Signals:
        changed: the plan, the state or the outcomes changed.
        ticked: the agent reported progress.
        failed: an operation failed (AppError).

    Attributes:
        state: "planning" while option sets are probed or the link is checked, "running" from the saving of
            the experiment to its end, otherwise "idle".
        share: server:/export that the experiment measures.
        number: number in the history, 0 if it is not saved.
        origin: file that it was imported from, "" if it ran here.
        plan: option sets, workloads and their estimated cost, None before planning.
        outcomes: results of the finished trials, by their order in the plan.
        result: end of the last run of an experiment, None before.
        best: end of the last run of a search, None before.
        progress: latest progress event of the agent.
        timeline: speed curve of the running trial.
        stopping: whether the user asked to stop.
        overdue: whether stopping takes longer than it should, so that the call may be abandoned.
    """

    changed = Signal()
    ticked = Signal()
    failed = Signal(object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], run: RunInThread, parent: QObject) -> None:
        super().__init__(parent)
        self._submit = submit
        self._run = run
        #: Saves the experiment that runs, or that ran last.
        self._recorder: BackgroundRecorder | None = None
        #: Request that the agent works on, and the loading of a saved experiment.
        self._call: BridgeCall | None = None
        self._opening: BridgeCall | None = None
        #: Locking of a saved experiment, before its trials run.
        self._locking: BridgeCall | None = None
        self.state: ExperimentState = "idle"
        self.share = ""
        self.number = 0
        self.origin = ""
        self.plan: ExperimentPlan | None = None
        self.outcomes: dict[int, TrialOutcome] = {}
        self.result: ExperimentResult | None = None
        self.best: BestSettings | None = None
        self.progress: ExperimentEvent | None = None
        self.timeline = Timeline()
        self.stopping = False
        self.overdue = False
        #: Phase, number and workload of the trial that the timeline shows.
        self._trial: tuple[str, int, str] | None = None
        #: Exclusions that the user has seen; with no others, the experiment starts without a question.
        self._seen: list[ExcludedSet] | None = None
        #: Time limit of the trials from their start, s; None for no limit.
        self._budget_s: float | None = None

    @property
    def busy(self) -> bool:
        """Whether an experiment is planned or runs on the host."""
        return self.state != "idle"

    @property
    def settled(self) -> bool:
        """Whether nothing runs and all finished trials are saved or have failed to be saved."""
        return not self.busy and (self._recorder is None or not self._recorder.busy)

    @property
    def lost(self) -> int:
        """Number of trials that are not saved in the history."""
        return len(self._recorder.unsaved) if self._recorder is not None else 0

    @property
    def resumable(self) -> bool:
        """Whether the experiment was started on this computer and has trials left to run."""
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
        """Whether the experiment is a search for the best setting."""
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
        """Plan an experiment: mount every option set on the share once to see whether it works.

        Args:
            recipe: factors, workloads and repeats to plan.
            share: server:/export.
            size: quick or full size of the recipe.
            budget_s: time limit of the trials, s; None for no limit.
            seen: exclusions that the user has already seen. The experiment starts at once if planning adds
                no others. None to wait for `start`.
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
        """Start a search for the fastest setting.

        Args:
            share: server:/export.
            options: option string of the present mount, with which the search compares.
            budget_s: time limit, s; None for no limit.
            budget_bytes: limit of the bytes moved over the network, None for no limit.
        """
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
        """Save the plan as a new experiment and run it, if the host still has the link of the plan."""
        if self.plan is not None and not self.busy and not self.number:
            self._begin("planning", "hello", None, self._on_hello)

    def resume(self, budget_s: float | None) -> None:
        """Run the remaining and the failed trials, if the host still has the link of the finished ones.

        Args:
            budget_s: time limit from now on, s; None for no limit. A search continues with the rest of its
                own limit.
        """
        if self.resumable:
            self._budget_s = budget_s
            self._begin("planning", "hello", None, self._on_hello)

    def open(self, number: int) -> None:
        """Load an experiment from the history and show it."""
        self._open(number, self._on_opened)

    def resume_saved(self, number: int, budget_s: float | None) -> None:
        """Load an experiment from the history and run its remaining trials, with a time limit in seconds."""
        self._open(number, partial(self._on_opened_to_resume, budget_s))

    def cancel(self) -> None:
        """Stop planning or running; finished trials stay. A second call abandons an overdue request."""
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
        """Forget the experiment, because the window shows another host; closing a host ends its requests."""
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
        self._opening = self._locking = None
        self._finish()
        self._recorder = None
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
            self._finish()
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
        self.result = self.best = None  # results of the previous run
        if self.plan is not None:
            done = list(self.outcomes.values())
            if self.searches:
                args = ExperimentRunArgs(plan=self.plan, done=done)
                self._begin("running", "experiment.search", args, self._on_best)
            else:
                args = ExperimentRunArgs(plan=self.plan, done=done, budget_s=self._budget_s)
                self._begin("running", "experiment.run", args, self._on_result)

    # Results of requests

    def _on_overdue(self, call: BridgeCall) -> None:
        if call is self._call:
            self.overdue = True
            self.changed.emit()

    def _on_planned(self, plan: ExperimentPlan) -> None:
        self.plan = plan
        seen = self._seen
        if seen is None or self.stopping:
            return
        if all(excluded.levels in [known.levels for known in seen] for excluded in plan.struck):
            self.start()

    def _on_hello(self, hello: HelloResult) -> None:
        plan = self.plan
        if plan is None or self.stopping:
            return
        if (hello.link.name if hello.link is not None else None) != plan.emulated_link:
            self.failed.emit(self._wrong_link_error(plan.emulated_link))
            return
        self.state = "running"
        if self._recorder is None or not self._recorder.busy:  # else _on_saved goes on
            self._prepare_run(plan)

    def _wrong_link_error(self, link: str | None) -> AppError:
        """Return the error that the host does not have the link of the experiment."""
        hint = self.tr("Choose that host above, and resume the experiment there.")
        if self.number:
            lab = self.tr("It was begun over the lab's link {link}.")
            real = self.tr("It was begun over a real link, not in the lab.")
        else:
            lab = self.tr("It was planned over the lab's link {link}.")
            real = self.tr("It was planned over a real link, not in the lab.")
            hint = self.tr("Choose that host above, or plan the experiment again here.")
        return AppError(ErrorKind.USAGE, lab.format(link=link) if link else real, hint=hint)

    def _on_read(
        self, call: BridgeCall, done: Callable[[StoredExperiment], None], stored: StoredExperiment
    ) -> None:
        if call is self._opening:  # else the user has chosen or started another one meanwhile
            done(stored)

    def _on_read_failed(self, call: BridgeCall, error: AppError) -> None:
        if call is self._opening:
            self.failed.emit(error)

    def _on_opened(self, stored: StoredExperiment) -> None:
        self._clear()
        self.share = stored.plan.experiment.share
        self.number = stored.number
        self.origin = stored.origin
        self.plan = stored.plan
        self.outcomes = {outcome.order: outcome for outcome in stored.outcomes}
        self.changed.emit()

    def _on_opened_to_resume(self, budget_s: float | None, stored: StoredExperiment) -> None:
        self._on_opened(stored)
        self.resume(budget_s)

    def _prepare_run(self, plan: ExperimentPlan) -> None:
        """Save a new experiment, or lock a saved one and load its present state; the trials run then."""
        if not self.number:
            self._record(ExperimentRecorder(plan))
            return
        call = self._run("history", partial(ExperimentRecorder.resume, self.number))
        self._locking = call
        call.succeeded.connect(partial(self._on_locked, call))
        call.failed.connect(partial(self._on_lock_failed, call))

    def _record(self, recorder: ExperimentRecorder) -> None:
        """Save with this recorder from now on, also what the one before could not save."""
        unsaved = self._recorder.unsaved if self._recorder is not None else ()
        self._recorder = BackgroundRecorder(recorder, self._run, self._on_saved, self.failed.emit)
        if unsaved or not recorder.number:
            self._recorder.save(*unsaved)

    def _on_saved(self, recorder: BackgroundRecorder) -> None:
        if recorder is not self._recorder:
            return
        self.number = recorder.number
        if self.busy and self._call is None and self._locking is None:  # the trials have not begun
            if self.stopping or not (recorder.number or recorder.closed):
                self.state = "idle"
                self.stopping = False
                self._finish()
            elif not recorder.closed:
                self._run_trials()
            elif self.plan is not None:
                self._prepare_run(self.plan)
        self.changed.emit()

    def _on_lock_failed(self, call: BridgeCall, error: AppError) -> None:
        if call is self._locking:
            self._locking = None
            self._on_failed(error)

    def _on_locked(self, call: BridgeCall, resumed: tuple[ExperimentRecorder, StoredExperiment]) -> None:
        recorder, stored = resumed
        if call is not self._locking or self.stopping:  # stopped before a request could be canceled
            self._run("history", recorder.close)
        if call is not self._locking:
            return
        self._locking = None
        if self.stopping:
            self._on_failed(AppError(ErrorKind.CANCELLED, ""))
            return
        self._record(recorder)
        for outcome in stored.outcomes:  # another program may have added trials since it was loaded
            if outcome.state != "failed" or outcome.order not in self.outcomes:
                self.outcomes[outcome.order] = outcome
        if not self.searches:
            self.outcomes = {
                order: outcome for order, outcome in self.outcomes.items() if outcome.state != "failed"
            }
        self._run_trials()

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
            self._set_search_plan(event.plan)
        if event.outcome is not None:
            self._add_outcome(event.outcome)
        self.ticked.emit()

    def _set_search_plan(self, plan: ExperimentPlan) -> None:
        """Save a search; unlike for an experiment, its plan arrives while it runs."""
        self.plan = plan
        if self._recorder is None:
            self._record(ExperimentRecorder(plan))
        self.changed.emit()

    def _add_outcome(self, outcome: TrialOutcome) -> None:
        self.outcomes[outcome.order] = outcome
        if self._recorder is not None:
            self._recorder.save(outcome)
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
        """Save what is left, and release the lock."""
        if self._recorder is not None:
            self._recorder.close()

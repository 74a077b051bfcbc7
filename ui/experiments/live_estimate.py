"""Live estimate: what a recipe takes while it is written, and whether the share accepts its sets."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal

from advisor.facts import ClientFacts, Facts
from app.errors import AppError, ErrorKind
from app.experiment.feasibility import possible_factors
from app.experiment.model import ExcludedSet, Experiment, ExperimentArgs
from app.experiment.plan import estimated_plan
from app.service.protocol import FactsArgs

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.experiment.model import ExperimentEvent, ExperimentPlan, Factor
    from ui.common.bridge import BridgeCall, RunInThread

#: So long nothing is typed before it is reckoned, and before it is tried.
_ESTIMATE_PAUSE_MS, _PROBE_PAUSE_MS = 250, 900


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveEstimate:
    """What is known of an experiment before it runs.

    Attributes:
        plan: with its numbers and what is struck out; None if there cannot be one.
        error: why there is none.
        tried: whether every option set was mounted once.
        offered: what would be struck out of the levels that could be chosen, too.
    """

    plan: ExperimentPlan | None = None
    error: AppError | None = None
    tried: bool = False
    offered: list[ExcludedSet] = field(default_factory=list[ExcludedSet])


class LiveEstimator(QObject):
    """Reckons, and tries, the newest experiment; older ones are given up.

    Args:
        submit: sends a request to the agent.
        run: runs blocking work on a thread.
        share: server:/export, "" for none.
        parent: owner.

    Signals:
        told: a LiveEstimate.
        trying: number of the option set being tried, and of how many.
        idle: nothing is tried any more.
    """

    told = Signal(object)
    trying = Signal(int, int)
    idle = Signal()

    def __init__(
        self, submit: Callable[[str, Any], BridgeCall], run: RunInThread, share: str, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._submit = submit
        self._run = run
        self.share = share
        self._facts = Facts(client=ClientFacts())
        self._experiment: Experiment | None = None
        self._offered: list[Factor] = []
        self._struck: list[ExcludedSet] = []
        #: Of the experiment, once it was tried: what is reckoned afterwards takes nothing back.
        self._tried: ExperimentPlan | None = None
        self._on = False
        self._call: BridgeCall | None = None
        self._reckon_timer, self._try_timer = QTimer(self), QTimer(self)
        for timer, interval, slot in (
            (self._reckon_timer, _ESTIMATE_PAUSE_MS, self._compute_estimate),
            (self._try_timer, _PROBE_PAUSE_MS, self._try),
        ):
            timer.setSingleShot(True)
            timer.setInterval(interval)
            timer.timeout.connect(slot)
        if share:
            self._ask_facts()

    @property
    def busy(self) -> bool:
        """Whether something is mounted to try it."""
        return self._call is not None

    def ask(self, experiment: Experiment | None, offered: list[Factor]) -> None:
        """Estimate this one from now on.

        Args:
            experiment: None if it is not one yet.
            offered: its factors with all levels that could be chosen.
        """
        self._experiment, self._offered = experiment, offered
        self._tried = None
        self._again()

    def set_trying(self, *, on: bool) -> None:
        """Mount every option set once, where only the test sees it, whenever they are others."""
        self._on = on
        self._again()

    def stop(self) -> None:
        """Estimate nothing any more; ``idle`` comes when nothing is tried."""
        self._on, self._experiment = False, None
        self._again()
        self._reckon_timer.stop()
        if self._call is None:
            self.idle.emit()

    def _again(self) -> None:
        self._reckon_timer.start()
        self._try_timer.stop()
        if self._call is not None:
            self._call.cancel()
        elif self._on:
            self._try_timer.start()

    def _ask_facts(self) -> None:
        try:
            call = self._submit("facts.get", FactsArgs(share=self.share))
        except AppError:
            return  # it is reckoned without them
        call.succeeded.connect(self._on_facts)

    def _on_facts(self, facts: Facts) -> None:
        self._facts = facts
        if not self._reckon_timer.isActive():
            self._compute_estimate()

    def _compute_estimate(self) -> None:
        experiment, offered, facts = self._experiment, self._offered, self._facts
        if experiment is not None:
            call = self._run("estimate", lambda: _estimate_of(experiment, offered, facts))
            call.succeeded.connect(partial(self._on_estimated, experiment))
            call.failed.connect(partial(self._on_estimate_failed, experiment))

    def _on_estimated(self, experiment: Experiment, estimate: LiveEstimate) -> None:
        if experiment is self._experiment:
            self._struck = estimate.offered
            self.told.emit(estimate if self._tried is None else self._as_tried(self._tried))

    def _on_estimate_failed(self, experiment: Experiment, error: AppError) -> None:
        if experiment is self._experiment:
            self.told.emit(LiveEstimate(error=error, offered=self._struck))

    def _try(self) -> None:
        experiment = self._experiment
        if experiment is None or not self.share:
            return
        try:
            call = self._submit("experiment.plan", ExperimentArgs(experiment=experiment))
        except AppError as error:
            self.told.emit(LiveEstimate(error=error, offered=self._struck))
            return
        self._call = call
        call.progressed.connect(self._on_event)
        call.succeeded.connect(partial(self._on_probed, experiment))
        call.failed.connect(partial(self._on_failed, experiment))
        call.finished.connect(self._on_finished)

    def _on_event(self, event: ExperimentEvent) -> None:
        self.trying.emit(event.number, event.total)

    def _on_probed(self, experiment: Experiment, plan: ExperimentPlan) -> None:
        if experiment is self._experiment:
            self._tried = plan
            self.told.emit(self._as_tried(plan))

    def _as_tried(self, plan: ExperimentPlan) -> LiveEstimate:
        return LiveEstimate(plan=plan, tried=True, offered=self._struck)

    def _on_failed(self, experiment: Experiment, error: AppError) -> None:
        if experiment is self._experiment and error.kind is not ErrorKind.CANCELLED:
            self.told.emit(LiveEstimate(error=error, offered=self._struck))
            self._experiment = None  # not again and again

    def _on_finished(self) -> None:
        self._call = None
        # It was given up for a newer one.
        if self._on and self._experiment is not None:
            self._try_timer.start()
        self.idle.emit()


def _estimate_of(experiment: Experiment, offered: list[Factor], facts: Facts) -> LiveEstimate:
    could = msgspec.structs.replace(experiment, factors=offered)
    struck = possible_factors(could, facts)[1]
    try:
        return LiveEstimate(plan=estimated_plan(experiment, facts), offered=struck)
    except AppError as error:
        return LiveEstimate(error=error, offered=struck)

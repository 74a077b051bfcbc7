"""Live estimate: cost of a recipe while the user edits it, and a probe of its option sets on the share."""

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

#: Pauses in typing after which the cost is estimated, and after which the option sets are probed, ms.
_ESTIMATE_PAUSE_MS, _PROBE_PAUSE_MS = 250, 900


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveEstimate:
    """Cost and exclusions of an experiment before it runs.

    Attributes:
        plan: estimated plan with trials, time, bytes and exclusions; None if planning failed.
        error: why planning failed, None if it did not.
        tried: whether every option set was mounted once on the share.
        offered: exclusions among all levels that the form offers, also of those not selected.
    """

    plan: ExperimentPlan | None = None
    error: AppError | None = None
    tried: bool = False
    offered: list[ExcludedSet] = field(default_factory=list[ExcludedSet])


class LiveEstimator(QObject):
    """Estimates, and optionally probes, the latest version of an experiment; drops results of older ones.

    Args:
        submit: sends a request to the agent.
        run: runs blocking work on a thread.
        share: server:/export, "" for none.
        parent: Qt parent.

    Signals:
        told: a new LiveEstimate.
        trying: number of the option set that is probed, and number of all sets.
        idle: no probe runs any more.
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
        self._excluded: list[ExcludedSet] = []
        #: Plan of the probed experiment; a later estimate without a probe does not replace it.
        self._probed_plan: ExperimentPlan | None = None
        self._probing_enabled = False
        self._call: BridgeCall | None = None
        self._estimate_timer, self._probe_timer = QTimer(self), QTimer(self)
        for timer, interval, slot in (
            (self._estimate_timer, _ESTIMATE_PAUSE_MS, self._compute_estimate),
            (self._probe_timer, _PROBE_PAUSE_MS, self._probe),
        ):
            timer.setSingleShot(True)
            timer.setInterval(interval)
            timer.timeout.connect(slot)
        if share:
            self._request_facts()

    @property
    def busy(self) -> bool:
        """Whether option sets are being probed."""
        return self._call is not None

    def ask(self, experiment: Experiment | None, offered: list[Factor]) -> None:
        """Estimate this experiment from now on.

        Args:
            experiment: the edited experiment, None while the form is incomplete.
            offered: its factors with all levels that the form offers.
        """
        self._experiment, self._offered = experiment, offered
        self._probed_plan = None
        self._restart()

    def set_trying(self, *, on: bool) -> None:
        """Turn probing on or off; a probe mounts every option set once, in a private mount."""
        self._probing_enabled = on
        self._restart()

    def stop(self) -> None:
        """Stop estimating and probing; emits ``idle`` once no probe runs."""
        self._probing_enabled, self._experiment = False, None
        self._restart()
        self._estimate_timer.stop()
        if self._call is None:
            self.idle.emit()

    def _restart(self) -> None:
        self._estimate_timer.start()
        self._probe_timer.stop()
        if self._call is not None:
            self._call.cancel()
        elif self._probing_enabled:
            self._probe_timer.start()

    def _request_facts(self) -> None:
        try:
            call = self._submit("facts.get", FactsArgs(share=self.share))
        except AppError:
            return  # estimate without facts
        call.succeeded.connect(self._on_facts)

    def _on_facts(self, facts: Facts) -> None:
        self._facts = facts
        if not self._estimate_timer.isActive():
            self._compute_estimate()

    def _compute_estimate(self) -> None:
        experiment, offered, facts = self._experiment, self._offered, self._facts
        if experiment is not None:
            call = self._run("estimate", lambda: _estimate_of(experiment, offered, facts))
            call.succeeded.connect(partial(self._on_estimated, experiment))
            call.failed.connect(partial(self._on_estimate_failed, experiment))

    def _on_estimated(self, experiment: Experiment, estimate: LiveEstimate) -> None:
        if experiment is self._experiment:
            self._excluded = estimate.offered
            self.told.emit(
                estimate if self._probed_plan is None else self._probed_estimate(self._probed_plan)
            )

    def _on_estimate_failed(self, experiment: Experiment, error: AppError) -> None:
        if experiment is self._experiment:
            self.told.emit(LiveEstimate(error=error, offered=self._excluded))

    def _probe(self) -> None:
        experiment = self._experiment
        if experiment is None or not self.share:
            return
        try:
            call = self._submit("experiment.plan", ExperimentArgs(experiment=experiment))
        except AppError as error:
            self.told.emit(LiveEstimate(error=error, offered=self._excluded))
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
            self._probed_plan = plan
            self.told.emit(self._probed_estimate(plan))

    def _probed_estimate(self, plan: ExperimentPlan) -> LiveEstimate:
        return LiveEstimate(plan=plan, tried=True, offered=self._excluded)

    def _on_failed(self, experiment: Experiment, error: AppError) -> None:
        if experiment is self._experiment and error.kind is not ErrorKind.CANCELLED:
            self.told.emit(LiveEstimate(error=error, offered=self._excluded))
            self._experiment = None  # do not repeat a probe that fails

    def _on_finished(self) -> None:
        self._call = None
        # The experiment changed while it was probed.
        if self._probing_enabled and self._experiment is not None:
            self._probe_timer.start()
        self.idle.emit()


def _estimate_of(experiment: Experiment, offered: list[Factor], facts: Facts) -> LiveEstimate:
    with_offered_levels = msgspec.structs.replace(experiment, factors=offered)
    excluded = possible_factors(with_offered_levels, facts)[1]
    try:
        return LiveEstimate(plan=estimated_plan(experiment, facts), offered=excluded)
    except AppError as error:
        return LiveEstimate(error=error, offered=excluded)

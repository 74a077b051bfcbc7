"""What a recipe that is being written would take: reckoned at once, and tried on the share if wanted."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal

from advisor.facts import ClientFacts, Facts
from app.bench.experiment.guess import guess
from app.bench.experiment.sift import possible_factors
from app.errors import AppError, ErrorKind
from app.experiment.model import Experiment, ExperimentArgs, Struck
from app.service.protocol import FactsArgs

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.experiment.model import ExperimentEvent, ExperimentPlan, Factor
    from ui.common.bridge import BridgeCall, RunInThread

#: So long nothing is typed before it is reckoned, and before it is tried.
_RECKON_MS, _TRY_MS = 250, 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
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
    offered: list[Struck] = field(default_factory=list[Struck])


class Estimating(QObject):
    """Reckons, and tries, the newest experiment; older ones are given up.

    Args:
        submit: sends a request to the agent.
        run: runs blocking work on a thread.
        share: server:/export, "" for none.
        parent: owner.

    Signals:
        told: an Estimate.
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
        self._struck: list[Struck] = []
        #: Of the experiment, once it was tried: what is reckoned afterwards takes nothing back.
        self._tried: ExperimentPlan | None = None
        self._on = False
        self._call: BridgeCall | None = None
        self._reckon_timer, self._try_timer = QTimer(self), QTimer(self)
        for timer, interval, slot in (
            (self._reckon_timer, _RECKON_MS, self._reckon),
            (self._try_timer, _TRY_MS, self._try),
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
            self._reckon()

    def _reckon(self) -> None:
        experiment, offered, facts = self._experiment, self._offered, self._facts
        if experiment is not None:
            call = self._run("estimate", lambda: _reckoned(experiment, offered, facts))
            call.succeeded.connect(partial(self._on_reckoned, experiment))
            call.failed.connect(partial(self._on_not_reckoned, experiment))

    def _on_reckoned(self, experiment: Experiment, estimate: Estimate) -> None:
        if experiment is self._experiment:
            self._struck = estimate.offered
            self.told.emit(estimate if self._tried is None else self._as_tried(self._tried))

    def _on_not_reckoned(self, experiment: Experiment, error: AppError) -> None:
        if experiment is self._experiment:
            self.told.emit(Estimate(error=error, offered=self._struck))

    def _try(self) -> None:
        experiment = self._experiment
        if experiment is None or not self.share:
            return
        try:
            call = self._submit("experiment.plan", ExperimentArgs(experiment=experiment))
        except AppError as error:
            self.told.emit(Estimate(error=error, offered=self._struck))
            return
        self._call = call
        call.progressed.connect(self._on_event)
        call.succeeded.connect(partial(self._on_tried, experiment))
        call.failed.connect(partial(self._on_failed, experiment))
        call.finished.connect(self._on_finished)

    def _on_event(self, event: ExperimentEvent) -> None:
        self.trying.emit(event.number, event.total)

    def _on_tried(self, experiment: Experiment, plan: ExperimentPlan) -> None:
        if experiment is self._experiment:
            self._tried = plan
            self.told.emit(self._as_tried(plan))

    def _as_tried(self, plan: ExperimentPlan) -> Estimate:
        return Estimate(plan=plan, tried=True, offered=self._struck)

    def _on_failed(self, experiment: Experiment, error: AppError) -> None:
        if experiment is self._experiment and error.kind is not ErrorKind.CANCELLED:
            self.told.emit(Estimate(error=error, offered=self._struck))
            self._experiment = None  # not again and again

    def _on_finished(self) -> None:
        self._call = None
        # It was given up for a newer one.
        if self._on and self._experiment is not None:
            self._try_timer.start()
        self.idle.emit()


def _reckoned(experiment: Experiment, offered: list[Factor], facts: Facts) -> Estimate:
    could = msgspec.structs.replace(experiment, factors=offered)
    struck = possible_factors(could, facts)[1]
    try:
        return Estimate(plan=guess(experiment, facts), offered=struck)
    except AppError as error:
        return Estimate(error=error, offered=struck)

"""Puts an experiment into the history as it begins, or claims one of it that is gone on with."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.history import experiment_store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from advisor.experiment.measurements import Outcome
    from app.errors import AppError
    from app.experiment.model import ExperimentPlan
    from app.history.experiment_lock import Claim
    from app.history.experiment_store import KeptExperiment
    from ui.common.bridge import BridgeCall, RunInThread
    from ui.experiments.recorder import ExperimentClaim


class ExperimentBeginning(QObject):
    """Begins one at a time; one that was left meanwhile does not run.

    Args:
        run: runs blocking work on a thread.
        claim: takes the claim of one that is gone on with.
        parent: owner.

    Signals:
        kept: the number of a new one, which is in the history now.
        taken_up: the KeptExperiment of one that is claimed, as it is now.
        overtaken: number and outcomes of a new one that was left before it was in the history.
        failed: it could not begin (AppError).
        lost: one that was left has outcomes, and could not be kept (AppError).
    """

    kept = Signal(int)
    taken_up = Signal(object)
    overtaken = Signal(int, object)
    failed = Signal(object)
    lost = Signal(object)

    def __init__(self, run: RunInThread, claim: ExperimentClaim, parent: QObject) -> None:
        super().__init__(parent)
        self._run = run
        self._claim = claim
        self._call: BridgeCall | None = None

    def keep(self, plan: ExperimentPlan, outcomes: Mapping[int, Outcome]) -> None:
        """Keep a new one, unless that is under way: before it runs; a search, planned late, while it does.

        Args:
            plan: of it.
            outcomes: of it, to which those are added that come before it is kept.
        """
        if self._call is None:
            call = self._run("history", lambda: experiment_store.begin(plan))
            self._call = call
            call.succeeded.connect(partial(self._on_kept, call, outcomes))
            call.failed.connect(partial(self._on_failed, call, outcomes))

    def take_up(self, number: int) -> None:
        """Claim one of the history, and read what is in it by then."""
        call = self._run("claim", partial(experiment_store.take_up, number))
        self._call = call
        call.succeeded.connect(partial(self._on_taken_up, call))
        call.failed.connect(partial(self._on_failed, call, {}))

    def forget(self) -> None:
        """Another one is shown now."""
        self._call = None

    def _on_kept(self, call: BridgeCall, outcomes: Mapping[int, Outcome], number: int) -> None:
        if call is self._call:
            self._call = None
            self.kept.emit(number)
        elif outcomes:
            self.overtaken.emit(number, list(outcomes.values()))

    def _on_taken_up(self, call: BridgeCall, taken: tuple[Claim, KeptExperiment]) -> None:
        claimed, kept = taken
        if call is self._call:
            self._call = None
            self._claim.take(claimed)
            self.taken_up.emit(kept)
        else:
            self._claim.drop(claimed)

    def _on_failed(self, call: BridgeCall, outcomes: Mapping[int, Outcome], error: AppError) -> None:
        if call is self._call:
            self._call = None
            self.failed.emit(error)
        elif outcomes:
            self.lost.emit(error)

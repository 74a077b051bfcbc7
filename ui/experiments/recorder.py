"""Experiment recorder: saves an experiment and its trials in the history, and holds the experiment's lock.

A save that fails is tried again with the next trial and at the end. The lock keeps other programs from
resuming the experiment meanwhile.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QObject, Signal

from app.errors import AppError
from app.history import experiment_store
from app.history.experiment_lock import lock_experiment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from advisor.experiment.measurements import TrialOutcome
    from app.experiment.model import ExperimentPlan
    from app.history.experiment_lock import ExperimentLock
    from app.history.experiment_store import StoredExperiment
    from ui.common.bridge import BridgeCall, RunInThread


class ExperimentLockHolder:
    """Holds at most one claim; each file is touched on a thread, as it may lie on a server that is away.

    Args:
        run: runs blocking work on a thread.
    """

    def __init__(self, run: RunInThread) -> None:
        self._run = run
        self._wanted: BridgeCall | None = None
        self._claim: ExperimentLock | None = None

    def hold(self, number: int) -> None:
        """Claim an experiment that has just begun."""
        self.release()
        call = self._run("claim", partial(lock_experiment, number))
        self._wanted = call
        call.succeeded.connect(partial(self._on_claimed, call))

    def take(self, claimed: ExperimentLock) -> None:
        """Hold a claim that was made already."""
        self.release()
        self._claim = claimed

    def release(self) -> None:
        """Let others run it."""
        self._wanted = None
        claimed, self._claim = self._claim, None
        if claimed is not None:
            self.drop(claimed)

    def drop(self, claimed: ExperimentLock) -> None:
        """Give up a claim that nobody waits for any more."""
        self._run("release", claimed.release)

    def _on_claimed(self, call: BridgeCall, claimed: ExperimentLock) -> None:
        if call is self._wanted:
            self._wanted = None
            self._claim = claimed
        else:
            self.drop(claimed)


class ExperimentStart(QObject):
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
    reopened = Signal(object)
    superseded = Signal(int, object)
    failed = Signal(object)
    lost = Signal(object)

    def __init__(self, run: RunInThread, claim: ExperimentLockHolder, parent: QObject) -> None:
        super().__init__(parent)
        self._run = run
        self._claim = claim
        self._call: BridgeCall | None = None

    def keep(self, plan: ExperimentPlan, outcomes: Mapping[int, TrialOutcome]) -> None:
        """Keep a new one, unless that is under way: before it runs; a search, planned late, while it does.

        Args:
            plan: of it.
            outcomes: of it, to which those are added that come before it is kept.
        """
        if self._call is None:
            call = self._run("history", lambda: experiment_store.start_experiment(plan))
            self._call = call
            call.succeeded.connect(partial(self._on_kept, call, outcomes))
            call.failed.connect(partial(self._on_failed, call, outcomes))

    def reopen(self, number: int) -> None:
        """Claim one of the history, and read what is in it by then."""
        call = self._run("claim", partial(experiment_store.lock_and_load, number))
        self._call = call
        call.succeeded.connect(partial(self._on_reopened, call))
        call.failed.connect(partial(self._on_failed, call, {}))

    def reset(self) -> None:
        """Another one is shown now."""
        self._call = None

    def _on_kept(self, call: BridgeCall, outcomes: Mapping[int, TrialOutcome], number: int) -> None:
        if call is self._call:
            self._call = None
            self.kept.emit(number)
        elif outcomes:
            self.superseded.emit(number, list(outcomes.values()))

    def _on_reopened(self, call: BridgeCall, taken: tuple[ExperimentLock, StoredExperiment]) -> None:
        claimed, kept = taken
        if call is self._call:
            self._call = None
            self._claim.take(claimed)
            self.reopened.emit(kept)
        else:
            self._claim.drop(claimed)

    def _on_failed(self, call: BridgeCall, outcomes: Mapping[int, TrialOutcome], error: AppError) -> None:
        if call is self._call:
            self._call = None
            self.failed.emit(error)
        elif outcomes:
            self.lost.emit(error)


class TrialRecorder(QObject):
    """Keeps what it is given; what the history does not take is tried again with the next, and at the end.

    Another program may hold the history for a moment: no trial is lost by that.

    Args:
        run: runs blocking work on a thread.
        parent: owner.

    Signals:
        settled: nothing is on its way any more.
        failed: something could not be kept (AppError); told once until something is kept.
    """

    settled = Signal()
    failed = Signal(object)

    def __init__(self, run: RunInThread, parent: QObject) -> None:
        super().__init__(parent)
        self._run = run
        self._number = 0
        self._pending: list[TrialOutcome] = []
        self._call: BridgeCall | None = None
        #: Try once more after the work that is under way, even if it fails.
        self._once_more = False
        self._told = False

    @property
    def busy(self) -> bool:
        """Whether something is on its way into the history."""
        return self._call is not None

    @property
    def unsaved_count(self) -> int:
        """How many are not in the history."""
        return len(self._pending)

    def keep(self, number: int, outcomes: Iterable[TrialOutcome]) -> None:
        """Keep finished trials of the experiment of this number."""
        if number != self._number:
            self.reset()
            self._number = number
        self._pending += outcomes
        self._save_next()

    def finish(self) -> None:
        """Nothing more comes for now: try once more what could not be kept."""
        if self._call is not None:
            self._once_more = True
        else:
            self._save_next()

    def reset(self) -> None:
        """Another experiment is shown: what is left of this one is tried a last time."""
        if self._pending:
            self.save_detached(self._number, self._pending)
        self._number = 0
        self._pending = []
        self._once_more = self._told = False

    def save_detached(self, number: int, outcomes: Iterable[TrialOutcome]) -> None:
        """Try once to keep trials of an experiment that is not shown any more."""
        call = self._run("history", partial(_save_trials, number, tuple(outcomes)))
        call.succeeded.connect(self._on_saved_detached)
        call.failed.connect(self.failed)

    def _save_next(self) -> None:
        if self._call is not None or not self._pending:
            return
        owed = self._pending
        call = self._run("history", partial(_save_trials, self._number, tuple(owed)))
        self._call = call
        call.succeeded.connect(partial(self._on_done, owed, len(owed)))
        call.failed.connect(partial(self._on_failed, owed, len(owed)))

    def _on_saved_detached(self, kept: _SaveReport) -> None:
        if kept.error is not None:
            self.failed.emit(kept.error)

    def _on_failed(self, owed: list[TrialOutcome], count: int, error: AppError) -> None:
        self._on_done(owed, count, _SaveReport(0, error))

    def _on_done(self, owed: list[TrialOutcome], count: int, kept: _SaveReport) -> None:
        self._call = None
        again = True
        if owed is self._pending:
            again = kept.error is None or self._once_more or len(owed) > count
            self._once_more = False
            del owed[: kept.trials]
            if kept.error is None:
                self._told = False
            elif not self._told:
                self._told = True
                self.failed.emit(kept.error)
        if again:
            self._save_next()
        self._settle()

    def _settle(self) -> None:
        if self._call is None:
            self._once_more = False
            self.settled.emit()


class _SaveReport(NamedTuple):
    """How many were kept, and why the next one was not."""

    trials: int
    error: AppError | None = None


def _save_trials(number: int, outcomes: Sequence[TrialOutcome]) -> _SaveReport:
    for count, outcome in enumerate(outcomes):
        try:
            experiment_store.save_outcome(number, outcome)
        except AppError as error:
            return _SaveReport(count, error)
    return _SaveReport(len(outcomes))

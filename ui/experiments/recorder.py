"""Experiment recorder: saves an experiment and its trials in the history, and holds the experiment's lock.

A save that fails is tried again with the next trial and at the end. The lock keeps other programs from
resuming the experiment while it runs here.
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
    """Holds the lock of at most one experiment.

    Lock files are accessed on a thread, because the home directory may be on an unreachable server.

    Args:
        run: runs blocking work on a thread.
    """

    def __init__(self, run: RunInThread) -> None:
        self._run = run
        self._pending_lock: BridgeCall | None = None
        self._lock: ExperimentLock | None = None

    def hold(self, number: int) -> None:
        """Lock an experiment that has just started."""
        self.release()
        call = self._run("claim", partial(lock_experiment, number))
        self._pending_lock = call
        call.succeeded.connect(partial(self._on_locked, call))

    def take(self, lock: ExperimentLock) -> None:
        """Hold a lock that is already acquired, and release the previous one."""
        self.release()
        self._lock = lock

    def release(self) -> None:
        """Release the lock, so that other programs can resume the experiment."""
        self._pending_lock = None
        lock, self._lock = self._lock, None
        if lock is not None:
            self.drop(lock)

    def drop(self, lock: ExperimentLock) -> None:
        """Release a lock that is not held by this object."""
        self._run("release", lock.release)

    def _on_locked(self, call: BridgeCall, lock: ExperimentLock) -> None:
        if call is self._pending_lock:
            self._pending_lock = None
            self._lock = lock
        else:
            self.drop(lock)


class ExperimentStart(QObject):
    """Saves a new experiment, or locks and loads a saved one, before its trials run; one at a time.

    Args:
        run: runs blocking work on a thread.
        lock_holder: receives the lock of a resumed experiment.
        parent: Qt parent.

    Signals:
        kept: a new experiment was saved; its number in the history.
        reopened: a saved experiment was locked and loaded (StoredExperiment).
        superseded: a new experiment was saved after `reset`; its number and outcomes.
        failed: the experiment could not be saved or locked (AppError).
        lost: an experiment with outcomes could not be saved after `reset` (AppError).
    """

    kept = Signal(int)
    reopened = Signal(object)
    superseded = Signal(int, object)
    failed = Signal(object)
    lost = Signal(object)

    def __init__(self, run: RunInThread, lock_holder: ExperimentLockHolder, parent: QObject) -> None:
        super().__init__(parent)
        self._run = run
        self._lock_holder = lock_holder
        self._call: BridgeCall | None = None

    def keep(self, plan: ExperimentPlan, outcomes: Mapping[int, TrialOutcome]) -> None:
        """Save a new experiment, unless that is in progress. A search is saved while its trials run.

        Args:
            plan: plan to save.
            outcomes: live mapping of its outcomes; the caller adds those that finish before the save.
        """
        if self._call is None:
            call = self._run("history", lambda: experiment_store.start_experiment(plan))
            self._call = call
            call.succeeded.connect(partial(self._on_kept, call, outcomes))
            call.failed.connect(partial(self._on_failed, call, outcomes))

    def reopen(self, number: int) -> None:
        """Lock a saved experiment and load its present state."""
        call = self._run("claim", partial(experiment_store.lock_and_load, number))
        self._call = call
        call.succeeded.connect(partial(self._on_reopened, call))
        call.failed.connect(partial(self._on_failed, call, {}))

    def reset(self) -> None:
        """Stop waiting for the experiment, because the window shows another one."""
        self._call = None

    def _on_kept(self, call: BridgeCall, outcomes: Mapping[int, TrialOutcome], number: int) -> None:
        if call is self._call:
            self._call = None
            self.kept.emit(number)
        elif outcomes:
            self.superseded.emit(number, list(outcomes.values()))

    def _on_reopened(self, call: BridgeCall, locked: tuple[ExperimentLock, StoredExperiment]) -> None:
        lock, stored = locked
        if call is self._call:
            self._call = None
            self._lock_holder.take(lock)
            self.reopened.emit(stored)
        else:
            self._lock_holder.drop(lock)

    def _on_failed(self, call: BridgeCall, outcomes: Mapping[int, TrialOutcome], error: AppError) -> None:
        if call is self._call:
            self._call = None
            self.failed.emit(error)
        elif outcomes:
            self.lost.emit(error)


class TrialRecorder(QObject):
    """Saves finished trials; a failed save is tried again with the next trial and at the end.

    Another program may lock the history for a moment; no trial is lost by that.

    Args:
        run: runs blocking work on a thread.
        parent: Qt parent.

    Signals:
        settled: no save is in progress any more.
        failed: a save failed (AppError); emitted once until a save succeeds.
    """

    settled = Signal()
    failed = Signal(object)

    def __init__(self, run: RunInThread, parent: QObject) -> None:
        super().__init__(parent)
        self._run = run
        self._number = 0
        self._pending: list[TrialOutcome] = []
        self._call: BridgeCall | None = None
        #: Whether to save once more after the present save, even if that fails.
        self._once_more = False
        self._failure_reported = False

    @property
    def busy(self) -> bool:
        """Whether a save is in progress."""
        return self._call is not None

    @property
    def unsaved_count(self) -> int:
        """Number of trials that are not saved."""
        return len(self._pending)

    def keep(self, number: int, outcomes: Iterable[TrialOutcome]) -> None:
        """Save finished trials of the experiment with this number."""
        if number != self._number:
            self.reset()
            self._number = number
        self._pending += outcomes
        self._save_next()

    def finish(self) -> None:
        """Try once more to save the unsaved trials, because no trial follows."""
        if self._call is not None:
            self._once_more = True
        else:
            self._save_next()

    def reset(self) -> None:
        """Try a last time to save the unsaved trials, and forget the experiment."""
        if self._pending:
            self.save_detached(self._number, self._pending)
        self._number = 0
        self._pending = []
        self._once_more = self._failure_reported = False

    def save_detached(self, number: int, outcomes: Iterable[TrialOutcome]) -> None:
        """Try once to save trials of an experiment that the window does not show any more."""
        call = self._run("history", partial(_save_trials, number, tuple(outcomes)))
        call.succeeded.connect(self._on_saved_detached)
        call.failed.connect(self.failed)

    def _save_next(self) -> None:
        if self._call is not None or not self._pending:
            return
        pending = self._pending
        call = self._run("history", partial(_save_trials, self._number, tuple(pending)))
        self._call = call
        call.succeeded.connect(partial(self._on_done, pending, len(pending)))
        call.failed.connect(partial(self._on_failed, pending, len(pending)))

    def _on_saved_detached(self, report: _SaveReport) -> None:
        if report.error is not None:
            self.failed.emit(report.error)

    def _on_failed(self, pending: list[TrialOutcome], count: int, error: AppError) -> None:
        self._on_done(pending, count, _SaveReport(0, error))

    def _on_done(self, pending: list[TrialOutcome], count: int, report: _SaveReport) -> None:
        self._call = None
        try_again = True
        if pending is self._pending:
            try_again = report.error is None or self._once_more or len(pending) > count
            self._once_more = False
            del pending[: report.trials]
            if report.error is None:
                self._failure_reported = False
            elif not self._failure_reported:
                self._failure_reported = True
                self.failed.emit(report.error)
        if try_again:
            self._save_next()
        self._emit_settled()

    def _emit_settled(self) -> None:
        if self._call is None:
            self._once_more = False
            self.settled.emit()


class _SaveReport(NamedTuple):
    """Number of saved trials, and the error of the next one."""

    trials: int
    error: AppError | None = None


def _save_trials(number: int, outcomes: Sequence[TrialOutcome]) -> _SaveReport:
    for count, outcome in enumerate(outcomes):
        try:
            experiment_store.save_outcome(number, outcome)
        except AppError as error:
            return _SaveReport(count, error)
    return _SaveReport(len(outcomes))

"""Experiment recorder: saves a running experiment in the history, for the window and the command line.

The experiment is locked meanwhile, so that no other program resumes it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from app.errors import AppError
from app.history import experiment_store
from app.history.experiment_lock import lock_experiment

if TYPE_CHECKING:
    from advisor.experiment.measurements import TrialOutcome
    from app.experiment.model import ExperimentPlan
    from app.history.experiment_lock import ExperimentLock
    from app.history.experiment_store import StoredExperiment


class ExperimentRecorder:
    """Saves one experiment and the outcomes of its trials; an error does not end the run.

    If another program locks the history, an outcome is saved with the next one or at the end. `save` and
    `close` may block; the other methods may be called from another thread meanwhile.

    Args:
        plan: plan of a new experiment, which the first `save` saves and locks.

    Attributes:
        plan: plan of a new experiment; None for a saved one, and as long as a search has no plan.
        number: number of the experiment in the history, 0 if it is not saved.
    """

    def __init__(self, plan: ExperimentPlan | None = None) -> None:
        self.plan = plan
        self.number = 0
        self._lock: ExperimentLock | None = None
        self._unsaved: list[TrialOutcome] = []
        self._closed = False
        self._failed = False
        #: Guards saving: after a second Ctrl-C, close() may run while the host's thread delivers an outcome.
        self._saving = threading.Lock()

    @classmethod
    def resume(cls, number: int) -> tuple[Self, StoredExperiment]:
        """Lock a saved experiment, and then load it: another program may have run trials of it until then.

        Raises:
            AppError: BUSY if a program runs it; USAGE if no experiment has this number; IO if it cannot be
                read.
        """
        recorder = cls()
        recorder.number = number
        recorder._lock = lock_experiment(number)
        try:
            return recorder, experiment_store.load_experiment(number)
        except BaseException:
            recorder.close()
            raise

    @property
    def unsaved(self) -> tuple[TrialOutcome, ...]:
        """Outcomes that are not saved."""
        return tuple(self._unsaved)

    def add(self, *outcomes: TrialOutcome) -> None:
        """Let the next `save` save outcomes, unless the recorder is closed."""
        if not self._closed:
            self._unsaved += outcomes

    def save(self) -> AppError | None:
        """Save all that is not saved; return the error if it is the first one since a success."""
        with self._saving:
            try:
                if not self.number and self.plan is not None and not self._closed:
                    self._begin(self.plan)
                while self._unsaved and self.number:
                    experiment_store.save_outcome(self.number, self._unsaved[0])
                    del self._unsaved[0]
            except AppError as error:
                first, self._failed = not self._failed, True
                return error if first else None
            self._failed = False
            return None

    def close(self) -> AppError | None:
        """Save outcomes that are left, and release the lock; may be called again to try again.

        Returns:
            As `save`.
        """
        error = self.save() if self._unsaved else None
        self._closed = True
        if self._lock is not None:
            self._lock.release()
        return error

    def _begin(self, plan: ExperimentPlan) -> None:
        number = experiment_store.start_experiment(plan)
        self._lock = lock_experiment(number)
        self.number = number

"""Experiment recorder of the window: runs the saving of an experiment on threads."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.experiment.measurements import TrialOutcome
    from app.errors import AppError
    from app.history.experiment_recorder import ExperimentRecorder
    from ui.common.bridge import BridgeCall, RunInThread


class BackgroundRecorder:
    """Runs an experiment recorder on a thread, one save at a time: the history may be slow or locked.

    Args:
        recorder: saves the experiment.
        run: runs blocking work on a thread.
        saved: called with this object after the last of a row of saves, whether or not it succeeded.
        failed: called with the AppError of the first save that fails since a success.

    Attributes:
        closed: whether the recorder has been closed.
    """

    def __init__(
        self,
        recorder: ExperimentRecorder,
        run: RunInThread,
        saved: Callable[[BackgroundRecorder], None],
        failed: Callable[[AppError], None],
    ) -> None:
        self._recorder = recorder
        self._run = run
        self._saved = saved
        self._failed = failed
        self._call: BridgeCall | None = None
        self._again = self._closing = False
        self.closed = False

    @property
    def busy(self) -> bool:
        """Whether a save is in progress."""
        return self._call is not None

    @property
    def number(self) -> int:
        """Number of the experiment in the history, 0 if it is not saved."""
        return self._recorder.number

    @property
    def unsaved(self) -> tuple[TrialOutcome, ...]:
        """Outcomes that are not saved."""
        return self._recorder.unsaved

    def save(self, *outcomes: TrialOutcome) -> None:
        """Save outcomes, and all that could not be saved before."""
        self._recorder.add(*outcomes)
        self._again = True
        self._save_next()

    def close(self) -> None:
        """Save what is left and release the experiment's lock; a second call tries to save once more."""
        if not self.closed or self.unsaved:
            self._closing = True
            self.save()

    def _save_next(self) -> None:
        if self._call is None and self._again:
            self._again = False
            call = self._run("history", self._recorder.close if self._closing else self._recorder.save)
            self._call = call
            call.succeeded.connect(partial(self._on_ended, closed=self._closing))
            call.failed.connect(partial(self._on_ended, closed=self._closing))

    def _on_ended(self, error: AppError | None, *, closed: bool) -> None:
        self._call = None
        self.closed = closed
        if error is not None:
            self._failed(error)
        self._save_next()
        if self._call is None:
            self._saved(self)

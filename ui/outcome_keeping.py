"""Puts the trials of an experiment into the history, one piece of work at a time, and tries again."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QObject, Signal

from app.errors import AppError
from app.history import experiment_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from advisor.experiment.measurements import Outcome
    from ui.common.bridge import BridgeCall, RunInThread


class OutcomeKeeping(QObject):
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
        self._owed: list[Outcome] = []
        self._call: BridgeCall | None = None
        #: Try once more after the work that is under way, even if it fails.
        self._once_more = False
        self._told = False

    @property
    def busy(self) -> bool:
        """Whether something is on its way into the history."""
        return self._call is not None

    @property
    def owed(self) -> int:
        """How many are not in the history."""
        return len(self._owed)

    def keep(self, number: int, outcomes: Iterable[Outcome]) -> None:
        """Keep finished trials of the experiment of this number."""
        if number != self._number:
            self.forget()
            self._number = number
        self._owed += outcomes
        self._go_on()

    def finish(self) -> None:
        """Nothing more comes for now: try once more what could not be kept."""
        if self._call is not None:
            self._once_more = True
        else:
            self._go_on()

    def forget(self) -> None:
        """Another experiment is shown: what is left of this one is tried a last time."""
        if self._owed:
            self.keep_apart(self._number, self._owed)
        self._number = 0
        self._owed = []
        self._once_more = self._told = False

    def keep_apart(self, number: int, outcomes: Iterable[Outcome]) -> None:
        """Try once to keep trials of an experiment that is not shown any more."""
        call = self._run("history", partial(_keep, number, tuple(outcomes)))
        call.succeeded.connect(self._on_kept_apart)
        call.failed.connect(self.failed)

    def _go_on(self) -> None:
        if self._call is not None or not self._owed:
            return
        owed = self._owed
        call = self._run("history", partial(_keep, self._number, tuple(owed)))
        self._call = call
        call.succeeded.connect(partial(self._on_done, owed, len(owed)))
        call.failed.connect(partial(self._on_failed, owed, len(owed)))

    def _on_kept_apart(self, kept: _Kept) -> None:
        if kept.error is not None:
            self.failed.emit(kept.error)

    def _on_failed(self, owed: list[Outcome], count: int, error: AppError) -> None:
        self._on_done(owed, count, _Kept(0, error))

    def _on_done(self, owed: list[Outcome], count: int, kept: _Kept) -> None:
        self._call = None
        again = True
        if owed is self._owed:
            again = kept.error is None or self._once_more or len(owed) > count
            self._once_more = False
            del owed[: kept.trials]
            if kept.error is None:
                self._told = False
            elif not self._told:
                self._told = True
                self.failed.emit(kept.error)
        if again:
            self._go_on()
        self._settle()

    def _settle(self) -> None:
        if self._call is None:
            self._once_more = False
            self.settled.emit()


class _Kept(NamedTuple):
    """How many were kept, and why the next one was not."""

    trials: int
    error: AppError | None = None


def _keep(number: int, outcomes: Sequence[Outcome]) -> _Kept:
    for count, outcome in enumerate(outcomes):
        try:
            experiment_store.keep(number, outcome)
        except AppError as error:
            return _Kept(count, error)
    return _Kept(len(outcomes))

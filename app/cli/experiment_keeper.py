"""Keeps the trials of an experiment that the command line runs in the history, whatever happens to that."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from app.errors import AppError
from app.history.experiment_lock import claim
from app.history.experiment_store import begin, keep

if TYPE_CHECKING:
    from advisor.experiment.measurements import Outcome
    from app.cli.experiment_text import ProgressLine
    from app.experiment.model import ExperimentPlan
    from app.history.experiment_lock import Claim


class Keeper:
    """Keeps each outcome of one experiment in the history at once; that this fails ends no long run.

    What cannot be kept is tried again with the next outcome and at the end: another program may have held the
    history for a moment. An experiment that begins here is claimed, too, until the end.

    Args:
        line: to be cleared before something is said.
        number: of the experiment, if it is in the history already.
        off: keep nothing.

    Attributes:
        line: as given.
        number: of the experiment in the history, 0 if it is not kept.
    """

    def __init__(self, line: ProgressLine, number: int = 0, *, off: bool = False) -> None:
        self.line = line
        self.number = number
        self._off = off
        self._plan: ExperimentPlan | None = None
        self._claim: Claim | None = None
        self._owed: list[Outcome] = []
        self._told = False
        #: The outcomes come on a thread of the host's, which a second Ctrl-C does not wait for.
        self._trying = threading.Lock()

    def begin(self, plan: ExperimentPlan) -> None:
        """Begin to keep an experiment."""
        self._plan = plan
        self._try()

    def keep(self, outcome: Outcome) -> None:
        """Keep a finished trial."""
        self._owed.append(outcome)
        self._try()

    def close(self) -> None:
        """Try what is owed a last time, say what is lost, and let others go on with it; once is enough."""
        if self._owed:
            self._try()
        if self._owed and not self._off:
            self._say(f"{len(self._owed)} trial(s) could not be kept in the history.")
        self._off = True
        if self._claim is not None:
            self._claim.release()

    def _try(self) -> None:
        with self._trying:
            self._keep_owed()

    def _keep_owed(self) -> None:
        if self._off:
            return
        try:
            if not self.number and self._plan is not None:
                number = begin(self._plan)
                self._claim = claim(number)
                self.number = number
            while self._owed:
                keep(self.number, self._owed[0])
                del self._owed[0]
        except AppError as error:
            if not self._told:
                self._say(
                    f"The trials are not kept for now: {error.message} It is tried again with the next."
                )
            self._told = True
        else:
            self._told = False

    def _say(self, text: str) -> None:
        self.line.clear()
        print(f"mountwright: {text}", file=sys.stderr, flush=True)

"""Says that an experiment runs in this window, so that no other program goes on with it meanwhile."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from app.history.experiment_lock import claim

if TYPE_CHECKING:
    from app.history.experiment_lock import Claim
    from ui.common.bridge import BridgeCall, RunInThread


class ExperimentClaim:
    """Holds at most one claim; each file is touched on a thread, as it may lie on a server that is away.

    Args:
        run: runs blocking work on a thread.
    """

    def __init__(self, run: RunInThread) -> None:
        self._run = run
        self._wanted: BridgeCall | None = None
        self._claim: Claim | None = None

    def hold(self, number: int) -> None:
        """Claim an experiment that has just begun."""
        self.let_go()
        call = self._run("claim", partial(claim, number))
        self._wanted = call
        call.succeeded.connect(partial(self._on_claimed, call))

    def take(self, claimed: Claim) -> None:
        """Hold a claim that was made already."""
        self.let_go()
        self._claim = claimed

    def let_go(self) -> None:
        """Let others run it."""
        self._wanted = None
        claimed, self._claim = self._claim, None
        if claimed is not None:
            self.drop(claimed)

    def drop(self, claimed: Claim) -> None:
        """Give up a claim that nobody waits for any more."""
        self._run("release", claimed.release)

    def _on_claimed(self, call: BridgeCall, claimed: Claim) -> None:
        if call is self._wanted:
            self._wanted = None
            self._claim = claimed
        else:
            self.drop(claimed)

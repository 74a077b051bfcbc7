"""Asks who waits for the mount that is shown, again and again while its server does not answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal

from app.mounts.waiting import WaitingArgs
from ui.latest_call import LatestCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.errors import AppError
    from app.mounts.model import Mount
    from ui.common.bridge import BridgeCall

_AGAIN_MS = 5000


class WaitingAsking(QObject):
    """Follows one mount at a time.

    Args:
        submit: sends a request to the agent.
        parent: owner.

    Signals:
        known: the Waiting, None while it is not known.
    """

    known = Signal(object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], parent: QObject) -> None:
        super().__init__(parent)
        self._call = LatestCall(submit)
        self._point = ""
        self._timer = QTimer(self)
        self._timer.setInterval(_AGAIN_MS)
        self._timer.timeout.connect(self._ask)

    def follow(self, mount: Mount | None) -> None:
        """Ask about this mount if its server does not answer; None, or any other, ends that."""
        silent = mount is not None and mount.state == "not-responding"
        point = mount.mount_point if mount is not None and silent else ""
        if point == self._point:
            return
        self._point = point
        self._call.forget()
        self.known.emit(None)
        if point:
            self._timer.start()
            self._ask()
        else:
            self._timer.stop()

    def _ask(self) -> None:
        if not self._call.is_pending:
            args = WaitingArgs(mount_point=self._point)
            self._call.ask("mounts.waiting", args, self.known.emit, self._on_unknown)

    def _on_unknown(self, _error: AppError) -> None:
        self.known.emit(None)

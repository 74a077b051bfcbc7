"""Asks who waits for the mount that is shown, again and again while its server does not answer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal

from app.errors import AppError
from app.mounts.waiting import WaitingArgs

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.mounts.model import Mount
    from app.mounts.waiting import Waiting
    from ui.bridge import BridgeCall

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
        self._submit = submit
        self._call: BridgeCall | None = None
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
        self._call = None
        self.known.emit(None)
        if point:
            self._timer.start()
            self._ask()
        else:
            self._timer.stop()

    def _ask(self) -> None:
        if self._call is not None:
            return
        try:
            call = self._submit("mounts.waiting", WaitingArgs(mount_point=self._point))
        except AppError:  # the host is gone, which is told elsewhere
            return
        self._call = call
        call.succeeded.connect(partial(self._on_answer, call))
        call.failed.connect(partial(self._on_answer, call, None))

    def _on_answer(self, call: BridgeCall, waiting: Waiting | None, *_error: Any) -> None:
        if call is self._call:
            self._call = None
            self.known.emit(waiting)

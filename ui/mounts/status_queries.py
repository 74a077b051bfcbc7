"""Status queries about the mount shown: free space, and processes that wait for an unresponsive server.

The agent answers the queries. The window accesses no NFS path itself, as that could block it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal

from app.mounts.model import SpaceArgs, WaitingArgs
from app.mounts.space import MAX_AGE_S
from ui.common.bridge import LatestCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.errors import AppError
    from app.mounts.model import Mount
    from ui.common.bridge import BridgeCall

#: Delay before the next check whether a query may be sent, ms.
_MIN_INTERVAL_MS = 5000


class FreeSpaceQuery(QObject):
    """Requests the free space of the mount shown, once a minute.

    Args:
        submit: sends a request to the agent.
        rests: returns True while no query may be sent: during a measurement, and while the window is hidden.
        parent: the Qt parent.

    Signals:
        known: the Space, or None while it is unknown.
    """

    known = Signal(object)

    def __init__(
        self, submit: Callable[[str, Any], BridgeCall], rests: Callable[[], bool], parent: QObject
    ) -> None:
        super().__init__(parent)
        self._call = LatestCall(submit)
        self._rests = rests
        self._followed: tuple[str, ...] | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._ask)

    def follow(self, mount: Mount | None) -> None:
        """Query this mount now and every minute; stop for None and for a share that is not mounted."""
        active = mount.active if mount is not None else None
        target: tuple[str, ...] | None = None
        if mount is not None and active is not None:
            # With the state, so that a server that responds again is queried at once.
            target = (mount.mount_point, mount.share, str(active.mount_id), mount.state)
        if target == self._followed:
            return
        self._followed = target
        self._call.cancel()
        self.known.emit(None)
        if target is None:
            self._timer.stop()
        else:
            self._ask()

    def _ask(self) -> None:
        if self._followed is None or self._call.is_pending:
            return
        if self._rests():
            self._timer.start(_MIN_INTERVAL_MS)
            return
        self._timer.start(int(MAX_AGE_S * 1000))
        args = SpaceArgs(mount_point=self._followed[0])
        self._call.ask("mounts.space", args, self.known.emit, self._on_unknown)

    def _on_unknown(self, _error: AppError) -> None:
        self.known.emit(None)


#: Interval between two queries for waiting processes, ms.
_INTERVAL_MS = 5000


class WaitingProcessesQuery(QObject):
    """Requests the processes that wait for the server of the mount shown.

    Args:
        submit: sends a request to the agent.
        parent: the Qt parent.

    Signals:
        known: the WaitingProcesses, or None while they are unknown.
    """

    known = Signal(object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], parent: QObject) -> None:
        super().__init__(parent)
        self._call = LatestCall(submit)
        self._mount_point = ""
        self._timer = QTimer(self)
        self._timer.setInterval(_INTERVAL_MS)
        self._timer.timeout.connect(self._ask)

    def follow(self, mount: Mount | None) -> None:
        """Query this mount every few seconds if its server does not respond; otherwise, or for None, stop."""
        silent = mount is not None and mount.state == "not-responding"
        mount_point = mount.mount_point if mount is not None and silent else ""
        if mount_point == self._mount_point:
            return
        self._mount_point = mount_point
        self._call.reset()
        self.known.emit(None)
        if mount_point:
            self._timer.start()
            self._ask()
        else:
            self._timer.stop()

    def _ask(self) -> None:
        if not self._call.is_pending:
            args = WaitingArgs(mount_point=self._mount_point)
            self._call.ask("mounts.waiting", args, self.known.emit, self._on_unknown)

    def _on_unknown(self, _error: AppError) -> None:
        self.known.emit(None)

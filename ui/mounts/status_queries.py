"""Status queries about the mount shown: its free space, and the processes that wait for its silent server.

The agent answers them: the window touches no NFS path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal

from app.mounts.mount_users import WaitingArgs
from app.mounts.space import MAX_AGE_S, SpaceArgs
from ui.common.bridge import LatestCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.errors import AppError
    from app.mounts.model import Mount
    from ui.common.bridge import BridgeCall

#: When to look again whether it may be asked, milliseconds.
_MIN_INTERVAL_MS = 5000


class FreeSpaceQuery(QObject):
    """Follows one mount at a time.

    Args:
        submit: sends a request to the agent.
        rests: whether nothing is to be asked now: it would disturb a measurement, or nobody looks.
        parent: owner.

    Signals:
        known: the Space, None while it is not known.
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
        """Ask about this mount now and every minute; None, or one that is not mounted, ends that."""
        active = mount.active if mount is not None else None
        wanted: tuple[str, ...] | None = None
        if mount is not None and active is not None:
            # The state too: a server that is back is asked at once.
            wanted = (mount.mount_point, mount.share, str(active.mount_id), mount.state)
        if wanted == self._followed:
            return
        self._followed = wanted
        self._call.cancel()
        self.known.emit(None)
        if wanted is None:
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


_INTERVAL_MS = 5000


class WaitingProcessesQuery(QObject):
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
        self._timer.setInterval(_INTERVAL_MS)
        self._timer.timeout.connect(self._ask)

    def follow(self, mount: Mount | None) -> None:
        """Ask about this mount if its server does not answer; None, or any other, ends that."""
        silent = mount is not None and mount.state == "not-responding"
        point = mount.mount_point if mount is not None and silent else ""
        if point == self._point:
            return
        self._point = point
        self._call.reset()
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

"""Facts loader: requests the facts of the mount shown, or of this computer while a new mount is edited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal

from app.service.protocol import FactsArgs
from ui.common.bridge import LatestCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.errors import AppError
    from ui.common.bridge import BridgeCall

#: Delay between the last edit of a new mount's options and the request for facts, ms.
_PAUSE_MS = 500


class FactsLoader(QObject):
    """Requests the Facts of one share at a time, so that lint never uses the facts of another mount.

    For a new mount it requests only facts of this computer: no server is contacted while its name is typed.

    Args:
        submit: sends a request to the agent.
        parent: the Qt parent.

    Signals:
        known: the Facts of the share, or None while they are unknown.
        client_known: Facts of this computer only.
    """

    known = Signal(object)
    client_known = Signal(object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], parent: QObject) -> None:
        super().__init__(parent)
        self._call = LatestCall(submit)
        self._options = ""
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_PAUSE_MS)
        self._pause.timeout.connect(self._ask_client)

    def ask(self, share: str) -> None:
        """Clear the facts and request those of this share."""
        self.reset()
        self._call.ask("facts.get", FactsArgs(share=share), self.known.emit, self._on_unknown)

    def ask_client(self, options: str) -> None:
        """Clear the facts and request those of this computer, for a new mount with these options."""
        self.reset()
        self._options = options
        self._ask_client()

    def follow_options(self, options: str) -> None:
        """Request the facts of this computer again, after a short delay, when a new mount's options changed.

        A program or service that an option needs may have been installed or started since the last request.
        """
        if options != self._options:
            self._options = options
            self._pause.start()

    def reset(self) -> None:
        """Cancel the request and clear the facts."""
        self._pause.stop()
        self._call.reset()
        self.known.emit(None)

    def _ask_client(self) -> None:
        self._call.ask("facts.get", FactsArgs(), self.client_known.emit)

    def _on_unknown(self, _error: AppError) -> None:
        self.known.emit(None)

"""Facts loader: asks for the facts of the mount shown, or of this computer while a mount is drafted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal

from app.service.protocol import FactsArgs
from ui.common.bridge import LatestCall

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.errors import AppError
    from ui.common.bridge import BridgeCall

#: The options of a new mount are still being typed: it is asked once they rest, milliseconds.
_PAUSE_MS = 500


class FactsLoader(QObject):
    """Asks about one share at a time: what is known of one mount's link and server is not to judge another.

    Of a new mount only this computer is asked, as no server is to be contacted while its name is typed.

    Args:
        submit: sends a request to the agent.
        parent: owner.

    Signals:
        known: the Facts, None while they are not known.
        client_known: the Facts of this computer alone.
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
        """Forget what was known, and ask about this share."""
        self.reset()
        self._call.ask("facts.get", FactsArgs(share=share), self.known.emit, self._on_unknown)

    def ask_client(self, options: str) -> None:
        """Forget what was known, and ask about this computer for a new mount with these options."""
        self.reset()
        self._options = options
        self._ask_client()

    def follow_options(self, options: str) -> None:
        """Ask about this computer again, shortly: the options of a new mount are these now.

        What an option needs may have been installed or started since.
        """
        if options != self._options:
            self._options = options
            self._pause.start()

    def reset(self) -> None:
        """Know nothing."""
        self._pause.stop()
        self._call.reset()
        self.known.emit(None)

    def _ask_client(self) -> None:
        self._call.ask("facts.get", FactsArgs(), self.client_known.emit)

    def _on_unknown(self, _error: AppError) -> None:
        self.known.emit(None)

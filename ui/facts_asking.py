"""Asks what is known of the link and the server of the mount that is shown."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from app.agent.protocol import FactsArgs

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.facts import Facts
    from ui.bridge import BridgeCall


class FactsAsking(QObject):
    """Asks about one share at a time: what is known of one mount's link and server is not to judge another.

    Args:
        submit: sends a request to the agent.
        parent: owner.

    Signals:
        known: the Facts, None while they are not known.
    """

    known = Signal(object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], parent: QObject) -> None:
        super().__init__(parent)
        self._submit = submit
        self._call: BridgeCall | None = None

    def ask(self, share: str) -> None:
        """Forget what was known, and ask about this share."""
        self.forget()
        call = self._submit("facts.get", FactsArgs(share=share))
        self._call = call
        call.succeeded.connect(partial(self._on_facts, call))
        call.failed.connect(partial(self._on_facts, call, None))

    def forget(self) -> None:
        """Know nothing."""
        self._call = None
        self.known.emit(None)

    def _on_facts(self, call: BridgeCall, facts: Facts | None, *_error: Any) -> None:
        if call is self._call:
            self._call = None
            self.known.emit(facts)

"""A label for sentences that were made where nobody knows the unit of speeds that the person chose."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from ui.common.speed_units import SPEED_UNITS, in_chosen_unit


class SpokenLabel(QLabel):
    """Plain text that wraps and can be selected; the speeds in it follow the unit chosen."""

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._said = ""
        self.say(text)
        SPEED_UNITS.changed.connect(self._show)

    def say(self, text: str) -> None:
        """Show this text."""
        self._said = text
        self._show()

    def _show(self) -> None:
        self.setText(in_chosen_unit(self._said))

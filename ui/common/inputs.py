"""A number on a page that scrolls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSpinBox

if TYPE_CHECKING:
    from PySide6.QtGui import QWheelEvent


class CalmSpinBox(QSpinBox):
    """Leaves the wheel to the page unless it has the focus."""

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    # Qt overrides

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Qt: turn only what the person is working on."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()

"""The list at the left and what is chosen in it at the right: a narrow window has a narrow list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QWidget

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent

#: Letters of the list where there is room, and its part of a narrow window.
_LETTERS, _PART = 38, 0.27


class ListSplitter(QSplitter):
    """Shares its width out until a person does.

    Args:
        listed: at the left.
        chosen: at the right.
    """

    def __init__(self, listed: QWidget, chosen: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.setChildrenCollapsible(False)
        self.setHandleWidth(1)
        self.addWidget(listed)
        self.addWidget(chosen)
        self.setStretchFactor(0, 0)
        self.setStretchFactor(1, 1)
        self._moved = False
        self.splitterMoved.connect(self._on_moved)

    def _on_moved(self, _place: int, _handle: int) -> None:
        self._moved = True

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: share another width out."""
        super().resizeEvent(event)
        if not self._moved:
            width = self.width()
            left = min(self.fontMetrics().averageCharWidth() * _LETTERS, round(width * _PART))
            self.setSizes([left, width - left])

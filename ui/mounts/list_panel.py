"""The row of a draft: what was typed of a new mount, above the list of mounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QSizePolicy

from ui.common.labels import plain_tip

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent


class DraftRow(QPushButton):
    """A button as wide as the list; it is pressed while its draft is shown."""

    def __init__(self) -> None:
        super().__init__()
        self._text = ""
        self.setObjectName("draft")
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.hide()

    def show_draft(self, name: str | None, *, chosen: bool) -> None:
        """Name the draft; None hides the row."""
        self.setVisible(name is not None)
        self.setChecked(chosen)
        self._text = self.tr("Draft: {name}").format(name=name or self.tr("new mount"))
        self.setAccessibleName(self._text)
        self.setToolTip(plain_tip(self._text))
        self._elide()

    def nextCheckState(self) -> None:
        """Qt: whether it is pressed is told by what is shown, not by a click."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: cut the name where the row ends."""
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        room = self.width() - 3 * self.fontMetrics().averageCharWidth()
        text = self.fontMetrics().elidedText(self._text, Qt.TextElideMode.ElideMiddle, room)
        self.setText(text.replace("&", "&&"))

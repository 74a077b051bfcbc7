"""An option's label with its real name beside it, as far as there is room for that."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QSizePolicy, QWidget

#: The room that a label gets at least, in letters; longer ones are elided where there is no more.
_LETTERS = 17


class OptionTitle(QWidget):
    """Paints the label at the left and, in what is left, the name at the right."""

    def __init__(self, label: str, name: str) -> None:
        super().__init__()
        self.label = label
        self.name = name
        self.setAccessibleName(f"{label} ({name})")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: wide enough for both."""
        metrics = self.fontMetrics()
        gap = metrics.averageCharWidth() * 2
        width = metrics.horizontalAdvance(self.label) + gap + metrics.horizontalAdvance(self.name)
        return QSize(width, metrics.height())

    def minimumSizeHint(self) -> QSize:
        """Qt: wide enough for most labels."""
        metrics = self.fontMetrics()
        width = min(metrics.horizontalAdvance(self.label) + 2, metrics.averageCharWidth() * _LETTERS)
        return QSize(width, metrics.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: paint them."""
        del event
        metrics = self.fontMetrics()
        painter = QPainter(self)
        text = metrics.elidedText(self.label, Qt.TextElideMode.ElideRight, self.width())
        painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)
        left = metrics.horizontalAdvance(text) + metrics.averageCharWidth() * 2
        if left + metrics.horizontalAdvance(self.name) <= self.width():
            painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
            painter.drawText(
                self.rect(), Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, self.name
            )
        painter.end()

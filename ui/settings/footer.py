"""A command of any length, to be read and copied: it is broken where the window ends, also in a word."""

from __future__ import annotations

import math

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent, QTextLayout, QTextOption
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy

_WRAP = QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere
_LETTERS = 20


class CommandView(QPlainTextEdit):
    """Looks like a label; as high as its text needs at its width."""

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWordWrapMode(_WRAP)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.viewport().setAutoFillBackground(False)
        self.document().setDocumentMargin(0)

    def text(self) -> str:
        """Return the whole of it."""
        return self.toPlainText()

    def show_text(self, text: str) -> None:
        """Show this command."""
        if text != self.text():
            self.setPlainText(text)
            self._fit()

    def _fit(self) -> None:
        layout = QTextLayout(self.text(), self.font())
        option = QTextOption()
        option.setWrapMode(_WRAP)
        layout.setTextOption(option)
        layout.beginLayout()
        height = 0.0
        while (line := layout.createLine()).isValid():
            line.setLineWidth(self.viewport().width())
            height += line.height()
        layout.endLayout()
        self.setFixedHeight(math.ceil(max(height, self.fontMetrics().lineSpacing())) + 2)

    # Qt overrides

    def minimumSizeHint(self) -> QSize:
        """Qt: a few letters wide."""
        return QSize(self.fontMetrics().averageCharWidth() * _LETTERS, self.minimumHeight())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: another width breaks it elsewhere."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._fit()

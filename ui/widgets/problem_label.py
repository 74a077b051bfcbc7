"""What is wrong with what was typed, in the colour of errors."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QLabel

from ui.common import theme


class ProblemLabel(QLabel):
    """Is seen only while something is wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        theme.tint(self, theme.colours().error)
        self.hide()

    def show_problem(self, text: str) -> None:
        """Say what is wrong, "" for nothing."""
        self.setText(text)
        self.setVisible(bool(text))

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark; tinted as it is already, it does not change again."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            theme.tint(self, theme.colours().error)

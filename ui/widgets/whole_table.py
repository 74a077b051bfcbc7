"""A table that is only read and as high as all of its rows: what it stands on scrolls."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QSizePolicy

from ui.common.tables import PlainTable


class WholeTable(PlainTable):
    """An empty table with titles; see PlainTable."""

    def __init__(self, name: str, accessible: str, titles: list[str]) -> None:
        super().__init__(name, accessible, titles)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.verticalHeader().setDefaultSectionSize(int(self.fontMetrics().lineSpacing() * 1.45))

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: as high as all rows, and a bar below for what is too wide."""
        header, bar = self.horizontalHeader(), self.horizontalScrollBar()
        wide = bar.sizeHint().height() if bar.maximum() else 0
        rows = self.verticalHeader().length() + header.sizeHint().height()
        return QSize(super().sizeHint().width(), rows + wide + 4)

    def minimumSizeHint(self) -> QSize:
        """Qt: never lower."""
        return QSize(0, self.sizeHint().height())

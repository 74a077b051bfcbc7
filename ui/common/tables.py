"""Read-only tables: nothing is selected or edited; one kind is as high as all of its rows."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QSize, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QSizePolicy,
    QTableView,
    QTableWidget,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Letters of a title that stand in one line.
_TITLE_LETTERS = 13


class ReadOnlyTable(QTableWidget):
    """An empty table with titles.

    Args:
        name: of the object.
        accessible: what it is, for people who do not see it.
        titles: of its columns.
    """

    def __init__(self, name: str, accessible: str, titles: Sequence[str]) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(accessible)
        self.setColumnCount(len(titles))
        self.setHorizontalHeaderLabels(titles)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAlternatingRowColors(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        style_read_only(self)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)


def style_as_list(table: QTableView) -> None:
    """Let whole lines be chosen, one under the other without a frame, titles of lines or broken texts."""
    style_read_only(table)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setFrameShape(QFrame.Shape.NoFrame)
    table.setAlternatingRowColors(True)
    table.setWordWrap(False)
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(int(table.fontMetrics().lineSpacing() * 1.5))


def style_read_only(table: QTableView) -> None:
    """Draw no grid, light up no titles, let Tab go on; name the parts for people who do not see them."""
    table.setShowGrid(False)
    table.setTabKeyNavigation(False)
    table.horizontalHeader().setHighlightSections(False)
    table.horizontalHeader().setAccessibleName(QCoreApplication.translate("ReadOnlyTable", "Column titles"))
    table.verticalHeader().setAccessibleName(QCoreApplication.translate("ReadOnlyTable", "Row titles"))
    corner = table.findChild(QAbstractButton)
    if corner is not None:
        corner.setAccessibleName(QCoreApplication.translate("ReadOnlyTable", "Corner between the titles"))


def wrapped_title(title: str) -> str:
    """Return a long title in several lines: a column is as wide as its title."""
    return "\n".join(textwrap.wrap(title, _TITLE_LETTERS))


class AutoHeightTable(ReadOnlyTable):
    """An empty table with titles; see ReadOnlyTable."""

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

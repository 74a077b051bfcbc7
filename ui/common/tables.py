"""A table that is only read: nothing in it is chosen or edited, and it fills its width."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QTableView,
    QTableWidget,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Letters of a title that stand in one line.
_TITLE = 13


class PlainTable(QTableWidget):
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
        make_calm(self)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)


def show_as_list(table: QTableView) -> None:
    """Let whole lines be chosen, one under the other without a frame, titles of lines or broken texts."""
    make_calm(table)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setFrameShape(QFrame.Shape.NoFrame)
    table.setAlternatingRowColors(True)
    table.setWordWrap(False)
    table.verticalHeader().hide()
    table.verticalHeader().setDefaultSectionSize(int(table.fontMetrics().lineSpacing() * 1.5))


def make_calm(table: QTableView) -> None:
    """Draw no grid, light up no titles, let Tab go on; name the parts for people who do not see them."""
    table.setShowGrid(False)
    table.setTabKeyNavigation(False)
    table.horizontalHeader().setHighlightSections(False)
    table.horizontalHeader().setAccessibleName(QCoreApplication.translate("PlainTable", "Column titles"))
    table.verticalHeader().setAccessibleName(QCoreApplication.translate("PlainTable", "Row titles"))
    corner = table.findChild(QAbstractButton)
    if corner is not None:
        corner.setAccessibleName(QCoreApplication.translate("PlainTable", "Corner between the titles"))


def in_lines(title: str) -> str:
    """Return a long title in several lines: a column is as wide as its title."""
    return "\n".join(textwrap.wrap(title, _TITLE))

"""A table that is only read: nothing in it is chosen or edited, and it fills its width."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableWidget

if TYPE_CHECKING:
    from collections.abc import Sequence


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
        self.setShowGrid(False)
        self.setAlternatingRowColors(True)
        self.setTabKeyNavigation(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        header.setHighlightSections(False)

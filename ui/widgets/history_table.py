"""The tests of the history; in a narrow window the columns that say least make room for the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from ui.common.tables import show_as_list
from ui.history.table import READ, REMARKS, SHARE, WHAT, WHEN, WRITE

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent

    from ui.history.table import HistoryModel

#: Letters of each column.
_LETTERS = {WHEN: 18, SHARE: 26, WHAT: 20, WRITE: 15, READ: 19, REMARKS: 10}
#: Letters of a column that has to make room, before it is left out.
_LEAST = 12


class HistoryTable(QTableView):
    """Lists tests, of which several can be chosen.

    Args:
        model: of the tests.
    """

    def __init__(self, model: HistoryModel) -> None:
        super().__init__()
        self._one_share = True
        self.setObjectName("history")
        self.setAccessibleName(self.tr("Tests"))
        show_as_list(self)
        self.setModel(model)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setCornerButtonEnabled(False)
        header = self.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        unit = self.fontMetrics().averageCharWidth()
        for column, letters in _LETTERS.items():
            self.setColumnWidth(column, letters * unit)
        header.setSectionResizeMode(REMARKS, QHeaderView.ResizeMode.Stretch)

    def show_scope(self, *, one_share: bool) -> None:
        """Show tests of one share, which needs no column then, or of all."""
        self._one_share = one_share
        self._fit()

    def _fit(self) -> None:
        """Leave out what says least, make the next narrower, and leave it out, too, if nothing else helps."""
        unit = self.fontMetrics().averageCharWidth()
        first, second = (SHARE, WHAT) if self._one_share else (WHAT, SHARE)
        room, needed = self.viewport().width() // unit, sum(_LETTERS.values())
        self.setColumnHidden(first, needed > room)
        needed -= _LETTERS[first] if needed > room else 0
        letters = max(_LETTERS[second] - max(needed - room, 0), 0)
        self.setColumnHidden(second, letters < _LEAST)
        self.setColumnWidth(second, letters * unit)

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: another width has room for other columns."""
        super().resizeEvent(event)
        self._fit()

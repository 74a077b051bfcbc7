"""The option sets of an experiment, the best first; each row has a menu."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QStyledItemDelegate, QTableView

from ui.common.tables import show_as_list
from ui.experiments.ranking import INTERVAL, NUMBERS, TIMEOUTS, RankingModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PySide6.QtCore import QLocale, QPoint

    from advisor.experiment.ranking import Ranking

#: Lines that are seen without scrolling.
_LINES = 10


class _Number(QStyledItemDelegate):
    """Keeps a number from the text in the next column, which begins where the number ends."""

    def displayText(self, value: Any, locale: QLocale | QLocale.Language) -> str:
        """Qt: the text, and a space of half its height."""
        return f"{super().displayText(value, locale)}\N{EN SPACE}"


class RankingTable(QTableView):
    """Shows a ranking; no line is chosen until the person chooses one.

    Signals:
        chosen: the levels of the line that was chosen, None for none.
        menu_asked: the levels of a line whose menu is wanted, and where on the screen (QPoint).
    """

    chosen = Signal(object)
    menu_asked = Signal(object, object)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("experiment-ranking")
        self.setAccessibleName(self.tr("Ranking"))
        show_as_list(self)
        self._model = RankingModel(self)
        self.setModel(self._model)
        number = _Number(self)
        for column in NUMBERS:
            self.setItemDelegateForColumn(column, number)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setStretchLastSection(True)
        self.selectionModel().selectionChanged.connect(self._on_selection)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._on_menu)

    def show_ranking(self, ranking: Ranking | None) -> None:
        """Show this one; the set that was chosen stays so."""
        kept = self.levels()
        self._model.show_ranking(ranking)
        for column in (INTERVAL, TIMEOUTS):
            self.setColumnHidden(column, column in self._model.empty_columns())
        line = self.verticalHeader().defaultSectionSize()
        lines = min(max(self._model.rowCount(), 2), _LINES)
        header, bar = self.horizontalHeader(), self.horizontalScrollBar()
        self.setFixedHeight(header.sizeHint().height() + bar.sizeHint().height() + line * lines + 8)
        if kept is not None:
            self.choose(kept)

    def choose(self, levels: Mapping[str, str]) -> bool:
        """Choose the line of an option set; return whether it has one."""
        standings = [self._model.standing(row) for row in range(self._model.rowCount())]
        place = next((row for row, one in enumerate(standings) if one and one.levels == levels), None)
        if place is None:
            self.clearSelection()
            return False
        self.selectRow(place)
        return True

    def levels(self) -> dict[str, str] | None:
        """Return the levels of the line chosen, None for none."""
        rows = self.selectionModel().selectedRows()
        standing = self._model.standing(rows[0].row()) if rows else None
        return standing.levels if standing is not None else None

    def _on_menu(self, position: QPoint) -> None:
        index = self.indexAt(position)
        standing = self._model.standing(index.row()) if index.isValid() else None
        if standing is not None:
            self.menu_asked.emit(standing.levels, self.viewport().mapToGlobal(position))

    def _on_selection(self, *_changes: object) -> None:
        self.chosen.emit(self.levels())

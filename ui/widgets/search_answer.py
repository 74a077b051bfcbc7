"""What a search for the best setting ended with: best, next, the kernel's default and the present setting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidgetItem

from advisor.experiment.measurements import WRITE
from app.experiment.analysis import search_rows, set_of
from ui.common.figure_text import between, written
from ui.common.speed_units import SPEED_UNITS
from ui.experiments.plan_view import setting_text
from ui.widgets.whole_table import WholeTable

if TYPE_CHECKING:
    from PySide6.QtCore import QPoint

    from app.experiment.analysis import SearchRow
    from app.experiment.model import BestResult

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class SearchAnswer(WholeTable):
    """A row for each; hidden without an answer. No row is chosen until the person chooses one.

    Signals:
        chosen: the levels of the row that was chosen.
        menu_asked: the levels of a row whose menu is wanted, and where on the screen (QPoint).
    """

    chosen = Signal(object)
    menu_asked = Signal(object, object)

    def __init__(self) -> None:
        super().__init__("experiment-answer", "", [""] * 5)
        self.setAccessibleName(self.tr("What was found"))
        self.setHorizontalHeaderLabels([
            "", self.tr("Speed"), self.tr("Likely between"), self.tr("Trials"), self.tr("Setting"),
        ])  # fmt: skip
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setStretchLastSection(True)
        self._result: BestResult | None = None
        self._unit = SPEED_UNITS.unit
        self._rows: list[dict[str, str]] = []
        self.itemSelectionChanged.connect(self._on_selection)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._on_menu)
        self.hide()

    def show_result(self, result: BestResult | None) -> None:
        """Show what this search ended with, or nothing."""
        self.setVisible(result is not None)
        if result is None or (result is self._result and SPEED_UNITS.unit is self._unit):
            return
        # In another unit it is still the same answer: the row that was chosen stays so.
        rows = self.selectionModel().selectedRows()
        kept = rows[0].row() if rows and result is self._result else -1
        self._result = result
        self._unit = SPEED_UNITS.unit
        shown = search_rows(result)
        self.blockSignals(True)  # noqa: FBT003
        self.clearSelection()
        self.setRowCount(len(shown))
        self._rows = [row.levels for row in shown]
        for place, row in enumerate(shown):
            self._fill(place, row, result)
        if kept >= 0:
            self.selectRow(kept)
        self.blockSignals(False)  # noqa: FBT003
        self.updateGeometry()

    def _fill(self, place: int, row: SearchRow, result: BestResult) -> None:
        names = {
            "winner": self.tr("Winner"), "present": self.tr("As it is now"), "next": self.tr("Next"),
            "default": self.tr("Kernel's default"),
        }  # fmt: skip
        name = names[row.name]
        one = set_of(row.levels, result.plan.sets)
        if one is None and row.name == "present":
            one = result.plan.present
        texts = [
            self.tr("{name}, tested again").format(name=name) if row.again else name,
            written(WRITE, row.median),
            between(WRITE, row.low, row.high),
            str(row.trials),
            setting_text(one) if one is not None else "",
        ]
        for column, text in enumerate(texts):
            item = QTableWidgetItem(text)
            item.setToolTip(text)
            if 0 < column < 4:
                item.setTextAlignment(_RIGHT)
            self.setItem(place, column, item)

    def _on_selection(self) -> None:
        rows = self.selectionModel().selectedRows()
        if rows:
            self.chosen.emit(self._rows[rows[0].row()])

    def _on_menu(self, position: QPoint) -> None:
        item = self.itemAt(position)
        if item is not None:
            self.menu_asked.emit(self._rows[item.row()], self.viewport().mapToGlobal(position))

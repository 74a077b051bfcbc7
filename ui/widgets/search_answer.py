"""What a search for the best setting ended with: best, next, the kernel's default and the present setting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidgetItem

from advisor.trials import WRITE
from app.bench.experiment.findings import set_of
from ui.models.experiment_words import setting_text
from ui.models.figure_words import between, written
from ui.speed_units import SPEED_UNITS
from ui.widgets.whole_table import WholeTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.search import Answer, Found
    from app.bench.experiment.model import PlannedSet

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class SearchAnswer(WholeTable):
    """A row for each; hidden without an answer.

    Signals:
        chosen: the levels of the row that was chosen.
    """

    chosen = Signal(object)

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
        self._answer: Answer | None = None
        self._unit = SPEED_UNITS.unit
        self._rows: list[dict[str, str]] = []
        self._sets: Sequence[PlannedSet] = ()
        self.itemSelectionChanged.connect(self._on_selection)
        self.hide()

    def show_answer(self, answer: Answer | None, sets: Sequence[PlannedSet]) -> None:
        """Show this one, or none; its best is chosen.

        Args:
            answer: of the search.
            sets: its candidates.
        """
        self.setVisible(answer is not None)
        if answer is None or (answer is self._answer and SPEED_UNITS.unit is self._unit):
            return
        # In another unit it is still the same answer: the row that was chosen stays so.
        chosen = max(self.currentRow(), 0) if answer is self._answer else 0
        self._answer = answer
        self._unit = SPEED_UNITS.unit
        self._sets = sets
        rows = [
            (self.tr("Best"), answer.winner), (self.tr("Next"), answer.runner_up),
            (self.tr("Kernel's default"), answer.default), (self.tr("As it is now"), answer.current),
        ]  # fmt: skip
        known = [(name, found) for name, found in rows if found is not None]
        self.blockSignals(True)  # noqa: FBT003
        self.setRowCount(len(known))
        self._rows = [found.levels for _name, found in known]
        for row, (name, found) in enumerate(known):
            self._fill(row, name, found)
        self.blockSignals(False)  # noqa: FBT003
        self.updateGeometry()
        self.selectRow(chosen)

    def _fill(self, row: int, name: str, found: Found) -> None:
        one = set_of(found.levels, self._sets)
        setting = setting_text(one) if one is not None else ""
        texts = [
            name,
            written(WRITE, found.median),
            between(WRITE, found.low, found.high),
            str(len(found.values)),
            setting,
        ]
        for column, text in enumerate(texts):
            item = QTableWidgetItem(text)
            item.setToolTip(text)
            if 0 < column < 4:
                item.setTextAlignment(_RIGHT)
            if not row:
                font = item.font()
                font.setBold(True)
                item.setFont(font)
            self.setItem(row, column, item)

    def _on_selection(self) -> None:
        rows = self.selectionModel().selectedRows()
        if rows:
            self.chosen.emit(self._rows[rows[0].row()])

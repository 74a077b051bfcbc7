"""What each level of each factor does: its figure beside the others', and the sum of its places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHeaderView, QTableWidgetItem

from app.experiment.analysis import figure_label, level_rows
from app.experiment.factors import label, level_label
from ui.common.tables import in_lines
from ui.widgets.whole_table import WholeTable

if TYPE_CHECKING:
    from app.experiment.analysis import Findings, LevelRow

_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class EffectsTable(WholeTable):
    """A row for each level, the strongest factor first; hidden unless every combination was tried."""

    def __init__(self) -> None:
        super().__init__("experiment-effects", "", [""] * 5)
        self.setAccessibleName(self.tr("What each setting does"))
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.hide()

    def show_findings(self, found: Findings | None) -> None:
        """Show what was found of the factors; what is best by more than chance is bold."""
        rows = level_rows(found) if found is not None else []
        self.setVisible(bool(rows))
        if found is None or not rows:
            return
        self.setHorizontalHeaderLabels([
            self.tr("Setting"), self.tr("Level"), in_lines(figure_label(found.figure)),
            self.tr("Sum of\nplaces"), self.tr("Average\nplace"),
        ])  # fmt: skip
        tips = {
            2: self.tr("Beside the average of the setting's levels, everything else being equal."),
            3: self.tr("All trials sorted, the best in place 1: the lower the sum, the better."),
        }
        for column in range(self.columnCount()):
            title = self.horizontalHeaderItem(column)
            if title is not None:
                title.setTextAlignment(_RIGHT if column > 1 else _LEFT)
                title.setToolTip(tips.get(column, ""))
        self.setRowCount(len(rows))
        for number, row in enumerate(rows):
            self._fill(number, row, first=not number or rows[number - 1].factor != row.factor)
        self.updateGeometry()

    def _fill(self, number: int, row: LevelRow, *, first: bool) -> None:
        texts = [
            (label(row.factor) if first else "", False),
            (level_label(row.factor, row.level), False),
            (row.beside, row.best),
            (f"{row.sum:g}", row.ahead),
            (f"{row.mean:.1f}", row.ahead),
        ]
        for column, (text, bold) in enumerate(texts):
            item = QTableWidgetItem(text)
            item.setToolTip(text)
            font = item.font()
            font.setBold(bold)
            item.setFont(font)
            if column > 1:
                item.setTextAlignment(_RIGHT)
            self.setItem(number, column, item)

"""A figure over two factors: a table whose cells are the more colored the better they are.

What chance may have made is no pattern: such cells have one color.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QSizePolicy,
    QTableWidget,
    QTableWidgetItem,
)

from app.experiment.factors import label, level_label
from ui.common import theme
from ui.common.figure_text import written
from ui.common.tables import make_calm

if TYPE_CHECKING:
    from advisor.experiment.tables import Matrix

#: Of the colour in the best cell.
_FULL = 0.5


class HeatMap(QTableWidget):
    """Shows one matrix, every cell with its figure."""

    def __init__(self) -> None:
        super().__init__()
        self._matrix: Matrix | None = None
        self.setAccessibleName(self.tr("Heat map"))
        make_calm(self)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setCornerButtonEnabled(False)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.horizontalHeader().setMinimumSectionSize(self.fontMetrics().averageCharWidth() * 12)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(int(self.fontMetrics().lineSpacing() * 1.6))

    def show_matrix(self, matrix: Matrix) -> None:
        """Show this one."""
        self._matrix = matrix
        down, across = label(matrix.row_factor), label(matrix.column_factor)
        self.setAccessibleDescription(
            self.tr("{down} down, {across} across").format(down=down, across=across)
        )
        self.setRowCount(len(matrix.rows))
        self.setColumnCount(len(matrix.columns))
        self.setVerticalHeaderLabels([level_label(matrix.row_factor, level) for level in matrix.rows])
        columns = [level_label(matrix.column_factor, level) for level in matrix.columns]
        self.setHorizontalHeaderLabels(columns)
        best = matrix.best() if matrix.differs else None
        for row, cells in enumerate(matrix.cells):
            for column, cell in enumerate(cells):
                item = QTableWidgetItem("—" if cell is None else written(matrix.figure, cell))
                item.setTextAlignment(Qt.AlignmentFlag.AlignCenter)
                if cell is not None and cell == best:
                    font = item.font()
                    font.setBold(True)
                    item.setFont(font)
                self.setItem(row, column, item)
        self._colour()
        self.updateGeometry()

    def _colour(self) -> None:
        matrix = self._matrix
        if matrix is None:
            return
        colours = theme.colours()
        for row, shades in enumerate(matrix.shades()):
            for column, shade in enumerate(shades):
                item = self.item(row, column)
                if item is None or matrix.cells[row][column] is None:
                    continue
                ink = (
                    theme.blend(colours.ok, colours.base, _FULL * shade) if matrix.differs else colours.raised
                )
                item.setBackground(QColor(ink))
                item.setForeground(QColor(colours.text))

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: as high as all rows."""
        height = self.horizontalHeader().sizeHint().height() + self.verticalHeader().length() + 4
        return QSize(super().sizeHint().width(), height)

    def minimumSizeHint(self) -> QSize:
        """Qt: never lower."""
        return QSize(0, self.sizeHint().height())

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_matrix"):
            self._colour()

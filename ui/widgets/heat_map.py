"""A figure over two factors: a table whose cells are the more coloured the better they are."""

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

from advisor.experiment_values import lower_is_better
from app.bench.experiment.factors import label, level_label
from ui import theme
from ui.models.figure_words import written
from ui.widgets.plain_table import make_calm

if TYPE_CHECKING:
    from advisor.experiment_tables import Matrix

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
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
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
        known = [cell for row in matrix.cells for cell in row if cell is not None]
        best = (min if lower_is_better(matrix.figure) else max)(known, default=None)
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
        known = [cell for row in matrix.cells for cell in row if cell is not None]
        low, high = min(known, default=0.0), max(known, default=0.0)
        for row, cells in enumerate(matrix.cells):
            for column, cell in enumerate(cells):
                item = self.item(row, column)
                if item is None or cell is None:
                    continue
                part = (cell - low) / (high - low) if high > low else 0.0
                if lower_is_better(matrix.figure):
                    part = 1 - part
                item.setBackground(QColor(theme.blend(colours.ok, colours.base, _FULL * part)))
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

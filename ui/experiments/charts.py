"""Charts of an experiment: curves, heat maps, and rotatable surfaces.

A heat map and a surface use a single color if their cells do not differ significantly.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QPointF, QSize, Qt
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QSizePolicy,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.experiment.factors import factor_label, level_label
from app.text.experiment import single_color_note
from ui.common import theme
from ui.common.figure_text import with_unit
from ui.common.labels import MutedLabel, heading
from ui.common.tables import style_read_only
from ui.experiments.plan_view import levels_text

if TYPE_CHECKING:
    from advisor.experiment.tables import Matrix
    from app.experiment.analysis import FigureAnalysis

#: Opacity of the color in the best cell (0 to 1).
_BEST_OPACITY = 0.5


class HeatMap(QTableWidget):
    """Table of one matrix of medians; the background of a cell grows stronger with its value."""

    def __init__(self) -> None:
        super().__init__()
        self._matrix: Matrix | None = None
        self.setAccessibleName(self.tr("Heat map"))
        style_read_only(self)
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
        """Show a matrix: a table row per level of its row factor, a column per level of the other."""
        self._matrix = matrix
        down, across = factor_label(matrix.row_factor), factor_label(matrix.column_factor)
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
                item = QTableWidgetItem("—" if cell is None else with_unit(matrix.figure, cell))
                item.setTextAlignment(Qt.AlignmentFlag.AlignCenter)
                if cell is not None and cell == best:
                    font = item.font()
                    font.setBold(True)
                    item.setFont(font)
                self.setItem(row, column, item)
        self._update_colors()
        self.updateGeometry()

    def _update_colors(self) -> None:
        matrix = self._matrix
        if matrix is None:
            return
        colors = theme.colors()
        for row, shades in enumerate(matrix.shades()):
            for column, shade in enumerate(shades):
                item = self.item(row, column)
                if item is None or matrix.cells[row][column] is None:
                    continue
                color = (
                    theme.blend(colors.ok, colors.base, _BEST_OPACITY * shade)
                    if matrix.differs
                    else colors.raised
                )
                item.setBackground(QColor(color))
                item.setForeground(QColor(colors.text))

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: height of the header and all rows, px."""
        height = self.horizontalHeader().sizeHint().height() + self.verticalHeader().length() + 4
        return QSize(super().sizeHint().width(), height)

    def minimumSizeHint(self) -> QSize:
        """Qt: the full height, so that no row is cut off."""
        return QSize(0, self.sizeHint().height())

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_matrix"):
            self._update_colors()


#: Height of the view, in lines of text.
_HEIGHT_LINES = 17
#: Height of the highest point, as a fraction of the side of the floor.
_RELIEF = 0.55
#: Vertical foreshortening of the floor (0: seen from the side, 1: seen from above).
_TILT = 0.5
#: Initial rotation, and rotation per press of an arrow key, rad.
_INITIAL_TURN_RAD, _KEY_TURN_RAD = math.radians(35), math.radians(15)


class SurfaceView(QWidget):
    """Surface plot of one matrix in parallel projection; dragging or the arrow keys rotate it."""

    def __init__(self) -> None:
        super().__init__()
        self._matrix: Matrix | None = None
        self._turn = _INITIAL_TURN_RAD
        self._drag_x: float | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.OpenHandCursor)
        self.setAccessibleName(self.tr("Surface"))
        self.setAccessibleDescription(self.tr("The same figures stand in the table above."))
        self.setToolTip(self.tr("Drag it to turn it."))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_matrix(self, matrix: Matrix) -> None:
        """Show a matrix; the value of a cell is the height of its point."""
        self._matrix = matrix
        self.update()

    def turn(self, radians: float) -> None:
        """Rotate the surface about its vertical axis by an angle in radians."""
        self._turn = (self._turn + radians) % (2 * math.pi)
        self.update()

    def _project(self, row: float, column: float, height: float) -> QPointF:
        """Project a point of the unit cube to widget coordinates, px."""
        x, y = column - 0.5, row - 0.5
        across = x * math.cos(self._turn) - y * math.sin(self._turn)
        depth = x * math.sin(self._turn) + y * math.cos(self._turn)
        scale = min(self.width() / 1.75, self.height() / (2 * _TILT * 0.75 + _RELIEF + 0.15))
        middle = QPointF(self.width() / 2, self.height() * 0.62)
        return middle + QPointF(across * scale, (depth * _TILT - height * _RELIEF) * scale)

    def _depth(self, row: float, column: float) -> float:
        return (column - 0.5) * math.sin(self._turn) + (row - 0.5) * math.cos(self._turn)

    def _draw(self, painter: QPainter, matrix: Matrix) -> None:
        colors = theme.colors()
        cells = matrix.cells
        highest = max((cell for row in cells for cell in row if cell is not None), default=0.0)
        top = highest or 1.0
        rows, columns = (_normalized(axis) for axis in matrix.axes())
        floor = QPolygonF([self._project(*corner, 0.0) for corner in ((0, 0), (0, 1), (1, 1), (1, 0))])
        painter.setPen(QPen(QColor(colors.border), 1))
        painter.setBrush(QColor(colors.raised))
        painter.drawPolygon(floor)
        faces: list[tuple[float, float, QPolygonF]] = []
        for i in range(len(rows) - 1):
            for j in range(len(columns) - 1):
                corners = [(i, j), (i, j + 1), (i + 1, j + 1), (i + 1, j)]
                # A face needs only three corners: cells whose record is larger than the file are empty.
                known = [(*corner, height) for corner in corners
                         if (height := cells[corner[0]][corner[1]]) is not None]  # fmt: skip
                if len(known) < 3:
                    continue
                polygon = QPolygonF([
                    self._project(rows[row], columns[column], height / top) for row, column, height in known
                ])  # fmt: skip
                depth = self._depth((rows[i] + rows[i + 1]) / 2, (columns[j] + columns[j + 1]) / 2)
                faces.append((depth, sum(height for *_, height in known) / len(known) / top, polygon))
        # Painted from back to front, so that near faces cover far ones.
        for _depth, height, polygon in sorted(faces, key=lambda face: face[0]):
            painter.setPen(QPen(QColor(colors.base), 1))
            # Without a significant difference, only the height is drawn, in a neutral color.
            color = theme.blend(colors.ok, colors.info, height) if matrix.differs else colors.muted
            painter.setBrush(QColor(color))
            painter.drawPolygon(polygon)
        self._label(painter, matrix, (rows, columns), highest)

    def _label(
        self, painter: QPainter, matrix: Matrix, axes: tuple[list[float], list[float]], highest: float
    ) -> None:
        colors = theme.colors()
        painter.setPen(QColor(colors.muted))
        metrics = self.fontMetrics()
        front_row = 1.0 if self._depth(1, 0.5) > self._depth(0, 0.5) else 0.0
        front_column = 1.0 if self._depth(0.5, 1) > self._depth(0.5, 0) else 0.0
        # Labels stand slightly outside of the floor, where no face covers them.
        row_edge, column_edge = (1.3 * edge - 0.15 for edge in (front_row, front_column))
        down = [(level_label(matrix.row_factor, level), self._project(row, column_edge, 0.0))
                for level, row in zip(matrix.rows, axes[0], strict=True)]  # fmt: skip
        across = [(level_label(matrix.column_factor, level), self._project(row_edge, column, 0.0))
                  for level, column in zip(matrix.columns, axes[1], strict=True)]  # fmt: skip
        middle = self._project(0.5, 0.5, 0.0).x()
        for labels in (down, across):
            # Labels extend outwards, so that those at the common corner of both axes do not overlap.
            left = sum(point.x() for _text, point in labels) / len(labels) < middle
            for text, point in labels:
                shift = -metrics.horizontalAdvance(text) if left else 0
                painter.drawText(point + QPointF(shift, metrics.ascent()), text)
        text = self.tr("Highest point: {top}").format(top=with_unit(matrix.figure, highest))
        painter.drawText(QPointF(8, metrics.height()), text)

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: 60 characters wide, ``_HEIGHT_LINES`` lines high."""
        return QSize(
            self.fontMetrics().averageCharWidth() * 60, self.fontMetrics().lineSpacing() * _HEIGHT_LINES
        )

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: paint the surface."""
        del event
        if self._matrix is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._draw(painter, self._matrix)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Qt: start a rotation by dragging."""
        self._drag_x = event.position().x()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Qt: rotate with the dragged pointer; the width of the widget is half a turn."""
        if self._drag_x is not None:
            self.turn((self._drag_x - event.position().x()) / max(self.width(), 1) * math.pi)
            self._drag_x = event.position().x()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Qt: end the rotation."""
        del event
        self._drag_x = None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt: rotate with the left and right arrow keys."""
        key = event.key()
        if key in {Qt.Key.Key_Left, Qt.Key.Key_Right}:
            self.turn(_KEY_TURN_RAD if key == Qt.Key.Key_Left else -_KEY_TURN_RAD)
        else:
            super().keyPressEvent(event)


def _normalized(axis: list[float]) -> list[float]:
    """Scale axis positions to 0..1; positive values by their logarithm, as sizes are powers of two."""
    values = [math.log2(value) for value in axis] if min(axis) > 0 else list(axis)
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.5 for value in values]


class ExperimentCharts(QWidget):
    """All charts of one analysis; drawn only after a run, because drawing would disturb a measurement."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("experiment-pictures")
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self.hide()

    def show_findings(self, analysis: FigureAnalysis | None) -> None:
        """Replace the charts by those of an analysis; hide the widget without one."""
        while (item := self._layout.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.setVisible(analysis is not None)
        if analysis is None:
            return
        if analysis.matrices and analysis.pooled:
            over = ", ".join(factor_label(name) for name in analysis.pooled)
            self._add(MutedLabel(self.tr("Medians over: {settings}").format(settings=over), wrap=True))
        for matrix in analysis.matrices:
            fixed = levels_text(matrix.fixed)
            title = f"{factor_label(matrix.row_factor)} ↓  {factor_label(matrix.column_factor)} →"
            heat = HeatMap()
            heat.show_matrix(matrix)
            self._add(heading(f"{title}, {fixed}" if fixed else title, scale=1.0), heat)
            if note := single_color_note(matrix.differs):
                self._add(MutedLabel(note, wrap=True))
            # A surface of two by two points shows no more than the table.
            if min(len(matrix.rows), len(matrix.columns)) > 1 and len(matrix.rows) + len(matrix.columns) > 4:
                surface = SurfaceView()
                surface.show_matrix(matrix)
                self._add(surface)
        if analysis.curves:
            # Imported late, because pyqtgraph takes a second to import.
            from ui.plots.factor_plot import FactorPlot

            for curve in analysis.curves:
                plot: Any = FactorPlot()
                plot.draw(curve)
                self._add(heading(factor_label(curve.factor), scale=1.0), plot)

    def _add(self, *widgets: QWidget) -> None:
        for widget in widgets:
            self._layout.addWidget(widget)

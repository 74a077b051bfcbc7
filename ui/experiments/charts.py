"""Charts of an experiment: curves, heat maps, and surfaces that can be turned.

Differences that chance may have made are no pattern: such cells of a heat map have one color.
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

from advisor.text.experiment import single_color_note
from app.experiment.factors import factor_label, level_label
from ui.common import theme
from ui.common.figure_text import with_unit
from ui.common.labels import MutedLabel, heading
from ui.common.tables import style_read_only
from ui.experiments.plan_view import levels_text

if TYPE_CHECKING:
    from advisor.experiment.tables import Matrix
    from app.experiment.analysis import FigureAnalysis

#: Of the color in the best cell.
_BEST_OPACITY = 0.5


class HeatMap(QTableWidget):
    """Shows one matrix, every cell with its figure."""

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
        """Show this one."""
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
                ink = (
                    theme.blend(colors.ok, colors.base, _BEST_OPACITY * shade)
                    if matrix.differs
                    else colors.raised
                )
                item.setBackground(QColor(ink))
                item.setForeground(QColor(colors.text))

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
            self._update_colors()


_HEIGHT_LINES = 17
#: Height of the highest point, in the widths of the floor.
_RELIEF = 0.55
_TILT = 0.5
_TURN, _NUDGE = math.radians(35), math.radians(15)


class SurfaceView(QWidget):
    """Paints one matrix in parallel perspective; drag it or press the arrow keys to turn it."""

    def __init__(self) -> None:
        super().__init__()
        self._matrix: Matrix | None = None
        self._turn = _TURN
        self._grabbed: float | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.OpenHandCursor)
        self.setAccessibleName(self.tr("Surface"))
        self.setAccessibleDescription(self.tr("The same figures stand in the table above."))
        self.setToolTip(self.tr("Drag it to turn it."))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_matrix(self, matrix: Matrix) -> None:
        """Show this one."""
        self._matrix = matrix
        self.update()

    def turn(self, radians: float) -> None:
        """Turn it by an angle."""
        self._turn = (self._turn + radians) % (2 * math.pi)
        self.update()

    def _place(self, row: float, column: float, height: float) -> QPointF:
        """Return where a point of the unit cube is in the widget."""
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
        floor = QPolygonF([self._place(*corner, 0.0) for corner in ((0, 0), (0, 1), (1, 1), (1, 0))])
        painter.setPen(QPen(QColor(colors.border), 1))
        painter.setBrush(QColor(colors.raised))
        painter.drawPolygon(floor)
        faces: list[tuple[float, float, QPolygonF]] = []
        for i in range(len(rows) - 1):
            for j in range(len(columns) - 1):
                corners = [(i, j), (i, j + 1), (i + 1, j + 1), (i + 1, j)]
                # Three corners make a face, too: a record cannot be larger than its file.
                known = [(*corner, height) for corner in corners
                         if (height := cells[corner[0]][corner[1]]) is not None]  # fmt: skip
                if len(known) < 3:
                    continue
                polygon = QPolygonF([
                    self._place(rows[row], columns[column], height / top) for row, column, height in known
                ])  # fmt: skip
                depth = self._depth((rows[i] + rows[i + 1]) / 2, (columns[j] + columns[j + 1]) / 2)
                faces.append((depth, sum(height for *_, height in known) / len(known) / top, polygon))
        # Painted from the back to the front, so that what is near covers what is far.
        for _depth, height, polygon in sorted(faces, key=lambda face: face[0]):
            painter.setPen(QPen(QColor(colors.base), 1))
            # Of what chance may have made, the height is drawn and no color.
            ink = theme.blend(colors.ok, colors.info, height) if matrix.differs else colors.muted
            painter.setBrush(QColor(ink))
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
        # A little outside of the floor, where nothing covers them.
        row_edge, column_edge = (1.3 * edge - 0.15 for edge in (front_row, front_column))
        down = [(level_label(matrix.row_factor, level), self._place(row, column_edge, 0.0))
                for level, row in zip(matrix.rows, axes[0], strict=True)]  # fmt: skip
        across = [(level_label(matrix.column_factor, level), self._place(row_edge, column, 0.0))
                  for level, column in zip(matrix.columns, axes[1], strict=True)]  # fmt: skip
        middle = self._place(0.5, 0.5, 0.0).x()
        for places in (down, across):
            # Outwards, so that the last of both axes do not meet.
            left = sum(point.x() for _text, point in places) / len(places) < middle
            for text, point in places:
                shift = -metrics.horizontalAdvance(text) if left else 0
                painter.drawText(point + QPointF(shift, metrics.ascent()), text)
        text = self.tr("Highest point: {top}").format(top=with_unit(matrix.figure, highest))
        painter.drawText(QPointF(8, metrics.height()), text)

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: so many lines high."""
        return QSize(
            self.fontMetrics().averageCharWidth() * 60, self.fontMetrics().lineSpacing() * _HEIGHT_LINES
        )

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: paint it."""
        del event
        if self._matrix is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._draw(painter, self._matrix)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Qt: begin to turn."""
        self._grabbed = event.position().x()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Qt: turn."""
        if self._grabbed is not None:
            self.turn((self._grabbed - event.position().x()) / max(self.width(), 1) * math.pi)
            self._grabbed = event.position().x()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Qt: stay as it is."""
        del event
        self._grabbed = None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt: the arrow keys turn it."""
        key = event.key()
        if key in {Qt.Key.Key_Left, Qt.Key.Key_Right}:
            self.turn(_NUDGE if key == Qt.Key.Key_Left else -_NUDGE)
        else:
            super().keyPressEvent(event)


def _normalized(axis: list[float]) -> list[float]:
    """Return numbers between 0 and 1; sizes by their logarithm, as they are chosen in powers of two."""
    values = [math.log2(value) for value in axis] if min(axis) > 0 else list(axis)
    low, high = min(values), max(values)
    return [(value - low) / (high - low) if high > low else 0.5 for value in values]


class ExperimentCharts(QWidget):
    """Draws what was found; made once a run is over, as they cost time that a measurement should have."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("experiment-pictures")
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self.hide()

    def show_findings(self, found: FigureAnalysis | None) -> None:
        """Draw these, or nothing."""
        while (item := self._layout.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.setVisible(found is not None)
        if found is None:
            return
        if found.matrices and found.pooled:
            over = ", ".join(factor_label(name) for name in found.pooled)
            self._add(MutedLabel(self.tr("Medians over: {settings}").format(settings=over), wrap=True))
        for matrix in found.matrices:
            fixed = levels_text(matrix.fixed)
            title = f"{factor_label(matrix.row_factor)} ↓  {factor_label(matrix.column_factor)} →"
            heat = HeatMap()
            heat.show_matrix(matrix)
            self._add(heading(f"{title}, {fixed}" if fixed else title, scale=1.0), heat)
            if note := single_color_note(matrix.differs):
                self._add(MutedLabel(note, wrap=True))
            # Of two by two there is no more to see than in the table.
            if min(len(matrix.rows), len(matrix.columns)) > 1 and len(matrix.rows) + len(matrix.columns) > 4:
                surface = SurfaceView()
                surface.show_matrix(matrix)
                self._add(surface)
        if found.curves:
            # A second to import: only once there is something to draw.
            from ui.plots.factor_plot import FactorPlot

            for curve in found.curves:
                plot: Any = FactorPlot()
                plot.draw(curve)
                self._add(heading(factor_label(curve.factor), scale=1.0), plot)

    def _add(self, *widgets: QWidget) -> None:
        for widget in widgets:
            self._layout.addWidget(widget)

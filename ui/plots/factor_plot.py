"""Factor plot: median and interval of a figure at each level of one factor, with the best level marked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

os.environ.setdefault("PYQTGRAPH_QT_LIB", "PySide6")

import pyqtgraph  # pyright: ignore[reportMissingTypeStubs]

from advisor.experiment.measurements import FIGURE_INFO, TIMEOUTS
from advisor.speeds import speed_scale
from app.experiment.factors import factor_label, level_label
from ui.common import theme
from ui.common.speed_units import SPEED_UNITS
from ui.plots.axes import color_axes

if TYPE_CHECKING:
    from advisor.experiment.tables import CurvePoint, FactorCurve

#: pyqtgraph has no type hints; Any keeps the type checkers quiet.
pg: Any = pyqtgraph

#: Height of the plot, lines of text.
_HEIGHT_LINES = 11


class FactorPlot(QWidget):
    """Plot of one factor curve of an experiment; ignores the mouse."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("curve-plot")
        self.setFixedHeight(self.fontMetrics().lineSpacing() * _HEIGHT_LINES)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._plot: Any = pg.PlotWidget(self, enableMenu=False)
        self._item: Any = self._plot.getPlotItem()
        # pyqtgraph creates its menu without a parent, so it would outlive the plot.
        self._item.ctrlMenu.setParent(self, self._item.ctrlMenu.windowFlags())
        self._item.hideButtons()
        # The upper half of the highest tick label is above the axis.
        self._item.layout.setContentsMargins(1, self.fontMetrics().lineSpacing() / 2, 1, 1)
        self._item.setMouseEnabled(x=False, y=False)
        self._item.getAxis("left").enableAutoSIPrefix(enable=False)
        self._plot.setFrameShape(self._plot.Shape.NoFrame)
        for part in (self._plot, self._plot.viewport()):
            part.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._line: Any = pg.PlotCurveItem(antialias=True)
        self._bars: Any = pg.ErrorBarItem(x=[0], y=[0], top=[0], bottom=[0], beam=0.12)
        self._points: Any = pg.ScatterPlotItem(size=7)
        for part in (self._bars, self._line, self._points):
            self._item.addItem(part)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._plot)
        self._curve: FactorCurve | None = None

    def draw(self, curve: FactorCurve) -> None:
        """Draw a curve with its error bars."""
        self._curve = curve
        factor, unit = self._scale(curve)
        positions = [float(position) for position in range(len(curve.points))]
        medians = [point.median * factor for point in curve.points]
        self._line.setData(positions, medians)
        self._bars.setData(
            x=_array(positions), y=_array(medians),
            top=_array([(point.high - point.median) * factor for point in curve.points]),
            bottom=_array([(point.median - point.low) * factor for point in curve.points]),
        )  # fmt: skip
        self._points.setData(positions, medians)
        quantity = FIGURE_INFO[curve.figure]
        figure = quantity.label[:1].upper() + quantity.label[1:]
        self._item.setLabel("left", unit or self.tr("Number"))
        ticks = [
            (position, self._tick(curve, point))
            for position, point in zip(positions, curve.points, strict=True)
        ]
        bottom = self._item.getAxis("bottom")
        bottom.setTicks([ticks])
        lines = max(text.count("\n") for _position, text in ticks) + 1
        bottom.setHeight(self.fontMetrics().lineSpacing() * lines + 10)
        top = max(point.high for point in curve.points) * factor
        self._item.setRange(xRange=(-0.3, len(positions) - 0.7), yRange=(0, top * 1.1 or 1), padding=0)
        text = self.tr("{figure} over {factor}").format(figure=figure, factor=factor_label(curve.factor))
        self.setAccessibleName(text)
        self._update_colors()

    def _tick(self, curve: FactorCurve, point: CurvePoint) -> str:
        """Return the label of a level; it includes the timeouts per repeat if any level had some."""
        text = level_label(curve.factor, point.level)
        if not any(other_point.timeouts for other_point in curve.points) or curve.figure == TIMEOUTS:
            return text
        return self.tr("{level}\ntime-outs: {count}").format(level=text, count=f"{point.timeouts:.3g}")

    def _scale(self, curve: FactorCurve) -> tuple[float, str]:
        unit = FIGURE_INFO[curve.figure].unit
        if unit != "bytes/s":
            return 1.0, unit
        return speed_scale(max(point.high for point in curve.points), SPEED_UNITS.unit)

    def _update_colors(self) -> None:
        colors = theme.colors()
        color_axes(self._plot, pg, colors, self.font())
        line = colors.read if self._curve is not None and self._curve.figure == "read" else colors.write
        self._line.setPen(pg.mkPen(line, width=1))
        self._bars.setData(pen=pg.mkPen(colors.muted))
        curve = self._curve
        if curve is not None:
            brushes = [pg.mkBrush(colors.ok if point.level == curve.best else line) for point in curve.points]
            self._points.setBrush(brushes)
        self._points.setPen(pg.mkPen(colors.base))

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_curve"):
            self._update_colors()


def _array(values: list[float]) -> Any:
    """Return a NumPy array, which pyqtgraph's error bars need."""
    return pg.np.array(values) if hasattr(pg, "np") else pg.functions.np.array(values)

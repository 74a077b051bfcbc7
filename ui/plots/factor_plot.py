"""Factor plot: median and interval of a figure at each level of one factor, with the best level marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt

from advisor.experiment.measurements import FIGURE_INFO, TIMEOUTS
from advisor.speeds import speed_scale
from app.experiment.factors import factor_label, level_label
from ui.common import theme
from ui.common.figure_text import interval_with_unit, with_unit
from ui.common.speed_units import SPEED_UNITS
from ui.plots.axes import AxesPlot, pg

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from advisor.experiment.tables import CurvePoint, FactorCurve

#: Height of the plot, lines of text.
_HEIGHT_LINES = 11
#: Figures of the direction from the server; all others are of the direction to it, or of neither.
_READ_FIGURES = frozenset({"read", "small-read"})


class FactorPlot(AxesPlot):
    """Plot of one factor curve of an experiment; ignores the mouse."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, lines=_HEIGHT_LINES)
        self.setObjectName("curve-plot")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._line: Any = pg.PlotCurveItem(antialias=True)
        self._bars: Any = pg.ErrorBarItem(x=[0], y=[0], top=[0], bottom=[0], beam=0.12)
        self._points: Any = pg.ScatterPlotItem(size=7)
        for part in (self._bars, self._line, self._points):
            self._item.addItem(part)
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
        self.axis("left").set_title(unit or self.tr("Number"))
        ticks = [
            (position, self._tick(curve, point))
            for position, point in zip(positions, curve.points, strict=True)
        ]
        self.axis("bottom").setTicks([ticks])
        top = max(point.high for point in curve.points) * factor
        self._item.setRange(xRange=(-0.3, len(positions) - 0.7), yRange=(0, top * 1.1 or 1), padding=0)
        self._describe(curve)
        self.update_appearance()

    def _describe(self, curve: FactorCurve) -> None:
        quantity, setting = FIGURE_INFO[curve.figure].label, factor_label(curve.factor)
        rows = [[setting, self.tr("Median"), self.tr("Interval")]]
        rows += [
            [self._tick(curve, point).replace("\n", ", "), with_unit(curve.figure, point.median),
             interval_with_unit(curve.figure, point.low, point.high)]
            for point in curve.points
        ]  # fmt: skip
        name = self.tr("{figure} over {factor}").format(
            figure=quantity[:1].upper() + quantity[1:], factor=setting
        )
        self.describe(name, rows)

    def _tick(self, curve: FactorCurve, point: CurvePoint) -> str:
        """Return the label of a level; it includes the timeouts per repeat if any level had some."""
        text = level_label(curve.factor, point.level)
        if not any(other_point.timeouts for other_point in curve.points) or curve.figure == TIMEOUTS:
            return text
        return self.tr("{level}\ntimeouts: {count}").format(level=text, count=f"{point.timeouts:.3g}")

    def _scale(self, curve: FactorCurve) -> tuple[float, str]:
        unit = FIGURE_INFO[curve.figure].unit
        if unit != "bytes/s":
            return 1.0, unit
        return speed_scale(max(point.high for point in curve.points), SPEED_UNITS.unit)

    # Overrides

    def update_appearance(self) -> None:
        """Take colors, fonts and margins from the theme and the font."""
        super().update_appearance()
        curve = self._curve
        if curve is None:
            return
        colors = theme.colors()
        line = colors.read if curve.figure in _READ_FIGURES else colors.write
        self._line.setPen(pg.mkPen(line, width=1))
        self._bars.setData(pen=pg.mkPen(colors.muted))
        brushes = [pg.mkBrush(colors.ok if point.level == curve.best else line) for point in curve.points]
        self._points.setBrush(brushes)
        self._points.setPen(pg.mkPen(colors.base))
        lines = max(self._tick(curve, point).count("\n") for point in curve.points) + 1
        self.axis("bottom").setHeight(self.fontMetrics().lineSpacing() * lines + 10)


def _array(values: list[float]) -> Any:
    """Return a NumPy array, which pyqtgraph's error bars need."""
    return pg.np.array(values) if hasattr(pg, "np") else pg.functions.np.array(values)

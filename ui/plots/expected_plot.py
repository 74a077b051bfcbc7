"""Expected-speed plot: curve of the throughput model with error band, present and recommended values."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

os.environ.setdefault("PYQTGRAPH_QT_LIB", "PySide6")

import pyqtgraph  # pyright: ignore[reportMissingTypeStubs]

from advisor.speeds import speed_scale
from app.text.units import format_size
from ui.common import theme
from ui.common.speed_units import SPEED_UNITS
from ui.plots.axes import color_axes

if TYPE_CHECKING:
    from advisor.throughput_curve import PredictedCurve

#: pyqtgraph has no type hints; Any keeps the type checkers quiet.
pg: Any = pyqtgraph

#: Height of the plot, lines of text.
_HEIGHT_LINES = 11
#: Maximum number of ticks on the bottom axis.
_TICKS = 8
#: Opacity of the curve's color in the error band (0 to 1).
_BAND_OPACITY = 0.22


class ExpectedPlot(QWidget):
    """Plot of one predicted curve; ignores the mouse."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("expected-plot")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFixedHeight(self.fontMetrics().lineSpacing() * _HEIGHT_LINES)
        self._plot: Any = pg.PlotWidget(self, enableMenu=False)
        self._item: Any = self._plot.getPlotItem()
        # pyqtgraph creates its menu without a parent, so it would outlive the plot.
        self._item.ctrlMenu.setParent(self, self._item.ctrlMenu.windowFlags())
        self._item.hideButtons()
        self._item.setMouseEnabled(x=False, y=False)
        self._plot.setFrameShape(self._plot.Shape.NoFrame)
        for part in (self._plot, self._plot.viewport()):
            part.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._low: Any = pg.PlotCurveItem()
        self._high: Any = pg.PlotCurveItem()
        self._band: Any = pg.FillBetweenItem(self._low, self._high)
        self._line: Any = pg.PlotCurveItem(antialias=True)
        self._marks: dict[str, tuple[Any, Any]] = {}
        for item in (self._band, self._line):
            self._item.addItem(item)
        for name in ("now", "advised"):
            point, text = pg.ScatterPlotItem(size=9), pg.TextItem(anchor=(0.5, 1.15))
            self._item.addItem(point)
            self._item.addItem(text)
            self._marks[name] = (point, text)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._plot)
        self._curve: PredictedCurve | None = None
        self._update_colors()

    def draw(self, curve: PredictedCurve) -> None:
        """Draw a curve, its error band, and the present and the recommended value."""
        self._curve = curve
        log_sizes = [math.log2(size) for size in curve.sizes]
        self._line.setData(log_sizes, list(curve.speeds))
        pairs = list(zip(curve.speeds, curve.errors, strict=True))
        self._low.setData(log_sizes, [speed * (1 - error) for speed, error in pairs])
        high = [speed * (1 + error) for speed, error in pairs]
        self._high.setData(log_sizes, high)
        now, advised = curve.now, curve.advised
        same = now[0] == advised[0] and math.isclose(now[1], advised[1], rel_tol=0.01)
        texts = {
            "now": self.tr("now"),
            "advised": self.tr("now, and as advised") if same else self.tr("advised"),
        }
        for name, (size, speed) in {"now": now, "advised": advised}.items():
            point, text = self._marks[name]
            log_size = min(max(math.log2(max(size, 1)), log_sizes[0]), log_sizes[-1])
            point.setData([log_size], [speed])
            text.setText(texts[name])
            text.setPos(log_size, speed)
            text.setVisible(name == "advised" or not same)
        names = {
            "read_ahead_kb": self.tr("Readahead, for small reads"), "rsize": self.tr("Read size"),
            "wsize": self.tr("Write size"),
        }  # fmt: skip
        self._item.setLabel("bottom", names[curve.over])
        step = math.ceil(len(log_sizes) / _TICKS)
        ticks = [
            (log_size, format_size(size))
            for log_size, size in zip(log_sizes[::step], curve.sizes[::step], strict=True)
        ]
        self._item.getAxis("bottom").setTicks([ticks])
        top = max(*high, now[1], advised[1]) * 1.12
        factor, unit = speed_scale(top, SPEED_UNITS.unit)
        axis = self._item.getAxis("left")
        axis.enableAutoSIPrefix(False)  # noqa: FBT003 - pyqtgraph's
        axis.setScale(factor)
        axis.setLabel(self.tr("Speed ({unit})").format(unit=unit))
        margin = (log_sizes[-1] - log_sizes[0]) * 0.04
        self._item.setRange(
            xRange=(log_sizes[0] - margin, log_sizes[-1] + margin), yRange=(0, top), padding=0
        )
        self.setAccessibleName(self.tr("Expected speed over {name}").format(name=names[curve.over]))
        self.setAccessibleDescription(self.tr("The figures stand beside it in words."))
        self._update_colors()

    def _update_colors(self) -> None:
        colors = theme.colors()
        color_axes(self._plot, pg, colors, self.font())
        line = colors.write if self._curve is not None and self._curve.over == "wsize" else colors.read
        self._line.setPen(pg.mkPen(line, width=2))
        self._band.setBrush(pg.mkBrush(theme.blend(line, colors.base, _BAND_OPACITY)))
        for name, color in (("now", colors.muted), ("advised", colors.ok)):
            point, text = self._marks[name]
            point.setBrush(pg.mkBrush(color))
            point.setPen(pg.mkPen(colors.base))
            text.setColor(color)
            text.setFont(self.font())

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_curve"):
            self._update_colors()

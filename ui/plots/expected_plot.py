"""Expected-speed plot: curve of the throughput model with error band, present and recommended values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt

from advisor.speeds import speed_scale
from app.text.units import format_size
from ui.common import theme
from ui.common.speed_units import SPEED_UNITS, speed_text
from ui.plots.axes import AxesPlot, pg

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from advisor.prediction import PredictedCurve

#: Height of the plot, lines of text.
_HEIGHT_LINES = 11
#: Maximum number of ticks on the bottom axis.
_TICKS = 8
#: Opacity of the curve's color in the error band (0 to 1).
_BAND_OPACITY = 0.22


class ExpectedPlot(AxesPlot):
    """Plot of one predicted curve; ignores the mouse."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, lines=_HEIGHT_LINES)
        self.setObjectName("expected-plot")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
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
        self._curve: PredictedCurve | None = None
        self.update_appearance()

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
            "now": self.tr("Now"),
            "advised": self.tr("Now and recommended") if same else self.tr("Recommended"),
        }
        for name, (size, speed) in {"now": now, "advised": advised}.items():
            point, text = self._marks[name]
            log_size = min(max(math.log2(max(size, 1)), log_sizes[0]), log_sizes[-1])
            point.setData([log_size], [speed])
            text.setText(texts[name])
            text.setPos(log_size, speed)
            text.setVisible(name == "advised" or not same)
        step = math.ceil(len(log_sizes) / _TICKS)
        ticks = [
            (log_size, format_size(size))
            for log_size, size in zip(log_sizes[::step], curve.sizes[::step], strict=True)
        ]
        self.axis("bottom").setTicks([ticks])
        top = max(*high, now[1], advised[1]) * 1.12
        factor, unit = speed_scale(top, SPEED_UNITS.unit)
        self.axis("left").setScale(factor)
        self.axis("left").set_title(self.tr("Speed ({unit})").format(unit=unit))
        margin = (log_sizes[-1] - log_sizes[0]) * 0.04
        self._item.setRange(
            xRange=(log_sizes[0] - margin, log_sizes[-1] + margin), yRange=(0, top), padding=0
        )
        self._describe(curve)
        self.update_appearance()

    def _describe(self, curve: PredictedCurve) -> None:
        name = {
            "read_ahead_kb": self.tr("Readahead, for small reads"), "rsize": self.tr("Read size"),
            "wsize": self.tr("Write size"),
        }[curve.over]  # fmt: skip
        self._item.setLabel("bottom", name)
        rows = [[name, self.tr("Expected speed")]]
        rows += [
            [format_size(size), self.tr("{speed} ±{percent}%").format(
                speed=speed_text(speed), percent=round(100 * error))]
            for size, speed, error in zip(curve.sizes, curve.speeds, curve.errors, strict=True)
        ]  # fmt: skip
        for text, (size, speed) in ((self.tr("Now"), curve.now), (self.tr("Recommended"), curve.advised)):
            rows.append([text, format_size(size), speed_text(speed)])
        self.describe(self.tr("Expected speed by {setting}").format(setting=name), rows)

    # Overrides

    def update_appearance(self) -> None:
        """Take colors, fonts and margins from the theme and the font."""
        super().update_appearance()
        colors = theme.colors()
        line = colors.write if self._curve is not None and self._curve.over == "wsize" else colors.read
        self._line.setPen(pg.mkPen(line, width=2))
        self._band.setBrush(pg.mkBrush(theme.blend(line, colors.base, _BAND_OPACITY)))
        for name, color in (("now", colors.muted), ("advised", colors.ok)):
            point, text = self._marks[name]
            point.setBrush(pg.mkBrush(color))
            point.setPen(pg.mkPen(colors.base))
            text.setColor(color)
            text.setFont(self.font())

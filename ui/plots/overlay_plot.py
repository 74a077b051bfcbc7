"""Overlay plot: speed curves of several tests, over the time since the start of each transfer.

The color is that of the direction, as in every plot; the tests differ by lightness and dashes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt

from advisor.speeds import speed_scale
from app.text.units import format_duration
from ui.common import theme
from ui.common.speed_units import SPEED_UNITS, speed_text
from ui.plots.axes import AxesPlot, pg
from ui.plots.legend import run_styles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtWidgets import QWidget

    from ui.plots.timeline import OverlayLine


class OverlayPlot(AxesPlot):
    """Plot of the curves of several tests; ignores the mouse."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, time_axis=True)
        self.setObjectName("overlay-plot")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._lines: Sequence[OverlayLine] = ()
        self._names: Sequence[str] = ()
        self._curves: list[Any] = []
        SPEED_UNITS.changed.connect(self.update_appearance)
        self.update_appearance()

    def draw(self, lines: Sequence[OverlayLine], names: Sequence[str]) -> None:
        """Replace the curves.

        Args:
            lines: curves of the tests.
            names: name of each test, the oldest first.
        """
        self._lines, self._names = lines, names
        self.update_appearance()

    def _describe(self) -> None:
        directions = {"write": self.tr("To the server"), "read": self.tr("From the server")}
        titles = [
            self.tr("Test"),
            self.tr("Direction"),
            self.tr("Time"),
            self.tr("Average"),
            self.tr("Highest"),
        ]
        rows = [
            [self._names[line.place], directions[line.way], format_duration(line.times_s[-1]),
             speed_text(sum(line.speeds) / len(line.speeds)), speed_text(max(line.speeds))]
            for line in self._lines if line.times_s
        ]  # fmt: skip
        self.describe(self.tr("Speed over time"), [titles, *rows])

    # Overrides

    def update_appearance(self) -> None:
        """Draw the curves in the colors and the unit of the present."""
        top = max((speed for line in self._lines for speed in line.speeds), default=0.0)
        factor, unit = speed_scale(top, SPEED_UNITS.unit)
        self.axis("left").set_title(self.tr("Speed ({unit})").format(unit=unit))
        super().update_appearance()
        colors = theme.colors()
        for curve in self._curves:
            self._item.removeItem(curve)
        self._curves = []
        styles = run_styles(len(self._names))
        for line in self._lines:
            style = styles[line.place]
            color = theme.blend(getattr(colors, line.way), colors.base, style.strength)
            pen = pg.mkPen(color, width=1, style=style.dashes)
            curve = pg.PlotCurveItem(line.times_s, [speed * factor for speed in line.speeds], pen=pen)
            self._item.addItem(curve)
            self._curves.append(curve)
        end = max((line.times_s[-1] for line in self._lines if line.times_s), default=1.0)
        self._item.setRange(xRange=(0, end), yRange=(0, top * factor * 1.08 or 1), padding=0)
        self._describe()

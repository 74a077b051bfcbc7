"""Overlay plot: speed curves of several tests, over the time since the start of each transfer."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

os.environ.setdefault("PYQTGRAPH_QT_LIB", "PySide6")

import pyqtgraph  # pyright: ignore[reportMissingTypeStubs]

from advisor.speeds import speed_scale
from ui.common import theme
from ui.common.speed_units import SPEED_UNITS
from ui.plots.axes import color_axes
from ui.plots.timeline import SERIES_COLORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ui.plots.timeline import OverlayLine

#: pyqtgraph has no type hints; Any keeps the type checkers quiet.
pg: Any = pyqtgraph


class OverlayPlot(QWidget):
    """Plot of several curves: solid to the server, dashed from the server; ignores the mouse."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("overlay-plot")
        self._plot: Any = pg.PlotWidget(self, enableMenu=False)
        self._item: Any = self._plot.getPlotItem()
        # pyqtgraph creates its menu without a parent, so it would outlive the plot.
        self._item.ctrlMenu.setParent(self, self._item.ctrlMenu.windowFlags())
        self._item.hideButtons()
        self._item.setMouseEnabled(x=False, y=False)
        self._item.setLabel("bottom", self.tr("Time"), units="s")
        self._plot.setFrameShape(self._plot.Shape.NoFrame)
        for part in (self._plot, self._plot.viewport()):
            part.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._plot.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._lines: Sequence[OverlayLine] = ()
        self._curves: list[Any] = []
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._plot)
        SPEED_UNITS.changed.connect(self._draw)
        self._draw()

    def draw(self, lines: Sequence[OverlayLine]) -> None:
        """Replace the curves."""
        self._lines = lines
        self._draw()

    def _draw(self) -> None:
        top = max((speed for line in self._lines for speed in line.speeds), default=0.0)
        factor, unit = speed_scale(top, SPEED_UNITS.unit)
        colors = theme.colors()
        color_axes(self._plot, pg, colors, self.font())
        for curve in self._curves:
            self._item.removeItem(curve)
        self._curves = []
        for line in self._lines:
            style = Qt.PenStyle.SolidLine if line.way == "write" else Qt.PenStyle.DashLine
            pen = pg.mkPen(getattr(colors, SERIES_COLORS[line.place]), width=1, style=style)
            curve = pg.PlotCurveItem(line.times_s, [speed * factor for speed in line.speeds], pen=pen)
            self._item.addItem(curve)
            self._curves.append(curve)
        end = max((line.times_s[-1] for line in self._lines if line.times_s), default=1.0)
        self._item.getAxis("left").enableAutoSIPrefix(enable=False)
        self._item.setLabel("left", self.tr("Speed ({unit})").format(unit=unit))
        self._item.setRange(xRange=(0, end), yRange=(0, top * factor * 1.08 or 1), padding=0)

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_curves"):
            self._draw()

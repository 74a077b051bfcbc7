"""Live plot: speeds, round-trip times, phases and losses of a test or a watch, with reference lines.

Two measured choices keep it fast: opaque one-pixel pens without antialiasing, and cached axes, because a grid
otherwise redraws all ticks and labels in each frame.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QGraphicsItem, QVBoxLayout, QWidget

os.environ.setdefault("PYQTGRAPH_QT_LIB", "PySide6")

import pyqtgraph  # pyright: ignore[reportMissingTypeStubs]

from advisor.speeds import speed_scale
from ui.common import theme
from ui.common.speed_units import SPEED_UNITS
from ui.plots.axes import color_axes
from ui.plots.crosshair import Crosshair, readout_text
from ui.plots.layers import (
    WHOLE_AXIS,
    LossMarkers,
    PhaseAreas,
    PlotCanvas,
    ReferenceLines,
    RepeatMarkers,
    SpeedCurves,
    round_up,
)
from ui.plots.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ui.plots.timeline import TransferDirection

#: pyqtgraph has no type hints; Any keeps the type checkers quiet.
pg: Any = pyqtgraph

#: Lengths of the time axis, s; longer ones are whole minutes.
_TIME_STEPS_S = (2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1200, 1800, 3600)
#: Fraction of the link's limit that the curve must reach for the limit to stay visible.
_LIMIT_IN_VIEW = 0.2
#: Space below zero on the speed axis, as a fraction of its upper end.
_SPACE_BELOW = 0.015


class LivePlot(QWidget):
    """Plot of speeds over time, in both directions.

    Signals:
        zoomed: the zoom changed; whether the plot is zoomed.
    """

    zoomed = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._plot: Any = pg.PlotWidget(self, antialias=False, enableMenu=False)
        self._item: Any = self._plot.getPlotItem()
        self._timeline = Timeline()
        self._top = 0.0
        self._right = 0.0
        self._zoomed = False
        self._set_up()
        self._references = ReferenceLines()
        self._phases = PhaseAreas()
        self._repeats = RepeatMarkers(self.font())
        self._curves = SpeedCurves(self._item.getAxis("right"))
        self._losses = LossMarkers()
        self._layers = (self._phases, self._references, self._repeats, self._curves, self._losses)
        box = self._item.getViewBox()
        self._canvas = PlotCanvas(box, self._layers)
        box.sigRangeChanged.connect(self._on_range)
        self._crosshair = Crosshair(self._plot, lambda time_s: readout_text(self._timeline, time_s))
        self.setAccessibleName(self.tr("Speed over time"))
        self.setAccessibleDescription(self.tr("The figures of a finished test stand in the table below."))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._plot)
        SPEED_UNITS.changed.connect(self._on_units)
        self.clear()
        self._update_colors()

    def _set_up(self) -> None:
        item = self._item
        self._plot.setFrameShape(self._plot.Shape.NoFrame)
        for part in (self._plot, self._plot.viewport()):
            part.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        # pyqtgraph creates its menu without a parent, so it would outlive the plot.
        item.ctrlMenu.setParent(self, item.ctrlMenu.windowFlags())
        item.hideButtons()
        item.showAxis("right")
        for side in ("left", "bottom", "right"):
            axis = item.getAxis(side)
            axis.setZValue(-1)  # the grid goes below the curves
            axis.setTickDensity(0.7)
            # Two tick levels: a third is hardly visible and would double the cost of painting an axis.
            axis.setStyle(hideOverlappingLabels=False, tickTextOffset=5, maxTickLevel=1)
            axis.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
        item.showGrid(x=True, y=True, alpha=0.18)
        item.getAxis("right").setGrid(False)
        item.getAxis("right").setStyle(hideOverlappingLabels=True)
        item.getAxis("left").enableAutoSIPrefix(False)  # noqa: FBT003 - pyqtgraph's
        item.setLabel("bottom", self.tr("Time"), units="s")
        item.setLabel("right", self.tr("Round trip"), units="s")
        box = item.getViewBox()
        box.setDefaultPadding(0)
        box.setMouseMode(box.RectMode)
        box.sigRangeChangedManually.connect(self._on_zoomed)
        item.disableAutoRange()
        self._plot.viewport().installEventFilter(self)

    # Reference lines

    def set_limits(self, limits: Mapping[TransferDirection, float]) -> None:
        """Draw the payload capacity of the link, bytes/s, by direction; unknown directions are missing."""
        self._references.limits = limits
        self._canvas.repaint([WHOLE_AXIS])
        self._fit()

    def set_expected(self, expected: Mapping[TransferDirection, tuple[float, float]]) -> None:
        """Draw the expected speeds: bytes/s and relative error, by direction."""
        self._references.expected = expected
        self._canvas.repaint([WHOLE_AXIS])

    def set_best(self, best: Mapping[TransferDirection, float]) -> None:
        """Draw the best speeds of earlier tests, bytes/s, by direction."""
        self._references.best = best
        self._canvas.repaint([WHOLE_AXIS])

    # The test

    def clear(self) -> None:
        """Remove the test, and reset the zoom."""
        self._crosshair.hide()
        self._top = 0.0
        self.reset_zoom()
        self.draw(Timeline())

    def draw(self, timeline: Timeline) -> None:
        """Show a timeline; a call with the same timeline draws only its new part."""
        self._timeline = timeline
        self._fit()
        self._canvas.repaint(
            [
                self._phases.draw(timeline),
                self._repeats.draw(timeline),
                *self._curves.draw(timeline, self._top),
                self._losses.draw(timeline, self._right, self._top),
            ]
        )
        self._crosshair.refresh()

    def top(self) -> float:
        """Return the upper end of the speed axis, bytes/s."""
        return self._top

    # Zoom

    def zoom(self, factor: float) -> None:
        """Zoom the time axis around its middle; a factor above 1 enlarges."""
        left, right = self._item.viewRange()[0]
        middle, half = (left + right) / 2, (right - left) / 2 / factor
        self._item.setRange(xRange=(middle - half, middle + half), padding=0)
        self._on_zoomed()

    def reset_zoom(self) -> None:
        """Show the whole test."""
        self._zoomed = False
        self._right = 0.0
        self._fit()
        self.zoomed.emit(False)  # noqa: FBT003

    def _on_zoomed(self, *_args: object) -> None:
        self._zoomed = True
        self.zoomed.emit(True)  # noqa: FBT003

    def _on_range(self, *_args: object) -> None:
        self._canvas.fit()

    def _fit(self) -> None:
        """Fit the axes to the test; while the plot is zoomed, the visible range stays."""
        end_s, peak = self._timeline.end_s, self._timeline.peak
        minute = int(end_s // 60 + 1) * 60
        right = next((step for step in _TIME_STEPS_S if step >= end_s), minute)
        limits = self._references.limits.values()
        peak = max([peak, *(limit for limit in limits if peak == 0 or peak >= limit * _LIMIT_IN_VIEW)])
        top = round_up(peak * 1.08) if peak > 0 else 1e6
        if top == self._top and right == self._right:
            return
        if top != self._top:
            self._top = top
            self._label_speeds()
        self._right = right
        if not self._zoomed:
            self._item.setRange(xRange=(0, right), yRange=(-_SPACE_BELOW * top, top), padding=0)

    def _label_speeds(self) -> None:
        factor, name = speed_scale(self._top, SPEED_UNITS.unit)
        axis = self._item.getAxis("left")
        axis.setScale(factor)
        axis.setLabel(self.tr("Speed ({unit})").format(unit=name))

    def _on_units(self) -> None:
        self._label_speeds()
        self._crosshair.refresh()

    def _update_colors(self) -> None:
        colors = theme.colors()
        color_axes(self._plot, pg, colors, self.font())
        for part in (*self._layers, self._crosshair):
            part.update_colors(colors)
        self._canvas.repaint([WHOLE_AXIS])

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_crosshair"):
            self._update_colors()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt: let the wheel scroll the page; only with Ctrl it zooms."""
        if event.type() == QEvent.Type.Wheel:
            wheel: Any = event
            if not wheel.modifiers() & Qt.KeyboardModifier.ControlModifier:
                event.ignore()
                return True
        return super().eventFilter(watched, event)

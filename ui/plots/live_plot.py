"""Live plot: speeds, round-trip times, phases and losses of a test or a watch, with reference lines.

Two measured choices keep it fast: opaque one-pixel pens without antialiasing, and cached axes, because a grid
otherwise redraws all ticks and labels in each frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QGraphicsItem, QWidget

from advisor.speeds import speed_scale
from ui.common import theme
from ui.common.speed_units import SPEED_UNITS
from ui.plots.axes import AxesPlot
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
from ui.plots.timeline import Timeline, timeline_table

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ui.plots.legend import PlotLayerName
    from ui.plots.timeline import TransferDirection

#: Lengths of the time axis, s; longer ones are whole minutes.
_TIME_STEPS_S = (2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1200, 1800, 3600)
#: Fraction of the link's limit that the curve must reach for the limit to stay visible.
_LIMIT_IN_VIEW = 0.2
#: Space below zero on the speed axis, as a fraction of its upper end.
_SPACE_BELOW = 0.015


class LivePlot(AxesPlot):
    """Plot of speeds over time, in both directions; further layers are shown on demand.

    Signals:
        zoomed: the zoom changed; whether the plot is zoomed.
    """

    zoomed = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, time_axis=True)
        self._timeline = Timeline()
        self._top = 0.0
        self._right = 0.0
        self._zoomed = False
        #: Number of curves in the accessible description.
        self._described = 0
        self._set_up()
        self._references = ReferenceLines()
        self._phases = PhaseAreas()
        self._repeats = RepeatMarkers()
        self._curves = SpeedCurves(self.axis("right"))
        self._losses = LossMarkers()
        self._layers = (self._phases, self._references, self._repeats, self._curves, self._losses)
        box = self._item.getViewBox()
        self._canvas = PlotCanvas(box, self._layers)
        box.sigRangeChanged.connect(self._on_range)
        self._crosshair = Crosshair(self._plot, lambda time_s: readout_text(self._timeline, time_s))
        SPEED_UNITS.changed.connect(self._on_units)
        self.clear()
        self.describe_timeline()
        self.update_appearance()

    def _set_up(self) -> None:
        item = self._item
        item.showAxis("right")
        for side in ("left", "bottom", "right"):
            axis: Any = self.axis(side)
            axis.setZValue(-1)  # the grid goes below the curves
            axis.setTickDensity(0.7)
            # Two tick levels: a third is hardly visible and would double the cost of painting an axis.
            axis.setStyle(hideOverlappingLabels=False, tickTextOffset=5, maxTickLevel=1)
            axis.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
        item.showGrid(x=True, y=True, alpha=0.18)
        item.getAxis("right").setGrid(False)
        item.getAxis("right").setStyle(hideOverlappingLabels=True)
        item.setMouseEnabled(x=True, y=True)
        box = item.getViewBox()
        box.setDefaultPadding(0)
        box.setMouseMode(box.RectMode)
        box.sigRangeChangedManually.connect(self._on_zoomed)
        item.disableAutoRange()
        self._plot.viewport().installEventFilter(self)

    def show_layers(self, names: Collection[PlotLayerName]) -> None:
        """Show the layers of these names, and hide the others."""
        self._curves.show_layers(trips="latency" in names, averages="model" in names)
        self._references.expected_shown = "model" in names
        self._references.best_shown = "best" in names
        self._phases.shown = "phases" in names
        self.draw(self._timeline)
        self._canvas.repaint([WHOLE_AXIS])

    def describe_timeline(self) -> None:
        """Make the table of the present curves the accessible description of the plot."""
        self._described = len(self._timeline.curves)
        self.describe(self.tr("Speed over time"), timeline_table(self._timeline))

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
        if len(timeline.curves) != self._described:
            self.describe_timeline()

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
        axis = self.axis("left")
        axis.setScale(factor)
        axis.set_title(self.tr("Speed ({unit})").format(unit=name))

    def _on_units(self) -> None:
        self._label_speeds()
        self._crosshair.refresh()

    # Overrides

    def update_appearance(self) -> None:
        """Take colors, fonts and margins from the theme and the font."""
        super().update_appearance()
        colors = theme.colors()
        self._repeats.set_font(self.font())
        for part in (*self._layers, self._crosshair):
            part.update_colors(colors)
        self._canvas.repaint([WHOLE_AXIS])

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt: let the wheel scroll the page; only with Ctrl it zooms."""
        if event.type() == QEvent.Type.Wheel:
            wheel: Any = event
            if not wheel.modifiers() & Qt.KeyboardModifier.ControlModifier:
                event.ignore()
                return True
        return super().eventFilter(watched, event)

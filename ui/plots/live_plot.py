"""The plot of a running test's speed.

Cheap by construction (measured): one-pixel opaque pens without antialiasing, and axes that paint into a
cache of their own, because a grid otherwise redraws every tick and label with each frame.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QGraphicsItem, QVBoxLayout, QWidget

os.environ.setdefault("PYQTGRAPH_QT_LIB", "PySide6")

import pyqtgraph  # pyright: ignore[reportMissingTypeStubs]

from ui import theme
from ui.plots.axes import colour_axes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ui.models.timeline import Mark, Timeline, Way

#: It has no type information; this module is its typed face.
pg: Any = pyqtgraph

#: The time axis grows in these steps, seconds; beyond, in minutes.
_TIME_STEPS_S = (2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1200, 1800, 3600)
#: Part of a curve's colour in the band of what is expected.
_BAND = 0.13
#: The limit of the link is kept in view while the curve reaches at least this part of it.
_LIMIT_IN_VIEW = 0.2


class LivePlot(QWidget):
    """Speed over time, to the server and from it, with the link's limit for comparison."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._plot: Any = pg.PlotWidget(self, antialias=False, enableMenu=False)
        self._item: Any = self._plot.getPlotItem()
        self._curves: dict[Way, Any] = {}
        self._marks: list[Any] = []
        self._shown_marks: tuple[Mark, ...] = ()
        self._limit_value: float | None = None
        self._limit_text = ""
        self._top = 0.0
        self._limit: Any = pg.InfiniteLine(
            angle=0, movable=False, label="", labelOpts={"position": 0.98, "anchors": [(1, 0), (1, 1)]}
        )
        #: The model's expectation of each way: a dashed line and its band.
        self._expected: dict[Way, tuple[Any, Any]] = {}
        self._set_up()
        self.setAccessibleName(self.tr("Speed over time"))
        self.setAccessibleDescription(self.tr("The figures of a finished test stand in the table below."))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._plot)
        self.clear()
        self._colour()

    def _set_up(self) -> None:
        item = self._item
        self._plot.setFrameShape(self._plot.Shape.NoFrame)
        self._plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        # pyqtgraph makes its menu without a parent, and it would outlive the plot.
        item.ctrlMenu.setParent(self, item.ctrlMenu.windowFlags())
        item.hideButtons()
        item.setMouseEnabled(x=False, y=False)
        for side in ("left", "bottom"):
            axis = item.getAxis(side)
            axis.setZValue(-1)  # the grid goes below the curves
            axis.setTickDensity(0.7)
            axis.setStyle(hideOverlappingLabels=False, tickTextOffset=5)
            axis.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
        item.showGrid(x=True, y=True, alpha=0.18)
        item.setLabel("left", self.tr("Speed"), units="B/s")
        item.setLabel("bottom", self.tr("Time"), units="s")
        item.getViewBox().setDefaultPadding(0)
        item.disableAutoRange()
        for way in ("write", "read"):
            curve = pg.PlotCurveItem(antialias=False, connect="finite")
            item.addItem(curve)
            self._curves[way] = curve
            band = pg.LinearRegionItem(orientation="horizontal", movable=False)
            line = pg.InfiniteLine(angle=0, movable=False)
            band.setZValue(-20)
            line.setZValue(-10)
            self._expected[way] = (line, band)
            item.addItem(band)
            item.addItem(line)
        item.addItem(self._limit)
        self.set_expected({})

    def set_limit(self, bytes_per_s: float | None, text: str = "") -> None:
        """Draw the most that the link can carry, or nothing if it is unknown."""
        self._limit_value = bytes_per_s
        self._limit_text = text
        self._limit.label.setFormat(text)
        self._limit.setVisible(bytes_per_s is not None)
        if bytes_per_s is not None:
            self._limit.setValue(bytes_per_s)
        self._fit(0.0, 0.0)

    def set_expected(self, expected: Mapping[Way, tuple[float, float]]) -> None:
        """Draw what the model expects of each way: bytes a second, and the fraction it may be off by."""
        for way, (line, band) in self._expected.items():
            speed, error = expected.get(way, (0.0, 0.0))
            line.setValue(speed)
            band.setRegion((speed * (1 - error), speed * (1 + error)))
            line.setVisible(way in expected)
            band.setVisible(way in expected)

    def clear(self) -> None:
        """Forget the last test."""
        for curve in self._curves.values():
            curve.setData([], [])
        self._clear_marks()
        self._top = 0.0
        self._limit.setVisible(self._limit_value is not None)
        self._fit(0.0, 0.0)

    def draw(self, timeline: Timeline) -> None:
        """Show the test as far as it is known."""
        for way, curve in self._curves.items():
            data = timeline.curves.get(way)
            curve.setData(data.times_s if data else [], data.speeds if data else [])
        self._fit(timeline.end_s, timeline.peak)
        marks = tuple(timeline.marks)
        if marks != self._shown_marks:
            self._draw_marks(marks)

    def top(self) -> float:
        """Return the upper end of the speed axis, bytes a second."""
        return self._top

    def _fit(self, end_s: float, peak: float) -> None:
        minute = int(end_s // 60 + 1) * 60
        right = next((step for step in _TIME_STEPS_S if step >= end_s), minute)
        limit = self._limit_value
        if limit is not None and (peak == 0 or peak >= limit * _LIMIT_IN_VIEW):
            peak = max(peak, limit)
        top = _round_up(peak * 1.08) if peak > 0 else 1e6
        if top != self._top or right != self._item.viewRange()[0][1]:
            self._top = top
            self._item.setRange(xRange=(0, right), yRange=(-0.015 * top, top), padding=0)

    def _draw_marks(self, marks: tuple[Mark, ...]) -> None:
        self._clear_marks()
        self._shown_marks = marks
        near = self._item.viewRange()[0][1] * 0.04
        texts: list[tuple[float, str]] = []
        for mark in marks:
            if texts and mark.time_s - texts[-1][0] < near:
                texts[-1] = (texts[-1][0], f"{texts[-1][1]}, {mark.phase}")
            else:
                texts.append((mark.time_s, mark.phase))
        colours = theme.colours_of(self)
        for time_s, text in texts:
            line: Any = pg.InfiniteLine(
                pos=time_s, angle=90, movable=False, pen=pg.mkPen(colours.border), label=text,
                labelOpts={"position": 0.93, "color": colours.muted, "anchors": [(0, 0.5), (1, 0.5)]},
            )  # fmt: skip
            self._item.addItem(line)
            self._marks.append(line)

    def _clear_marks(self) -> None:
        for line in self._marks:
            self._item.removeItem(line)
        self._marks.clear()
        self._shown_marks = ()

    def _colour(self) -> None:
        colours = theme.colours_of(self)
        colour_axes(self._plot, pg, colours, self.font())
        self._curves["write"].setPen(pg.mkPen(colours.write, width=1))
        self._curves["read"].setPen(pg.mkPen(colours.read, width=1))
        self._limit.setPen(pg.mkPen(colours.ok, width=1))
        self._limit.label.setColor(colours.ok)
        for way, (line, band) in self._expected.items():
            colour = getattr(colours, way)
            line.setPen(pg.mkPen(colour, width=1, style=Qt.PenStyle.DashLine))
            band.setBrush(pg.mkBrush(theme.blend(colour, colours.base, _BAND)))
            for edge in band.lines:
                edge.setPen(pg.mkPen(None))
        marks, self._shown_marks = self._shown_marks, ()
        if marks:
            self._draw_marks(marks)

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_limit"):
            self._colour()


def _round_up(value: float) -> float:
    """Return the next of 1, 1.5, 2, 3, 5, 8 times a power of ten."""
    power = 1.0
    while power * 10 <= value:
        power *= 10
    return next(power * step for step in (1, 1.5, 2, 3, 5, 8, 10) if power * step >= value)

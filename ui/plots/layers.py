"""Layers of the live plot: canvas, curves, phases, loss and repeat markers, and reference lines.

One item paints them all, and each time only what has changed. An item of pyqtgraph costs several calls of
Python in every frame and at every change of an axis, so an item for each repeat, marker and curve makes a
plot that stalls the window once there are many (measured: 2 ms of every frame with 20 repeats, 4.5 ms with
80). Qt keeps this one item as a picture, which is painted on where a new sample came.
"""

from __future__ import annotations

import math
import os
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyqtgraph  # pyright: ignore[reportMissingTypeStubs]
from PySide6.QtCore import QCoreApplication, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPolygonF, QTransform
from PySide6.QtWidgets import QGraphicsItem

from ui.common import theme

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

    from ui.common.theme import Colors
    from ui.plots.timeline import LossKind, PhaseInterval, SpeedCurve, Timeline, TransferDirection

#: A part of the time axis, seconds.
TimeInterval = tuple[float, float]

WHOLE_AXIS: TimeInterval = (-math.inf, math.inf)
#: Around a line, pixels: what is painted of it beside its points, marks included.
_CANVAS_MARGIN = 8.0


@dataclass(frozen=True, slots=True)
class PlotTransform:
    """Where on the screen something is painted.

    Attributes:
        area: the whole of what is shown, pixels.
        exposed: what has to be painted, on the time axis.
        place: from seconds and bytes a second to pixels.
    """

    area: QRectF
    exposed: TimeInterval
    place: QTransform

    def x(self, time_s: float) -> float:
        """Return where a moment is, pixels."""
        return self.place.m11() * time_s + self.place.dx()

    def y(self, bytes_per_s: float) -> float:
        """Return where a speed is, pixels."""
        return self.place.m22() * bytes_per_s + self.place.dy()

    def shows(self, start_s: float, end_s: float) -> bool:
        """Return whether something has to be painted between these moments."""
        return start_s <= self.exposed[1] and end_s >= self.exposed[0]


class PlotLayer(Protocol):
    """Something that a sheet paints."""

    def paint(self, painter: QPainter, view: PlotTransform) -> None:
        """Paint it, at least where it is exposed."""
        ...

    def update_colors(self, colors: Colors) -> None:
        """Follow the palette."""
        ...


class PlotCanvas(QGraphicsItem):
    """Paints parts over each other, the first one lowest.

    Args:
        box: a ``pyqtgraph.ViewBox``.
        parts: what is painted.
    """

    def __init__(self, box: Any, parts: Sequence[PlotLayer]) -> None:
        super().__init__()
        self._box = box
        self._parts = parts
        self._shown = QRectF(box.viewRect())
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)
        self.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemUsesExtendedStyleOption)
        box.addItem(self, ignoreBounds=True)

    def fit(self) -> None:
        """Follow the axes."""
        self.prepareGeometryChange()
        self._shown = QRectF(self._box.viewRect())
        self.update()

    def repaint(self, stale: Iterable[TimeInterval | None]) -> None:
        """Paint these stretches of the time axis again; None is nothing."""
        known = [stretch for stretch in stale if stretch is not None]
        if not known:
            return
        margin = _CANVAS_MARGIN * self._shown.width() / max(1.0, self._box.width())
        start = max(min(stretch[0] for stretch in known) - margin, self._shown.left())
        end = min(max(stretch[1] for stretch in known) + margin, self._shown.right())
        if start < end:
            self.update(QRectF(start, self._shown.top(), end - start, self._shown.height()))

    # Qt overrides

    def boundingRect(self) -> QRectF:
        """Qt: all that is shown, in seconds and bytes a second."""
        return self._shown

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionGraphicsItem,
        widget: QWidget | None = None,
    ) -> None:
        """Qt: paint in pixels; lines and marks do not grow with the axes."""
        place = painter.worldTransform()
        exposed: QRectF = option.exposedRect
        margin = _CANVAS_MARGIN / place.m11()
        view = PlotTransform(
            place.mapRect(self._shown), (exposed.left() - margin, exposed.right() + margin), place
        )
        painter.save()
        try:
            painter.setWorldTransform(QTransform())
            for part in self._parts:
                part.paint(painter, view)
        finally:
            painter.restore()  # Qt goes on with it also where a part failed


def draw_level_line(
    painter: QPainter, view: PlotTransform, bytes_per_s: float, stretch: TimeInterval = WHOLE_AXIS
) -> None:
    """Draw a level line, as long as the plot is wide or as the stretch."""
    y = view.y(bytes_per_s)
    left = max(view.x(stretch[0]), view.area.left())
    right = min(view.x(stretch[1]), view.area.right())
    painter.drawLine(QPointF(left, y), QPointF(right, y))


os.environ.setdefault("PYQTGRAPH_QT_LIB", "PySide6")


#: It has no type information; this module is its typed face.
pg: Any = pyqtgraph

#: A line with more points a pixel than this is drawn by the least and the greatest of each pixel.
_DENSE_POINTS = 4
_NAN = float("nan")


class GrowingLine:
    """A line over time.

    Attributes:
        times_s: when, never falling.
        values: how much, NaN in a gap.
    """

    def __init__(self) -> None:
        self.times_s: list[float] = []
        self.values: list[float] = []

    def clear(self) -> None:
        """Forget it."""
        self.times_s, self.values = [], []

    def interrupt(self, time_s: float) -> None:
        """Leave a gap before this moment."""
        if self.times_s:
            self.extend([time_s], [_NAN])

    def extend(self, times_s: Iterable[float], values: Iterable[float]) -> None:
        """Go on with these points."""
        self.times_s.extend(times_s)
        self.values.extend(values)

    def paint(self, painter: QPainter, view: PlotTransform, unit: float = 1.0) -> None:
        """Draw what is exposed of it with the painter's pen; values are times the unit bytes a second."""
        first = max(0, bisect_left(self.times_s, view.exposed[0]) - 1)
        last = min(len(self.times_s), bisect_right(self.times_s, view.exposed[1]) + 1)
        if last - first < 2:
            return
        x = np.array(self.times_s[first:last]) * view.place.m11() + view.place.dx()
        y = np.array(self.values[first:last]) * (unit * view.place.m22()) + view.place.dy()
        if len(x) > _DENSE_POINTS * max(1.0, x[-1] - x[0]):
            x, y = _decimated(x, y)
        painter.drawPath(pg.arrayToQPath(x, y, connect="finite"))


def _decimated(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the least and the greatest value of each column of pixels."""
    columns = np.floor(x)
    starts = np.flatnonzero(np.diff(columns, prepend=columns[0] - 1))
    ends = np.stack([np.fmin.reduceat(y, starts), np.fmax.reduceat(y, starts)], axis=1)
    return np.repeat(columns[starts], 2), ends.ravel()


DIRECTIONS: tuple[TransferDirection, ...] = ("write", "read")
#: Part of a color that is left in the warm-up and in an average.
_WARM_UP_OPACITY, _AVERAGE_OPACITY = 0.38, 0.6
#: An average moves in steps of this part of the plot's height, which are below a pixel.
_STEP = 1 / 500


class SpeedCurves:
    """Takes from a test what is new of it.

    The warm-up is pale, and a level line is the average of a repeat. Round trips are drawn among the speeds
    and read on the right axis, whose scale is the ratio of both.

    Args:
        axis: of the round trips, a ``pyqtgraph.AxisItem``.

    Attributes:
        speeds: bytes a second, of each way and of its warm-up.
        trips: seconds.
        pens: what the speeds are drawn with.
    """

    def __init__(self, axis: Any) -> None:
        self.axis: Any = axis
        self.speeds = {(way, warm_up): GrowingLine() for way in DIRECTIONS for warm_up in (True, False)}
        self.trips = GrowingLine()
        self.pens = {key: QPen() for key in self.speeds}
        self._average_pens = {way: QPen() for way in DIRECTIONS}
        self._trip_pen = QPen()
        self._timeline: Timeline | None = None
        #: Of each transfer how many samples the lines have.
        self._taken: list[int] = []
        #: The transfer whose round trips were the last ones.
        self._trips_of = -1
        self._top = 1.0
        self._trips_end = 0.0
        self._average: tuple[int, int] = (0, 0)

    def draw(self, timeline: Timeline, top: float) -> list[TimeInterval | None]:
        """Show a test on a plot whose speeds end at ``top``; return what has changed."""
        stale: list[TimeInterval | None] = []
        if timeline is not self._timeline or self._earlier_curve_changed(timeline):
            self._forget(timeline)
            stale.append(WHOLE_AXIS)
        first = max(0, len(self._taken) - 1)
        stale.extend(self._take(place, curve) for place, curve in enumerate(timeline.curves[first:], first))
        stale.append(self._scale(timeline, top))
        stale.append(self._move_average(timeline))
        return stale

    def _forget(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._taken = []
        self._trips_of = -1
        for line in (*self.speeds.values(), self.trips):
            line.clear()

    def _earlier_curve_changed(self, timeline: Timeline) -> bool:
        """Return whether a transfer that was over has more samples than before, or fewer."""
        known = self._taken[:-1]
        return len(timeline.curves) < len(self._taken) or any(
            len(curve.times_s) != taken for curve, taken in zip(timeline.curves, known, strict=False)
        )

    def _take(self, place: int, curve: SpeedCurve) -> TimeInterval | None:
        if place == len(self._taken):
            self._taken.append(0)
        first = self._taken[place]
        times_s = curve.times_s[first:]
        if not times_s:
            return None
        self._taken[place] = len(curve.times_s)
        line = self.speeds[curve.way, curve.warm_up]
        if first == 0:
            line.interrupt(times_s[0])
        line.extend(times_s, curve.speeds[first:])
        start_s = curve.times_s[max(0, first - 1)]
        # The line goes on where no request ended.
        trips = [
            pair for pair in zip(times_s, curve.trips_s[first:], strict=False) if not math.isnan(pair[1])
        ]
        if trips:
            if self._trips_of != place:
                self.trips.interrupt(trips[0][0])
                self._trips_of = place
            else:
                start_s = min(start_s, self.trips.times_s[-1])
            self.trips.extend([time_s for time_s, _ in trips], [trip_s for _, trip_s in trips])
        return start_s, times_s[-1]

    def _scale(self, timeline: Timeline, top: float) -> TimeInterval | None:
        """Choose the scale of the right axis."""
        longest = timeline.longest_trip_s
        # Below the middle: speeds come first.
        end_s = round_up(2 * longest) if longest > 0 else 0.0
        if (end_s, top) == (self._trips_end, self._top):
            return None
        self._trips_end, self._top = end_s, top
        self.axis.setVisible(end_s > 0)
        if end_s > 0:
            self.axis.setScale(end_s / top)
        return WHOLE_AXIS

    def _move_average(self, timeline: Timeline) -> TimeInterval | None:
        curve = timeline.curves[-1] if timeline.curves else None
        if curve is None or curve.average is None:
            return None
        average = len(timeline.curves), round(curve.average / self._top / _STEP)
        if average == self._average:
            return None
        self._average = average
        return curve.start_s, curve.end_s

    def paint(self, painter: QPainter, view: PlotTransform) -> None:
        """Paint round trips, averages, and over them speeds."""
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if self._trips_end > 0:
            painter.setPen(self._trip_pen)
            self.trips.paint(painter, view, self._top / self._trips_end)
        for way in DIRECTIONS:
            painter.setPen(self._average_pens[way])
            self._paint_averages(painter, view, way)
            for warm_up in (True, False):
                painter.setPen(self.pens[way, warm_up])
                self.speeds[way, warm_up].paint(painter, view)

    def _paint_averages(self, painter: QPainter, view: PlotTransform, way: TransferDirection) -> None:
        for curve in reversed(self._timeline.curves if self._timeline is not None else []):
            if curve.end_s < view.exposed[0]:
                return
            average = curve.average if curve.way == way and not curve.warm_up else None
            if average is not None and curve.start_s <= view.exposed[1]:
                step = self._top * _STEP
                draw_level_line(painter, view, round(average / step) * step, (curve.start_s, curve.end_s))

    def update_colors(self, colors: Colors) -> None:
        """Follow the palette."""
        for way in DIRECTIONS:
            color: str = getattr(colors, way)
            self.pens[way, False] = QPen(QColor(color), 1)
            self.pens[way, True] = QPen(QColor(theme.blend(color, colors.base, _WARM_UP_OPACITY)), 1)
            self._average_pens[way] = QPen(QColor(theme.blend(color, colors.base, _AVERAGE_OPACITY)), 1)
        self._trip_pen = QPen(QColor(theme.blend(colors.trip, colors.base, _AVERAGE_OPACITY)), 1)
        self.axis.setTextPen(QPen(QColor(colors.trip)))


def round_up(value: float) -> float:
    """Return the next of 1, 1.5, 2, 3, 5, 8 times a power of ten."""
    power = 1.0
    while power * 10 <= value:
        power *= 10
    while power > value:
        power /= 10
    return next(power * step for step in (1, 1.5, 2, 3, 5, 8, 10) if power * step >= value)


#: Part of a color that is left in the area of a phase.
_PHASE_OPACITY = 0.13
#: Losses nearer than this part of the plot's width share a mark.
_MARKER_SPACING = 1 / 120
#: Where marks stand above the foot, as a part of the plot's height.
_MARKER_HEIGHTS: dict[LossKind, float] = {"retransmission": 0.025, "timeout": 0.07}
#: Half of a mark, pixels.
_TRIANGLE_PX, _CROSS_PX = 4.0, 4.0
#: How far below the top the numbers of repeats stand, as a part of the height, and how far from the lines,
#: pixels.
_NUMBER_DEPTH, _NUMBER_SPACE = 0.03, 4.0


class PhaseAreas:
    """Areas where the client waited for fsync and close."""

    def __init__(self) -> None:
        self.phase_intervals: Sequence[PhaseInterval] = ()
        self._shown: tuple[int, float] = (0, 0.0)
        self._colors: dict[str, QColor] = {}

    def draw(self, timeline: Timeline) -> TimeInterval | None:
        """Show the phases; return what has changed."""
        if timeline.phase_intervals is not self.phase_intervals:
            self.phase_intervals, self._shown = timeline.phase_intervals, (0, 0.0)
        (count, end_s), spans = self._shown, self.phase_intervals
        self._shown = len(spans), spans[-1].end_s if spans else 0.0
        if self._shown == (count, end_s):
            return None
        if len(spans) == count:
            return end_s, self._shown[1]
        return spans[max(0, count - 1)].start_s, self._shown[1]

    def paint(self, painter: QPainter, view: PlotTransform) -> None:
        """Paint areas as high as the plot."""
        for span in reversed(self.phase_intervals):
            if span.end_s < view.exposed[0]:
                return
            if not view.shows(span.start_s, span.end_s):
                continue
            color = self._colors[span.phase]
            # The edge makes what takes no time one pixel wide.
            painter.setPen(QPen(color, 1))
            painter.setBrush(color)
            left, right = view.x(span.start_s), view.x(span.end_s)
            painter.drawRect(QRectF(left, view.area.top(), right - left, view.area.height()))

    def update_colors(self, colors: Colors) -> None:
        """Follow the palette."""
        self._colors = {
            phase: QColor(theme.blend(color, colors.base, _PHASE_OPACITY))
            for phase, color in (("fsync", colors.ok), ("close", colors.warn))
        }


class LossMarkers:
    """Marks at the foot: time-outs, and what was sent again.

    Attributes:
        places: where the marks of each kind stand on the time axis.
    """

    def __init__(self) -> None:
        self.places: dict[LossKind, list[float]] = {trouble: [] for trouble in _MARKER_HEIGHTS}
        self._timeline: Timeline | None = None
        self._taken = 0
        self._width_s = 0.0
        self._top = 1.0
        self._colors: dict[LossKind, QColor] = {}

    def draw(self, timeline: Timeline, width_s: float, top: float) -> TimeInterval | None:
        """Show the marks on a plot of this width and height; return what has changed."""
        self._top = top
        other = timeline is not self._timeline or width_s != self._width_s
        if other:
            self._timeline, self._width_s, self._taken = timeline, width_s, 0
            for places in self.places.values():
                places.clear()
        new = timeline.loss_events[self._taken :]
        self._taken = len(timeline.loss_events)
        for incident in new:
            places = self.places[incident.trouble]
            if not places or incident.time_s - places[-1] >= width_s * _MARKER_SPACING:
                places.append(incident.time_s)
        if other:
            return WHOLE_AXIS
        return (new[0].time_s, new[-1].time_s) if new else None

    def paint(self, painter: QPainter, view: PlotTransform) -> None:
        """Paint triangles and crosses."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for trouble, places in self.places.items():
            first, last = bisect_left(places, view.exposed[0]), bisect_right(places, view.exposed[1])
            y = view.y(_MARKER_HEIGHTS[trouble] * self._top)
            color = self._colors[trouble]
            painter.setBrush(color)
            painter.setPen(QPen(color, 3 if trouble == "timeout" else 1))
            for time_s in places[first:last]:
                (_draw_cross if trouble == "timeout" else _draw_triangle)(painter, view.x(time_s), y)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)

    def update_colors(self, colors: Colors) -> None:
        """Follow the palette."""
        self._colors = {"retransmission": QColor(colors.warn), "timeout": QColor(colors.error)}


class RepeatMarkers:
    """Where each repeat begins.

    Args:
        font: of their numbers.

    Attributes:
        shown: the beginning of each, and its name.
    """

    def __init__(self, font: QFont) -> None:
        self.shown: list[tuple[float, str]] = []
        self._font = font
        self._metrics = QFontMetricsF(font)
        self._timeline: Timeline | None = None
        self._curves = 0
        self._line, self._text = QColor(), QColor()

    def draw(self, timeline: Timeline) -> TimeInterval | None:
        """Show the beginnings, a single repeat has none; return what has changed."""
        if timeline is self._timeline and len(timeline.curves) == self._curves:
            return None
        self._timeline, self._curves = timeline, len(timeline.curves)
        rounds = timeline.rounds()
        warm_up = QCoreApplication.translate("LivePlot", "warm-up")
        found = [(start_s, str(number) if number else warm_up) for start_s, number in rounds]
        before, self.shown = self.shown, found if len(found) > 1 else []
        if before == self.shown:
            return None
        known = len(before) if before and self.shown[: len(before)] == before else 0
        # Their numbers stand to the right of the lines.
        return (self.shown[known][0], math.inf) if self.shown else WHOLE_AXIS

    def paint(self, painter: QPainter, view: PlotTransform) -> None:
        """Paint lines, and those numbers that have room."""
        painter.setFont(self._font)
        middle = view.area.top() + max(_NUMBER_DEPTH * view.area.height(), self._metrics.height() / 2)
        baseline = middle + (self._metrics.ascent() - self._metrics.descent()) / 2
        free = -math.inf
        for start_s, text in self.shown:
            x = view.x(start_s)
            painter.setPen(self._line)
            painter.drawLine(QPointF(x, view.area.top()), QPointF(x, view.area.bottom()))
            if x >= free:
                painter.setPen(self._text)
                painter.drawText(QPointF(x + _NUMBER_SPACE, baseline), text)
                free = x + self._metrics.horizontalAdvance(text) + 2 * _NUMBER_SPACE

    def update_colors(self, colors: Colors) -> None:
        """Follow the palette."""
        self._line, self._text = QColor(colors.border), QColor(colors.muted)


def _draw_triangle(painter: QPainter, x: float, y: float) -> None:
    corners = ((-_TRIANGLE_PX, _TRIANGLE_PX), (0.0, -_TRIANGLE_PX), (_TRIANGLE_PX, _TRIANGLE_PX))
    painter.drawPolygon(QPolygonF([QPointF(x + right, y + down) for right, down in corners]))


def _draw_cross(painter: QPainter, x: float, y: float) -> None:
    painter.drawLine(QPointF(x - _CROSS_PX, y - _CROSS_PX), QPointF(x + _CROSS_PX, y + _CROSS_PX))
    painter.drawLine(QPointF(x - _CROSS_PX, y + _CROSS_PX), QPointF(x + _CROSS_PX, y - _CROSS_PX))


#: Part of a curve's color in the band of what is expected.
_BAND_OPACITY = 0.13


class ReferenceLines:
    """Level lines below the curves.

    Attributes:
        limits: the most that the link can carry in each way, bytes a second; without a way it is unknown.
        expected: what the model expects of each way: bytes a second, and the fraction it may be off by.
        best: the best speed of an earlier test of each way, bytes a second.
    """

    def __init__(self) -> None:
        self.limits: Mapping[TransferDirection, float] = {}
        self.expected: Mapping[TransferDirection, tuple[float, float]] = {}
        self.best: Mapping[TransferDirection, float] = {}
        self._limit_pen = QPen()
        self._pens: dict[TransferDirection, tuple[QPen, QPen]] = {}
        self._bands: dict[TransferDirection, QColor] = {}

    def paint(self, painter: QPainter, view: PlotTransform) -> None:
        """Paint the lines: dashed what is expected in its band, dotted the best."""
        for way, (speed, error) in self.expected.items():
            low, high = view.y(speed * (1 - error)), view.y(speed * (1 + error))
            painter.fillRect(QRectF(view.area.left(), high, view.area.width(), low - high), self._bands[way])
        for way in DIRECTIONS:
            dashed, dotted = self._pens[way]
            if way in self.expected:
                painter.setPen(dashed)
                draw_level_line(painter, view, self.expected[way][0])
            if way in self.best:
                painter.setPen(dotted)
                draw_level_line(painter, view, self.best[way])
        painter.setPen(self._limit_pen)
        for limit in set(self.limits.values()):
            draw_level_line(painter, view, limit)

    def update_colors(self, colors: Colors) -> None:
        """Follow the palette."""
        self._limit_pen = QPen(QColor(colors.ok), 1)
        for way in DIRECTIONS:
            color: str = getattr(colors, way)
            self._pens[way] = (
                QPen(QColor(color), 1, Qt.PenStyle.DashLine), QPen(QColor(color), 1, Qt.PenStyle.DotLine),
            )  # fmt: skip
            self._bands[way] = QColor(theme.blend(color, colors.base, _BAND_OPACITY))

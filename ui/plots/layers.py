"""Layers of the live plot: canvas, curves, phases, loss and repeat markers, and reference lines.

One graphics item paints all layers, and repaints only the time interval that has changed. Every pyqtgraph
item costs several Python calls per frame and per change of an axis. One item per repeat, marker and curve
would therefore stall the window (measured: 2 ms per frame with 20 repeats, 4.5 ms with 80). Qt caches the
item as a pixmap.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from PySide6.QtCore import QCoreApplication, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPolygonF, QTransform
from PySide6.QtWidgets import QGraphicsItem

from ui.common import theme
from ui.plots.axes import pg

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

    from ui.common.theme import Colors
    from ui.plots.timeline import LossKind, PhaseInterval, SpeedCurve, Timeline, TransferDirection

#: Interval on the time axis: start and end, s.
TimeInterval = tuple[float, float]

WHOLE_AXIS: TimeInterval = (-math.inf, math.inf)
#: Margin around a repainted interval for pens and markers, px.
_CANVAS_MARGIN = 8.0


@dataclass(frozen=True, slots=True)
class PlotTransform:
    """Transformation from time and speed to pixels, and the region to paint.

    Attributes:
        area: visible area of the plot, px.
        exposed: interval of the time axis that has to be painted.
        place: transformation from (s, bytes/s) to px.
    """

    area: QRectF
    exposed: TimeInterval
    place: QTransform

    def x(self, time_s: float) -> float:
        """Return the x coordinate of a time, px."""
        return self.place.m11() * time_s + self.place.dx()

    def y(self, bytes_per_s: float) -> float:
        """Return the y coordinate of a speed, px."""
        return self.place.m22() * bytes_per_s + self.place.dy()

    def shows(self, start_s: float, end_s: float) -> bool:
        """Return whether an interval overlaps the exposed one."""
        return start_s <= self.exposed[1] and end_s >= self.exposed[0]


class PlotLayer(Protocol):
    """Layer of a canvas."""

    def paint(self, painter: QPainter, view: PlotTransform) -> None:
        """Paint the layer, at least in the exposed interval."""
        ...

    def update_colors(self, colors: Colors) -> None:
        """Set the colors of the layer."""
        ...


class PlotCanvas(QGraphicsItem):
    """Graphics item that paints all layers of a plot.

    Args:
        box: ``pyqtgraph.ViewBox`` that contains the item.
        layers: layers from bottom to top.
    """

    def __init__(self, box: Any, layers: Sequence[PlotLayer]) -> None:
        super().__init__()
        self._box = box
        self._layers = layers
        self._shown = QRectF(box.viewRect())
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)
        self.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemUsesExtendedStyleOption)
        box.addItem(self, ignoreBounds=True)

    def fit(self) -> None:
        """Adapt the item to a changed range of the axes, and repaint it."""
        self.prepareGeometryChange()
        self._shown = QRectF(self._box.viewRect())
        self.update()

    def repaint(self, stale: Iterable[TimeInterval | None]) -> None:
        """Repaint intervals of the time axis; None entries are ignored."""
        known = [interval for interval in stale if interval is not None]
        if not known:
            return
        margin = _CANVAS_MARGIN * self._shown.width() / max(1.0, self._box.width())
        start = max(min(interval[0] for interval in known) - margin, self._shown.left())
        end = min(max(interval[1] for interval in known) + margin, self._shown.right())
        if start < end:
            self.update(QRectF(start, self._shown.top(), end - start, self._shown.height()))

    # Qt overrides

    def boundingRect(self) -> QRectF:
        """Qt: visible range of the plot, in s and bytes/s."""
        return self._shown

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionGraphicsItem,
        widget: QWidget | None = None,
    ) -> None:
        """Qt: paint the layers in pixel coordinates, so that pens and markers do not scale with the axes."""
        transform = painter.worldTransform()
        exposed: QRectF = option.exposedRect
        margin = _CANVAS_MARGIN / transform.m11()
        view = PlotTransform(
            transform.mapRect(self._shown), (exposed.left() - margin, exposed.right() + margin), transform
        )
        painter.save()
        try:
            painter.setWorldTransform(QTransform())
            for layer in self._layers:
                layer.paint(painter, view)
        finally:
            painter.restore()  # Qt continues to use the painter after an exception


def draw_level_line(
    painter: QPainter, view: PlotTransform, bytes_per_s: float, interval: TimeInterval = WHOLE_AXIS
) -> None:
    """Draw a horizontal line at a speed over an interval of the time axis."""
    y = view.y(bytes_per_s)
    left = max(view.x(interval[0]), view.area.left())
    right = min(view.x(interval[1]), view.area.right())
    painter.drawLine(QPointF(left, y), QPointF(right, y))


#: Points per pixel column from which on only the minimum and maximum of the column are drawn.
_DENSE_POINTS = 4
_NAN = float("nan")


class GrowingLine:
    """Line over time that grows at its end.

    Attributes:
        times_s: times, s, in ascending order.
        values: values, NaN in a gap.
    """

    def __init__(self) -> None:
        self.times_s: list[float] = []
        self.values: list[float] = []

    def clear(self) -> None:
        """Remove all points."""
        self.times_s, self.values = [], []

    def interrupt(self, time_s: float) -> None:
        """Add a gap at a time, unless the line is empty."""
        if self.times_s:
            self.extend([time_s], [_NAN])

    def extend(self, times_s: Iterable[float], values: Iterable[float]) -> None:
        """Append points."""
        self.times_s.extend(times_s)
        self.values.extend(values)

    def paint(self, painter: QPainter, view: PlotTransform, unit: float = 1.0) -> None:
        """Draw the exposed part with the pen of the painter; ``unit`` is the number of bytes/s per value."""
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
    """Return the minimum and the maximum of each pixel column."""
    columns = np.floor(x)
    starts = np.flatnonzero(np.diff(columns, prepend=columns[0] - 1))
    ends = np.stack([np.fmin.reduceat(y, starts), np.fmax.reduceat(y, starts)], axis=1)
    return np.repeat(columns[starts], 2), ends.ravel()


DIRECTIONS: tuple[TransferDirection, ...] = ("write", "read")
#: Opacity of the warm-up's curve and of average lines (0 to 1).
_WARM_UP_OPACITY, _AVERAGE_OPACITY = 0.38, 0.6
#: Rounding step of average lines, as a fraction of the plot's height; less than a pixel.
_AVERAGE_STEP = 1 / 500
#: Units of a time: their number in a second, and their names.
_TIME_UNITS = ((1.0, "s"), (1e3, "ms"), (1e6, "µs"))


class SpeedCurves:
    """Layer of the speed curves, their averages, and the round-trip times.

    It takes only new samples from the timeline. The warm-up is pale; a horizontal line is the average of a
    repeat. Round-trip times share the canvas of the speeds; the scale of the right axis converts them.

    Args:
        axis: right axis with the round-trip times, a ``pyqtgraph.AxisItem``.

    Attributes:
        speeds: curves of the speeds, bytes/s, by direction and whether it is the warm-up.
        trips: curve of the round-trip times, s.
        pens: pens of the speed curves, with the same keys as `speeds`.
    """

    def __init__(self, axis: Any) -> None:
        self.axis: Any = axis
        self.speeds = {
            (direction, warm_up): GrowingLine() for direction in DIRECTIONS for warm_up in (True, False)
        }
        self.trips = GrowingLine()
        self.pens = {key: QPen() for key in self.speeds}
        self._average_pens = {direction: QPen() for direction in DIRECTIONS}
        self._trip_pen = QPen()
        self._timeline: Timeline | None = None
        #: Number of samples taken from each curve of the timeline.
        self._taken: list[int] = []
        #: Index of the curve of the latest round-trip time, -1 for none.
        self._trip_curve = -1
        self._top = 1.0
        self._trips_end = 0.0
        self._average: tuple[int, int] = (0, 0)
        self._trips_shown = self._averages_shown = False

    def show_layers(self, *, trips: bool, averages: bool) -> None:
        """Show or hide the waits of requests with their axis, and the averages; `draw` applies it."""
        self._trips_shown, self._averages_shown = trips, averages

    def draw(self, timeline: Timeline, top: float) -> list[TimeInterval | None]:
        """Take the new samples of a timeline; return the intervals to repaint.

        Args:
            timeline: timeline of the test.
            top: upper end of the speed axis, bytes/s.
        """
        stale: list[TimeInterval | None] = []
        if timeline is not self._timeline or self._earlier_curve_changed(timeline):
            self._reset(timeline)
            stale.append(WHOLE_AXIS)
        first = max(0, len(self._taken) - 1)
        stale.extend(
            self._add_samples(index, curve) for index, curve in enumerate(timeline.curves[first:], first)
        )
        stale.append(self._scale_trips(timeline, top))
        stale.append(self._move_average(timeline))
        return stale

    def _reset(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._taken = []
        self._trip_curve = -1
        for line in (*self.speeds.values(), self.trips):
            line.clear()

    def _earlier_curve_changed(self, timeline: Timeline) -> bool:
        """Return whether any curve but the last has another number of samples than before."""
        known = self._taken[:-1]
        return len(timeline.curves) < len(self._taken) or any(
            len(curve.times_s) != taken for curve, taken in zip(timeline.curves, known, strict=False)
        )

    def _add_samples(self, index: int, curve: SpeedCurve) -> TimeInterval | None:
        if index == len(self._taken):
            self._taken.append(0)
        first = self._taken[index]
        times_s = curve.times_s[first:]
        if not times_s:
            return None
        self._taken[index] = len(curve.times_s)
        line = self.speeds[curve.way, curve.warm_up]
        if first == 0:
            line.interrupt(times_s[0])
        line.extend(times_s, curve.speeds[first:])
        start_s = curve.times_s[max(0, first - 1)]
        # Samples without a finished request have no round-trip time; the line connects their neighbors.
        trips = [
            pair for pair in zip(times_s, curve.trips_s[first:], strict=False) if not math.isnan(pair[1])
        ]
        if trips:
            if self._trip_curve != index:
                self.trips.interrupt(trips[0][0])
                self._trip_curve = index
            else:
                start_s = min(start_s, self.trips.times_s[-1])
            self.trips.extend([time_s for time_s, _ in trips], [trip_s for _, trip_s in trips])
        return start_s, times_s[-1]

    def _scale_trips(self, timeline: Timeline, top: float) -> TimeInterval | None:
        """Set the scale of the right axis, so that round-trip times fit."""
        longest = timeline.longest_trip_s
        # Round-trip times stay in the lower half, because speeds matter more.
        end_s = round_up(2 * longest) if longest > 0 and self._trips_shown else 0.0
        if (end_s, top) == (self._trips_end, self._top):
            return None
        self._trips_end, self._top = end_s, top
        if end_s == 0:
            self.axis.hide()  # unlike setVisible(), this gives its width to the plot
        else:
            self.axis.show()
            factor, unit = next((pair for pair in _TIME_UNITS if end_s * pair[0] >= 1), _TIME_UNITS[-1])
            self.axis.setScale(end_s * factor / top)
            text = QCoreApplication.translate("LivePlot", "Wait per request ({unit})")
            self.axis.set_title(text.format(unit=unit))
        return WHOLE_AXIS

    def _move_average(self, timeline: Timeline) -> TimeInterval | None:
        curve = timeline.curves[-1] if timeline.curves else None
        if curve is None or curve.average is None or not self._averages_shown:
            return None
        average = len(timeline.curves), round(curve.average / self._top / _AVERAGE_STEP)
        if average == self._average:
            return None
        self._average = average
        return curve.start_s, curve.end_s

    def paint(self, painter: QPainter, view: PlotTransform) -> None:
        """Paint round-trip times, averages and, on top, speeds."""
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if self._trips_end > 0:
            painter.setPen(self._trip_pen)
            self.trips.paint(painter, view, self._top / self._trips_end)
        for direction in DIRECTIONS:
            if self._averages_shown:
                painter.setPen(self._average_pens[direction])
                self._paint_averages(painter, view, direction)
            for warm_up in (True, False):
                painter.setPen(self.pens[direction, warm_up])
                self.speeds[direction, warm_up].paint(painter, view)

    def _paint_averages(self, painter: QPainter, view: PlotTransform, direction: TransferDirection) -> None:
        for curve in reversed(self._timeline.curves if self._timeline is not None else []):
            if curve.end_s < view.exposed[0]:
                return
            average = curve.average if curve.way == direction and not curve.warm_up else None
            if average is not None and curve.start_s <= view.exposed[1]:
                step = self._top * _AVERAGE_STEP
                draw_level_line(painter, view, round(average / step) * step, (curve.start_s, curve.end_s))

    def update_colors(self, colors: Colors) -> None:
        """Set the colors of the layer."""
        for direction in DIRECTIONS:
            color: str = getattr(colors, direction)
            self.pens[direction, False] = QPen(QColor(color), 1)
            self.pens[direction, True] = QPen(QColor(theme.blend(color, colors.base, _WARM_UP_OPACITY)), 1)
            self._average_pens[direction] = QPen(QColor(theme.blend(color, colors.base, _AVERAGE_OPACITY)), 1)
        self._trip_pen = QPen(QColor(theme.blend(colors.trip, colors.base, _AVERAGE_OPACITY)), 1)
        self.axis.setTextPen(QPen(QColor(colors.trip)))


def round_up(value: float) -> float:
    """Return the smallest of 1, 1.5, 2, 3, 5, 8 times a power of ten that is not less than a value."""
    power = 1.0
    while power * 10 <= value:
        power *= 10
    while power > value:
        power /= 10
    return next(power * step for step in (1, 1.5, 2, 3, 5, 8, 10) if power * step >= value)


#: Opacity of the area of a phase (0 to 1).
_PHASE_OPACITY = 0.13
#: Minimum distance of two loss markers, as a fraction of the plot's width.
_MARKER_SPACING = 1 / 120
#: Heights of the loss markers above the bottom, as fractions of the plot's height.
_MARKER_HEIGHTS: dict[LossKind, float] = {"retransmission": 0.025, "timeout": 0.07}
#: Half of the size of a loss marker, px.
_TRIANGLE_PX, _CROSS_PX = 4.0, 4.0
#: Distance of the numbers of repeats from the top, as a fraction of the height, and from their lines, px.
_NUMBER_DEPTH, _NUMBER_SPACE = 0.03, 4.0


class PhaseAreas:
    """Layer of the shaded intervals in which the client waited for fsync or close.

    Attributes:
        phase_intervals: the intervals.
        shown: whether they are painted.
    """

    def __init__(self) -> None:
        self.phase_intervals: Sequence[PhaseInterval] = ()
        self.shown = False
        self._drawn: tuple[int, float] = (0, 0.0)
        self._colors: dict[str, QColor] = {}

    def draw(self, timeline: Timeline) -> TimeInterval | None:
        """Take the phases of a timeline; return the interval to repaint."""
        if timeline.phase_intervals is not self.phase_intervals:
            self.phase_intervals, self._drawn = timeline.phase_intervals, (0, 0.0)
        (count, end_s), intervals = self._drawn, self.phase_intervals
        self._drawn = len(intervals), intervals[-1].end_s if intervals else 0.0
        if self._drawn == (count, end_s):
            return None
        if len(intervals) == count:
            return end_s, self._drawn[1]
        return intervals[max(0, count - 1)].start_s, self._drawn[1]

    def paint(self, painter: QPainter, view: PlotTransform) -> None:
        """Paint the intervals as areas of the plot's height."""
        if not self.shown:
            return
        for interval in reversed(self.phase_intervals):
            if interval.end_s < view.exposed[0]:
                return
            if not view.shows(interval.start_s, interval.end_s):
                continue
            color = self._colors[interval.phase]
            # The outline makes an interval without duration one pixel wide.
            painter.setPen(QPen(color, 1))
            painter.setBrush(color)
            left, right = view.x(interval.start_s), view.x(interval.end_s)
            painter.drawRect(QRectF(left, view.area.top(), right - left, view.area.height()))

    def update_colors(self, colors: Colors) -> None:
        """Set the colors of the layer."""
        self._colors = {
            phase: QColor(theme.blend(color, colors.base, _PHASE_OPACITY))
            for phase, color in (("fsync", colors.ok), ("close", colors.warn))
        }


class LossMarkers:
    """Layer of the markers of timeouts and retransmissions at the bottom of the plot.

    Attributes:
        places: times of the markers, s, by kind of loss.
    """

    def __init__(self) -> None:
        self.places: dict[LossKind, list[float]] = {trouble: [] for trouble in _MARKER_HEIGHTS}
        self._timeline: Timeline | None = None
        self._taken = 0
        self._width_s = 0.0
        self._top = 1.0
        self._colors: dict[LossKind, QColor] = {}

    def draw(self, timeline: Timeline, width_s: float, top: float) -> TimeInterval | None:
        """Take the losses of a timeline; return the interval to repaint.

        Args:
            timeline: timeline of the test.
            width_s: length of the time axis, s.
            top: upper end of the speed axis, bytes/s.
        """
        self._top = top
        changed = timeline is not self._timeline or width_s != self._width_s
        if changed:
            self._timeline, self._width_s, self._taken = timeline, width_s, 0
            for times_s in self.places.values():
                times_s.clear()
        new = timeline.loss_events[self._taken :]
        self._taken = len(timeline.loss_events)
        for event in new:
            times_s = self.places[event.trouble]
            if not times_s or event.time_s - times_s[-1] >= width_s * _MARKER_SPACING:
                times_s.append(event.time_s)
        if changed:
            return WHOLE_AXIS
        return (new[0].time_s, new[-1].time_s) if new else None

    def paint(self, painter: QPainter, view: PlotTransform) -> None:
        """Paint triangles for retransmissions and crosses for timeouts."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for trouble, times_s in self.places.items():
            first, last = bisect_left(times_s, view.exposed[0]), bisect_right(times_s, view.exposed[1])
            y = view.y(_MARKER_HEIGHTS[trouble] * self._top)
            color = self._colors[trouble]
            painter.setBrush(color)
            painter.setPen(QPen(color, 3 if trouble == "timeout" else 1))
            for time_s in times_s[first:last]:
                (_draw_cross if trouble == "timeout" else _draw_triangle)(painter, view.x(time_s), y)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)

    def update_colors(self, colors: Colors) -> None:
        """Set the colors of the layer."""
        self._colors = {"retransmission": QColor(colors.warn), "timeout": QColor(colors.error)}


class RepeatMarkers:
    """Layer of the vertical lines and numbers at the start of each repeat.

    Attributes:
        shown: start (s) and name of each repeat; empty for a single repeat.
    """

    def __init__(self) -> None:
        self.shown: list[tuple[float, str]] = []
        self.set_font(QFont())
        self._timeline: Timeline | None = None
        self._curves = 0
        self._line, self._text = QColor(), QColor()

    def set_font(self, font: QFont) -> None:
        """Set the font of the numbers."""
        self._font = font
        self._metrics = QFontMetricsF(font)

    def draw(self, timeline: Timeline) -> TimeInterval | None:
        """Take the repeats of a timeline; return the interval to repaint."""
        if timeline is self._timeline and len(timeline.curves) == self._curves:
            return None
        self._timeline, self._curves = timeline, len(timeline.curves)
        rounds = timeline.rounds()
        warm_up = QCoreApplication.translate("LivePlot", "Warm-up")
        starts = [(start_s, str(number) if number else warm_up) for start_s, number in rounds]
        before, self.shown = self.shown, starts if len(starts) > 1 else []
        if before == self.shown:
            return None
        known = len(before) if before and self.shown[: len(before)] == before else 0
        # The numbers are at the right of the lines, so everything to the right needs repainting.
        return (self.shown[known][0], math.inf) if self.shown else WHOLE_AXIS

    def paint(self, painter: QPainter, view: PlotTransform) -> None:
        """Paint the lines, and the numbers that do not overlap."""
        painter.setFont(self._font)
        middle = view.area.top() + max(_NUMBER_DEPTH * view.area.height(), self._metrics.height() / 2)
        baseline = middle + (self._metrics.ascent() - self._metrics.descent()) / 2
        next_free_x = -math.inf
        for start_s, text in self.shown:
            x = view.x(start_s)
            painter.setPen(self._line)
            painter.drawLine(QPointF(x, view.area.top()), QPointF(x, view.area.bottom()))
            if x >= next_free_x:
                painter.setPen(self._text)
                painter.drawText(QPointF(x + _NUMBER_SPACE, baseline), text)
                next_free_x = x + self._metrics.horizontalAdvance(text) + 2 * _NUMBER_SPACE

    def update_colors(self, colors: Colors) -> None:
        """Set the colors of the layer."""
        self._line, self._text = QColor(colors.border), QColor(colors.muted)


def _draw_triangle(painter: QPainter, x: float, y: float) -> None:
    corners = ((-_TRIANGLE_PX, _TRIANGLE_PX), (0.0, -_TRIANGLE_PX), (_TRIANGLE_PX, _TRIANGLE_PX))
    painter.drawPolygon(QPolygonF([QPointF(x + right, y + down) for right, down in corners]))


def _draw_cross(painter: QPainter, x: float, y: float) -> None:
    painter.drawLine(QPointF(x - _CROSS_PX, y - _CROSS_PX), QPointF(x + _CROSS_PX, y + _CROSS_PX))
    painter.drawLine(QPointF(x - _CROSS_PX, y + _CROSS_PX), QPointF(x + _CROSS_PX, y - _CROSS_PX))


#: Opacity of the curve's color in the band of the expected speed (0 to 1).
_BAND_OPACITY = 0.13


class ReferenceLines:
    """Layer of the horizontal reference lines; each mapping lacks the directions without a value.

    Attributes:
        limits: payload capacity of the link, bytes/s, by direction.
        expected: speed expected by the model, bytes/s, and its relative error, by direction.
        best: best speed of earlier tests, bytes/s, by direction.
        expected_shown: whether expected speeds are painted.
        best_shown: whether best speeds are painted.
    """

    def __init__(self) -> None:
        self.limits: Mapping[TransferDirection, float] = {}
        self.expected: Mapping[TransferDirection, tuple[float, float]] = {}
        self.best: Mapping[TransferDirection, float] = {}
        self.expected_shown = self.best_shown = False
        self._limit_pen = QPen()
        self._pens: dict[TransferDirection, tuple[QPen, QPen]] = {}
        self._bands: dict[TransferDirection, QColor] = {}

    def paint(self, painter: QPainter, view: PlotTransform) -> None:
        """Paint expected speeds (dashed, with error band), best speeds (dotted), and limits (solid)."""
        expected: Mapping[TransferDirection, tuple[float, float]] = (
            self.expected if self.expected_shown else {}
        )
        best: Mapping[TransferDirection, float] = self.best if self.best_shown else {}
        for direction, (speed, error) in expected.items():
            low, high = view.y(speed * (1 - error)), view.y(speed * (1 + error))
            painter.fillRect(
                QRectF(view.area.left(), high, view.area.width(), low - high), self._bands[direction]
            )
        for direction in DIRECTIONS:
            dashed, dotted = self._pens[direction]
            if direction in expected:
                painter.setPen(dashed)
                draw_level_line(painter, view, expected[direction][0])
            if direction in best:
                painter.setPen(dotted)
                draw_level_line(painter, view, best[direction])
        painter.setPen(self._limit_pen)
        for limit in set(self.limits.values()):
            draw_level_line(painter, view, limit)

    def update_colors(self, colors: Colors) -> None:
        """Set the colors of the layer."""
        self._limit_pen = QPen(QColor(colors.ok), 1)
        for direction in DIRECTIONS:
            color: str = getattr(colors, direction)
            self._pens[direction] = (
                QPen(QColor(color), 1, Qt.PenStyle.DashLine), QPen(QColor(color), 1, Qt.PenStyle.DotLine),
            )  # fmt: skip
            self._bands[direction] = QColor(theme.blend(color, colors.base, _BAND_OPACITY))

"""The curves of a test: speeds with averages, and round trips on their own axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPen

from ui.common import theme
from ui.plots.layers import EVERYTHING, level
from ui.plots.lines import Line

if TYPE_CHECKING:
    from PySide6.QtGui import QPainter

    from ui.common.theme import Colours
    from ui.plots.layers import Stretch, View
    from ui.plots.timeline import Curve, Timeline, Way

WAYS: tuple[Way, ...] = ("write", "read")
#: Part of a colour that is left in the warm-up and in an average.
_PALE, _AVERAGE = 0.38, 0.6
#: An average moves in steps of this part of the plot's height, which are below a pixel.
_STEP = 1 / 500


class Curves:
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
        self.speeds = {(way, warm_up): Line() for way in WAYS for warm_up in (True, False)}
        self.trips = Line()
        self.pens = {key: QPen() for key in self.speeds}
        self._average_pens = {way: QPen() for way in WAYS}
        self._trip_pen = QPen()
        self._timeline: Timeline | None = None
        #: Of each transfer how many samples the lines have.
        self._taken: list[int] = []
        #: The transfer whose round trips were the last ones.
        self._trips_of = -1
        self._top = 1.0
        self._trips_end = 0.0
        self._average: tuple[int, int] = (0, 0)

    def draw(self, timeline: Timeline, top: float) -> list[Stretch | None]:
        """Show a test on a plot whose speeds end at ``top``; return what has changed."""
        stale: list[Stretch | None] = []
        if timeline is not self._timeline or self._grew_behind(timeline):
            self._forget(timeline)
            stale.append(EVERYTHING)
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

    def _grew_behind(self, timeline: Timeline) -> bool:
        """Return whether a transfer that was over has more samples than before, or fewer."""
        known = self._taken[:-1]
        return len(timeline.curves) < len(self._taken) or any(
            len(curve.times_s) != taken for curve, taken in zip(timeline.curves, known, strict=False)
        )

    def _take(self, place: int, curve: Curve) -> Stretch | None:
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

    def _scale(self, timeline: Timeline, top: float) -> Stretch | None:
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
        return EVERYTHING

    def _move_average(self, timeline: Timeline) -> Stretch | None:
        curve = timeline.curves[-1] if timeline.curves else None
        if curve is None or curve.average is None:
            return None
        average = len(timeline.curves), round(curve.average / self._top / _STEP)
        if average == self._average:
            return None
        self._average = average
        return curve.start_s, curve.end_s

    def paint(self, painter: QPainter, view: View) -> None:
        """Paint round trips, averages, and over them speeds."""
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if self._trips_end > 0:
            painter.setPen(self._trip_pen)
            self.trips.paint(painter, view, self._top / self._trips_end)
        for way in WAYS:
            painter.setPen(self._average_pens[way])
            self._paint_averages(painter, view, way)
            for warm_up in (True, False):
                painter.setPen(self.pens[way, warm_up])
                self.speeds[way, warm_up].paint(painter, view)

    def _paint_averages(self, painter: QPainter, view: View, way: Way) -> None:
        for curve in reversed(self._timeline.curves if self._timeline is not None else []):
            if curve.end_s < view.exposed[0]:
                return
            average = curve.average if curve.way == way and not curve.warm_up else None
            if average is not None and curve.start_s <= view.exposed[1]:
                step = self._top * _STEP
                level(painter, view, round(average / step) * step, (curve.start_s, curve.end_s))

    def colour(self, colours: Colours) -> None:
        """Follow the palette."""
        for way in WAYS:
            colour: str = getattr(colours, way)
            self.pens[way, False] = QPen(QColor(colour), 1)
            self.pens[way, True] = QPen(QColor(theme.blend(colour, colours.base, _PALE)), 1)
            self._average_pens[way] = QPen(QColor(theme.blend(colour, colours.base, _AVERAGE)), 1)
        self._trip_pen = QPen(QColor(theme.blend(colours.trip, colours.base, _AVERAGE)), 1)
        self.axis.setTextPen(QPen(QColor(colours.trip)))


def round_up(value: float) -> float:
    """Return the next of 1, 1.5, 2, 3, 5, 8 times a power of ten."""
    power = 1.0
    while power * 10 <= value:
        power *= 10
    while power > value:
        power /= 10
    return next(power * step for step in (1, 1.5, 2, 3, 5, 8, 10) if power * step >= value)

"""What stands beside the curves of a test: its phases, its repeats, and what was lost."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QPointF, QRectF
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPolygonF

from ui.common import theme
from ui.plots.layers import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ui.common.theme import Colours
    from ui.plots.layers import Stretch, View
    from ui.plots.timeline import Span, Timeline, Trouble

#: Part of a colour that is left in the area of a phase.
_SHADE = 0.13
#: Losses nearer than this part of the plot's width share a mark.
_MARK_PART = 1 / 120
#: Where marks stand above the foot, as a part of the plot's height.
_HEIGHTS: dict[Trouble, float] = {"retransmission": 0.025, "timeout": 0.07}
#: Half of a mark, pixels.
_TRIANGLE, _CROSS = 4.0, 4.0
#: How far below the top the numbers of repeats stand, as a part of the height, and how far from the lines,
#: pixels.
_NUMBER_DEPTH, _NUMBER_SPACE = 0.03, 4.0


class Phases:
    """Areas where the client waited for fsync and close."""

    def __init__(self) -> None:
        self.spans: Sequence[Span] = ()
        self._shown: tuple[int, float] = (0, 0.0)
        self._colours: dict[str, QColor] = {}

    def draw(self, timeline: Timeline) -> Stretch | None:
        """Show the phases; return what has changed."""
        if timeline.spans is not self.spans:
            self.spans, self._shown = timeline.spans, (0, 0.0)
        (count, end_s), spans = self._shown, self.spans
        self._shown = len(spans), spans[-1].end_s if spans else 0.0
        if self._shown == (count, end_s):
            return None
        if len(spans) == count:
            return end_s, self._shown[1]
        return spans[max(0, count - 1)].start_s, self._shown[1]

    def paint(self, painter: QPainter, view: View) -> None:
        """Paint areas as high as the plot."""
        for span in reversed(self.spans):
            if span.end_s < view.exposed[0]:
                return
            if not view.shows(span.start_s, span.end_s):
                continue
            colour = self._colours[span.phase]
            # The edge makes what takes no time one pixel wide.
            painter.setPen(QPen(colour, 1))
            painter.setBrush(colour)
            left, right = view.x(span.start_s), view.x(span.end_s)
            painter.drawRect(QRectF(left, view.area.top(), right - left, view.area.height()))

    def colour(self, colours: Colours) -> None:
        """Follow the palette."""
        self._colours = {
            phase: QColor(theme.blend(colour, colours.base, _SHADE))
            for phase, colour in (("fsync", colours.ok), ("close", colours.warn))
        }


class Losses:
    """Marks at the foot: time-outs, and what was sent again.

    Attributes:
        places: where the marks of each kind stand on the time axis.
    """

    def __init__(self) -> None:
        self.places: dict[Trouble, list[float]] = {trouble: [] for trouble in _HEIGHTS}
        self._timeline: Timeline | None = None
        self._taken = 0
        self._width_s = 0.0
        self._top = 1.0
        self._colours: dict[Trouble, QColor] = {}

    def draw(self, timeline: Timeline, width_s: float, top: float) -> Stretch | None:
        """Show the marks on a plot of this width and height; return what has changed."""
        self._top = top
        other = timeline is not self._timeline or width_s != self._width_s
        if other:
            self._timeline, self._width_s, self._taken = timeline, width_s, 0
            for places in self.places.values():
                places.clear()
        new = timeline.incidents[self._taken :]
        self._taken = len(timeline.incidents)
        for incident in new:
            places = self.places[incident.trouble]
            if not places or incident.time_s - places[-1] >= width_s * _MARK_PART:
                places.append(incident.time_s)
        if other:
            return EVERYTHING
        return (new[0].time_s, new[-1].time_s) if new else None

    def paint(self, painter: QPainter, view: View) -> None:
        """Paint triangles and crosses."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for trouble, places in self.places.items():
            first, last = bisect_left(places, view.exposed[0]), bisect_right(places, view.exposed[1])
            y = view.y(_HEIGHTS[trouble] * self._top)
            colour = self._colours[trouble]
            painter.setBrush(colour)
            painter.setPen(QPen(colour, 3 if trouble == "timeout" else 1))
            for time_s in places[first:last]:
                (_cross if trouble == "timeout" else _triangle)(painter, view.x(time_s), y)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)

    def colour(self, colours: Colours) -> None:
        """Follow the palette."""
        self._colours = {"retransmission": QColor(colours.warn), "timeout": QColor(colours.error)}


class Rounds:
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

    def draw(self, timeline: Timeline) -> Stretch | None:
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
        return (self.shown[known][0], math.inf) if self.shown else EVERYTHING

    def paint(self, painter: QPainter, view: View) -> None:
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

    def colour(self, colours: Colours) -> None:
        """Follow the palette."""
        self._line, self._text = QColor(colours.border), QColor(colours.muted)


def _triangle(painter: QPainter, x: float, y: float) -> None:
    corners = ((-_TRIANGLE, _TRIANGLE), (0.0, -_TRIANGLE), (_TRIANGLE, _TRIANGLE))
    painter.drawPolygon(QPolygonF([QPointF(x + right, y + down) for right, down in corners]))


def _cross(painter: QPainter, x: float, y: float) -> None:
    painter.drawLine(QPointF(x - _CROSS, y - _CROSS), QPointF(x + _CROSS, y + _CROSS))
    painter.drawLine(QPointF(x - _CROSS, y + _CROSS), QPointF(x + _CROSS, y - _CROSS))

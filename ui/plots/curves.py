"""What the plot shows of a test: speeds with averages, round trips on their own axis, phases, losses."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication

os.environ.setdefault("PYQTGRAPH_QT_LIB", "PySide6")

import pyqtgraph  # pyright: ignore[reportMissingTypeStubs]

from ui import theme

if TYPE_CHECKING:
    from PySide6.QtGui import QFont

    from ui.models.timeline import Timeline, Trouble, Way
    from ui.theme import Colours

#: It has no type information; this module is its typed face.
pg: Any = pyqtgraph

WAYS: tuple[Way, ...] = ("write", "read")
#: Part of a colour that is left in the warm-up, in an average, and in the area of a phase.
_PALE, _AVERAGE, _SHADE = 0.38, 0.6, 0.13
#: Losses nearer than this part of the plot's width share a mark.
_MARK_PART = 1 / 120
_NAN = float("nan")


class SpeedCurves:
    """Speed of each direction; the warm-up is pale, and a straight line is the average of a repeat."""

    def __init__(self, item: Any) -> None:
        self.lines: dict[tuple[Way, bool], Any] = {}
        self.averages: dict[Way, Any] = {}
        for way in WAYS:
            self.averages[way] = _curve(item)
            for warm_up in (True, False):
                self.lines[way, warm_up] = _curve(item)

    def draw(self, timeline: Timeline) -> None:
        """Show what is known."""
        for (way, warm_up), line in self.lines.items():
            chosen = [one for one in timeline.curves if (one.way, one.warm_up) == (way, warm_up)]
            line.setData(*_joined([(one.times_s, one.speeds) for one in chosen]))
        for way, line in self.averages.items():
            ends = [
                ([curve.start_s, curve.end_s], [curve.average] * 2)
                for curve in timeline.curves
                if curve.way == way and not curve.warm_up and curve.average is not None
            ]
            line.setData(*_joined(ends))

    def colour(self, colours: Colours) -> None:
        """Follow the palette."""
        for (way, warm_up), line in self.lines.items():
            colour = getattr(colours, way)
            line.setPen(pg.mkPen(theme.blend(colour, colours.base, _PALE) if warm_up else colour, width=1))
        for way, line in self.averages.items():
            line.setPen(pg.mkPen(theme.blend(getattr(colours, way), colours.base, _AVERAGE), width=1))


class TripCurve:
    """Round trips: drawn among the speeds, and read on the right axis, whose scale is the ratio of both."""

    def __init__(self, item: Any) -> None:
        self.axis: Any = item.getAxis("right")
        self.line: Any = _curve(item)
        self.line.setZValue(-5)
        self._top_s = 0.0

    def draw(self, timeline: Timeline, top: float) -> None:
        """Show the round trips on a plot whose speeds end at ``top``."""
        longest = timeline.longest_trip_s
        self.axis.setVisible(longest > 0)
        if longest <= 0:
            self.line.setData([], [])
            return
        # Below the middle: speeds come first.
        top_s = round_up(2 * longest)
        if top_s != self._top_s or self.axis.scale != top_s / top:
            self._top_s = top_s
            self.axis.setScale(top_s / top)
        factor = top / top_s
        self.line.setData(*_joined([_known(one.times_s, one.trips_s, factor) for one in timeline.curves]))

    def colour(self, colours: Colours) -> None:
        """Follow the palette."""
        self.line.setPen(pg.mkPen(theme.blend(colours.trip, colours.base, _AVERAGE), width=1))
        self.axis.setTextPen(pg.mkPen(colours.trip))


class Phases:
    """Areas where the client waited for fsync and close."""

    def __init__(self, item: Any) -> None:
        self.areas: dict[str, Any] = {}
        for phase in ("fsync", "close"):
            area = pg.BarGraphItem(x0=[], x1=[], y0=0, y1=0)
            area.setZValue(-30)
            item.addItem(area)
            self.areas[phase] = area
        self._shown: object = None

    def draw(self, timeline: Timeline, bottom: float, top: float) -> None:
        """Show the phases."""
        shown = [(span.phase, span.start_s, span.end_s) for span in timeline.spans], top
        if shown == self._shown:
            return
        self._shown = shown
        for phase, area in self.areas.items():
            spans = [span for span in timeline.spans if span.phase == phase]
            area.setOpts(
                x0=[span.start_s for span in spans], x1=[span.end_s for span in spans], y0=bottom, y1=top
            )

    def colour(self, colours: Colours) -> None:
        """Follow the palette."""
        for phase, area in self.areas.items():
            colour = theme.blend(phase_colour(colours, phase), colours.base, _SHADE)
            # The edge makes what takes no time one pixel wide.
            area.setOpts(brush=pg.mkBrush(colour), pen=pg.mkPen(colour, width=1))


class Losses:
    """Marks at the foot: time-outs, and what was sent again."""

    def __init__(self, item: Any) -> None:
        self.marks: dict[Trouble, Any] = {
            "retransmission": pg.ScatterPlotItem(symbol="t1", size=8, pxMode=True),
            "timeout": pg.ScatterPlotItem(symbol="x", size=11, pxMode=True),
        }
        for mark in self.marks.values():
            mark.setZValue(5)
            item.addItem(mark)
        self._shown: object = None

    def draw(self, timeline: Timeline, width_s: float, top: float) -> None:
        """Show the marks on a plot of this width."""
        shown = len(timeline.incidents), width_s, top
        if shown == self._shown:
            return
        self._shown = shown
        heights = {"retransmission": 0.025 * top, "timeout": 0.07 * top}
        for trouble, mark in self.marks.items():
            places: list[float] = []
            for incident in timeline.incidents:
                near = places and incident.time_s - places[-1] < width_s * _MARK_PART
                if incident.trouble == trouble and not near:
                    places.append(incident.time_s)
            mark.setData(places, [heights[trouble]] * len(places))

    def colour(self, colours: Colours) -> None:
        """Follow the palette."""
        for trouble, colour in (("retransmission", colours.warn), ("timeout", colours.error)):
            mark = self.marks["timeout" if trouble == "timeout" else "retransmission"]
            mark.setPen(pg.mkPen(colour, width=1))
            mark.setBrush(pg.mkBrush(colour))


class Rounds:
    """Where each repeat begins."""

    def __init__(self, item: Any) -> None:
        self._item = item
        self.lines: list[Any] = []
        self._shown: list[tuple[float, int]] = []

    def draw(self, timeline: Timeline) -> bool:
        """Show the beginnings, a single repeat has none; return whether there are others than before."""
        rounds = timeline.rounds()
        rounds = rounds if len(rounds) > 1 else []
        if rounds == self._shown:
            return False
        if rounds[: len(self._shown)] != self._shown:
            for line in self.lines:
                self._item.removeItem(line)
            self.lines, self._shown = [], []
        # Only what is new: each line costs a millisecond.
        for start_s, number in rounds[len(self._shown) :]:
            text = str(number) if number else QCoreApplication.translate("LivePlot", "warm-up")
            made: Any = pg.InfiniteLine(
                pos=start_s, angle=90, movable=False, label=text,
                labelOpts={"position": 0.97, "anchors": [(0, 0.5), (0, 0.5)]},
            )  # fmt: skip
            made.setZValue(-15)
            self._item.addItem(made)
            self.lines.append(made)
        self._shown = rounds
        return True

    def colour(self, colours: Colours, font: QFont) -> None:
        """Follow the palette."""
        for line in self.lines:
            line.setPen(pg.mkPen(colours.border))
            line.label.setColor(colours.muted)
            line.label.setFont(font)


def phase_colour(colours: Colours, phase: str) -> str:
    """Return the colour that a phase's area is mixed from."""
    return colours.ok if phase == "fsync" else colours.warn


def round_up(value: float) -> float:
    """Return the next of 1, 1.5, 2, 3, 5, 8 times a power of ten."""
    power = 1.0
    while power * 10 <= value:
        power *= 10
    while power > value:
        power /= 10
    return next(power * step for step in (1, 1.5, 2, 3, 5, 8, 10) if power * step >= value)


def _curve(item: Any) -> Any:
    curve = pg.PlotCurveItem(antialias=False, connect="finite")
    item.addItem(curve)
    return curve


def _known(times_s: list[float], values: list[float], factor: float) -> tuple[list[float], list[float]]:
    """Return what is known of a curve, scaled: the line goes on where no request ended."""
    pairs = [pair for pair in zip(times_s, values, strict=False) if not math.isnan(pair[1])]
    return [time_s for time_s, _ in pairs], [value * factor for _, value in pairs]


def _joined(parts: list[tuple[list[float], list[Any]]]) -> tuple[list[float], list[float]]:
    """Return several curves as one with gaps."""
    across: list[float] = []
    up: list[float] = []
    for times_s, values in parts:
        if across and times_s:
            across.append(times_s[0])
            up.append(_NAN)
        across.extend(times_s)
        up.extend(values)
    return across, up

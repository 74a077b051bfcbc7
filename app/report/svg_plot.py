"""SVG plots for HTML reports: curves over time, and strips of repeats; CSS classes set the colors."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from math import ceil, floor, log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Number of curve colors, and of dash patterns: color is never the only difference.
COLORS = 6
_DASHES = ("", "6 3", "2 3", "9 3 2 3", "1 2", "12 4")
#: Size of a plot and its margins, SVG user units.
_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 760, 74, 16, 30, 42
#: Height of a row of a strip plot, SVG user units.
_ROW_HEIGHT = 26
#: Smallest range of an axis, in seconds or MB/s; prevents a division by zero.
_MIN_SPAN = 1e-6


@dataclass(frozen=True, slots=True)
class PlotCurve:
    """Curve of a plot.

    Attributes:
        name: name in the legend.
        points: points x, y in data units.
        style: index of color and dash; the same run has the same style in all plots.
    """

    name: str
    points: Sequence[tuple[float, float]]
    style: int = 0


@dataclass(frozen=True, slots=True)
class PlotStrip:
    """Row of a strip plot: the repeats of one run, their median and its interval.

    Attributes:
        name: name of the row.
        values: values of the repeats, drawn as dots.
        median: median of the values, drawn as a bar.
        low: lower end of the median's confidence interval.
        high: upper end of the median's confidence interval.
    """

    name: str
    values: Sequence[float]
    median: float
    low: float
    high: float


@dataclass(slots=True)
class _Axis:
    """Linear scale from data to SVG coordinates, with ticks at round numbers."""

    low: float
    high: float
    start: float
    end: float
    ticks: list[float] = field(default_factory=list[float])

    def __post_init__(self) -> None:
        """Extend the range to round numbers, and place the ticks."""
        span = max(self.high - self.low, _MIN_SPAN)
        power = 10.0 ** floor(log10(span / 5))
        step = next(size * power for size in (1, 2, 5, 10) if span / (size * power) <= 6)
        first, last = floor(self.low / step + 1e-9), ceil(self.high / step - 1e-9)
        self.ticks = [index * step for index in range(first, max(last, first + 1) + 1)]
        self.low, self.high = self.ticks[0], self.ticks[-1]

    def at(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def curve_plot(
    title: str, x_label: str, y_label: str, series: Sequence[PlotCurve], *, height: int = 280
) -> str:
    """Return a plot of curves with axes from 0 as SVG, "" without points.

    Args:
        title: heading of the plot, and its text for screen readers.
        x_label: label of the horizontal axis with the unit.
        y_label: label of the vertical axis with the unit.
        series: curves in the order of the legend.
        height: height without the legend, SVG user units.
    """
    points = [point for item in series for point in item.points]
    if not points:
        return ""
    x = _Axis(0, max(point[0] for point in points), _LEFT, _WIDTH - _RIGHT)
    y = _Axis(0, max(point[1] for point in points), height - _BOTTOM, _TOP)
    parts = [*_grid(x, y, x_label, y_label, height)]
    for item in series:
        path = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in item.points)
        parts.append(f'<polyline class="line c{item.style % COLORS}"{_dash(item.style)} points="{path}"/>')
    legend, rows = _legend(series, height)
    return _svg(title, height + rows * 18, [*parts, *legend])


def strip_plot(title: str, x_label: str, rows: Sequence[PlotStrip]) -> str:
    """Return a plot with a row for each run (repeats, median and interval) as SVG, "" without rows."""
    if not rows:
        return ""
    height = _TOP + _BOTTOM + _ROW_HEIGHT * len(rows)
    left = _LEFT + 60
    highest = max(max(*row.values, row.high) for row in rows)
    x = _Axis(0, highest, left, _WIDTH - _RIGHT)
    base = height - _BOTTOM
    parts: list[str] = []
    for tick in x.ticks:
        parts.append(f'<path class="grid" d="M{x.at(tick):.1f} {_TOP}V{base}"/>')
        parts.append(_text(x.at(tick), base + 16, _number(tick), "middle"))
    parts.append(_text((left + _WIDTH - _RIGHT) / 2, height - 8, x_label, "middle"))
    for index, row in enumerate(rows):
        middle = _TOP + _ROW_HEIGHT * (index + 0.5)
        parts.append(_text(left - 8, middle + 4, row.name, "end"))
        parts.append(f'<path class="whisker" d="M{x.at(row.low):.1f} {middle}H{x.at(row.high):.1f}"/>')
        parts += [f'<circle class="dot" cx="{x.at(value):.1f}" cy="{middle}" r="3"/>' for value in row.values]
        parts.append(f'<path class="median" d="M{x.at(row.median):.1f} {middle - 9}v18"/>')
    return _svg(title, height, parts)


def _grid(x: _Axis, y: _Axis, x_label: str, y_label: str, height: int) -> list[str]:
    base, middle = height - _BOTTOM, (height - _BOTTOM + _TOP) / 2
    parts: list[str] = []
    for tick in y.ticks:
        parts.append(f'<path class="grid" d="M{_LEFT} {y.at(tick):.1f}H{_WIDTH - _RIGHT}"/>')
        parts.append(_text(_LEFT - 8, y.at(tick) + 4, _number(tick), "end"))
    parts += [_text(x.at(tick), base + 16, _number(tick), "middle") for tick in x.ticks]
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, base + 34, x_label, "middle"))
    parts.append(
        f'<text class="label" text-anchor="middle" transform="translate(16 {middle}) rotate(-90)">'
        f"{escape(y_label)}</text>"
    )
    return parts


def _legend(series: Sequence[PlotCurve], top: int) -> tuple[list[str], int]:
    """Return the SVG elements of a legend in two columns, and its number of rows."""
    parts: list[str] = []
    width = (_WIDTH - _LEFT) / 2
    for index, item in enumerate(series):
        left, middle = _LEFT + index % 2 * width, top + 12 + index // 2 * 18
        parts.append(
            f'<path class="line c{item.style % COLORS}"{_dash(item.style)} d="M{left:.0f} {middle - 4}h28"/>'
            + _text(left + 36, middle, item.name[:56], "start")
        )
    return parts, ceil(len(series) / 2)


def _dash(style: int) -> str:
    # When the colors repeat, the dashes are shifted by one.
    dash = _DASHES[(style + style // COLORS) % len(_DASHES)]
    return f' stroke-dasharray="{dash}"' if dash else ""


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text class="label" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _number(value: float) -> str:
    return f"{value:.6g}"


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-label="{escape(title)}">'
        f'<text class="title" x="{_LEFT}" y="16">{escape(title)}</text>{"".join(parts)}</svg>'
    )

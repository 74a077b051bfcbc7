"""Lines with gaps that grow at their end, painted in pixels."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

import numpy as np

os.environ.setdefault("PYQTGRAPH_QT_LIB", "PySide6")

import pyqtgraph  # pyright: ignore[reportMissingTypeStubs]

if TYPE_CHECKING:
    from collections.abc import Iterable

    from PySide6.QtGui import QPainter

    from ui.plots.layers import View

#: It has no type information; this module is its typed face.
pg: Any = pyqtgraph

#: A line with more points a pixel than this is drawn by the least and the greatest of each pixel.
_DENSE = 4
_NAN = float("nan")


class Line:
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

    def paint(self, painter: QPainter, view: View, unit: float = 1.0) -> None:
        """Draw what is exposed of it with the painter's pen; values are times the unit bytes a second."""
        first = max(0, bisect_left(self.times_s, view.exposed[0]) - 1)
        last = min(len(self.times_s), bisect_right(self.times_s, view.exposed[1]) + 1)
        if last - first < 2:
            return
        x = np.array(self.times_s[first:last]) * view.place.m11() + view.place.dx()
        y = np.array(self.values[first:last]) * (unit * view.place.m22()) + view.place.dy()
        if len(x) > _DENSE * max(1.0, x[-1] - x[0]):
            x, y = _thinned(x, y)
        painter.drawPath(pg.arrayToQPath(x, y, connect="finite"))


def _thinned(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the least and the greatest value of each column of pixels."""
    columns = np.floor(x)
    starts = np.flatnonzero(np.diff(columns, prepend=columns[0] - 1))
    ends = np.stack([np.fmin.reduceat(y, starts), np.fmax.reduceat(y, starts)], axis=1)
    return np.repeat(columns[starts], 2), ends.ravel()

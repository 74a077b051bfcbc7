"""What the curves are compared with: the link's payload rate, the model's expectation, the best so far."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt

os.environ.setdefault("PYQTGRAPH_QT_LIB", "PySide6")

import pyqtgraph  # pyright: ignore[reportMissingTypeStubs]

from ui import theme
from ui.plots.curves import WAYS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ui.models.timeline import Way
    from ui.theme import Colours

#: It has no type information; this module is its typed face.
pg: Any = pyqtgraph

#: Part of a curve's colour in the band of what is expected.
_BAND = 0.13


class References:
    """Level lines below the curves."""

    def __init__(self, item: Any) -> None:
        self.limit: Any = pg.InfiniteLine(angle=0, movable=False)
        self.limit_value: float | None = None
        #: Of each way a dashed line and its band.
        self.expected: dict[Way, tuple[Any, Any]] = {}
        self.best: dict[Way, Any] = {}
        for way in WAYS:
            band = pg.LinearRegionItem(orientation="horizontal", movable=False)
            line, best = (pg.InfiniteLine(angle=0, movable=False) for _ in range(2))
            band.setZValue(-20)
            self.expected[way] = (line, band)
            self.best[way] = best
            for one in (line, best):
                one.setZValue(-10)
            for one in (band, line, best):
                item.addItem(one)
        item.addItem(self.limit)
        self.show_limit(None)
        self.show_expected({})
        self.show_best({})

    def show_limit(self, bytes_per_s: float | None) -> None:
        """Draw the most that the link can carry, or nothing if it is unknown."""
        self.limit_value = bytes_per_s
        self.limit.setVisible(bytes_per_s is not None)
        if bytes_per_s is not None:
            self.limit.setValue(bytes_per_s)

    def show_expected(self, expected: Mapping[Way, tuple[float, float]]) -> None:
        """Draw what the model expects of each way: bytes a second, and the fraction it may be off by."""
        for way, (line, band) in self.expected.items():
            speed, error = expected.get(way, (0.0, 0.0))
            line.setValue(speed)
            band.setRegion((speed * (1 - error), speed * (1 + error)))
            line.setVisible(way in expected)
            band.setVisible(way in expected)

    def show_best(self, best: Mapping[Way, float]) -> None:
        """Draw the best speed of an earlier test of each way, bytes a second."""
        for way, line in self.best.items():
            line.setVisible(way in best)
            line.setValue(best.get(way, 0.0))

    def colour(self, colours: Colours) -> None:
        """Follow the palette."""
        self.limit.setPen(pg.mkPen(colours.ok, width=1))
        for way, (line, band) in self.expected.items():
            colour = getattr(colours, way)
            line.setPen(pg.mkPen(colour, width=1, style=Qt.PenStyle.DashLine))
            band.setBrush(pg.mkBrush(theme.blend(colour, colours.base, _BAND)))
            for edge in band.lines:
                edge.setPen(pg.mkPen(None))
            self.best[way].setPen(pg.mkPen(colour, width=1, style=Qt.PenStyle.DotLine))

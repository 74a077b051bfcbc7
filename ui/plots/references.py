"""What the curves are compared with: the link's payload rate, the model's expectation, the best so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPen

from ui.common import theme
from ui.plots.curves import WAYS
from ui.plots.layers import level

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PySide6.QtGui import QPainter

    from ui.common.theme import Colours
    from ui.plots.layers import View
    from ui.plots.timeline import Way

#: Part of a curve's colour in the band of what is expected.
_BAND = 0.13


class References:
    """Level lines below the curves.

    Attributes:
        limits: the most that the link can carry in each way, bytes a second; without a way it is unknown.
        expected: what the model expects of each way: bytes a second, and the fraction it may be off by.
        best: the best speed of an earlier test of each way, bytes a second.
    """

    def __init__(self) -> None:
        self.limits: Mapping[Way, float] = {}
        self.expected: Mapping[Way, tuple[float, float]] = {}
        self.best: Mapping[Way, float] = {}
        self._limit_pen = QPen()
        self._pens: dict[Way, tuple[QPen, QPen]] = {}
        self._bands: dict[Way, QColor] = {}

    def paint(self, painter: QPainter, view: View) -> None:
        """Paint the lines: dashed what is expected in its band, dotted the best."""
        for way, (speed, error) in self.expected.items():
            low, high = view.y(speed * (1 - error)), view.y(speed * (1 + error))
            painter.fillRect(QRectF(view.area.left(), high, view.area.width(), low - high), self._bands[way])
        for way in WAYS:
            dashed, dotted = self._pens[way]
            if way in self.expected:
                painter.setPen(dashed)
                level(painter, view, self.expected[way][0])
            if way in self.best:
                painter.setPen(dotted)
                level(painter, view, self.best[way])
        painter.setPen(self._limit_pen)
        for limit in set(self.limits.values()):
            level(painter, view, limit)

    def colour(self, colours: Colours) -> None:
        """Follow the palette."""
        self._limit_pen = QPen(QColor(colours.ok), 1)
        for way in WAYS:
            colour: str = getattr(colours, way)
            self._pens[way] = (
                QPen(QColor(colour), 1, Qt.PenStyle.DashLine), QPen(QColor(colour), 1, Qt.PenStyle.DotLine),
            )  # fmt: skip
            self._bands[way] = QColor(theme.blend(colour, colours.base, _BAND))

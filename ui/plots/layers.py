"""One item that paints all that a plot shows of a test, and each time only what has changed.

An item of pyqtgraph costs several calls of Python in every frame and at every change of an axis, so an item
for each repeat, mark and curve makes a plot that stalls the window once there are many (measured: 2 ms of
every frame with 20 repeats, 4.5 ms with 80). Qt keeps this one as a picture, which is painted on where a new
sample came.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QTransform
from PySide6.QtWidgets import QGraphicsItem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from PySide6.QtGui import QPainter
    from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

    from ui.common.theme import Colours

#: A part of the time axis, seconds.
Stretch = tuple[float, float]

EVERYTHING: Stretch = (-math.inf, math.inf)
#: Around a line, pixels: what is painted of it beside its points, marks included.
_MARGIN = 8.0


@dataclass(frozen=True, slots=True)
class View:
    """Where on the screen something is painted.

    Attributes:
        area: the whole of what is shown, pixels.
        exposed: what has to be painted, on the time axis.
        place: from seconds and bytes a second to pixels.
    """

    area: QRectF
    exposed: Stretch
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


class Part(Protocol):
    """Something that a sheet paints."""

    def paint(self, painter: QPainter, view: View) -> None:
        """Paint it, at least where it is exposed."""
        ...

    def colour(self, colours: Colours) -> None:
        """Follow the palette."""
        ...


class Sheet(QGraphicsItem):
    """Paints parts over each other, the first one lowest.

    Args:
        box: a ``pyqtgraph.ViewBox``.
        parts: what is painted.
    """

    def __init__(self, box: Any, parts: Sequence[Part]) -> None:
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

    def repaint(self, stale: Iterable[Stretch | None]) -> None:
        """Paint these stretches of the time axis again; None is nothing."""
        known = [stretch for stretch in stale if stretch is not None]
        if not known:
            return
        margin = _MARGIN * self._shown.width() / max(1.0, self._box.width())
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
        margin = _MARGIN / place.m11()
        view = View(place.mapRect(self._shown), (exposed.left() - margin, exposed.right() + margin), place)
        painter.save()
        try:
            painter.setWorldTransform(QTransform())
            for part in self._parts:
                part.paint(painter, view)
        finally:
            painter.restore()  # Qt goes on with it also where a part failed


def level(painter: QPainter, view: View, bytes_per_s: float, stretch: Stretch = EVERYTHING) -> None:
    """Draw a level line, as long as the plot is wide or as the stretch."""
    y = view.y(bytes_per_s)
    left = max(view.x(stretch[0]), view.area.left())
    right = min(view.x(stretch[1]), view.area.right())
    painter.drawLine(QPointF(left, y), QPointF(right, y))

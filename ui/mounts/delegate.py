"""A curve the size of a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from ui.mounts.list_model import KEPT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtCore import QRect


def draw_sparkline(painter: QPainter, area: QRect, values: Sequence[float], colour: str) -> None:
    """Draw values from 0 to their greatest; the newest is at the right edge, and KEPT fill the area."""
    top = max(values, default=0.0)
    if top <= 0:
        return
    step = area.width() / (KEPT - 1)
    left = area.right() - step * (len(values) - 1)
    base = float(area.bottom())
    points = [
        QPointF(left + number * step, base - (area.height() - 2) * value / top)
        for number, value in enumerate(values)
    ]
    fill = QColor(colour)
    fill.setAlphaF(0.18)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(fill)
    painter.drawPolygon(QPolygonF([QPointF(points[0].x(), base), *points, QPointF(points[-1].x(), base)]))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(colour), 1))
    painter.drawPolyline(QPolygonF(points))

"""A sample of a colour and a shape on a plot, beside which its meaning stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QPointF, QSize
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from ui.common import theme

if TYPE_CHECKING:
    from ui.common.theme import Meaning

    Shape = Literal["line", "area", "triangle", "cross"]

#: Part of the colour in an area, as on the plot.
_SHADE = 0.3


class Swatch(QWidget):
    """Painted in the colours of the palette.

    Args:
        meaning: names the colour.
        shape: as on the plot.
    """

    def __init__(self, meaning: Meaning, shape: Shape = "line") -> None:
        super().__init__()
        self._meaning = meaning
        self._shape = shape
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: as high as the text beside it."""
        return QSize(self.fontMetrics().averageCharWidth() * 2, self.fontMetrics().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: paint it."""
        del event
        painter = QPainter(self)
        colours = theme.colours()
        colour = QColor(getattr(colours, self._meaning))
        middle, high = self.height() / 2, self.height() / 3
        if self._shape == "line":
            painter.fillRect(0, int(middle) - 1, self.width(), 3, colour)
        elif self._shape == "area":
            shade = QColor(theme.blend(colour.name(), colours.base, _SHADE))
            painter.fillRect(0, int(middle - high), self.width(), int(2 * high), shade)
        else:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(colour)
            centre = QPointF(self.width() / 2, middle)
            if self._shape == "triangle":
                painter.setBrush(colour)
                painter.drawPolygon(QPolygonF([
                    centre + QPointF(0, -high), centre + QPointF(high, high), centre + QPointF(-high, high)
                ]))  # fmt: skip
            else:
                painter.drawLine(centre + QPointF(-high, -high), centre + QPointF(high, high))
                painter.drawLine(centre + QPointF(-high, high), centre + QPointF(high, -high))
        painter.end()

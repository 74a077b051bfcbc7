"""Symbolic icons: one family of drawings in one color, which follows the theme.

The drawings are SVG files of the program, on a grid of 16 px. A library of icons would be one more
dependency, and its fonts would be loaded at each start, for some forty drawings.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QByteArray, QRect, QSize, Qt
from PySide6.QtGui import QIcon, QIconEngine, QImage, QImageReader, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QLabel, QSizePolicy

from ui.common import theme

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

#: Height of an icon in relation to the height of the text beside it.
_ICON_SCALE = 1.05


def icon(name: str, color: str = "text") -> QIcon:
    """Return an icon that follows the theme.

    Args:
        name: name of the drawing, for example ``server``.
        color: field name of :class:`ui.common.theme.Colors`.
    """
    return QIcon(_SymbolicIconEngine(name, color))


def draw_icon(painter: QPainter, area: QRect, name: str, color: str) -> None:
    """Draw an icon, centered in an area, in a color given as #rrggbb."""
    side = min(area.width(), area.height())
    scale = painter.device().devicePixelRatioF()
    image = _image(name, color, max(1, round(side * scale)))
    target = QRect(0, 0, side, side)
    target.moveCenter(area.center())
    painter.drawImage(target, image)


def icon_label(name: str, color: str = "text") -> IconLabel:
    """Create a label that shows an icon as high as its text would be.

    Args:
        name: name of the drawing.
        color: field name of :class:`ui.common.theme.Colors`.
    """
    return IconLabel(name, color)


class IconLabel(QLabel):
    """Icon beside a text, as high as the text; follows theme and font."""

    def __init__(self, name: str = "", color: str = "text", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name, self._color = name, color
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def icon_name(self) -> str:
        """Return the name of the drawing."""
        return self._name

    def set_icon(self, name: str, color: str = "text") -> None:
        """Show another icon or color; "" shows none."""
        self._name, self._color = name, color
        self.update()

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: as high as the text, and square."""
        side = round(self.fontMetrics().height() * _ICON_SCALE)
        return QSize(side, side)

    def minimumSizeHint(self) -> QSize:
        """Qt: the size of the icon."""
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: paint the icon in the present color of its meaning."""
        del event
        if self._name:
            painter = QPainter(self)
            draw_icon(painter, self.rect(), self._name, getattr(theme.colors(), self._color))
            painter.end()


class _SymbolicIconEngine(QIconEngine):
    """Icon engine that renders a drawing in a color of the theme when it is needed."""

    def __init__(self, name: str, color: str) -> None:
        super().__init__()
        self._name, self._color = name, color

    def _shade(self, mode: QIcon.Mode) -> str:
        colors = theme.colors()
        if mode == QIcon.Mode.Disabled:
            return theme.blend(colors.muted, colors.window, 0.6)
        if mode == QIcon.Mode.Selected and self._color == "text":
            return colors.on_accent
        return str(getattr(colors, self._color))

    # Qt overrides

    def clone(self) -> QIconEngine:
        """Qt: copy the engine."""
        return _SymbolicIconEngine(self._name, self._color)

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        """Qt: paint the icon."""
        del state
        draw_icon(painter, rect, self._name, self._shade(mode))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        """Qt: return the icon in a size, device pixels."""
        del state
        side = max(1, min(size.width(), size.height()))
        return QPixmap.fromImage(_image(self._name, self._shade(mode), side))


@lru_cache(maxsize=64)
def _drawing(name: str) -> str:
    return resources.files("resources").joinpath("icons", "symbolic", f"{name}.svg").read_text("utf-8")


@lru_cache(maxsize=512)
def _image(name: str, color: str, side: int) -> QImage:
    """Render a drawing in a color; ``side`` is in device pixels."""
    svg = QByteArray(_drawing(name).replace("currentColor", color).encode())
    buffer = QBuffer(svg)
    reader = QImageReader(buffer, QByteArray(b"svg"))
    reader.setScaledSize(QSize(side, side))
    return reader.read()

"""Sizes of text, all derived from the font of the application, which may change while the window is open."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from PySide6.QtGui import QFont, QFontDatabase
from PySide6.QtWidgets import QApplication
from shiboken6 import isValid

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


class TextSize(StrEnum):
    """Size of a text by its purpose."""

    BODY = "body"
    SMALL = "small"
    TITLE = "title"
    HEADLINE = "headline"
    FIGURE = "figure"


#: Size in relation to the font of the application.
SCALES = {
    TextSize.BODY: 1.0,
    TextSize.SMALL: 13 / 15,
    TextSize.TITLE: 20 / 15,
    TextSize.HEADLINE: 24 / 15,
    TextSize.FIGURE: 34 / 15,
}

#: Text size where the desktop gives none: 15 px at 96 dots per inch.
_DEFAULT_POINTS = 11.25


def use_default_size(app: QApplication) -> None:
    """Set the text size of the program if no desktop environment gives one."""
    if not os.environ.get("XDG_CURRENT_DESKTOP"):
        font = app.font()
        font.setPointSizeF(_DEFAULT_POINTS)
        app.setFont(font)


def set_text_size(widget: QWidget, size: TextSize, *, bold: bool = False) -> None:
    """Set the text size of a widget, which then follows the font of the application."""
    scale_font(widget, SCALES[size], bold=bold)


def scale_font(widget: QWidget, scale: float, *, bold: bool = False, fixed_width: bool = False) -> None:
    """Scale the font of a widget in relation to the application's, which it then follows.

    Args:
        widget: label, button or field; its children inherit the font.
        scale: factor.
        bold: whether the text is semi-bold.
        fixed_width: whether all characters have the same width, as for commands.
    """
    _follow_application()
    _styles[widget] = style = _FontStyle(scale, bold=bold, fixed_width=fixed_width)
    style.apply(widget)


@dataclass(frozen=True, slots=True)
class _FontStyle:
    """What the font of a widget has that the application's has not."""

    scale: float
    bold: bool
    fixed_width: bool

    def apply(self, widget: QWidget) -> None:
        font = QFont(QApplication.font())
        if self.fixed_width:
            font.setFamilies(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).families())
        if font.pointSizeF() > 0:
            font.setPointSizeF(font.pointSizeF() * self.scale)
        else:
            font.setPixelSize(max(1, round(font.pixelSize() * self.scale)))
        if self.bold:
            font.setWeight(QFont.Weight.DemiBold)
        widget.setFont(font)


#: Widgets with a font of their own. Qt tells a widget nothing of a change that its font does not inherit.
_styles: WeakKeyDictionary[QWidget, _FontStyle] = WeakKeyDictionary()


@lru_cache(maxsize=1)
def _follow_application() -> None:
    app = QApplication.instance()
    if isinstance(app, QApplication):
        app.fontChanged.connect(_on_font_changed)


def _on_font_changed() -> None:
    for widget, style in list(_styles.items()):
        if isValid(widget):
            style.apply(widget)

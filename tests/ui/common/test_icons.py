"""Icons: every drawing renders, in one color, and follows the theme."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QIcon, QImage

from ui.common import style, theme
from ui.common.icons import icon, icon_label
from ui.common.theme import Appearance

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication
    from pytestqt.qtbot import QtBot

_NAMES = sorted(
    file.name.removesuffix(".svg")
    for file in resources.files("resources").joinpath("icons", "symbolic").iterdir()
)
_ORDER = (
    (Appearance.DARK, theme.DARK), (Appearance.HIGH_CONTRAST, theme.HIGH_CONTRAST),
    (Appearance.LIGHT, theme.LIGHT),
)  # fmt: skip


def _strongest(image: QImage) -> str:
    """Return the color of the pixel that is least transparent."""
    pixels = (image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height()))
    return max(pixels, key=lambda color: color.alpha()).name()


@pytest.mark.parametrize("name", _NAMES)
def test_every_drawing_renders_in_the_color_of_the_text(qapp: QApplication, name: str) -> None:
    style.apply_appearance(qapp, Appearance.LIGHT)
    image = icon(name).pixmap(QSize(32, 32)).toImage()
    inked = sum(
        image.pixelColor(x, y).alpha() > 128 for x in range(image.width()) for y in range(image.height())
    )
    assert 10 < inked < 700
    assert _strongest(image) == theme.LIGHT.text


def test_an_icon_follows_the_appearance(qapp: QApplication) -> None:
    shown = icon("server")
    for appearance, colors in _ORDER:
        style.apply_appearance(qapp, appearance)
        assert _strongest(shown.pixmap(QSize(32, 32)).toImage()) == colors.text


def test_a_disabled_icon_is_paler(qapp: QApplication) -> None:
    style.apply_appearance(qapp, Appearance.LIGHT)
    pale = icon("server").pixmap(QSize(32, 32), QIcon.Mode.Disabled)
    assert _strongest(pale.toImage()) != theme.LIGHT.text


def test_an_icon_label_follows_the_appearance_and_the_text(qtbot: QtBot, qapp: QApplication) -> None:
    label = icon_label("warning", "warn")
    qtbot.addWidget(label)
    label.show()
    for appearance, colors in _ORDER:
        style.apply_appearance(qapp, appearance)
        qapp.processEvents()
        image = label.grab().toImage()
        shades = {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}
        assert colors.warn in shades
    small = label.sizeHint().height()
    font = label.font()
    font.setPointSizeF(font.pointSizeF() * 2)
    label.setFont(font)
    assert label.sizeHint().height() > 1.5 * small

"""Theme: every color has enough contrast (WCAG 2.1) on every background that it appears on."""

from __future__ import annotations

import dataclasses
import itertools
import math

import pytest
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication, QCheckBox, QVBoxLayout, QWidget

from ui.common import theme
from ui.common.dialogs import show_outline
from ui.common.theme import Appearance, Colors
from ui.plots.timeline import SERIES_COLORS


@pytest.mark.parametrize("colors", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["text", "muted", "ok", "warn", "error", "info", "write", "read", "trip"])
@pytest.mark.parametrize("background", ["window", "base", "raised"])
def test_contrast(colors: Colors, name: str, background: str) -> None:
    assert theme.contrast(getattr(colors, name), getattr(colors, background)) >= 4.5


@pytest.mark.parametrize("colors", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_contrast_of_the_loud_button(colors: Colors) -> None:
    assert theme.contrast(colors.on_accent, colors.accent) >= 4.5


def test_contrast_of_known_colors() -> None:
    assert theme.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert theme.contrast("#777777", "#777777") == pytest.approx(1)


def test_every_color_is_given_in_full() -> None:
    for colors in (theme.LIGHT, theme.DARK):
        for value in dataclasses.asdict(colors).values():
            assert len(value) == 7
            int(value[1:], 16)


@pytest.mark.parametrize("colors", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_lines_over_each_other_can_be_told_apart(colors: Colors) -> None:
    shown = [QColor(getattr(colors, meaning)) for meaning in SERIES_COLORS]
    for one, other in itertools.combinations(shown, 2):
        away = ((one.red() - other.red()), (one.green() - other.green()), (one.blue() - other.blue()))
        assert math.hypot(*away) > 70, (one.name(), other.name())


def test_appearance(qapp: QApplication) -> None:
    for appearance, colors in ((Appearance.DARK, theme.DARK), (Appearance.LIGHT, theme.LIGHT)):
        theme.apply_appearance(qapp, appearance)
        assert theme.colors() is colors


def test_a_boxs_outline_follows_light_and_dark(qapp: QApplication) -> None:
    theme.apply_appearance(qapp, Appearance.LIGHT)
    form, box = QWidget(), QCheckBox()
    QVBoxLayout(form).addWidget(box)
    show_outline(box)
    form.show()
    try:
        for appearance, color in (
            (Appearance.DARK, theme.DARK.border), (Appearance.LIGHT, theme.LIGHT.base),
            (Appearance.DARK, theme.DARK.border), (Appearance.LIGHT, theme.LIGHT.base),
        ):  # fmt: skip
            theme.apply_appearance(qapp, appearance)
            qapp.processEvents()
            assert box.palette().color(QPalette.ColorRole.Base).name() == color.lower()
    finally:
        form.deleteLater()

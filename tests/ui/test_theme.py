"""Every colour with a meaning can be read on every background it is shown on."""

from __future__ import annotations

import dataclasses
import itertools
import math

import pytest
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication, QCheckBox, QVBoxLayout, QWidget

from ui.common import theme
from ui.common.dialogs import show_outline
from ui.common.theme import Appearance, Colours
from ui.models.overlay import SERIES


@pytest.mark.parametrize("colours", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["text", "muted", "ok", "warn", "error", "info", "write", "read", "trip"])
@pytest.mark.parametrize("background", ["window", "base", "raised"])
def test_contrast(colours: Colours, name: str, background: str) -> None:
    assert theme.contrast(getattr(colours, name), getattr(colours, background)) >= 4.5


@pytest.mark.parametrize("colours", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_contrast_of_the_loud_button(colours: Colours) -> None:
    assert theme.contrast(colours.on_accent, colours.accent) >= 4.5


def test_contrast_of_known_colours() -> None:
    assert theme.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert theme.contrast("#777777", "#777777") == pytest.approx(1)


def test_every_colour_is_given_in_full() -> None:
    for colours in (theme.LIGHT, theme.DARK):
        for value in dataclasses.asdict(colours).values():
            assert len(value) == 7
            int(value[1:], 16)


@pytest.mark.parametrize("colours", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_lines_over_each_other_can_be_told_apart(colours: Colours) -> None:
    shown = [QColor(getattr(colours, meaning)) for meaning in SERIES]
    for one, other in itertools.combinations(shown, 2):
        away = ((one.red() - other.red()), (one.green() - other.green()), (one.blue() - other.blue()))
        assert math.hypot(*away) > 70, (one.name(), other.name())


def test_appearance(qapp: QApplication) -> None:
    for appearance, colours in ((Appearance.DARK, theme.DARK), (Appearance.LIGHT, theme.LIGHT)):
        theme.apply_appearance(qapp, appearance)
        assert theme.colours() is colours


def test_a_boxs_outline_follows_light_and_dark(qapp: QApplication) -> None:
    theme.apply_appearance(qapp, Appearance.LIGHT)
    form, box = QWidget(), QCheckBox()
    QVBoxLayout(form).addWidget(box)
    show_outline(box)
    form.show()
    try:
        for appearance, colour in (
            (Appearance.DARK, theme.DARK.border), (Appearance.LIGHT, theme.LIGHT.base),
            (Appearance.DARK, theme.DARK.border), (Appearance.LIGHT, theme.LIGHT.base),
        ):  # fmt: skip
            theme.apply_appearance(qapp, appearance)
            qapp.processEvents()
            assert box.palette().color(QPalette.ColorRole.Base).name() == colour.lower()
    finally:
        form.deleteLater()

"""Every colour with a meaning can be read on every background it is shown on."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtWidgets import QApplication, QWidget

from ui import theme
from ui.theme import Appearance, Colours


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


def test_appearance(qapp: QApplication) -> None:
    widget = QWidget()
    try:
        theme.apply_appearance(qapp, Appearance.DARK)
        qapp.processEvents()
        assert theme.colours_of(widget) is theme.DARK
        theme.apply_appearance(qapp, Appearance.LIGHT)
        qapp.processEvents()
        assert theme.colours_of(widget) is theme.LIGHT
    finally:
        widget.deleteLater()

"""Every colour with a meaning can be read on every background it is shown on."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication, QCheckBox, QVBoxLayout, QWidget

from ui import theme
from ui.dialogs.buttons import show_outline
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


class _Form(QWidget):
    """Shows the outline of its box whenever its palette changes."""

    def __init__(self) -> None:
        super().__init__()
        self.box = QCheckBox()
        QVBoxLayout(self).addWidget(self.box)
        show_outline(self.box)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            show_outline(self.box)


def test_a_boxs_outline_follows_light_and_dark(qapp: QApplication) -> None:
    theme.apply_appearance(qapp, Appearance.LIGHT)
    form = _Form()
    form.show()
    try:
        for appearance, colour in (
            (Appearance.DARK, theme.DARK.border), (Appearance.LIGHT, theme.LIGHT.base),
            (Appearance.DARK, theme.DARK.border), (Appearance.LIGHT, theme.LIGHT.base),
        ):  # fmt: skip
            theme.apply_appearance(qapp, appearance)
            qapp.processEvents()
            assert form.box.palette().color(QPalette.ColorRole.Base).name() == colour.lower()
    finally:
        form.deleteLater()

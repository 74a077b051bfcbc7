"""Theme: every color has enough contrast (WCAG 2.1) on every background that it appears on."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import TYPE_CHECKING

import pytest
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QRadioButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from ui.common import style, theme
from ui.common.theme import Appearance, Colors
from ui.plots.legend import MAX_RUNS, run_styles

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


_THEMES = pytest.mark.parametrize(
    "colors", [theme.LIGHT, theme.DARK, theme.HIGH_CONTRAST], ids=["light", "dark", "high-contrast"]
)
_BACKGROUNDS = ["window", "base", "raised", "card"]
_TINTS = ["accent_tint", "ok_tint", "warn_tint", "error_tint", "lab_tint"]


@_THEMES
@pytest.mark.parametrize(
    "name", ["text", "muted", "ok", "warn", "error", "info", "accent", "lab", "write", "read", "trip"]
)
@pytest.mark.parametrize("background", _BACKGROUNDS + _TINTS)
def test_contrast(colors: Colors, name: str, background: str) -> None:
    assert theme.contrast(getattr(colors, name), getattr(colors, background)) >= 4.5


@_THEMES
@pytest.mark.parametrize("background", _BACKGROUNDS + _TINTS)
def test_contrast_of_fields_and_of_the_focus_ring(colors: Colors, background: str) -> None:
    assert theme.contrast(colors.input_border, getattr(colors, background)) >= 3
    assert theme.contrast(colors.accent, getattr(colors, background)) >= 3


@_THEMES
def test_contrast_of_the_loud_button(colors: Colors) -> None:
    assert theme.contrast(colors.on_accent, colors.accent) >= 4.5
    hovered = theme.blend(colors.on_accent, colors.accent, 0.14)
    assert theme.contrast(colors.on_accent, hovered) >= 4.5


@pytest.mark.parametrize(
    "name", ["text", "muted", "ok", "warn", "error", "info", "lab", "write", "read", "trip"]
)
@pytest.mark.parametrize("background", _BACKGROUNDS + _TINTS)
def test_high_contrast_is_higher(name: str, background: str) -> None:
    high = theme.HIGH_CONTRAST
    assert theme.contrast(getattr(high, name), getattr(high, background)) >= 7


def test_contrast_of_known_colors() -> None:
    assert theme.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert theme.contrast("#777777", "#777777") == pytest.approx(1)


def test_every_color_is_given_in_full() -> None:
    for colors in (theme.LIGHT, theme.DARK, theme.HIGH_CONTRAST):
        for value in dataclasses.asdict(colors).values():
            assert len(value) == 7
            int(value[1:], 16)


def _distance(one: QColor, other: QColor) -> float:
    return math.dist((one.red(), one.green(), one.blue()), (other.red(), other.green(), other.blue()))


@_THEMES
def test_lines_over_each_other_can_be_told_apart(colors: Colors) -> None:
    shown = [QColor(getattr(colors, meaning)) for meaning in ("write", "read", "trip", "ok", "text")]
    for one, other in itertools.combinations(shown, 2):
        assert _distance(one, other) > 70, (one.name(), other.name())


@_THEMES
@pytest.mark.parametrize("direction", ["write", "read"])
def test_the_runs_of_an_overlay_are_seen_and_have_dashes_of_their_own(colors: Colors, direction: str) -> None:
    looks = run_styles(MAX_RUNS)
    assert len({look.dashes for look in looks}) == MAX_RUNS
    for look in looks:
        shade = theme.blend(getattr(colors, direction), colors.base, look.strength)
        assert theme.contrast(shade, colors.base) >= 3


def test_appearance(qapp: QApplication) -> None:
    for appearance, colors in (
        (Appearance.DARK, theme.DARK), (Appearance.HIGH_CONTRAST, theme.HIGH_CONTRAST),
        (Appearance.LIGHT, theme.LIGHT),
    ):  # fmt: skip
        style.apply_appearance(qapp, appearance)
        assert theme.colors() is colors


def _colors_of(widget: QWidget) -> set[str]:
    image = widget.grab().toImage()
    return {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}


@pytest.mark.parametrize("make", [QCheckBox, QRadioButton, QLineEdit, QComboBox, QSpinBox, QPushButton])
def test_outlines_follow_the_appearance(qtbot: QtBot, qapp: QApplication, make: type[QWidget]) -> None:
    form, control = QWidget(), make()
    qtbot.addWidget(form)
    QVBoxLayout(form).addWidget(control)
    form.show()
    form.setFocus()
    control.clearFocus()
    for appearance, colors in (
        (Appearance.DARK, theme.DARK), (Appearance.HIGH_CONTRAST, theme.HIGH_CONTRAST),
        (Appearance.LIGHT, theme.LIGHT),
    ):  # fmt: skip
        style.apply_appearance(qapp, appearance)
        qapp.processEvents()
        wanted = QColor(colors.input_border)
        assert min(_distance(QColor(name), wanted) for name in _colors_of(control)) < 30  # a curve is blended


def test_a_progress_bar_without_an_end_is_not_full(qtbot: QtBot, qapp: QApplication) -> None:
    style.apply_appearance(qapp, Appearance.LIGHT)
    bar = QProgressBar()
    qtbot.addWidget(bar)
    bar.setRange(0, 0)
    bar.setTextVisible(False)
    bar.resize(400, 16)
    bar.show()
    image = bar.grab().toImage()
    row = [image.pixelColor(x, image.height() // 2).name() for x in range(image.width())]
    filled = row.count(theme.colors().accent)
    assert 0 < filled < len(row) / 2

"""Text sizes: in the relations of the design, also after the font of the application changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtWidgets import QLabel, QWidget

from ui.common.fonts import SCALES, TextSize, scale_font, set_text_size
from ui.common.labels import heading

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtWidgets import QApplication
    from pytestqt.qtbot import QtBot


@pytest.fixture
def restored_font(qapp: QApplication) -> Iterator[None]:
    before = qapp.font()
    yield
    qapp.setFont(before)


def _change_font(app: QApplication, points: float) -> None:
    font = app.font()
    font.setPointSizeF(points)
    app.setFont(font)


@pytest.mark.usefixtures("restored_font")
@pytest.mark.parametrize("size", TextSize)
def test_a_size_follows_the_font_of_the_application(qtbot: QtBot, qapp: QApplication, size: TextSize) -> None:
    box = QWidget()
    qtbot.addWidget(box)
    label = QLabel("text", box)
    set_text_size(label, size, bold=True)
    box.show()
    for points in (10.0, 20.0):
        _change_font(qapp, points)
        assert label.font().pointSizeF() == pytest.approx(points * SCALES[size], abs=0.02)
        assert label.font().bold()


@pytest.mark.usefixtures("restored_font")
def test_headings_stay_larger_than_text_when_the_text_grows(qtbot: QtBot, qapp: QApplication) -> None:
    title = heading("Title")
    qtbot.addWidget(title)
    _change_font(qapp, 24)
    assert title.font().pointSizeF() > 24


def test_a_second_size_takes_the_place_of_the_first(qtbot: QtBot, qapp: QApplication) -> None:
    label = QLabel()
    qtbot.addWidget(label)
    scale_font(label, 2.0, bold=True)
    scale_font(label, 1.0)
    assert label.font().pointSizeF() == pytest.approx(qapp.font().pointSizeF())
    assert not label.font().bold()

"""Cards: what assistive technology reads of them, colors of their kinds, and widths of a page's column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from advisor.speeds import SpeedUnit
from ui.common import style, theme
from ui.common.cards import (
    BarComparison,
    Card,
    CardKind,
    Figure,
    Headline,
    Tile,
    primary_button,
    text_button,
)
from ui.common.labels import plain_label
from ui.common.layout import CollapsibleSection, PageColumn, PageTabs
from ui.common.speed_units import SPEED_UNITS
from ui.common.theme import Appearance

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication, QWidget
    from pytestqt.qtbot import QtBot


def _shades(widget: QWidget) -> set[str]:
    image = widget.grab().toImage()
    return {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}


@pytest.mark.parametrize(
    ("kind", "field"),
    [(CardKind.PLAIN, "card"), (CardKind.ACCENT, "accent_tint"), (CardKind.OK, "ok_tint"),
     (CardKind.WARNING, "warn_tint"), (CardKind.ERROR, "error_tint")],
)  # fmt: skip
def test_a_card_has_the_color_of_its_kind(
    qtbot: QtBot, qapp: QApplication, kind: CardKind, field: str
) -> None:
    card = Card()
    qtbot.addWidget(card)
    card.resize(120, 60)
    card.set_kind(kind)
    card.show()
    for appearance, colors in ((Appearance.DARK, theme.DARK), (Appearance.LIGHT, theme.LIGHT)):
        style.apply_appearance(qapp, appearance)
        qapp.processEvents()
        assert getattr(colors, field) in _shades(card)


def test_a_figure_is_read_with_caption_value_and_detail(qtbot: QtBot) -> None:
    figure = Figure()
    qtbot.addWidget(figure)
    figure.set_value("From the server", "11.6 MB/s", "98% of the link", "read")
    assert figure.accessibleName() == "From the server, 11.6 MB/s, 98% of the link"


def test_a_figure_follows_the_unit_of_speeds(qtbot: QtBot) -> None:
    figure = Figure()
    qtbot.addWidget(figure)
    figure.set_value("Now", "11.5 MB/s")
    before = SPEED_UNITS.unit
    try:
        SPEED_UNITS.choose(SpeedUnit.BITS)
        assert figure.value() == "92 Mbit/s"
    finally:
        SPEED_UNITS.choose(before)
    assert figure.value() == "11.5 MB/s"


def test_bars_are_described_by_their_texts(qtbot: QtBot) -> None:
    bars = BarComparison()
    qtbot.addWidget(bars)
    bars.set_bars([("Before", 4e6, "4.0 MB/s", "muted"), ("After", 8.8e6, "8.8 MB/s", "read")])
    bars.resize(bars.sizeHint())
    bars.show()
    assert bars.accessibleDescription() == "Before: 4.0 MB/s\nAfter: 8.8 MB/s"
    assert {theme.colors().muted, theme.colors().read} <= _shades(bars)


def test_a_headline_is_read_as_one_text(qtbot: QtBot) -> None:
    headline = Headline()
    qtbot.addWidget(headline)
    headline.set_text("check", "As fast as this link allows", "The link is the limit.", CardKind.OK)
    assert headline.accessibleName() == "As fast as this link allows The link is the limit."


def test_a_tile_offers_its_button_only_with_a_text(qtbot: QtBot) -> None:
    tile, plain = Tile("Watch"), Tile()
    qtbot.addWidget(tile)
    qtbot.addWidget(plain)
    with qtbot.waitSignal(tile.clicked):
        tile.button.click()
    assert plain.button.isHidden()


def test_texts_of_buttons_follow_the_appearance(qtbot: QtBot, qapp: QApplication) -> None:
    accent, link = primary_button("Start"), text_button("Details")
    for button in (accent, link):
        qtbot.addWidget(button)
        button.show()
    for appearance, colors in (
        (Appearance.DARK, theme.DARK), (Appearance.HIGH_CONTRAST, theme.HIGH_CONTRAST),
        (Appearance.LIGHT, theme.LIGHT),
    ):  # fmt: skip
        style.apply_appearance(qapp, appearance)
        qapp.processEvents()
        assert accent.palette().buttonText().color().name() == colors.on_accent
        assert link.palette().buttonText().color().name() == colors.accent
        hovered = theme.blend(colors.on_accent, colors.accent, 0.06)
        assert {colors.accent, hovered} & _shades(accent)


def test_a_column_is_centered_and_not_wider_than_what_is_easy_to_read(qtbot: QtBot) -> None:
    column = PageColumn()
    qtbot.addWidget(column)
    line = plain_label("text")
    column.body.addWidget(line)
    column.resize(1600, 400)
    column.show()
    left = line.mapTo(column, line.rect().topLeft()).x()
    assert line.width() == 880
    assert left == pytest.approx((1600 - 880) / 2, abs=2)
    column.resize(700, 400)
    assert line.width() > 600


def test_a_section_opens_and_closes(qtbot: QtBot) -> None:
    text = plain_label("inside")
    section = CollapsibleSection("more", [text])
    qtbot.addWidget(section)
    section.set_title("More")
    section.show()
    assert not text.isVisible()
    section.set_open(on=True)
    assert text.isVisible()


def test_a_link_is_as_wide_as_its_text(qtbot: QtBot) -> None:
    short, long = text_button("Go"), text_button("&Watch What the Mount Does")
    for button in (short, long):
        qtbot.addWidget(button)
    metrics = short.fontMetrics()
    assert short.sizeHint().width() < metrics.horizontalAdvance("Go") + 20
    assert long.sizeHint().width() >= metrics.horizontalAdvance("Watch What the Mount Does")


def test_tabs_lose_their_icons_where_they_would_not_fit(qtbot: QtBot) -> None:
    tabs = PageTabs()
    qtbot.addWidget(tabs)
    for name in ("Overview", "Settings", "Experiments"):
        tabs.add_page(plain_label(name), "home", name)
    tabs.show()
    tabs.resize(1000, 300)
    assert not tabs.tabIcon(0).isNull()
    tabs.resize(tabs.tabBar().sizeHint().width() - 5, 300)
    assert tabs.tabIcon(0).isNull()
    assert tabs.tabBar().sizeHint().width() <= tabs.width()
    tabs.resize(1000, 300)
    assert not tabs.tabIcon(0).isNull()

"""Menu: preferences, shortcuts, help for the place, about, and the command palette, by keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QLabel,
    QLineEdit,
    QListWidget,
    QTableWidget,
    QTabWidget,
    QTextBrowser,
)

from advisor.speeds import SpeedUnit
from app.files.documentation import read_document
from app.version import VERSION
from ui.common import theme
from ui.common.speed_units import SPEED_UNITS
from ui.main_window import MainWindow
from ui.menu.about import library_rows
from ui.menu.help import HelpDialog

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost
    from pytestqt.qtbot import QtBot


pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")


def _dialog(driver: Driver, name: str) -> QDialog:
    driver.wait(lambda: driver.sees(name))
    found = driver.find(QDialog, name)
    assert isinstance(found, QDialog)
    return found


def _press(driver: Driver, keys: str) -> None:
    driver.window.activateWindow()
    driver.qtbot.keySequence(driver.window, QKeySequence(keys))


def test_preferences_take_effect_at_once(qtbot: QtBot, fake: FakeHost) -> None:
    chosen: list[theme.Appearance] = []
    window = MainWindow(fake.opener, [], theme.Appearance.LIGHT, chosen.append)
    qtbot.addWidget(window)
    window.show()
    window._on_preferences()
    dialog = window.findChild(QDialog, "preferences")
    assert dialog is not None
    appearance = dialog.findChild(QComboBox, "appearance")
    assert appearance is not None
    assert appearance.currentText() == "Light"
    appearance.setCurrentIndex(appearance.findText("High contrast"))
    appearance.activated.emit(appearance.currentIndex())
    assert chosen == [theme.Appearance.HIGH_CONTRAST]
    switch = dialog.findChild(QCheckBox, "notify")
    assert switch is not None
    switch.click()
    assert not window.notify_switch.isChecked()
    before = SPEED_UNITS.unit
    units = dialog.findChild(QComboBox, "speed-unit")
    assert units is not None
    units.setCurrentIndex(units.findData(str(SpeedUnit.BITS)))
    units.activated.emit(units.currentIndex())
    assert SPEED_UNITS.unit is SpeedUnit.BITS
    SPEED_UNITS.choose(before)
    dialog.close()
    window._on_preferences()
    again = window.findChild(QDialog, "preferences")
    assert again is not None
    window.close()


@pytest.mark.parametrize(
    ("keys", "name"), [("Ctrl+,", "preferences"), ("Ctrl+?", "shortcuts"), ("Ctrl+K", "palette")]
)
def test_keys_open_the_dialogs(driver: Driver, keys: str, name: str) -> None:
    driver.open()
    _press(driver, keys)
    _dialog(driver, name).close()


def test_the_shortcuts_are_listed(driver: Driver) -> None:
    driver.open()
    driver.trigger("action-shortcuts")
    table = _dialog(driver, "shortcuts").findChild(QTableWidget)
    assert table is not None
    rows = {table.item(row, 0).text(): table.item(row, 1).text() for row in range(table.rowCount())}
    assert rows["Help"] == "F1"
    assert rows["Overview"] == "Alt+1"
    assert rows["Find a mount in the list"] == "Ctrl+L"


def test_about_has_version_and_licenses(driver: Driver) -> None:
    driver.open()
    driver.trigger("action-about")
    label = _dialog(driver, "about").findChild(QLabel, "about-version")
    assert label is not None
    assert label.text() == f"Mountwright {VERSION}"
    rows = {name: (version, terms) for name, version, terms in library_rows()}
    assert "LGPL" in rows["PySide6-Essentials"][1]
    assert rows["numpy"][0]
    assert all(terms for _version, terms in rows.values())


@pytest.mark.parametrize("page", ["Overview", "Settings", "Test", "Experiments", "Live", "History"])
def test_help_shows_the_section_of_the_page(driver: Driver, page: str) -> None:
    driver.open(page=page)
    _press(driver, "F1")
    text = _dialog(driver, "help").findChild(QTextBrowser)
    assert text is not None
    driver.wait(lambda: text.textCursor().block().text() == page)
    assert text.textCursor().block().blockFormat().headingLevel() == 2
    assert f"\n## {page}\n" in read_document("user-guide")


def test_every_page_of_the_help_can_be_read(driver: Driver) -> None:
    driver.open()
    driver.trigger("action-help")
    dialog = _dialog(driver, "help")
    assert isinstance(dialog, HelpDialog)
    pages, text = dialog.findChild(QListWidget), dialog.findChild(QTextBrowser)
    assert pages is not None
    assert text is not None
    for row in range(pages.count()):
        pages.setCurrentRow(row)
        first = read_document(str(pages.item(row).data(Qt.ItemDataRole.UserRole))).partition("\n")[0]
        driver.wait(lambda: text.document().begin().text() == first.removeprefix("# "))  # noqa: B023 - at once


def test_the_palette_finds_and_does_a_command(driver: Driver) -> None:
    driver.open()
    driver.trigger("action-palette")
    dialog = _dialog(driver, "palette")
    field, found = dialog.findChild(QLineEdit), dialog.findChild(QListWidget)
    assert field is not None
    assert found is not None
    driver.qtbot.keyClicks(field, "hist")
    assert [found.item(row).text().split("    ")[0] for row in range(found.count())] == ["History"]
    driver.qtbot.keyClick(field, Qt.Key.Key_Return)
    tabs = driver.find(QTabWidget, "tabs")
    assert isinstance(tabs, QTabWidget)
    assert tabs.tabText(tabs.currentIndex()) == "History"


def test_the_palette_moves_with_the_arrow_keys(driver: Driver) -> None:
    driver.open()
    driver.trigger("action-palette")
    dialog = _dialog(driver, "palette")
    field, found = dialog.findChild(QLineEdit), dialog.findChild(QListWidget)
    assert field is not None
    assert found is not None
    driver.qtbot.keyClick(field, Qt.Key.Key_Down)
    assert found.currentRow() == 1
    driver.qtbot.keyClick(field, Qt.Key.Key_Up)
    assert found.currentRow() == 0
    driver.qtbot.keyClicks(field, "no such thing")
    assert found.count() == 0
    dialog.close()


def test_the_palette_has_the_actions_of_the_menus(driver: Driver) -> None:
    driver.open()
    texts = [text for text, _action in driver.window._commands()]
    for text in ("Mount a Share…", "Preferences…", "Show Log", "Settings", "Save or Remount…", "Quit"):
        assert text in texts
    assert any(text.startswith("Copy As: ") for text in texts)
    assert "Remove from fstab…" not in texts  # the mount is not saved
    assert len(texts) == len(set(texts))
    driver.window._on_new()
    assert "Show Log" not in [text for text, _action in driver.window._commands()]

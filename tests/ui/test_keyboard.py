"""Keyboard and screen readers: mnemonics are unique, and focusable widgets have accessible names."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pytest
from experiment_steps import show_studies
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAccessible, QKeySequence
from PySide6.QtWidgets import QAbstractButton, QComboBox, QDialog, QLabel, QPushButton, QWidget

from app.errors import AppError, ErrorKind

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost


def shared_keys(window: QWidget) -> dict[str, list[str]]:
    """Return the mnemonics that several visible buttons or fields share, with their texts."""
    keys: dict[str, list[str]] = defaultdict(list)
    for widget in window.findChildren(QWidget):
        named = isinstance(widget, QAbstractButton) or (isinstance(widget, QLabel) and widget.buddy())
        if named and widget.isVisible():
            text = widget.text()  # type: ignore[attr-defined]
            key = QKeySequence.mnemonic(text).toString()
            if key:
                keys[key].append(text)
    return {key: texts for key, texts in keys.items() if len(texts) > 1}


def nameless(window: QWidget) -> list[str]:
    """Return the focusable widgets without an accessible name."""
    found: list[str] = []
    for widget in window.findChildren(QWidget):
        reached = widget.isVisible() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        if reached and not widget.objectName().startswith("qt_"):
            spoken = QAccessible.queryAccessibleInterface(widget)
            if not spoken.text(QAccessible.Text.Name):
                found.append(f"{type(widget).__name__} {widget.objectName()} in {widget.parent()}")
    return found


def reads_well(window: QWidget) -> None:
    assert shared_keys(window) == {}
    assert nameless(window) == []


@pytest.mark.parametrize("tab", ["Overview", "Settings", "Test", "Experiments", "Live", "History"])
def test_pages(driver: Driver, tab: str) -> None:
    driver.open()
    driver.tab(tab)
    driver.wait(lambda: driver.window._detail.overview._result is not None or tab != "Overview")
    reads_well(driver.window)


@pytest.mark.parametrize("tab", ["Overview", "Settings", "Test", "Experiments", "Live", "History"])
@pytest.mark.parametrize("kind", [ErrorKind.BUSY, ErrorKind.NOT_RESPONDING, ErrorKind.HELPER_MISSING])
def test_pages_below_a_message(driver: Driver, tab: str, kind: ErrorKind) -> None:
    driver.open()
    driver.tab(tab)
    error = AppError(kind, "It failed.", hint="Try something else.", detail="why")
    if kind is ErrorKind.HELPER_MISSING:
        driver.window.show_error(error)
    else:
        driver.window._on_stuck("/home", error)
    driver.window._banner._details_button.click()
    assert driver.sees("banner-action")
    reads_well(driver.window)


def test_the_form_of_a_new_mount(driver: Driver) -> None:
    driver.open()
    driver.window._on_new()
    reads_well(driver.window)
    driver.window._detail.settings.load_entry("nas01:/a", "/mnt/a", "soft,vers=4.2", 1024)
    driver.window.show_error(AppError(ErrorKind.IO, "It failed.", detail="why"))
    reads_well(driver.window)


def test_the_dialog_of_a_new_mount(driver: Driver) -> None:
    driver.open()
    driver.window._on_mount_share()
    dialog = driver.find(QDialog, "mount-share")
    reads_well(dialog)
    for section in ("share-more", "share-what"):
        driver.click(section)
    reads_well(dialog)
    assert isinstance(dialog, QDialog)
    dialog.reject()


def test_an_experiment_from_the_choice_to_its_end(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.tab("Experiments")
    recipe = driver.find(QComboBox, "experiment-recipe")
    assert isinstance(recipe, QComboBox)
    driver.wait(lambda: recipe.count() >= 5)
    reads_well(driver.window)
    show_studies(driver)
    driver.click("experiment-plan")
    driver.wait(lambda: driver.sees("experiment-start"))
    reads_well(driver.window)
    fake.hold.clear()
    fake.over = 2
    driver.click("experiment-start")
    driver.wait(lambda: driver.sees("experiment-chart"))
    reads_well(driver.window)
    fake.hold.set()
    driver.wait(lambda: driver.sees("experiment-statistics"))
    driver.click("experiment-statistics")
    driver.wait(lambda: driver.sees("experiment-effects"))
    reads_well(driver.window)
    show_studies(driver)
    driver.click("experiment-change")
    driver.wait(lambda: driver.sees("recipe"))
    reads_well(driver.find(QDialog, "recipe"))
    driver.find(QDialog, "recipe").close()


def test_keys_lead_to_every_page(driver: Driver) -> None:
    driver.open()
    tabs = driver.window._detail._tabs
    driver.window.activateWindow()
    for number in range(1, 7):
        driver.qtbot.keyClick(driver.window, Qt.Key(Qt.Key.Key_0 + number), Qt.KeyboardModifier.AltModifier)
        assert tabs.currentIndex() == number - 1
    driver.qtbot.keyClick(driver.window, Qt.Key.Key_PageDown, Qt.KeyboardModifier.ControlModifier)
    assert tabs.currentIndex() == 0
    driver.qtbot.keyClick(driver.window, Qt.Key.Key_PageUp, Qt.KeyboardModifier.ControlModifier)
    assert tabs.currentIndex() == 5


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_f10_opens_the_menu_inside_the_window(driver: Driver) -> None:
    driver.open()
    button = driver.find(QPushButton, "menu")
    assert isinstance(button, QPushButton)
    menu = button.menu()
    right: list[tuple[int, int]] = []

    def look() -> None:
        edge = driver.window.mapToGlobal(driver.window.rect().topRight()).x()
        right.append((menu.geometry().right(), edge))
        menu.close()

    QTimer.singleShot(200, look)
    driver.qtbot.keyClick(driver.window, Qt.Key.Key_F10)
    driver.wait(lambda: right != [])
    assert right[0][0] <= right[0][1]

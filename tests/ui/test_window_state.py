"""State of the window: first size, size, list, columns and page after a restart, and the landing page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QTableView, QTabWidget

from app.files.window_state import WindowState
from ui.common.tables import ColumnWidths

if TYPE_CHECKING:
    from driver import Driver


def _page(driver: Driver) -> str:
    tabs = driver.find(QTabWidget, "tabs")
    assert isinstance(tabs, QTabWidget)
    return tabs.tabText(tabs.currentIndex())


def test_a_mount_is_shown_with_its_overview(driver: Driver) -> None:
    driver.window.open_host("")
    driver.wait(lambda: driver.window._mounts.current() is not None)
    assert _page(driver).startswith("Overview")
    tabs = driver.window._detail._tabs
    titles = [tabs.tabText(index).partition(" •")[0] for index in range(tabs.count())]
    assert titles == ["Overview", "Settings", "Test", "Experiments", "Live", "History"]


def test_another_mount_keeps_the_page(driver: Driver) -> None:
    driver.open(page="History")
    driver.window._mounts.choose("nas01:/media", "/media")
    assert _page(driver) == "History"


def test_the_form_of_a_new_mount_does_not_change_the_page_of_mounts(driver: Driver) -> None:
    driver.open(page="Test")
    driver.window._on_new()
    assert _page(driver) == "Settings"
    driver.window._mounts.choose_first()
    assert _page(driver) == "Test"


def test_the_first_window_is_smaller_than_the_screen(driver: Driver) -> None:
    font = QApplication.font()
    large = QApplication.font()
    large.setPointSizeF(30)
    QApplication.setFont(large)
    try:
        driver.window.restore_state(WindowState())
        screen = QGuiApplication.primaryScreen().availableSize()
        smallest = driver.window.minimumSizeHint()
        assert driver.window.width() <= max(round(0.9 * screen.width()), smallest.width())
        assert driver.window.height() <= max(round(0.9 * screen.height()), smallest.height())
    finally:
        QApplication.setFont(font)


def test_the_last_window_comes_back(driver: Driver) -> None:
    driver.window.restore_state(WindowState(width=700, height=600, list_width=230, page="history"))
    driver.open(page="History")
    state = driver.window.state()
    assert (state.list_width, state.page, state.maximized) == (230, "history", False)
    driver.tab("Settings")
    assert driver.window.state().page == "settings"


def test_an_unknown_page_of_a_newer_version_counts_as_the_first(driver: Driver) -> None:
    driver.window.restore_state(WindowState(page="forecast"))
    assert driver.window.state().page == "overview"


def test_columns_that_were_dragged_come_back(driver: Driver) -> None:
    driver.open(page="History")
    table = driver.find(QTableView, "history")
    assert isinstance(table, QTableView)
    widths = ColumnWidths(driver.window._detail)
    header = table.horizontalHeader()
    header.resizeSection(0, 77)
    assert widths.widths() == {}  # the program's own fitting is nobody's wish
    columns = [header.sectionSize(number) for number in range(header.count())]
    columns[0] = 144
    widths.restore({"history": columns, "gone": [1]})
    assert header.sectionSize(0) == 144
    assert widths.widths() == {"history": columns}

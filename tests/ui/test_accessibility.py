"""What assistive technology reads: the tree of QAccessible, which Qt hands to AT-SPI, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QApplication, QDialog, QWidget
from speed_test_steps import events

from ui.common.cards import BarComparison
from ui.plots.axes import AxesPlot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from driver import Driver
    from fake_host import FakeHost
    from PySide6.QtGui import QAccessibleInterface

PAGES = ("Overview", "Settings", "Test", "Experiments", "Live", "History")
#: Stops of Tab after which a test gives up to come round.
_MOST_STOPS = 400
#: Views whose cells are read by their texts.
_ITEM_VIEWS = frozenset({QAccessible.Role.Table, QAccessible.Role.List, QAccessible.Role.Tree})


def walk(item: QAccessibleInterface) -> Iterator[QAccessibleInterface]:
    """Return an element and all elements below that can be seen."""
    if item is None or not item.isValid() or item.state().invisible:
        return
    yield item
    if item.role() not in _ITEM_VIEWS:
        for number in range(item.childCount()):
            yield from walk(item.child(number))


def nameless(window: QWidget) -> list[str]:
    """Return the elements that can get the focus and have no name."""
    found: list[str] = []
    for item in walk(QAccessible.queryAccessibleInterface(window)):
        if not item.state().focusable:
            continue
        widget = item.object()
        if isinstance(widget, QWidget) and widget.focusPolicy() == Qt.FocusPolicy.NoFocus:
            continue
        if not item.text(QAccessible.Text.Name).strip():
            name = widget.objectName() if widget is not None else ""
            found.append(f"{item.role().name} {type(widget).__name__} {name}")
    return found


def shown_plots(driver: Driver) -> list[AxesPlot]:
    return [plot for plot in driver.window.findChildren(AxesPlot) if plot.isVisible()]


def rows_of(plot: AxesPlot) -> list[str]:
    """Return the rows of the table that describes a plot, without the titles of its columns."""
    return plot.accessibleDescription().splitlines()[1:]


@pytest.mark.parametrize("page", PAGES)
def test_every_control_of_a_page_is_named(driver: Driver, page: str) -> None:
    driver.open(page=page)
    driver.window._detail.settings.load_entry("", "", "rsize=65536,soft")  # the bar of changes is there, too
    driver.wait(lambda: driver.sees("pending-bar"))
    assert nameless(driver.window) == []


def test_every_control_of_the_first_page_is_named(driver: Driver, fake: FakeHost) -> None:
    fake.mounts, fake.helper_command = [], "./run install-helper"
    driver.open(page="Overview")
    assert driver.sees("helper-card")
    assert nameless(driver.window) == []


def test_every_control_of_the_form_of_a_new_mount_is_named(driver: Driver) -> None:
    driver.open()
    driver.window._on_new()
    assert nameless(driver.window) == []


@pytest.mark.qt_log_ignore("This plugin does not support")
@pytest.mark.parametrize("name", ["preferences", "shortcuts", "help", "about", "palette"])
def test_every_control_of_the_menus_dialogs_is_named(driver: Driver, name: str) -> None:
    driver.open()
    driver.trigger(f"action-{name}")
    driver.wait(lambda: driver.sees(name))
    dialog = driver.find(QDialog, name)
    assert nameless(dialog) == []
    dialog.close()


def test_every_plot_is_described_with_its_table(driver: Driver, fake: FakeHost) -> None:
    fake.events = events()
    driver.open(page="Test")
    panel = driver.window._detail.quick_test
    driver.wait(lambda: panel._planner.plan is not None)
    driver.click("start")
    driver.wait(lambda: not panel.busy)
    for page in ("Overview", "History", "Test"):
        driver.tab(page)
        driver.wait(lambda: [plot for plot in shown_plots(driver) if not rows_of(plot)] == [])
        assert [plot for plot in shown_plots(driver) if not plot.accessibleName()] == []
    assert shown_plots(driver) != []
    for bars in driver.window.findChildren(BarComparison):
        assert bars.accessibleDescription() or not bars.isVisible()


def test_the_state_of_a_mount_is_read_with_its_word(driver: Driver) -> None:
    driver.open()
    texts = [
        item.text(QAccessible.Text.Name)
        for item in walk(QAccessible.queryAccessibleInterface(driver.window._detail._header))
    ]
    assert "Mounted" in texts
    index = driver.window._mounts.model.first()
    row = index.data(Qt.ItemDataRole.AccessibleTextRole)
    assert row == "/home, nas01:/export/home, Mounted, Until restart"


@pytest.mark.parametrize("page", PAGES)
def test_the_focus_goes_through_a_page_as_it_is_read(driver: Driver, page: str) -> None:
    """Tab visits every part from top to bottom: header before the pages, pages before the bar below."""
    driver.open(page=page)
    driver.window._detail.settings.load_entry("", "", "rsize=65536")
    driver.wait(lambda: driver.sees("pending-bar"))
    header, tabs = driver.window._detail._header, driver.window._detail._tabs
    bar = driver.window._detail._pending
    order: list[int] = []
    driver.window.activateWindow()
    first = driver.window._host_bar._combo
    first.setFocus(Qt.FocusReason.TabFocusReason)
    for _ in range(_MOST_STOPS):
        driver.qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        widget = QApplication.focusWidget()
        assert widget is not None
        if widget is first:
            break
        order += [number for number, part in enumerate((header, tabs, bar)) if part.isAncestorOf(widget)]
    assert order == sorted(order)
    assert set(order) == {0, 1, 2}

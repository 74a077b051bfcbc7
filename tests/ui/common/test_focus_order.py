"""Focus order: as on the page, also for what is created later or stands in a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QGridLayout,
    QLineEdit,
    QPushButton,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from ui.common.focus_order import focus_order, move_focus

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


def _texts(widget: QWidget) -> list[str]:
    return [part.objectName() for part in focus_order(widget)]


def _named(widget: QWidget, name: str) -> QWidget:
    widget.setObjectName(name)
    return widget


def test_the_layout_decides_and_not_the_creation(qtbot: QtBot) -> None:
    window, grid_box = QWidget(), QWidget()
    qtbot.addWidget(window)
    layout, grid = QVBoxLayout(window), QGridLayout(grid_box)
    grid.addWidget(_named(QPushButton(), "below"), 1, 0)
    grid.addWidget(_named(QComboBox(), "right"), 0, 1)
    grid.addWidget(_named(QLineEdit(), "left"), 0, 0)
    layout.addWidget(grid_box)
    layout.addWidget(_named(QPushButton(), "last"))
    window.show()
    layout.insertWidget(0, _named(QPushButton(), "first"))  # as a card that comes with an answer
    QApplication.processEvents()  # shows it
    assert _texts(window) == ["first", "left", "right", "below", "last"]


def test_only_the_shown_page_and_what_can_be_used(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    tabs = QTabWidget()
    for number in (1, 2):
        page = QWidget()
        page_layout = QVBoxLayout(page)
        page_layout.addWidget(_named(QPushButton(), f"button-{number}"))
        off = QPushButton()
        off.setEnabled(False)
        page_layout.addWidget(_named(off, f"off-{number}"))
        tabs.addTab(page, str(number))
    tabs.tabBar().setObjectName("bar")
    QVBoxLayout(window).addWidget(tabs)
    window.show()
    assert _texts(window) == ["bar", "button-1"]
    tabs.setCurrentIndex(1)
    assert _texts(window) == ["bar", "button-2"]


def test_the_focus_goes_round_in_both_directions(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    layout = QVBoxLayout(window)
    for name in ("one", "two", "three"):
        layout.addWidget(_named(QPushButton(), name))
    window.show()
    with qtbot.waitActive(window):
        window.activateWindow()

    def focused() -> str:
        widget = QApplication.focusWidget()
        return widget.objectName() if widget is not None else ""

    window.findChild(QPushButton, "one").setFocus(Qt.FocusReason.TabFocusReason)  # type: ignore[union-attr]
    seen = []
    for forward in (True, True, True, False):
        assert move_focus(window, forward=forward)
        seen.append(focused())
    assert seen == ["two", "three", "one", "three"]


def test_a_window_without_controls_keeps_the_focus(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    assert not move_focus(window, forward=True)

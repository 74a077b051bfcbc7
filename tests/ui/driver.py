"""Driver of the main window: clicks and reads widgets by object name, with a fake host as the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QMessageBox,
    QPushButton,
    QTabWidget,
    QWidget,
)
from waiting import DEADLINE_MS, source_of

from ui.common.session import LabLink
from ui.main_window import MainWindow

if TYPE_CHECKING:
    from collections.abc import Callable

    from fake_host import FakeHost
    from pytestqt.qtbot import QtBot

LINKS = [LabLink("fast-ethernet", "100 Mbit/s Ethernet"), LabLink("gigabit", "1 Gbit/s Ethernet")]


class Driver:
    """Main window with a fake host, and actions of a user in it."""

    def __init__(self, qtbot: QtBot, fake: FakeHost) -> None:
        self.qtbot = qtbot
        self.fake = fake
        self.window = MainWindow(fake.opener, LINKS)
        self.window.resize(1100, 800)
        self.window.show()

    def open(self, key: str = "", page: str = "Settings") -> None:
        self.window.open_host(key)
        self.wait(lambda: self.window.session.hello is not None and self.window._table is not None)
        self.tab(page)

    def wait(self, fact: Callable[[], bool]) -> None:
        """Run the event loop until a condition is true.

        Raises:
            AssertionError: the condition stayed false until the deadline. The message has its source and the
                visible widgets.
        """
        try:
            self.qtbot.waitUntil(fact, timeout=DEADLINE_MS)
        except self.qtbot.TimeoutError as error:
            waited = f"waited {DEADLINE_MS / 1000:.0f} s for {source_of(fact)}"
            raise AssertionError(f"{waited}\n{self.seen()}") from error

    def seen(self) -> str:
        """Return the banner, the visible widgets and the last requests, for the message of a failed wait."""
        shown = [widget.objectName() for widget in self.window.findChildren(QWidget) if widget.isVisible()]
        named = sorted({name for name in shown if name and not name.startswith("qt_")})
        asked = [verb for verb, _args in self.fake.calls[-10:]]
        return "\n".join(
            [f"The banner says {self.message()!r}.", f"Visible: {named}", f"Asked last: {asked}"]
        )

    def find(self, kind: type[QWidget], name: str) -> QWidget:
        widget = self.window.findChild(kind, name)
        assert widget is not None, name
        return widget

    def sees(self, name: str) -> bool:
        widget = self.window.findChild(QWidget, name)
        return widget is not None and widget.isVisible()

    def click(self, name: str) -> None:
        button = self.find(QPushButton, name)
        assert button.isVisible(), name
        assert button.isEnabled(), name
        self.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)

    def action(self, name: str) -> QAction:
        action = self.window.findChild(QAction, name)
        assert action is not None, name
        return action

    def offers(self, name: str) -> bool:
        """Whether a menu has this action now."""
        return self.action(name).isVisible()

    def trigger(self, name: str) -> None:
        """Choose an action of a menu."""
        action = self.action(name)
        assert action.isVisible(), name
        assert action.isEnabled(), name
        action.trigger()

    def preview(self) -> None:
        """Open the apply dialog: with changes, for a new mount, or for a mount as it is."""
        for name in ("apply", "mount-and-save"):
            if self.sees(name):
                self.click(name)
                return
        self.trigger("save-mount")

    def agree(self) -> None:
        self.wait(lambda: self.window.findChild(QMessageBox, "confirm") is not None)
        box = self.window.findChild(QMessageBox, "confirm")
        assert box is not None
        button = box.findChild(QPushButton, "confirm-action")
        assert button is not None
        self.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        self.wait(lambda: self.window.findChild(QMessageBox, "confirm") is None)

    def message(self) -> str:
        return self.window._banner.message()

    def tab(self, name: str) -> None:
        tabs = self.find(QTabWidget, "tabs")
        assert isinstance(tabs, QTabWidget)
        (index,) = [i for i in range(tabs.count()) if tabs.tabText(i).startswith(name)]
        tabs.setCurrentIndex(index)

    def text_of(self, name: str) -> str:
        widget = self.find(QWidget, name)
        return widget.text()  # type: ignore[attr-defined, no-any-return]

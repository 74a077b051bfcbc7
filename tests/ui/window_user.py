"""User of the real window with the real lab: clicks, waits, and takes screenshots."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QPushButton, QRadioButton, QWidget
from waiting import source_of

from advisor.options import MountOptions
from ui.apply.dialog import ApplyDialog

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytestqt.qtbot import QtBot

    from app.mounts.model import Mount
    from ui.main_window import MainWindow

W = TypeVar("W", bound=QWidget)

#: Deadline of every wait, s; several lab tests in a row take 60 s on an idle machine.
PATIENCE_S = 400.0


class WindowUser:
    """Actions in a window; saves screenshots to the directory in MOUNTWRIGHT_PICTURES, if it is set."""

    def __init__(self, qtbot: QtBot, window: MainWindow) -> None:
        self.qtbot = qtbot
        self.window = window
        self.folder = os.environ.get("MOUNTWRIGHT_PICTURES")

    def wait(self, fact: Callable[[], bool]) -> None:
        """Run the event loop until a condition is true.

        Raises:
            AssertionError: the condition stayed false until the deadline. The message has its source and the
                shown problem.
        """
        try:
            self.qtbot.waitUntil(fact, timeout=int(PATIENCE_S * 1000))
        except self.qtbot.TimeoutError as error:
            dialog = self.window.findChild(ApplyDialog)
            said = dialog.view.problem() if dialog is not None else self.window._banner.accessibleName()
            waited = f"waited {PATIENCE_S:.0f} s for {source_of(fact)}"
            raise AssertionError(f"{waited}\nIt says {said!r}; {self.window._mounts.current()}") from error

    def sees(self, kind: type[W]) -> W:
        self.wait(lambda: self.window.findChild(kind) is not None)
        found = self.window.findChild(kind)
        assert found is not None
        return found

    def gone(self, kind: type[QWidget]) -> None:
        self.wait(lambda: self.window.findChild(kind) is None)

    def press(self, parent: QWidget, name: str) -> None:
        button = parent.findChild(QPushButton, name)
        assert button is not None, name
        self.wait(lambda: button.isVisible() and button.isEnabled())
        button.click()

    def act(self, name: str) -> None:
        """Choose an action of a menu."""
        action = self.window.findChild(QAction, name)
        assert action is not None, name
        self.wait(lambda: action.isVisible() and action.isEnabled())
        action.trigger()

    def choose(self, dialog: ApplyDialog, name: str) -> None:
        button = dialog.findChild(QRadioButton, name)
        assert button is not None, name
        button.click()

    def look(self, widget: QWidget, name: str) -> None:
        if self.folder:
            QApplication.processEvents()
            assert widget.grab().save(str(Path(self.folder, f"{name}.png")))

    def mount(self) -> Mount:
        found = self.window._mounts.current()
        assert found is not None
        return found

    def timeo(self) -> str | None:
        active = self.mount().active
        return MountOptions.parse(active.options).get("timeo") if active is not None else None

    def apply(self, options: str, keeper: str) -> ApplyDialog:
        self.window._detail.settings.load_entry("", "", options)
        self.press(self.window, "apply")
        dialog = self.sees(ApplyDialog)
        self.choose(dialog, f"keeper-{keeper}")
        self.wait(lambda: dialog._plan is not None)
        return dialog

"""The real window with the real lab: a change of a live mount is shown, made, taken back, and kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QPushButton, QRadioButton, QWidget

from advisor.options import MountOptions
from ui.dialogs.apply import ApplyDialog
from ui.dialogs.forget import ForgetDialog
from ui.dialogs.keep import KeepDialog
from ui.hosts import lab_links, open_host
from ui.main_window import MainWindow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytestqt.qtbot import QtBot

    from app.mounts.model import Mount

W = TypeVar("W", bound=QWidget)

pytestmark = [pytest.mark.lab, pytest.mark.timeout(240)]


class Person:
    """Looks and clicks; with MOUNTWRIGHT_PICTURES set to a folder, keeps a picture of every dialog."""

    def __init__(self, qtbot: QtBot, window: MainWindow) -> None:
        self.qtbot = qtbot
        self.window = window
        self.folder = os.environ.get("MOUNTWRIGHT_PICTURES")

    def wait(self, fact: Callable[[], bool], seconds: float = 30) -> None:
        try:
            self.qtbot.waitUntil(fact, timeout=int(seconds * 1000))
        except Exception as error:
            dialog = self.window.findChild(ApplyDialog)
            said = dialog.view.problem() if dialog is not None else self.window._banner.accessibleName()
            raise AssertionError(f"{said} {self.window._mounts.current()}") from error

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


@pytest.fixture
def person(qtbot: QtBot) -> Iterator[Person]:
    window = MainWindow(open_host, lab_links())
    window.resize(1000, 680)
    window.show()
    made = Person(qtbot, window)
    window.open_host("gigabit")
    made.wait(lambda: window.session.hello is not None and window._drafting, 120)
    made.press(window, "mount")
    made.wait(lambda: window._mounts.current() is not None)
    yield made
    window.close()
    window.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def test_a_change_of_a_live_mount(person: Person) -> None:
    assert person.timeo() == "600"

    # Shown, made, and taken back.
    dialog = person.apply("timeo=300", "fstab")
    diff = dialog.findChild(QPlainTextEdit, "plan-diff")
    assert diff is not None
    assert "+10.9.0.1:/export\t/mnt/lab\tnfs\ttimeo=300,_netdev,nofail,nosuid,nodev" in diff.toPlainText()
    person.look(dialog, "apply")
    person.press(dialog, "apply-do")
    question = person.sees(KeepDialog)
    person.wait(lambda: person.timeo() == "300")
    person.look(dialog, "running")
    person.look(question, "keep")
    person.press(question, "keep-close")
    person.gone(ApplyDialog)
    person.wait(lambda: person.timeo() == "600" and person.mount().configured is None)
    assert person.window._banner.message()
    person.look(person.window, "reverted")

    # Nobody answers.
    dialog = person.apply("timeo=300", "fstab")
    person.press(dialog, "apply-do")
    person.sees(KeepDialog)
    person.gone(ApplyDialog)
    person.wait(lambda: person.timeo() == "600" and person.mount().configured is None)

    # Nobody answered, which is told until it is read.
    assert "Nobody said" in person.window._banner.message()

    # Made and kept.
    dialog = person.apply("timeo=300", "fstab")
    person.press(dialog, "apply-do")
    person.press(person.sees(KeepDialog), "keep-keep")
    person.gone(ApplyDialog)
    person.wait(lambda: person.timeo() == "300" and person.mount().configured is not None)
    configured = person.mount().configured
    assert configured is not None
    assert (configured.origin, configured.options) == ("/etc/fstab", "timeo=300,_netdev,nofail,nosuid,nodev")
    assert "is mounted with these settings" in person.window._banner.message()
    assert not person.window._detail.settings.dirty
    assert "nofail" in person.window._detail.settings.wish().options.split(",")
    person.look(person.window, "kept")

    # And taken out of fstab again.
    person.press(person.window, "forget")
    forget = person.sees(ForgetDialog)
    person.look(forget, "forget")
    person.press(forget, "forget-do")
    person.wait(lambda: person.mount().configured is None)

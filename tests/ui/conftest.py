"""Fixtures of the window tests: fake host, driver, and a check for leftover windows, timers and threads."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest
from driver import Driver
from fake_host import FakeHost, configured, mounted
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QSettings, QStandardPaths, QThread, QTimer
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from ui.settings.panel import SettingsPanel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytestqt.qtbot import QtBot


@pytest.fixture(scope="session", autouse=True)
def test_paths() -> None:
    """Redirect Qt's standard paths, so that tests do not touch the settings of the user."""
    QStandardPaths.setTestModeEnabled(True)


@pytest.fixture(scope="session", autouse=True)
def only_new_objects_are_looked_through() -> None:
    """Freeze imported objects, because gc.get_objects() runs twice per test and would be slow with them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def settings_of_its_own(tmp_path: Path) -> None:
    """Give each test empty settings, so that what the window remembers does not reach the next one."""
    QSettings.setPath(QSettings.Format.NativeFormat, QSettings.Scope.UserScope, str(tmp_path / "settings"))


def _windows() -> list[QWidget]:
    return [widget for widget in QApplication.topLevelWidgets() if widget.parent() is None]


def _running() -> list[QObject]:
    """Return the running timers and threads that were created by Python code."""
    found: list[QObject] = []
    for thing in gc.get_objects():
        if (
            type(thing).__module__ == "builtins"
            or not isinstance(thing, QTimer | QThread)
            or not isValid(thing)
        ):
            continue
        if thing.isActive() if isinstance(thing, QTimer) else thing.isRunning():
            found.append(thing)
    main = QCoreApplication.instance()
    return [thing for thing in found if main is None or thing is not main.thread()]


@pytest.fixture(autouse=True)
def nothing_left_of_qt(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a window, a running timer or a running thread, after pytest-qt's cleanup."""
    if not {"qtbot", "qapp"} & set(request.fixturenames):
        yield
        return
    request.getfixturevalue("qapp")
    windows, running = {id(w) for w in _windows()}, {id(thing) for thing in _running()}
    yield
    for _ in range(3):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QCoreApplication.processEvents()
    left = [f"window {w!r}" for w in _windows() if id(w) not in windows]
    left += [f"running {t!r} of {t.parent()!r}" for t in _running() if id(t) not in running]
    if left:
        pytest.fail("The test left behind: " + "; ".join(left), pytrace=False)


@pytest.fixture
def fake() -> FakeHost:
    return FakeHost([mounted(), configured()])


@pytest.fixture
def driver(qtbot: QtBot, fake: FakeHost) -> Iterator[Driver]:
    made = Driver(qtbot, fake)
    yield made
    made.fake.hold.set()
    made.window.close()
    made.window.deleteLater()
    QApplication.sendPostedEvents(made.window)
    QApplication.processEvents()


@pytest.fixture
def panel(qtbot: QtBot) -> SettingsPanel:
    made = SettingsPanel(lambda _verb, _args: pytest.fail("Nothing is to be asked."))
    qtbot.addWidget(made)
    made.resize(1000, 700)
    made.show()
    made.show_mount(configured(options="soft,nconnect=4,wat,,timeo=70,timeo=80"), keep_edits=False)
    return made

"""Makes the pictures of the documentation by using the real window as a person would.

    python -P tests/visual/screenshots.py [--into docs] [--link fast-ethernet] [--dark] [--all]
    python -P tests/visual/screenshots.py --into DIR --all --size 1000x700 --high-contrast
    python -P tests/visual/screenshots.py --into DIR --all --size 800x500 --scale 2     # 1600 x 1000 px

Starts a virtual display of its own (Xvfb), opens the window, boots the lab from it, mounts the lab's share
through the form, runs a quick test, and keeps pictures on the way: ``window.png``, the README's,
``overview.png`` and ``settings.png``; with ``--all`` one of every state.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ui.main_window import MainWindow

_SIZE = "1240x860"
_STEP_MS = 40
#: Far beyond what any step takes on a busy machine, in seconds.
PATIENCE_S = 400.0
#: Pictures of the documentation, and the one that explains a failure.
_KEPT = ("window", "overview", "settings", "failed")


class Photographer:
    """Drives one window and takes its pictures; every wait is for a fact, with a limit."""

    def __init__(self, window: MainWindow, folder: Path, suffix: str, *, every: bool) -> None:
        self.window = window
        self.every = every
        self.folder = folder
        self.suffix = suffix
        self.taken: list[Path] = []

    def wait(self, fact: Callable[[], bool], what: str, seconds: float = PATIENCE_S) -> None:
        """Let the window live until the fact is true."""
        from PySide6.QtCore import QDeadlineTimer, QEventLoop, QTimer

        deadline = QDeadlineTimer(int(seconds * 1000))
        while not fact():
            if deadline.hasExpired():
                self.take("failed")
                raise TimeoutError(f"{what} did not happen: {self.window._banner.accessibleName()}")
            loop = QEventLoop()
            QTimer.singleShot(_STEP_MS, loop.quit)
            loop.exec()

    def pause(self, seconds: float) -> None:
        """Let the window live for a moment."""
        from PySide6.QtCore import QDeadlineTimer

        moment = QDeadlineTimer(int(seconds * 1000))
        self.wait(moment.hasExpired, "time", seconds + PATIENCE_S)

    def take(self, name: str) -> None:
        """Keep a picture, if it is one of those wanted."""
        if not self.every and name not in _KEPT:
            return
        path = self.folder / f"{name}{self.suffix}.png"
        assert self.window.grab().save(str(path)), path
        self.taken.append(path)
        print(path)

    def take_dialog(self, name: str) -> None:
        """Open a dialog of the menu, keep a picture of it, and close it."""
        from PySide6.QtGui import QAction
        from PySide6.QtWidgets import QDialog

        if not self.every:
            return
        action = self.window.findChild(QAction, f"action-{name}")
        assert action is not None, name
        action.trigger()
        self.wait(lambda: self.sees(name), f"the dialog {name}")
        self.pause(0.5)
        dialog = self.window.findChild(QDialog, name)
        assert dialog is not None
        path = self.folder / f"{name}{self.suffix}.png"
        assert dialog.grab().save(str(path)), path
        print(path)
        dialog.close()

    def click(self, name: str) -> None:
        """Press a button by its name."""
        from PySide6.QtWidgets import QPushButton

        button = self.window.findChild(QPushButton, name)
        assert button is not None, name
        assert button.isVisible(), name
        assert button.isEnabled(), name
        button.click()

    def sees(self, name: str) -> bool:
        """Whether a widget is there and visible."""
        from PySide6.QtWidgets import QWidget

        widget = self.window.findChild(QWidget, name)
        return widget is not None and widget.isVisible()

    def agree(self) -> None:
        """Press the action of the question that is asked."""
        from PySide6.QtWidgets import QMessageBox, QPushButton

        self.wait(lambda: self.window.findChild(QMessageBox, "confirm") is not None, "the question")
        box = self.window.findChild(QMessageBox, "confirm")
        assert box is not None
        button = box.findChild(QPushButton, "confirm-action")
        assert button is not None
        button.click()


def story(photographer: Photographer, link: str) -> None:
    """Boot the lab, mount, test, and unmount, with pictures on the way."""
    from PySide6.QtWidgets import QTabWidget

    window = photographer.window
    if photographer.every:
        first_page(photographer)
    window.open_host(link)
    photographer.pause(0.3)
    photographer.take("starting")
    photographer.wait(lambda: photographer.sees("share"), "the lab's start")
    settings = window._detail.settings
    draft = settings.request()
    settings.load_entry(draft.share, draft.mount_point, f"{draft.options},vers=4.2,rsize=100000,timeo=300")
    photographer.pause(0.2)
    photographer.take("new-mount")
    photographer.click("mount")
    photographer.wait(lambda: photographer.sees("unmount"), "the mount")
    tabs = window.findChild(QTabWidget, "tabs")
    assert tabs is not None
    tabs.setCurrentWidget(settings)
    photographer.pause(0.3)
    photographer.take("settings")
    if photographer.every:
        changes(photographer)
    tabs.setCurrentWidget(window._detail.overview)
    photographer.wait(lambda: window._detail.overview._result is not None, "the advice")
    photographer.pause(0.3)
    photographer.take("overview")
    tabs.setCurrentWidget(window._detail.quick_test)
    photographer.wait(lambda: window._detail.quick_test._facts is not None, "the facts")
    photographer.wait(lambda: window._detail.quick_test._planner.plan is not None, "the plan")
    photographer.pause(0.2)
    photographer.take("test-ready")
    photographer.click("start")
    panel = window._detail.quick_test
    photographer.wait(lambda: _running_in(window, 4), "the fourth repeat")
    photographer.take("test-running")
    photographer.wait(lambda: not panel.running, "the end of the test")
    photographer.wait(lambda: photographer.sees("test-result"), "the result")
    photographer.pause(0.3)
    photographer.take("window")
    tabs.setCurrentWidget(window._detail.live)
    photographer.wait(lambda: window._detail.live._window.latest is not None, "a sample")
    photographer.pause(3)
    photographer.take("live")
    if photographer.every:
        measured(photographer)
    photographer.click("unmount")
    photographer.agree()
    photographer.wait(lambda: not photographer.sees("unmount"), "the unmount")


def first_page(photographer: Photographer) -> None:
    """Look at this computer, which has no mount, and at the dialogs of the menu."""
    photographer.window.open_host("")
    photographer.wait(lambda: photographer.sees("empty-mount"), "the first page")
    photographer.pause(4)  # servers are looked for
    photographer.take("first-page")
    for name in ("preferences", "shortcuts", "about", "help", "palette"):
        photographer.take_dialog(name)


def changes(photographer: Photographer) -> None:
    """Change two settings, look at the bar, and take them back."""
    settings = photographer.window._detail.settings
    settings.load_entry("", "", f"{settings.request().options},nconnect=4", 1024)
    photographer.pause(0.3)
    photographer.take("changes")
    settings.revert_all()


def measured(photographer: Photographer) -> None:
    """Repeat a study's small size, and look at the tests that were kept."""
    from PySide6.QtWidgets import QComboBox, QTableView, QTabWidget

    window = photographer.window
    tabs, experiment = window.findChild(QTabWidget, "tabs"), window._detail.experiment
    assert tabs is not None
    tabs.setCurrentWidget(experiment)
    recipe = window.findChild(QComboBox, "experiment-recipe")
    assert recipe is not None
    photographer.wait(lambda: recipe.count() >= 5, "the recipes")
    photographer.take("experiments")
    photographer.click("experiment-studies")
    recipe.setCurrentIndex(3)
    photographer.click("experiment-study")
    photographer.take("experiment-choice")
    photographer.click("experiment-study")
    photographer.click("experiment-plan")
    photographer.wait(lambda: photographer.sees("experiment-start"), "the plan")
    photographer.take("experiment-plan")
    photographer.click("experiment-start")
    running = experiment._controller
    photographer.wait(lambda: len(running.outcomes) >= 4, "some trials")
    photographer.pause(0.5)
    photographer.take("experiment-running")
    photographer.wait(lambda: not running.busy, "the end of the experiment")
    photographer.pause(1.5)
    photographer.take("experiment-results")
    tabs.setCurrentWidget(window._detail.history)
    table = window.findChild(QTableView, "history")
    assert table is not None
    photographer.wait(lambda: table.model().rowCount() > 0, "the history")
    table.selectRow(0)
    photographer.pause(1.5)
    photographer.take("history")


def _running_in(window: MainWindow, number: int) -> bool:
    """Whether the test reads in this repeat, or is over."""
    run = window._detail.quick_test._run()
    if run is None or run.result is not None:
        return run is not None
    curve = run.timeline.latest("read")
    return curve is not None and curve.round == number and len(curve.samples) > 10


def make(folder: Path, link: str, *, look: str, size: str, every: bool) -> list[Path]:
    """Make all pictures on the present display; return their paths.

    Args:
        folder: where the pictures go.
        link: link of the lab.
        look: light, dark or high-contrast.
        size: size of the window, device-independent px, as WIDTHxHEIGHT.
        every: whether a picture of every state is made.
    """
    from PySide6.QtCore import QLocale
    from PySide6.QtGui import QFont
    from PySide6.QtWidgets import QApplication

    from ui.common import fonts, style, theme
    from ui.common.session import lab_links, open_host
    from ui.main_window import MainWindow

    QLocale.setDefault(QLocale.c())
    app = QApplication.instance() or QApplication([])
    assert isinstance(app, QApplication)
    app.setFont(QFont("DejaVu Sans"))
    fonts.use_default_size(app)
    style.apply_appearance(app, theme.Appearance(look))
    window = MainWindow(open_host, lab_links())
    width, height = (int(side) for side in size.split("x"))
    window.resize(width, height)
    window.show()
    photographer = Photographer(window, folder, "" if look == "light" else f"-{look}", every=every)
    try:
        story(photographer, link)
    finally:
        window.close()
    return photographer.taken


def main(argv: list[str] | None = None) -> int:
    """Make the pictures under a virtual display."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--into", type=Path, default=Path("docs"))
    parser.add_argument("--link", default="fast-ethernet")
    looks = parser.add_mutually_exclusive_group()
    for look in ("dark", "high-contrast"):
        looks.add_argument(f"--{look}", action="store_const", const=look, dest="look", default="light")
    parser.add_argument("--size", default=_SIZE, help="device-independent px (default: %(default)s)")
    parser.add_argument("--scale", default="1", help="QT_SCALE_FACTOR (default: %(default)s)")
    parser.add_argument("--all", action="store_true", dest="every")
    args = parser.parse_args(argv)
    args.into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, VirtualDisplay() as display:
        os.environ.update(DISPLAY=display, QT_QPA_PLATFORM="xcb", XDG_CONFIG_HOME=home, XDG_DATA_HOME=home)
        os.environ.update(XDG_STATE_HOME=home, QT_SCALE_FACTOR=args.scale)
        os.environ.pop("XDG_CURRENT_DESKTOP", None)
        make(args.into, args.link, look=args.look, size=args.size, every=args.every)
    return 0


class VirtualDisplay:
    """An Xvfb that chooses a free display number itself and ends with the block."""

    def __enter__(self) -> str:
        read, write = os.pipe()
        command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "1600x1200x24", "-nolisten", "tcp"]
        self._child = subprocess.Popen([*command, "-noreset"], pass_fds=(write,), stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as answer:
            number = answer.readline().strip()
        if not number:
            raise RuntimeError("Xvfb did not start.")
        return f":{number}"

    def __exit__(self, *_error: object) -> None:
        self._child.terminate()
        self._child.wait(10)


if __name__ == "__main__":
    sys.exit(main())

"""How long the window's event loop stalls while a test runs, and with a dead server.

    python -P tests/benchmarks/event_loop.py [--size 2G] [--link gigabit] [--dead-s 15]

Opens the real window (offscreen), boots the lab from it, mounts the lab's share, and copies ``--size`` in
both directions together in repeats through the real agent, which tells 20 samples a second. A timer of 1 ms
notes when the event loop gets to it: the time beyond is a stall. The same is noted while each page is shown
once in dark and again in light colours. Then the server's link goes down in the middle of another test, and
the same is noted while the person looks at the other tabs.

Prints a Markdown table. ``p99`` and ``worst`` are of the stalls by the clock; ``own`` are the same of the
processor time that the window's thread itself used in them, because a busy machine makes all programs wait.
The goals by the clock are 16 ms (p99) and 50 ms (worst) during a test, and 100 ms (worst) with a dead server.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "visual"))
sys.path.insert(0, str(Path(__file__).parents[1] / "lab"))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from lab_guest import FaultArgs  # which also lets the guest know the verb
from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QTabWidget
from screenshots import Photographer

from advisor.speeds import format_speed
from app.links import load_links
from app.speedtest.model import TestSpec
from app.text.units import format_size, parse_size
from ui.common import style, theme
from ui.common.session import lab_links, open_host
from ui.main_window import MainWindow

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

_TICK_S = 0.001


class Stalls(QObject):
    """Notes how late a timer is, and what the thread did meanwhile."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.late_s: list[float] = []
        self.own_s: list[float] = []
        self._last = (0.0, 0.0)
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(int(_TICK_S * 1000))
        self._timer.timeout.connect(self._on_tick)

    def begin(self) -> None:
        """Forget what was noted, and go on."""
        self.late_s.clear()
        self.own_s.clear()
        self._last = (time.monotonic(), time.thread_time())
        self._timer.start()

    def end(self) -> None:
        """Note nothing more."""
        self._timer.stop()

    def _on_tick(self) -> None:
        now, own = time.monotonic(), time.thread_time()
        self.late_s.append(max(0.0, now - self._last[0] - _TICK_S))
        self.own_s.append(own - self._last[1])
        self._last = (now, own)

    def row(self, what: str) -> str:
        """Return the figures as a row of the table."""
        cells = [
            f"{_at(values, part) * 1000:.1f} ms" for values in (self.late_s, self.own_s) for part in (0.99, 1)
        ]
        over = sum(late > 0.016 for late in self.late_s)
        seconds = sum(self.late_s) + len(self.late_s) * _TICK_S
        return f"| {what} | {seconds:.0f} s | {' | '.join(cells)} | {over} |"


def _at(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)]


def run(window: MainWindow, args: argparse.Namespace) -> list[str]:
    """Do it all; return the rows."""
    hand = Photographer(window, Path(), "", every=False)
    stalls = Stalls(window)
    window.open_host(args.link)
    hand.wait(lambda: hand.sees("share"), "the lab's start", 120)
    hand.click("mount")
    hand.wait(lambda: hand.sees("unmount"), "the mount")
    tabs = window.findChild(QTabWidget, "tabs")
    assert tabs is not None
    panel = window._detail.quick_test
    tabs.setCurrentWidget(panel)
    hand.wait(lambda: panel._facts is not None, "the facts")
    mount = window._mounts.current()
    assert mount is not None
    file = parse_size(args.file)
    repeats = max(2, parse_size(args.size) // (2 * file))
    spec = TestSpec(path=mount.mount_point, size=file, repeats=repeats)
    small = TestSpec(path=mount.mount_point, size=2**20, repeats=1)
    # Once before: what is imported and drawn for the first time takes its time.
    panel.start(small)
    hand.wait(lambda: not panel.running, "a first test", 60)
    rows: list[str] = []
    stalls.begin()
    hand.pause(5)
    stalls.end()
    rows.append(stalls.row("nothing runs"))
    stalls.begin()
    assert panel.start(spec)
    hand.wait(lambda: not panel.running, "the test", 1800)
    stalls.end()
    done = panel._run()
    assert done is not None
    assert done.result is not None, window._banner.message()
    speeds = ", ".join(format_speed(figure.median) for figure in done.result.figures.values())
    moved = format_size(2 * spec.size * spec.rounds)
    rows.append(stalls.row(f"a test of {moved} ({speeds}, {len(done.timeline.curves)} transfers)"))
    rows.append(_dark(hand, stalls, tabs))
    if args.dead_s:
        rows.append(_dead(window, hand, stalls, spec, args.dead_s))
    return rows


def _dark(hand: Photographer, stalls: Stalls, tabs: QTabWidget) -> str:
    """Switch to dark colours, look at every tab, and switch back."""
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    shown = tabs.currentIndex()
    stalls.begin()
    for appearance in (theme.Appearance.DARK, theme.Appearance.LIGHT):
        style.apply_appearance(app, appearance)
        hand.pause(1)
        for page in range(tabs.count()):
            tabs.setCurrentIndex(page)
            hand.pause(0.5)
    tabs.setCurrentIndex(shown)
    stalls.end()
    return stalls.row("dark, every tab looked at, and light again")


def _dead(window: MainWindow, hand: Photographer, stalls: Stalls, spec: TestSpec, seconds: float) -> str:
    """Cut the server off in the middle of a test, look at every tab, and bring it back."""
    panel, tabs = window._detail.quick_test, window.findChild(QTabWidget, "tabs")
    assert tabs is not None
    assert panel.start(spec)
    hand.wait(lambda: len(panel._run().timeline.curves) > 1, "two transfers", 60)  # type: ignore[union-attr]
    stalls.begin()
    window.session.submit("lab.fault", FaultArgs(fault="link-down"))
    shown: list[QWidget] = [panel, window._detail.live, window._detail.overview, window._detail.settings]
    for page in shown:
        tabs.setCurrentWidget(page)
        hand.pause(seconds / len(shown))
    tabs.setCurrentWidget(panel)
    panel.stop()
    hand.wait(lambda: not panel.running, "the end of the test", 60)
    stalls.end()
    window.session.submit("lab.fault", FaultArgs(fault="link-up"))
    hand.pause(2)
    return stalls.row("a test while the server is cut off, every tab looked at")


def main() -> int:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", default="2G", help="bytes in both directions together")
    parser.add_argument("--file", default="64M", help="bytes of the file, which the guest keeps in memory")
    parser.add_argument("--link", default="gigabit", choices=sorted(load_links()))
    parser.add_argument("--dead-s", type=float, default=15.0, help="0 leaves the dead server out")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        # What is measured here is no part of the person's history.
        os.environ.update(XDG_DATA_HOME=home, XDG_CONFIG_HOME=home)
        app = QApplication([])
        style.apply_appearance(app, theme.Appearance.LIGHT)
        window = MainWindow(open_host, lab_links())
        window.resize(1240, 860)
        window.show()
        try:
            rows = run(window, args)
        finally:
            window.close()
    print(f"Load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors.\n")
    print("| while | for | p99 | worst | own p99 | own worst | over 16 ms |\n|---|---|---|---|---|---|---|")
    print("\n".join(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())

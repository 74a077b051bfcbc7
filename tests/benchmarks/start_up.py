"""How long the window takes to its first paint, beside a bare QWidget.

    python -P tests/benchmarks/start_up.py

Both programs are started in turn, so that whatever else the computer does meets both alike. Each figure is
from the start of the process to the end of the first paint of a top-level widget; the ratio is that of each
pair. The processor time of the window until then depends least on other programs. The resident size is
read at that moment, and again when the window has been idle for ``--idle`` seconds (the plots are loaded by
then).
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_COMMON = """
import os, sys, time
from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QWidget

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def last():
    print(resident(), flush=True)
    os._exit(0)

class FirstPaint(QObject):
    def eventFilter(self, watched, event):
        if event.type() == QEvent.Type.Paint and isinstance(watched, QWidget) and watched.isWindow():
            QApplication.instance().removeEventFilter(self)
            QTimer.singleShot(0, self.tell)
        return False

    def tell(self):
        print(time.monotonic(), resident(), time.process_time(), flush=True)
        QTimer.singleShot(int(float(sys.argv[-1]) * 1000), last)

watch = FirstPaint()
"""
_BARE = (
    _COMMON
    + """
app = QApplication(sys.argv[:1])
app.installEventFilter(watch)
widget = QWidget()
widget.resize(1000, 700)
widget.show()
app.exec()
"""
)
_WINDOW = (
    _COMMON
    + """
run = QApplication.exec
def watched(*args):
    QApplication.instance().installEventFilter(watch)
    return run()
QApplication.exec = watched
sys.argv[0] = "mountwright"
from ui.entry import main
main([])
"""
)


def measure(code: str, idle_s: float, env: dict[str, str]) -> tuple[float, int, int, float]:
    """Start a program; return seconds to its first paint, resident bytes then and after the idle time.

    The last value is the processor time until the first paint, in seconds: other programs hardly change it.
    """
    began = time.monotonic()
    child = subprocess.Popen(
        [sys.executable, "-P", "-c", code, str(idle_s)], stdout=subprocess.PIPE, text=True, env=env,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert child.stdout is not None
    painted, resident, processor = child.stdout.readline().split()
    later = int(child.stdout.readline())
    child.wait()
    return float(painted) - began, int(resident), later, float(processor)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--idle", type=float, default=3.0, help="seconds (default: 3)")
    args = parser.parse_args()
    window, bare, ratios, memory, idle, processor = [], [], [], [], [], []
    with tempfile.TemporaryDirectory() as home:
        env = {
            **os.environ,
            "HOME": home,
            "XDG_CONFIG_HOME": home,
            "XDG_DATA_HOME": home,
            "XDG_CACHE_HOME": home,
        }
        env.setdefault("QT_QPA_PLATFORM", "offscreen")
        env["PYTHONPATH"] = str(Path.cwd())
        for number in range(args.rounds + 1):
            first = measure(_WINDOW, args.idle, env)
            second = measure(_BARE, 0.0, env)
            if number == 0:
                continue  # files come into the cache
            window.append(first[0])
            bare.append(second[0])
            ratios.append(first[0] / second[0])
            memory.append(first[1] / 1e6)
            idle.append(first[2] / 1e6)
            processor.append(first[3])
    for what, values, unit in (
        ("window, first paint", window, "s"),
        ("window, processor time until then", processor, "s"),
        ("bare QWidget, first paint", bare, "s"),
        ("ratio of a pair", ratios, ""),
        ("window, resident at the first paint", memory, "MB"),
        ("window, resident when idle", idle, "MB"),
    ):
        middle = statistics.median(values)
        spread = f"({min(values):.2f} to {max(values):.2f}, {len(values)} runs)"
        print(f"{what:38} median {middle:7.2f} {unit:2}  {spread}")


if __name__ == "__main__":
    main()

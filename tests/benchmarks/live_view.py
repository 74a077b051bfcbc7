"""Processor time of the live plot with four curves at 30 frames a second, as a part of one core.

    python -P tests/benchmarks/live_view.py [--seconds 10] [--size 1100x300]

The plot of the quick test, with what it draws while a long test runs: speed and average of both directions,
round trips, phases and marks; every frame brings a new sample. It is painted into memory (Qt's offscreen
platform), so what a display server would do beside it is not in the figure. Process time counts, which other
programs do not lengthen.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).parents[2]))

FRAMES_S = 30
#: Samples that are there when the measurement begins: a test that has run for two minutes.
BEFORE = 2400


def main() -> None:
    """Draw, and print the figure."""
    parser = argparse.ArgumentParser(description="Measure the live plot.")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--size", default="1100x300")
    args = parser.parse_args()
    from PySide6.QtCore import QEventLoop, QTimer
    from PySide6.QtWidgets import QApplication

    from app.speedtest.model import Sample, TestEvent
    from ui.plots.live_plot import LivePlot
    from ui.plots.timeline import Timeline

    app = QApplication([])
    plot, timeline = LivePlot(), Timeline()
    width, height = (int(part) for part in args.size.split("x"))
    plot.resize(width, height)
    plot.set_limits({"write": 117e6})
    plot.show()

    def feed(number: int) -> None:
        way = "write" if number < BEFORE // 2 else "read"
        moment = (number if way == "write" else number - BEFORE // 2) / 20 + 0.05
        moved = int(moment * 100e6 + (number % 40) * 1e6)
        sample = Sample(moment, moved, moved, 0, number // 300, 0.002 + (number % 13) * 1e-4)
        timeline.take(TestEvent(direction=way, phase=way, sample=sample))

    for number in range(BEFORE):
        feed(number)
    drawn = 0

    def frame() -> None:
        nonlocal drawn
        feed(BEFORE + drawn)
        drawn += 1
        plot.draw(timeline)

    timer = QTimer()
    timer.setInterval(1000 // FRAMES_S)
    timer.timeout.connect(frame)
    loop = QEventLoop()
    for seconds in (1.0, args.seconds):  # the first second warms up
        drawn_before, used, began = drawn, time.process_time(), time.monotonic()
        timer.start()
        QTimer.singleShot(int(seconds * 1000), loop.quit)
        loop.exec()
        timer.stop()
    used, elapsed = time.process_time() - used, time.monotonic() - began
    frames = drawn - drawn_before
    print(f"{frames} frames in {elapsed:.1f} s, {1000 * used / frames:.2f} ms of processor time each: "
          f"{100 * used / frames * FRAMES_S:.1f} % of one core at {FRAMES_S} frames a second")  # fmt: skip
    plot.close()
    app.processEvents()


if __name__ == "__main__":
    main()

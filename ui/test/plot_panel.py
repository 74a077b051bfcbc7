"""Plot of a test with legend, buttons and the model's expectation; drawn while it can be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QCoreApplication, Qt, QTimer
from PySide6.QtWidgets import QBoxLayout, QFrame, QVBoxLayout, QWidget

from advisor.facts import payload_rate_bps
from advisor.options import MountOptions
from advisor.throughput import DEFAULT_READAHEAD_BYTES, CopySpec, Prediction, predict
from advisor.transfer_sizes import call_size
from ui.common.labels import ElidedLabel, MutedLabel
from ui.common.speed_units import SPEED_UNITS, speed_text
from ui.plots.legend import Legend, PlotToolbar
from ui.test.save_plot import SavePlotDialog, timeline_csv

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent

    from advisor.facts import Facts, LinkFacts
    from app.mounts.model import Mount
    from app.speedtest.model import TestSpec
    from ui.common.bridge import RunInThread
    from ui.plots.timeline import TransferDirection
    from ui.test.run import TestRun


def expectations(
    mount: Mount | None, facts: Facts | None, spec: TestSpec
) -> dict[TransferDirection, Prediction]:
    """Return what the model expects of each way; nothing where it cannot know, or over UDP."""
    active = mount.active if mount is not None else None
    if facts is None or (active is None and not spec.share) or spec.workload not in {"file", "files", "own"}:
        return {}
    options = MountOptions.parse(active.options if active is not None else spec.options)
    if (options.get("proto") or "tcp").startswith("udp"):
        return {}
    read_ahead_kb = active.read_ahead_kb if active is not None else None
    read_ahead = DEFAULT_READAHEAD_BYTES if read_ahead_kb is None else read_ahead_kb * 1024
    ways: tuple[TransferDirection, ...] = ("write", "read") if spec.direction == "both" else (spec.direction,)
    found: dict[TransferDirection, Prediction] = {}
    for way in ways:
        block = call_size(spec.block_size, options.values())
        work = CopySpec(direction=way, length=spec.total, block=block, files=spec.count)
        prediction = predict(options, facts, work, read_ahead=read_ahead)
        if prediction is not None and not prediction.unpredictable:
            found[way] = prediction
    return found


def expectation_text(found: Mapping[TransferDirection, Prediction]) -> str:
    """Return it in words, "" for nothing."""
    words = {
        "write": QCoreApplication.translate("expectation", "{speed} to the server (± {percent} %)"),
        "read": QCoreApplication.translate("expectation", "{speed} from it (± {percent} %)"),
    }
    parts = [
        words[way].format(speed=speed_text(item.bytes_per_s), percent=round(item.error * 100))
        for way, item in found.items()
    ]
    if not parts:
        return ""
    text = QCoreApplication.translate("expectation", "Dashed, with a band: what the model expects, {speeds}.")
    return text.format(speeds=", ".join(parts))


def best_text(best: Mapping[TransferDirection, float]) -> str:
    """Return the best speeds of earlier tests in words, "" for none."""
    words = {
        "write": QCoreApplication.translate("expectation", "{speed} to the server"),
        "read": QCoreApplication.translate("expectation", "{speed} from it"),
    }
    parts = [words[way].format(speed=speed_text(speed)) for way, speed in best.items()]
    if not parts:
        return ""
    text = QCoreApplication.translate("expectation", "Dotted: the best before this test, {speeds}.")
    return text.format(speeds=", ".join(parts))


def limit_text(limits: Mapping[TransferDirection, float]) -> str:
    """Return the most that the link can carry in words, once if both ways are alike; "" for nothing."""
    if not limits:
        return ""
    if len(set(limits.values())) == 1:
        text = QCoreApplication.translate("expectation", "the link carries at most {speed}")
        return text.format(speed=speed_text(next(iter(limits.values()))))
    text = QCoreApplication.translate("expectation", "the link carries at most {up} there, {down} back")
    return text.format(up=speed_text(limits["write"]), down=speed_text(limits["read"]))


_FRAME_MS = 40
#: Letters of the progress that have to be seen.
_LETTERS = 40
#: Figures that change with every frame cannot be read.
_FRAMES_A_FIGURE = 5


class SpeedTestPlot(QWidget):
    """Shows one test.

    Args:
        run: runs blocking work on a thread: for saving.
    """

    def __init__(self, run: RunInThread) -> None:
        super().__init__()
        self._run_blocking = run
        self._run: TestRun | None = None
        self._mount: Mount | None = None
        self._facts: Facts | None = None
        #: The plot: pyqtgraph has no types.
        self.plot: Any = None
        self._drawn = -1
        self._frame = 0
        self._paused = False
        self._timer = QTimer(self)
        self._timer.setInterval(_FRAME_MS)
        self._timer.timeout.connect(self._on_frame)
        self._progress = ElidedLabel(mode=Qt.TextElideMode.ElideRight)
        self._progress.setObjectName("progress")
        self._tools = PlotToolbar()
        self._tools.pause_changed.connect(self._on_pause)
        self._tools.save_clicked.connect(self._on_save)
        self._legend = Legend()
        self._expected = MutedLabel(wrap=True)
        self._expected.setObjectName("expected")
        self._box = QFrame()
        self._box.setFrameShape(QFrame.Shape.StyledPanel)
        self._box_layout = QVBoxLayout(self._box)
        self._box_layout.setContentsMargins(1, 1, 1, 1)
        #: What a picture shows.
        self._sheet = QWidget()
        self._lay_out()
        SPEED_UNITS.changed.connect(self._on_units)

    def _lay_out(self) -> None:
        sheet = QVBoxLayout(self._sheet)
        sheet.setContentsMargins(0, 0, 0, 0)
        sheet.addWidget(self._legend)
        sheet.addWidget(self._expected)
        sheet.addWidget(self._box, 1)
        self._box.setMinimumHeight(self.fontMetrics().lineSpacing() * 14)
        self._top = top = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        top.addWidget(self._progress, 1)
        top.addWidget(self._tools)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(top)
        layout.addWidget(self._sheet, 1)

    @property
    def drawing(self) -> bool:
        """Whether new samples are drawn as they come."""
        return self._timer.isActive()

    def show_run(self, run: TestRun | None, mount: Mount | None, facts: Facts | None) -> None:
        """Show this test of this mount, or nothing."""
        other = run is not self._run
        self._run, self._mount, self._facts = run, mount, facts
        self.setVisible(run is not None)
        self._tools.set_running(running=run is not None and run.call is not None)
        if run is not None:
            if self.plot is None:
                self._make_plot()
            elif other:
                self.plot.clear()
            self._drawn = -1
            self._show_references()
            self._draw(figures=True)
        self._pace()

    def _make_plot(self) -> None:
        # Imported here: pyqtgraph takes a second, which the window's start should not.
        from ui.plots.live_plot import LivePlot

        self.plot = LivePlot(self._box)
        self._box_layout.addWidget(self.plot)
        self.plot.zoomed.connect(self._tools.set_zoomed)
        self._tools.zoom_clicked.connect(self.plot.zoom)
        self._tools.reset_zoom_clicked.connect(self.plot.reset_zoom)

    # What the curves are compared with

    def show_references(self, run: TestRun) -> None:
        """Show again what a test is compared with, if it is the one shown."""
        if run is self._run:
            self._show_references()

    def _show_references(self) -> None:
        run = self._run
        if run is None or self.plot is None:
            return
        found = expectations(self._mount, self._facts, run.spec)
        texts = [expectation_text(found), best_text(run.best)]
        self._expected.setText("\n".join(text for text in texts if text))
        self._expected.setVisible(any(texts))
        self.plot.set_expected({way: (item.bytes_per_s, item.error) for way, item in found.items()})
        self.plot.set_best(run.best)
        link = self._facts.link if self._facts else None
        if link is None and run.result is not None:
            link = run.result.link  # of a share that nobody asked about before the test
        limits = self._limits(link, run) if link is not None else {}
        self._legend.set_limit(limit_text(limits))
        self.plot.set_limits(limits)

    @staticmethod
    def _limits(link: LinkFacts, run: TestRun) -> dict[TransferDirection, float]:
        """Return the most that the link can carry in each way of the test, bytes a second."""
        ways: tuple[TransferDirection, ...] = (
            ("write", "read") if run.spec.direction == "both" else (run.spec.direction,)
        )
        found: dict[TransferDirection, float] = {}
        for way in ways:
            rate = link.rate_of(way)
            if rate is not None:
                found[way] = payload_rate_bps(rate, link.mtu or 1500) / 8
        return found

    # Drawing

    def _pace(self) -> None:
        run = self._run
        live = run is not None and run.call is not None and self.isVisible() and not self._paused
        if live and not self._timer.isActive():
            self._timer.start()
        elif not live:
            self._timer.stop()

    def _on_frame(self) -> None:
        self._frame += 1
        self._draw(figures=self._frame % _FRAMES_A_FIGURE == 0)

    def _draw(self, *, figures: bool) -> None:
        run = self._run
        if run is None or self.plot is None:
            return
        if run.timeline.version != self._drawn:
            self._drawn = run.timeline.version
            self.plot.draw(run.timeline)
        if figures:
            self._progress.setText(run.progress_text())
            if run.call is None:
                self._legend.show_result(run.result, run.timeline)
            else:
                self._legend.show_now(run.timeline)

    def _on_pause(self, paused: bool) -> None:  # noqa: FBT001 - a slot
        self._paused = paused
        self._pace()
        if not paused:
            self._draw(figures=True)

    def _on_units(self) -> None:
        self._show_references()
        self._draw(figures=True)

    def _on_save(self) -> None:
        run = self._run
        if run is None:
            return
        SavePlotDialog(
            self.window(),
            run.spec.path or run.spec.share,
            self._sheet.grab().toImage(),
            timeline_csv(run.timeline),
            self._run_blocking,
        ).open()

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: the progress stands above the buttons where there is no room for it beside them."""
        super().resizeEvent(event)
        beside = self._tools.sizeHint().width() + self.fontMetrics().averageCharWidth() * _LETTERS
        directions = QBoxLayout.Direction
        self._top.setDirection(directions.LeftToRight if beside <= self.width() else directions.TopToBottom)

    def showEvent(self, event: QShowEvent) -> None:
        """Qt: draw again while it can be seen."""
        super().showEvent(event)
        self._draw(figures=True)
        self._pace()

    def hideEvent(self, event: QHideEvent) -> None:
        """Qt: draw nothing while it cannot be seen."""
        super().hideEvent(event)
        self._pace()

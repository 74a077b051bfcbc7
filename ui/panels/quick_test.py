"""Quick test: copies one file to the mount and back, draws the speed while it runs, and tells the figures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.errors import AppError, ErrorKind
from app.units import format_rate, format_size, format_speed
from ui.models.expectation import expectation_text, expectations
from ui.models.timeline import Timeline
from ui.panels.quick_test_controls import QuickTestControls
from ui.panels.quick_test_result import QuickTestResult
from ui.widgets.labels import ElidedLabel, MutedLabel, plain_label
from ui.widgets.legend import Legend
from ui.words import link_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QHideEvent, QShowEvent

    from advisor.facts import Facts
    from app.bench.result import TestEvent, TestResult, TestSpec
    from app.mounts.model import Mount
    from ui.bridge import BridgeCall

    Key = tuple[str, str]

_FRAME_MS = 40


@dataclass(slots=True)
class _Run:
    """One test of one mount, running or done."""

    spec: TestSpec
    timeline: Timeline
    call: BridgeCall | None = None
    result: TestResult | None = None
    stopping: bool = False


class QuickTestPanel(QWidget):
    """Runs one test at a time and keeps the last of each mount.

    Signals:
        failed: a test could not be done (AppError).
        running_changed: whether a test runs.
        ended: the TestResult of the test that ran, or None: there is none.
    """

    failed = Signal(object)
    running_changed = Signal(bool)
    ended = Signal(object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall]) -> None:
        super().__init__()
        self._submit = submit
        self._mount: Mount | None = None
        self._facts: Facts | None = None
        self._runs: dict[Key, _Run] = {}
        self._active: tuple[Key, _Run] | None = None
        self._plot: Any = None
        self._drawn = -1
        self._timer = QTimer(self)
        self._timer.setInterval(_FRAME_MS)
        self._timer.timeout.connect(self._draw)
        self._facts_line = ElidedLabel()
        self._facts_line.setObjectName("facts")
        self._controls = QuickTestControls()
        self._controls.start_clicked.connect(self.start)
        self._controls.stop_clicked.connect(self.stop)
        self._controls.plan_changed.connect(self._show_plan)
        self._plan = MutedLabel(wrap=True)
        self._plan.setObjectName("plan")
        self._legend = Legend()
        self._expected = MutedLabel(wrap=True)
        self._expected.setObjectName("expected")
        self._progress = plain_label()
        self._progress.setObjectName("progress")
        self._plot_box = QFrame()
        self._plot_box.setFrameShape(QFrame.Shape.StyledPanel)
        self._plot_layout = QVBoxLayout(self._plot_box)
        self._plot_layout.setContentsMargins(1, 1, 1, 1)
        self._result = QuickTestResult()
        self._live = QWidget()
        self._lay_out()
        self._show_run()

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.addWidget(self._legend)
        top.addStretch(1)
        live = QVBoxLayout(self._live)
        live.setContentsMargins(0, 0, 0, 0)
        live.addLayout(top)
        live.addWidget(self._expected)
        live.addWidget(self._plot_box, 1)
        self._plot_box.setMinimumHeight(self.fontMetrics().lineSpacing() * 9)
        page = QWidget()
        scroll = QScrollArea()
        scroll.setWidget(page)
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(scroll)
        layout = QVBoxLayout(page)
        layout.setContentsMargins(16, 14, 16, 14)
        layout.setSpacing(10)
        layout.addWidget(self._facts_line)
        layout.addWidget(self._controls)
        layout.addWidget(self._progress)
        layout.addWidget(self._plan)
        layout.addWidget(self._live, 1)
        layout.addWidget(self._result)
        layout.addStretch(0)

    # What the window tells

    def set_mount(self, mount: Mount | None) -> None:
        """Show the test of this mount."""
        self._mount = mount
        self._show_run()

    def set_facts(self, facts: Facts | None) -> None:
        """Show what is known of the link, and compare the curves with what it can carry."""
        self._facts = facts
        self._facts_line.setText(link_line(facts))
        self._set_limit()
        self._show_expected()

    def forget(self) -> None:
        """Drop every test: another host is shown now."""
        self._runs.clear()
        self._active = None
        self._timer.stop()
        self.set_facts(None)
        self.set_mount(None)

    @property
    def running(self) -> bool:
        """Whether a test runs."""
        return self._active is not None

    # What the person does

    def start(self, spec: TestSpec | None = None) -> bool:
        """Begin the test, or this one; return whether it has begun."""
        key = self._key()
        if self._mount is None or key is None or self._active is not None:
            return False
        spec = spec or self._controls.spec(self._mount.mount_point)
        if spec.path != self._mount.mount_point:
            return False
        run = _Run(spec, Timeline())
        try:
            call = self._submit("test.run", spec)
        except AppError as error:
            self.failed.emit(error)
            return False
        run.call = call
        self._runs[key] = run
        self._active = (key, run)
        call.progressed.connect(partial(self._on_event, run))
        call.succeeded.connect(partial(self._on_result, run))
        call.failed.connect(partial(self._on_failed, key, run))
        self._show_run()
        self.running_changed.emit(True)  # noqa: FBT003
        return True

    def stop(self) -> None:
        """Cancel the test; the agent removes its file."""
        if self._active is not None:
            run = self._active[1]
            run.stopping = True
            if run.call is not None:
                run.call.cancel()
            self._show_run()

    # What the agent says

    def _on_event(self, run: _Run, event: TestEvent) -> None:
        run.timeline.take(event)

    def _on_result(self, run: _Run, result: TestResult) -> None:
        run.result = result
        self._end(run)

    def _on_failed(self, key: Key, run: _Run, error: AppError) -> None:
        if not run.timeline.curves and self._runs.get(key) is run:
            del self._runs[key]
        if error.kind is ErrorKind.CANCELLED:
            run.stopping = True
        else:
            self.failed.emit(error)
        self._end(run)

    def _end(self, run: _Run) -> None:
        run.call = None
        if self._active is not None and self._active[1] is run:
            self._active = None
            self._show_run()
            self.running_changed.emit(False)  # noqa: FBT003
            self.ended.emit(run.result)

    # Showing

    def _key(self) -> Key | None:
        return (self._mount.share, self._mount.mount_point) if self._mount else None

    def _run(self) -> _Run | None:
        key = self._key()
        return self._runs.get(key) if key else None

    def _show_run(self) -> None:
        run = self._run()
        active = self._active
        if active is not None:
            self._controls.set_running(mine=active[1] is run, stopping=active[1].stopping)
        else:
            self._controls.set_idle(can_start=self._mount is not None and self._mount.active is not None)
        self._live.setVisible(run is not None)
        self._progress.setVisible(run is not None and run.result is None)
        self._result.show_result(run.result if run else None)
        self._drawn = -1
        self._show_plan()
        if run is not None:
            self._make_plot()
            self._draw()
        self._pace()

    def _show_plan(self) -> None:
        if self._active is not None and self._active[1] is not self._run():
            text = self.tr("A test of {path} is running; one test runs at a time.").format(
                path=self._active[0][1]
            )
        elif self._mount is None or self._mount.active is None:
            text = self.tr("The share has to be mounted before it can be tested.")
        else:
            text = self._controls.plan_text(self._mount.mount_point)
        self._plan.setText(text)
        self._plan.setVisible(self._active is None or self._active[1] is not self._run())

    def _make_plot(self) -> None:
        if self._plot is None:
            # Imported here: pyqtgraph takes a second, which the window's start should not.
            from ui.plots.live_plot import LivePlot

            self._plot = LivePlot(self._plot_box)
            self._plot_layout.addWidget(self._plot)
            self._set_limit()
        self._plot.clear()
        self._show_expected()

    def _show_expected(self) -> None:
        """Compare the curves with what the model expects of this mount."""
        run = self._run()
        found = expectations(self._mount, self._facts, run.spec) if run is not None else {}
        self._expected.setText(expectation_text(found))
        self._expected.setVisible(bool(found))
        if self._plot is not None:
            self._plot.set_expected({way: (item.bytes_per_s, item.error) for way, item in found.items()})

    def _set_limit(self) -> None:
        link = self._facts.link if self._facts else None
        rate = link.rate_bps if link else None
        if link is None or rate is None:
            self._legend.set_limit("")
            if self._plot is not None:
                self._plot.set_limit(None)
            return
        # The plain line rate: what counts as a header on the wire depends on offloads that nobody reports.
        limit = rate / 8
        self._legend.set_limit(
            self.tr("Line rate: {rate}, {speed}").format(rate=format_rate(rate), speed=format_speed(limit))
        )
        if self._plot is not None:
            self._plot.set_limit(limit)

    def _pace(self) -> None:
        run = self._run()
        live = run is not None and run.call is not None and self.isVisible()
        if live and not self._timer.isActive():
            self._timer.start()
        elif not live:
            self._timer.stop()

    def _draw(self) -> None:
        run = self._run()
        if run is None or self._plot is None:
            return
        timeline = run.timeline
        if timeline.version != self._drawn:
            self._drawn = timeline.version
            self._plot.draw(timeline)
            for way, curve in timeline.curves.items():
                self._legend.set_speed(way, curve.recent_speed)
        self._progress.setText(self._progress_text(run))
        if run.call is None:
            self._legend.set_result(run.result)

    def _progress_text(self, run: _Run) -> str:
        if run.call is None:
            return "" if run.result is not None else self.tr("Stopped before the end.")
        if run.stopping:
            return self.tr("Stopping and cleaning up…")
        timeline = run.timeline
        words = {
            "prepare": self.tr("Preparing…"),
            "fsync": self.tr("Waiting until the server has it all (fsync)…"),
            "close": self.tr("Closing the file…"), "drop-cache": self.tr("Emptying the client's cache…"),
            "clean-up": self.tr("Removing the file…"),
        }  # fmt: skip
        if timeline.phase in ("write", "read") and timeline.way in timeline.curves:
            text = self.tr("Writing") if timeline.phase == "write" else self.tr("Reading")
            moved = timeline.curves[timeline.way].moved
            return self.tr("{doing}: {moved} of {all}").format(
                doing=text, moved=format_size(moved), all=format_size(run.spec.size)
            )
        return words.get(timeline.phase or "prepare", words["prepare"])

    # Qt overrides

    def showEvent(self, event: QShowEvent) -> None:
        """Qt: draw again while it can be seen."""
        super().showEvent(event)
        self._pace()

    def hideEvent(self, event: QHideEvent) -> None:
        """Qt: draw nothing while it cannot be seen."""
        super().hideEvent(event)
        self._pace()

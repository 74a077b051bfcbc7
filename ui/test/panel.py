"""Test page: one button, then live figures with the time left, then the answer above the plot."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import structs
from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.errors import AppError, ErrorKind
from app.history import queries
from app.history.record_test import best_speeds, record_test
from app.speedtest.progress import TestProgress
from app.text.units import rounded_duration
from ui.common.cards import primary_button
from ui.common.icons import icon
from ui.common.labels import ElidedLabel, MutedLabel, plain_label, plain_tip
from ui.common.layout import CollapsibleSection, PageColumn, PageScrollArea
from ui.common.status_text import link_line, moment_text
from ui.plots.timeline import Timeline
from ui.test.controls import SpeedTestControls
from ui.test.figures import SpeedTestFigures
from ui.test.plan import SpeedTestPlanner, plan_text, private_mount_text, what_text
from ui.test.plot_panel import SpeedTestPlot
from ui.test.result import SpeedTestDetails, SpeedTestResult
from ui.test.run import TestRun, earlier_run, target_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QHideEvent, QShowEvent

    from advisor.facts import Facts
    from app.history.model import Run
    from app.history.record_test import RecordedTest
    from app.mounts.model import Mount
    from app.speedtest.model import TestEvent, TestPlanArgs, TestResult, TestSpec
    from ui.common.bridge import BridgeCall, RunInThread
    from ui.common.mount_request import MountRequest
    from ui.plots.timeline import TransferDirection
    from ui.test.run import TestTarget

    Key = tuple[str, str]


#: Interval between two updates of figures and time left, ms.
_FIGURES_MS = 200
#: Steps of the progress bar.
_BAR_STEPS = 1000


class SpeedTestPanel(QWidget):
    """Page that runs one test at a time and shows the last test of each mount.

    Args:
        submit: sends a request to the agent.
        run: runs blocking work on a thread.

    Signals:
        failed: a test failed (AppError).
        busy_changed: whether a test runs, or starts as soon as it is planned.
        ended: a test ended; its TestResult, or None if it failed or was stopped.
        kept: a result was saved in the history.
        improvement_wanted: the user wants to know what could be faster.
        comparison_wanted: the user wants to compare a test of the history, by its number, with earlier ones.
    """

    failed = Signal(object)
    busy_changed = Signal(bool)
    ended = Signal(object)
    kept = Signal()
    improvement_wanted = Signal()
    comparison_wanted = Signal(int)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], run: RunInThread) -> None:
        super().__init__()
        self._submit = submit
        self._run_blocking = run
        self._mount: Mount | None = None
        self._request: MountRequest | None = None
        self._facts: Facts | None = None
        self._runs: dict[Key, TestRun] = {}
        self._active: tuple[Key, TestRun] | None = None
        #: Whether the test starts as soon as its plan arrives, because the user has pressed Start.
        self._start_pending = False
        #: Why no test may start now, "" if one may.
        self._blocked = ""
        self._reported_busy = False
        self._planner = SpeedTestPlanner(submit, self)
        self._planner.changed.connect(self._on_planned)
        #: How much longer tests took than planned, by target and link.
        self._slowness: dict[tuple[Key, str | None], float] = {}
        #: Targets whose last test of the history was asked for, with the link.
        self._asked_last: set[tuple[Key, str]] = set()
        self._make_start_row()
        self._make_running_row()
        self._earlier = MutedLabel()
        self._earlier.setObjectName("earlier-test")
        self._figures = SpeedTestFigures()
        self._plot = SpeedTestPlot(run)
        self._result = SpeedTestResult()
        self._result.improvement_wanted.connect(self.improvement_wanted)
        self._result.comparison_wanted.connect(self._on_compare)
        self._result.save_clicked.connect(self._plot.save)
        self._details = SpeedTestDetails()
        self._lay_out()
        self._show_run()

    def _make_start_row(self) -> None:
        self._start = primary_button(self.tr("Test the &Speed"))
        self._start.setObjectName("start")
        self._start.setIcon(icon("play", "on_accent"))
        self._start.setAutoDefault(False)
        self._start.clicked.connect(self._on_start)
        self._controls = SpeedTestControls()
        self._controls.plan_changed.connect(self._request_plan)
        self._plan = MutedLabel(wrap=True)
        self._plan.setObjectName("plan")
        self._facts_line = ElidedLabel()
        self._facts_line.setObjectName("facts")
        self._options = CollapsibleSection("test-options", [self._controls, self._facts_line])
        self._options.toggled.connect(self._show_plan)
        self._start_row = QWidget()
        row = QVBoxLayout(self._start_row)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        buttons = QHBoxLayout()
        buttons.addWidget(self._start)
        buttons.addStretch(1)
        row.addLayout(buttons)
        row.addWidget(self._options)
        row.addWidget(self._plan)

    def _make_running_row(self) -> None:
        self._progress = plain_label()
        self._progress.setObjectName("progress")
        self._bar = QProgressBar()
        self._bar.setObjectName("test-bar")
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(self.tr("Progress of the test"))
        self._stop = QPushButton(self.tr("&Stop"))
        self._stop.setObjectName("stop-test")
        self._stop.setIcon(icon("stop"))
        self._stop.setAutoDefault(False)
        self._stop.clicked.connect(self.stop)
        texts = QVBoxLayout()
        texts.setSpacing(4)
        texts.addWidget(self._progress)
        texts.addWidget(self._bar)
        self._running_row = QWidget()
        row = QHBoxLayout(self._running_row)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(16)
        row.addLayout(texts, 1)
        row.addWidget(self._stop)
        self._timer = QTimer(self)
        self._timer.setInterval(_FIGURES_MS)
        self._timer.timeout.connect(self._show_progress)

    def _lay_out(self) -> None:
        page = PageColumn()
        page.body.setSpacing(12)
        for part in (self._start_row, self._running_row, self._earlier, self._figures, self._result):
            page.body.addWidget(part)
        page.body.addWidget(self._plot, 1)
        page.body.addWidget(self._details)
        page.body.addStretch(0)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(PageScrollArea(page, self.tr("Test")))

    # Called by the window

    def set_mount(self, mount: Mount | None) -> None:
        """Show the last test of a mount; None for a draft that is not mounted."""
        before = self._target()
        self._mount = mount
        after = self._target()
        # Any mount on the host updates the same mount here; a pending start must survive that.
        self._start_pending = (
            self._start_pending and before is not None and after is not None and before.key == after.key
        )
        if mount is None:
            self.set_facts(None)
        else:
            self._show_run()

    def set_request(self, request: MountRequest) -> None:
        """Take the share and the options of the settings form: a test mounts them privately."""
        self._request = request
        if self._mount is None or self._mount.active is None:
            self._show_run()

    def set_facts(self, facts: Facts | None) -> None:
        """Show the facts of the link, and draw its capacity as a reference line."""
        self._facts = facts
        self._facts_line.setText(link_line(facts))
        emulated = facts is not None and facts.link is not None and facts.link.emulated
        mounted = self._mount is not None and self._mount.active is not None
        self._controls.offer_fresh_mount(offered=emulated and mounted)
        run = self._run()
        if run is not None and run.link is None and facts is not None:
            run.link = self._link_name()
            self._load_history(run)
        self._show_run()

    def discard_plan(self) -> None:
        """Discard the plan and plan again, because the link has changed."""
        for key in [key for key, run in self._runs.items() if run.earlier]:
            del self._runs[key]
        args = self._plan_args() if self._start_pending else None
        self._planner.reset_plan()
        if args is not None:
            self._planner.ask_again(args)
        self._request_plan()

    def reset(self) -> None:
        """Drop all tests, because the window shows another host."""
        self._runs.clear()
        self._asked_last.clear()
        self._slowness.clear()
        self._active = None
        self._start_pending = False
        self._planner.want(None)
        self._request = None
        self.set_mount(None)

    def set_blocked(self, why: str) -> None:
        """Prevent or allow a start: `why` is the reason shown, "" allows it."""
        if why != self._blocked:
            self._blocked = why
            self._show_run()

    @property
    def running(self) -> bool:
        """Whether a test runs."""
        return self._active is not None

    @property
    def uses_private_mount(self) -> bool:
        """Whether a test runs on a private mount."""
        return self._active is not None and bool(self._active[1].spec.share)

    @property
    def busy(self) -> bool:
        """Whether a test runs, or starts as soon as it is planned."""
        return self.running or self._start_pending

    @property
    def free(self) -> bool:
        """Whether a test may start now."""
        return not self.busy and not self._blocked

    def shows(self, spec: TestSpec) -> bool:
        """Return whether a test specification belongs to the shown mount or share."""
        target = self._target()
        return target is not None and _is_test_of(spec, target)

    # Actions of the user

    def start(self, spec: TestSpec) -> bool:
        """Start a test of the shown mount or share; return whether it was started."""
        target = self._target()
        if target is None or self._active is not None or self._blocked or not _is_test_of(spec, target):
            return False
        key = target.key
        timeline = Timeline(warm_up=spec.repeats > 1 and spec.grid is None)
        plan = self._planner.plan
        planned_s = plan.seconds if plan is not None and plan.spec == spec else spec.seconds
        progress = TestProgress(planned_s, time.monotonic())
        run = TestRun(spec, timeline, progress, target.share, self._link_name())
        try:
            call = self._submit("test.run", spec)
        except AppError as error:
            self.failed.emit(error)
            return False
        run.call = call
        self._runs[key] = run
        self._active = (key, run)
        self._bar.setValue(0)
        call.progressed.connect(partial(self._on_event, run))
        call.succeeded.connect(partial(self._on_result, run))
        call.failed.connect(partial(self._on_failed, key, run))
        call.overdue.connect(partial(self._on_overdue, run))
        self._show_run()
        self._load_history(run)
        return True

    def start_planned(self) -> None:
        """Start the test of the controls, as the button Start does; without effect if none may start."""
        self._on_start()

    def _load_history(self, run: TestRun) -> None:
        """Read the best earlier speeds of the same test from the history."""
        spec, share, link = run.spec, run.share, run.link
        if link is None:
            return
        call = self._run_blocking("history-best", lambda: best_speeds(spec, share, link))
        call.succeeded.connect(partial(self._on_history_loaded, run, spec))

    def _load_last(self) -> None:
        """Read the last test of the shown share from the history, if this session has none."""
        target, link = self._target(), self._link_name()
        if target is None or link is None or target.key in self._runs or not self.isVisible():
            return
        asked = target.key, link
        if asked in self._asked_last:
            return
        self._asked_last.add(asked)
        call = self._run_blocking("history-last", lambda: queries.last_run(target.share, link))
        call.succeeded.connect(partial(self._on_last_loaded, target.key, link))

    def _on_last_loaded(self, key: Key, link: str, saved: Run | None) -> None:
        if saved is not None and key not in self._runs and link == self._link_name():
            self._runs[key] = earlier_run(saved, link)
            self._show_run()

    def _link_name(self) -> str | None:
        """Return the name of the lab's link, "" for a real link, None while the facts are not known."""
        if self._facts is None:
            return "" if self._mount is None else None
        link = self._facts.link
        return link.name if link is not None and link.emulated else ""

    def _on_history_loaded(self, run: TestRun, spec: TestSpec, best: dict[TransferDirection, float]) -> None:
        if spec is run.spec:  # else the test was shrunk meanwhile, and its history is read again
            run.best = best
            self._plot.show_references(run)

    def stop(self) -> None:
        """Stop the test, whose files the agent removes; abandon a test whose end is overdue."""
        if self._start_pending:
            self._start_pending = False
            self._planner.want(None)
            self._show_run()
        if self._active is not None:
            run = self._active[1]
            if run.overdue and run.call is not None:
                run.call.abandon()
                return
            run.stopping = True
            if run.call is not None:
                run.call.cancel()
            self._show_run()

    def _on_start(self) -> None:
        """Start the planned test; without a plan, request one and start when it arrives."""
        args = self._plan_args()
        if args is None:
            return
        if self._planner.plan is not None:
            self.start(self._planner.plan.spec)
            return
        self._start_pending = True
        self._planner.ask_again(args)
        self._show_run()

    # Answers of the agent

    def _on_planned(self) -> None:
        plan, error = self._planner.plan, self._planner.error
        if self._start_pending and plan is not None:
            self._start_pending = False
            self.start(plan.spec)
        elif self._start_pending and error is not None:
            self._start_pending = False
            self.failed.emit(error)
        self._show_controls()
        self._show_plan()

    def _on_event(self, run: TestRun, event: TestEvent) -> None:
        if run.take(event):
            self._load_history(run)  # compare with earlier tests of the same, smaller size

    def _on_result(self, run: TestRun, result: TestResult) -> None:
        run.result = result
        slowness = run.progress.slowness(time.monotonic())
        if slowness is not None and self._active is not None:
            self._slowness[self._active[0], run.link] = slowness
        call = self._run_blocking("history-keep", lambda: record_test(result))
        call.succeeded.connect(partial(self._on_recorded, run))
        call.failed.connect(self.failed)
        self._end(run)

    def _on_recorded(self, run: TestRun, recorded: RecordedTest) -> None:
        run.kept = recorded
        self._show_saved()
        self.kept.emit()

    def _on_failed(self, key: Key, run: TestRun, error: AppError) -> None:
        if not run.timeline.curves and self._runs.get(key) is run:
            del self._runs[key]
        if error.kind is ErrorKind.CANCELLED:
            run.stopping = True
            if error.remains:
                self.failed.emit(error)
        elif self._active is not None and self._active[1] is run:  # else the window shows another host by now
            self.failed.emit(error)
        self._end(run)

    def _on_overdue(self, run: TestRun) -> None:
        run.overdue = True
        self._show_run()

    def _end(self, run: TestRun) -> None:
        run.call = None
        run.overdue = False
        if self._active is not None and self._active[1] is run:
            self._active = None
            self._planner.want(None)  # the free space has changed
            self._show_run()
            self.ended.emit(run.result)

    # Showing

    def _target(self) -> TestTarget | None:
        return target_of(self._mount, self._request)

    def _run(self) -> TestRun | None:
        target = self._target()
        return self._runs.get(target.key) if target is not None else None

    def _plan_args(self) -> TestPlanArgs | None:
        """Return the plan request of the shown test, None if no test may start."""
        target = self._target()
        if self._active is not None or self._blocked or target is None:
            return None
        return self._controls.plan_args(target)

    def _request_plan(self) -> None:
        args = self._plan_args() if self.isVisible() else None
        if not self._start_pending:
            # Planning for a share that is not mounted mounts it, so it waits for Start.
            self._planner.want(None if args is None or args.spec.share else args)
        self._show_plan()

    def _show_run(self) -> None:
        run = self._run()
        if self._start_pending and run is not None and run.call is None:
            run = None  # the last result is no longer the answer
        self._show_controls()
        result = run.result if run is not None else None
        self._figures.setVisible(run is not None and run.spec.workload != "grid")
        if run is not None:
            self._figures.show_run(run)
        text = ""
        if run is not None and run.earlier and result is not None:
            text = self.tr("Last test: {when}").format(when=moment_text(result.started_at))
        elif run is not None and run.call is None:
            text = run.progress_text()
        self._earlier.setText(text)
        self._earlier.setVisible(bool(text))
        self._result.show_result(result)
        self._plot.show_run(run, self._mount, self._facts)
        self._details.show_result(result)
        self._show_saved()
        self._request_plan()
        self._load_last()

    def _show_controls(self) -> None:
        active = self._active
        run = active[1] if active is not None else None
        mine = self._start_pending or (run is not None and run is self._run())
        self._start_row.setVisible(not mine)
        self._running_row.setVisible(mine)
        self._start.setEnabled(self._plan_args() is not None)
        self._start.setToolTip(plain_tip(self._blocked))
        self._start.setText(self._start_text())
        self._options.set_title(self.tr("Options: {summary}").format(summary=self._controls.summary()))
        self._controls.set_enabled(on=active is None)
        overdue = run is not None and run.overdue
        self._stop.setText(self.tr("A&bandon") if overdue else self.tr("&Stop"))
        self._stop.setEnabled(run is None or overdue or not run.stopping)
        if mine and not self._timer.isActive():
            self._timer.start()
        elif not mine:
            self._timer.stop()
        self._show_progress()
        if self.busy != self._reported_busy:
            self._reported_busy = self.busy
            self.busy_changed.emit(self.busy)

    def _start_text(self) -> str:
        """Return the text of the start button, with the duration if it is known."""
        planned = self._planner.shown
        seconds = planned.seconds if planned is not None else self._controls.nominal_seconds()
        seconds = self._corrected_seconds(seconds)
        again = self._run() is not None
        if seconds is None:
            return self.tr("Test the &Speed Again") if again else self.tr("Test the &Speed")
        text = self.tr("Test the &Speed Again · {time}") if again else self.tr("Test the &Speed · {time}")
        return text.format(time=rounded_duration(seconds))

    def _corrected_seconds(self, planned_s: float | None) -> float | None:
        """Return the duration of a plan, corrected by the last test of the same share over the same link."""
        target = self._target()
        if planned_s is None or target is None:
            return planned_s
        return planned_s * self._slowness.get((target.key, self._link_name()), 1.0)

    def _show_progress(self) -> None:
        """Show the present figures, what is done, and the time left."""
        run = self._run()
        if run is None or self._active is None or run is not self._active[1]:
            self._bar.setRange(0, 0)
            self._progress.setText(self._pending_text() if self._start_pending else "")
            return
        self._figures.show_run(run)
        self._progress.setText(run.progress_text())
        part = run.part()
        self._bar.setRange(0, _BAR_STEPS if part is not None and not run.stopping else 0)
        if part is not None:
            self._bar.setValue(max(self._bar.value(), round(_BAR_STEPS * part)))

    def _pending_text(self) -> str:
        target = self._target()
        if target is not None and not target.mounted:
            return self.tr("Mounting {share} privately for the test…").format(share=target.place)
        return self.tr("Planning the test…")

    def _on_compare(self) -> None:
        run = self._run()
        if run is not None and run.kept is not None:
            self.comparison_wanted.emit(run.kept.id)

    def _show_saved(self) -> None:
        run = self._run()
        self._result.show_saved(run.kept if run is not None else None)

    def _show_plan(self, *_: object) -> None:
        self._start.setText(self._start_text())
        self._options.set_title(self.tr("Options: {summary}").format(summary=self._controls.summary()))
        self._start.setEnabled(self._plan_args() is not None)
        self._plan.setText(self._plan_text())
        # Once there is a result, it stands in the place of a plan that has nothing to say but how.
        run, planned = self._run(), self._planner.shown is not None or self._plan_args() is not None
        has_result = run is not None and run.result is not None
        self._plan.setVisible(not has_result or not planned or self._options.is_open())

    def _plan_text(self) -> str:
        if self._active is not None:
            (_, mount_point), run = self._active
            text = self.tr("A test of {path} is running. One test runs at a time.")
            return text.format(path=mount_point or run.share)
        args, target = self._plan_args(), self._target()
        if self._blocked:
            return self._blocked
        if target is None:
            return self.tr("Enter a share in the settings. You can test it before it is mounted.")
        if args is None:
            return self.tr("Enter a file or directory to copy. It is only read.")
        if not target.mounted and self._planner.plan is None:
            link = self._facts.link if self._facts is not None else None
            return private_mount_text(args, target.place, link)
        return self._planned_text(args, target.place)

    def _planned_text(self, args: TestPlanArgs, path: str) -> str:
        """Return a description of the agent's plan, its error, or its progress."""
        planner = self._planner
        if planner.shown is not None:
            plan = planner.shown
            return plan_text(structs.replace(plan, seconds=self._corrected_seconds(plan.seconds)), path)
        if planner.error is not None:
            return self.tr("Could not plan the test. {why}").format(why=planner.error.message)
        asking = self.tr("Checking the link and the free space…")
        return asking if args.preset is not None else f"{what_text(args.spec, path)} {asking}"

    # Qt overrides

    def showEvent(self, event: QShowEvent) -> None:
        """Qt: plan the test when the page is shown."""
        super().showEvent(event)
        self._request_plan()
        self._load_last()

    def hideEvent(self, event: QHideEvent) -> None:
        """Qt: drop the plan, unless a start waits for it."""
        super().hideEvent(event)
        if not self._start_pending:
            self._planner.want(None)


def _is_test_of(spec: TestSpec, target: TestTarget) -> bool:
    """Return whether a test specification belongs to a target."""
    return spec.path == target.mount_point if target.mounted else spec.share == target.share

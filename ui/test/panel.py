"""Test page: plans and runs a speed test of the shown mount, plots it, and shows its figures."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from app.errors import AppError, ErrorKind
from app.history.record_test import best_speeds, record_test
from ui.common.labels import ElidedLabel, MutedLabel
from ui.common.status_text import link_line
from ui.plots.timeline import Timeline
from ui.test.controls import SpeedTestControls
from ui.test.plan import SpeedTestPlanner, plan_text, private_mount_text, what_text
from ui.test.plot_panel import SpeedTestPlot
from ui.test.result import SpeedTestResult
from ui.test.run import TestRun, target_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QHideEvent, QShowEvent

    from advisor.facts import Facts
    from app.history.record_test import RecordedTest
    from app.mounts.model import Mount
    from app.speedtest.model import TestEvent, TestPlanArgs, TestResult, TestSpec
    from ui.common.bridge import BridgeCall, RunInThread
    from ui.common.mount_request import MountRequest
    from ui.plots.timeline import TransferDirection
    from ui.test.run import TestTarget

    Key = tuple[str, str]


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
    """

    failed = Signal(object)
    busy_changed = Signal(bool)
    ended = Signal(object)
    kept = Signal()

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
        self._facts_line = ElidedLabel()
        self._facts_line.setObjectName("facts")
        self._controls = SpeedTestControls()
        self._controls.start_clicked.connect(self._on_start)
        self._controls.stop_clicked.connect(self.stop)
        self._controls.plan_changed.connect(self._request_plan)
        self._plan = MutedLabel(wrap=True)
        self._plan.setObjectName("plan")
        self._plot = SpeedTestPlot(run)
        self._result = SpeedTestResult()
        self._lay_out()
        self._show_run()

    def _lay_out(self) -> None:
        page = QWidget()
        scroll = QScrollArea()
        scroll.setAccessibleName(self.tr("Quick test"))
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
        layout.addWidget(self._plan)
        layout.addWidget(self._plot, 1)
        layout.addWidget(self._result)
        layout.addStretch(0)

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
        args = self._plan_args() if self._start_pending else None
        self._planner.reset_plan()
        if args is not None:
            self._planner.ask_again(args)
        self._request_plan()

    def reset(self) -> None:
        """Drop all tests, because the window shows another host."""
        self._runs.clear()
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
        run = TestRun(spec, timeline, target.share, self._link_name())
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
        call.overdue.connect(partial(self._on_overdue, run))
        self._show_run()
        self._load_history(run)
        return True

    def _load_history(self, run: TestRun) -> None:
        """Read the best earlier speeds of the same test from the history."""
        spec, share, link = run.spec, run.share, run.link
        if link is None:
            return
        call = self._run_blocking("history-best", lambda: best_speeds(spec, share, link))
        call.succeeded.connect(partial(self._on_history_loaded, run, spec))

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
        self._show_controls()
        self._plot.show_run(run, self._mount, self._facts)
        self._result.show_result(run.result if run else None)
        self._show_saved()
        self._request_plan()

    def _show_controls(self) -> None:
        active = self._active
        if active is not None:
            run = active[1]
            self._controls.set_running(mine=run is self._run(), stopping=run.stopping, overdue=run.overdue)
        elif self._start_pending:
            self._controls.set_running(mine=True, stopping=False)
        else:
            self._controls.set_idle(can_start=self._plan_args() is not None, why_not=self._blocked)
        if self.busy != self._reported_busy:
            self._reported_busy = self.busy
            self.busy_changed.emit(self.busy)

    def _show_saved(self) -> None:
        run = self._run()
        self._result.show_saved(run.kept if run is not None else None)

    def _show_plan(self) -> None:
        mine = self._active is not None and self._active[1] is self._run()
        self._plan.setVisible(not mine)
        self._plan.setText("" if mine else self._plan_text())

    def _plan_text(self) -> str:
        if self._active is not None:
            (_, mount_point), run = self._active
            text = self.tr("A test of {path} is running; one test runs at a time.")
            return text.format(path=mount_point or run.share)
        args, target = self._plan_args(), self._target()
        if self._blocked:
            return self._blocked
        if target is None:
            return self.tr("Name a share in the settings; it can be tested before it is mounted.")
        if args is None:
            return self.tr("Name a file or a folder to copy. It is only read.")
        if not target.mounted and self._planner.plan is None:
            mounting = self.tr("Mounting {share} for the test alone…").format(share=target.place)
            link = self._facts.link if self._facts is not None else None
            return mounting if self._start_pending else private_mount_text(args, target.place, link)
        return self._planned_text(args, target.place)

    def _planned_text(self, args: TestPlanArgs, path: str) -> str:
        """Return a description of the agent's plan, its error, or its progress."""
        planner = self._planner
        if planner.shown is not None:
            return plan_text(planner.shown, path)
        if planner.error is not None:
            return self.tr("What it would copy is not known: {why}").format(why=planner.error.message)
        asking = self.tr("Asking how quick the link is and how much room there is…")
        return asking if args.preset is not None else f"{what_text(args.spec, path)} {asking}"

    # Qt overrides

    def showEvent(self, event: QShowEvent) -> None:
        """Qt: plan the test when the page is shown."""
        super().showEvent(event)
        self._request_plan()

    def hideEvent(self, event: QHideEvent) -> None:
        """Qt: drop the plan, unless a start waits for it."""
        super().hideEvent(event)
        if not self._start_pending:
            self._planner.want(None)


def _is_test_of(spec: TestSpec, target: TestTarget) -> bool:
    """Return whether a test specification belongs to a target."""
    return spec.path == target.mount_point if target.mounted else spec.share == target.share

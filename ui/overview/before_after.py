"""Before-and-after test: one question, three stages with a live plot, and the result with its two buttons.

The agent tests, changes, tests again, and decides whether the change stays (app.service.before_after).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import QDeadlineTimer, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.errors import AppError, ErrorKind
from app.history.record_test import record_test
from app.mounts.change_model import RestoreArgs
from app.mounts.change_text import approval_sentences
from app.service.model import BeforeAfterArgs
from app.text.headline import change_text, interval_text, saved_text, verdict_text
from app.text.mounts import interruption_text
from app.text.units import format_size
from ui.common.bridge import LatestCall, ignore
from ui.common.cards import BarComparison, Card, CardKind, Headline, primary_button, text_button
from ui.common.dialogs import add_buttons, fit_to_text
from ui.common.fonts import TextSize, set_text_size
from ui.common.labels import MutedLabel, UnitAwareLabel, plain_label
from ui.common.layout import CollapsibleSection
from ui.common.speed_units import convert_to_chosen_unit, speed_text
from ui.common.text_view import TextView
from ui.common.translation import tr
from ui.overview.stages import StageBar

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QShowEvent

    from app.mounts.change_model import ApplyArgs, ApplyPlan, ApplyReport
    from app.mounts.model import Mount
    from app.service.model import (
        AdviceArgs,
        BeforeAfterEvent,
        BeforeAfterPlan,
        BeforeAfterReport,
        BeforeAfterStage,
    )
    from app.speedtest.model import TestResult
    from app.speedtest.result_comparison import FigureComparison
    from ui.common.bridge import BridgeCall, RunInThread

#: Interval between two frames of the live plot, ms.
_FRAME_MS = 100
#: Height of the live plot, lines of text.
_PLOT_LINES = 9


def time_text(seconds: float) -> str:
    """Return a rounded duration: “about 40 s”, “about 2 min”."""
    if seconds < 60:
        return tr("about {count} s").format(count=max(5, 5 * round(seconds / 5)))
    return tr("about {count} min").format(count=max(1, round(seconds / 60)))


class BeforeAfterDialog(QDialog):
    """The question before a before-and-after test: what changes, what is written, and what happens then.

    Signals:
        agreed: the user starts the test.
    """

    agreed = Signal()

    def __init__(self, parent: QWidget, plan: BeforeAfterPlan) -> None:
        super().__init__(parent)
        self.setObjectName("before-after-dialog")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        title = self.tr("Try It on {path}?").format(path=plan.change.mount_point)
        self.setWindowTitle(title)
        heading = plain_label(title, wrap=True)
        set_text_size(heading, TextSize.TITLE, bold=True)
        start = primary_button(self.tr("&Start"))
        start.setObjectName("before-after-start")
        start.clicked.connect(self._on_start)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 24, 24, 16)
        layout.setSpacing(8)
        layout.addWidget(heading)
        for text in self._sentences(plan):
            layout.addWidget(UnitAwareLabel(text))
        steps = TextView(self.tr("Steps and commands"), lines=10)
        steps.setObjectName("before-after-steps")
        steps.show_text(_steps_text(plan.plan))
        details = CollapsibleSection("before-after-details", [steps])
        details.set_title(self.tr("Steps and Commands"))
        layout.addWidget(details)
        layout.addStretch(1)
        add_buttons(self, layout, self.tr("&Cancel"), [start], start)
        start.setFocus()
        fit_to_text(self, 80)

    def _sentences(self, plan: BeforeAfterPlan) -> list[str]:
        change, interruption = plan.plan, plan.plan.interruption
        sentences = [interruption_text(interruption)]
        if interruption.effect == "interrupts":
            text = self.tr("Interrupts {path} for about {count} s.")
            sentences = [text.format(path=interruption.mount_point, count=round(interruption.typical_s))]
        sentences.append("\n".join(change_text(item) for item in plan.recommendations))
        if plan.seconds is None:
            written = self.tr("{size} are written there and removed again.")
        else:
            written = self.tr("{size} are written there and removed again. It takes {time}.")
        sentences.append(written.format(size=format_size(plan.bytes), time=time_text(plan.seconds or 0.0)))
        sentences.append(self.tr("The old values return by themselves unless a gain is proven."))
        if change.holders and any(step.kind == "unmount" for step in change.steps):
            names = ", ".join(f"{holder.command} ({holder.pid})" for holder in change.holders)
            text = self.tr("Programs use it: {names}. The change waits up to {count} s for them.")
            sentences.append(text.format(names=names, count=round(plan.change.wait_s)))
        if change.sharing:
            text = self.tr("These mounts share the connections to the server: {paths}.")
            sentences.append(text.format(paths=", ".join(change.sharing)))
        if change.approval is not None:
            sentences += approval_sentences(change.approval)
        return [sentence for sentence in (*sentences, *change.warnings) if sentence]

    def _on_start(self) -> None:
        self.accept()
        self.agreed.emit()


def _steps_text(plan: ApplyPlan) -> str:
    """Return the steps of a change, each with its command on the next line."""
    lines: list[str] = []
    for step in plan.steps:
        lines.append(step.text)
        lines += [f"    {step.command}"] if step.command else []
    return "\n".join(lines)


class BeforeAfterCard(Card):
    """Progress and result of a before-and-after test; hidden until a test starts.

    Signals:
        stop_clicked: stop the test.
        keep_clicked: save the new settings.
        undo_clicked: restore the settings from before the test.
        close_clicked: the card is done with.
    """

    stop_clicked = Signal()
    keep_clicked = Signal()
    undo_clicked = Signal()
    close_clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("before-after")
        self._headline = Headline()
        self._headline.setObjectName("before-after-title")
        self._stages = StageBar()
        self._stages.setObjectName("before-after-stages")
        self._left = plain_label()
        self._left.setObjectName("before-after-left")
        self._stop = self._button(text_button(self.tr("&Stop")), "before-after-stop", self.stop_clicked)
        self._keep = self._button(
            primary_button(self.tr("&Keep for Good")), "before-after-keep", self.keep_clicked
        )
        self._undo = self._button(QPushButton(self.tr("Un&do")), "before-after-undo", self.undo_clicked)
        self._close = self._button(QPushButton(self.tr("&Close")), "before-after-close", self.close_clicked)
        self._plot_box = QWidget()
        QVBoxLayout(self._plot_box).setContentsMargins(0, 0, 0, 0)
        self._plot_box.setFixedHeight(self.fontMetrics().lineSpacing() * _PLOT_LINES)
        self._plot: Any = None
        self._bars = QVBoxLayout()
        self._bars.setSpacing(8)
        self._note = MutedLabel(wrap=True)
        self._note.setObjectName("before-after-note")
        self._files = TextView(self.tr("What is written"), lines=8, diff=True)
        self._files.setObjectName("before-after-files")
        self._files_section = CollapsibleSection("before-after-show-files", [self._files])
        self._files_section.set_title(self.tr("What Is Written"))
        self._frames = QTimer(self)
        self._frames.setInterval(_FRAME_MS)
        self._frames.timeout.connect(self._draw)
        self._timeline: Any = None
        #: Estimated end of the test, None while it is unknown or the test is being stopped.
        self._end: QDeadlineTimer | None = None
        self._lay_out()
        self.hide()

    def _button(self, button: QPushButton, name: str, clicked: object) -> QPushButton:
        button.setObjectName(name)
        button.clicked.connect(clicked)
        return button

    def _lay_out(self) -> None:
        progress = QHBoxLayout()
        progress.setSpacing(16)
        progress.addWidget(self._stages, 1)
        progress.addWidget(self._left)
        progress.addWidget(self._stop)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        for button in (self._keep, self._undo, self._close):
            buttons.addWidget(button)
        buttons.addStretch(1)
        self.body.addWidget(self._headline)
        self.body.addLayout(progress)
        self.body.addWidget(self._plot_box)
        self.body.addLayout(self._bars)
        self.body.addWidget(self._note)
        self.body.addLayout(buttons)
        self.body.addWidget(self._files_section)

    # States

    def show_started(self, mount_point: str) -> None:
        """Show the beginning of a test."""
        from ui.plots.timeline import Timeline

        self._timeline = Timeline()
        self._round = -1
        self.set_kind(CardKind.PLAIN)
        self._headline.set_text("speed", self.tr("Measuring {path}").format(path=mount_point))
        self._show_parts(running=True)
        self._show_bars([])
        self._end = None
        self._left.clear()
        self.set_stage("before", None)
        if self._plot is not None:
            self._plot.clear()
        self._frames.start()
        self.show()

    def take(self, event: BeforeAfterEvent) -> None:
        """Show an event of the running test."""
        if event.left_s is not None or event.stage != self._stages.stage:
            self.set_stage(event.stage, event.left_s)
        if event.test is None and event.result is None and event.step is None:
            self._round += 1  # a test begins
        if event.test is not None and self._timeline is not None:
            self._timeline.take(msgspec.structs.replace(event.test, round=max(0, self._round)))

    def set_stage(self, stage: BeforeAfterStage, left_s: float | None) -> None:
        """Show the present stage and the estimated time left, s; None if it is unknown."""
        self._stages.set_stage(stage)
        if left_s is not None:
            self._end = QDeadlineTimer(round(left_s * 1000))
            self._show_left()

    def _show_left(self) -> None:
        left_s = self._end.remainingTime() / 1000 if self._end is not None else 0.0
        self._left.setText(self.tr("{time} left").format(time=time_text(left_s)) if left_s >= 1 else "")

    def show_stopping(self) -> None:
        """Show that the test ends, and that the old settings return."""
        self._end = None
        self._left.setText(self.tr("Stopping…"))
        self._stop.setEnabled(False)

    def show_ended(self, title: str, detail: str) -> None:
        """Show a test that ended without a result."""
        self._show_parts(running=False)
        self._show_bars([])
        self.set_kind(CardKind.PLAIN)
        self._headline.set_text("info", title, detail)
        self._note.hide()
        self._close.show()

    def show_result(self, report: BeforeAfterReport) -> None:
        """Show the comparison, and the buttons if the change is still in use."""
        self._show_parts(running=False)
        proven = report.verdict == "faster"
        text = verdict_text(report.verdict, report.comparisons)
        icon = {"faster": "check", "same": "equal"}.get(report.verdict, "info")
        kind = CardKind.OK if proven else CardKind.PLAIN
        self.set_kind(kind)
        self._headline.set_text(icon, text.title, " ".join(text.lines), kind)
        self._show_bars(report.comparisons)
        self._keep.setVisible(proven)
        self._undo.setVisible(proven)
        self._close.setVisible(not proven)
        self._note.setVisible(proven)
        self._note.setText("")

    def show_keep_plan(self, plan: ApplyPlan) -> None:
        """Show what “Keep for Good” writes."""
        lines = [saved_text(plan.diff, plan.rule_diff)]
        if plan.approval is not None:
            lines += approval_sentences(plan.approval)
        self._note.setText(" ".join(line for line in lines if line))
        self._files.show_text(plan.diff + plan.rule_diff)
        self._files_section.setVisible(bool(plan.diff or plan.rule_diff))

    def show_kept(self, report: ApplyReport) -> None:
        """Show that the settings are saved."""
        text = saved_text(report.plan.diff, report.plan.rule_diff, done=True)
        self._headline.set_text("check", self.tr("Kept for good"), text, CardKind.OK)
        self._keep.hide()
        self._note.hide()
        self._close.show()
        self.set_busy(busy=False)

    def show_undone(self) -> None:
        """Show that the settings from before the test are back."""
        self.set_kind(CardKind.PLAIN)
        self._headline.set_text("undo", self.tr("The old settings are back"))
        self._show_parts(running=False)
        self._show_bars([])
        self._close.show()

    def set_busy(self, *, busy: bool) -> None:
        """Disable the buttons while the settings are saved or restored."""
        for button in (self._keep, self._undo, self._close):
            button.setEnabled(not busy)

    def focus_next(self) -> None:
        """Give the keyboard focus to the button of the next step."""
        for button in (self._stop, self._keep, self._close):
            if not button.isHidden():
                button.setFocus()
                return

    def _show_parts(self, *, running: bool) -> None:
        if not running:
            self._frames.stop()
        for part in (self._stages, self._left, self._stop, self._plot_box):
            part.setVisible(running)
        self._stop.setEnabled(True)
        for part in (self._keep, self._undo, self._close, self._note, self._files_section):
            part.hide()
        self.set_busy(busy=False)

    def _show_bars(self, comparisons: list[FigureComparison]) -> None:
        while (item := self._bars.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for comparison in comparisons:
            self._bars.addWidget(FigureBars(comparison))

    def _draw(self) -> None:
        if self._timeline is None or not self.isVisible():
            return
        if self._end is not None:
            self._show_left()
        if self._plot is None:
            # Imported here, because the import of pyqtgraph takes about 1 s.
            from ui.plots.live_plot import LivePlot

            self._plot = LivePlot(self._plot_box)
            layout = self._plot_box.layout()
            if layout is not None:
                layout.addWidget(self._plot)
        self._plot.draw(self._timeline)

    # Qt overrides

    def showEvent(self, event: QShowEvent) -> None:
        """Qt: draw what was measured while the card was hidden."""
        super().showEvent(event)
        if self._frames.isActive():
            self._draw()


class FigureBars(QWidget):
    """One compared figure: its name, a bar before and after, and the interval of the difference."""

    def __init__(self, comparison: FigureComparison) -> None:
        super().__init__()
        names = {
            "write": self.tr("Writing"),
            "read": self.tr("Reading"),
            "small-read": self.tr("Small reads"),
        }
        title = plain_label(names.get(comparison.figure, comparison.figure))
        bars = BarComparison()
        color = "write" if comparison.figure == "write" else "read"
        bars.set_bars([
            (self.tr("Before"), comparison.before, speed_text(comparison.before), "muted"),
            (self.tr("After"), comparison.after, speed_text(comparison.after), color),
        ])  # fmt: skip
        verdicts = {
            "same": self.tr("No significant difference"),
            "unknown": self.tr("Too few tests to compare"),
        }
        detail: QLabel = MutedLabel(verdicts.get(comparison.verdict, interval_text(comparison)))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        top = QHBoxLayout()
        top.addWidget(title)
        top.addStretch(1)
        top.addWidget(detail)
        layout.addLayout(top)
        layout.addWidget(bars)


class BeforeAfterController(QObject):
    """Asks once, runs the test on the agent, and saves or restores the settings afterwards.

    Args:
        window: widget whose window shows the question.
        card: shows progress and result.
        submit: sends a request to the agent.
        run: runs blocking work on a thread.

    Signals:
        changed: the value of :attr:`is_busy` may have changed.
        measured: a test ended without an error; its BeforeAfterReport.
        recorded: a test was saved in the history.
        settings_changed: the settings of the mount changed, so its advice is outdated.
        closed: the card is hidden, so the headline is shown again.
        failed: the AppError of a plan, a test or a change.
    """

    closed = Signal()
    changed = Signal()
    measured = Signal(object)
    recorded = Signal()
    settings_changed = Signal()
    failed = Signal(object)

    def __init__(
        self,
        window: QWidget,
        card: BeforeAfterCard,
        submit: Callable[[str, Any], BridgeCall],
        run: RunInThread,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._card = card
        self._run_blocking = run
        self._plan_call, self._call = LatestCall(submit), LatestCall(submit)
        self._keep_call = LatestCall(submit)
        self._dialog: BeforeAfterDialog | None = None
        self._plan: BeforeAfterPlan | None = None
        self._report: BeforeAfterReport | None = None
        self._keep_plan: ApplyPlan | None = None
        self._running = self._saving = self._stopping = False
        #: Mount point of the test, and mount point shown on the page.
        self._mount_point = self._shown_mount_point = ""
        card.stop_clicked.connect(self.stop)
        card.keep_clicked.connect(self._on_keep)
        card.undo_clicked.connect(self._on_undo)
        card.close_clicked.connect(self._on_close)

    @property
    def is_busy(self) -> bool:
        """Whether a test runs, or the settings are saved or restored."""
        return self._running or self._saving

    @property
    def is_shown(self) -> bool:
        """Whether the card belongs to the mount shown."""
        return bool(self._mount_point) and self._mount_point == self._shown_mount_point

    def ask(self, args: AdviceArgs) -> None:
        """Plan a test of the recommendations of a mount, and ask whether to start it."""
        if self.is_busy or self._dialog is not None or self._plan_call.is_pending:
            return
        self._plan_call.ask("before-after.plan", args, self._on_plan, self.failed.emit)

    def look_at(self, mount_point: str) -> None:
        """Set the mount point shown; the card is visible only for the tested one."""
        self._shown_mount_point = mount_point
        self._card.setVisible(self.is_shown)

    def stop(self) -> None:
        """Stop the test; the agent restores the old settings."""
        if self._running and not self._stopping:
            self._stopping = True
            self._card.show_stopping()
            self._call.interrupt()

    def reset(self) -> None:
        """Forget the test, because the connection to the host is closed; the agent rolls it back."""
        for call in (self._plan_call, self._keep_call, self._call):
            call.cancel()
        if self._dialog is not None:
            self._dialog.reject()
        self._mount_point = ""
        self._report = self._plan = self._keep_plan = None
        self._card.show_undone()
        self._card.hide()
        self._set_busy(running=False, saving=False)

    # Question

    def _on_plan(self, plan: BeforeAfterPlan) -> None:
        dialog = BeforeAfterDialog(self._window.window(), plan)
        self._dialog = dialog
        dialog.agreed.connect(partial(self._start, plan))
        dialog.finished.connect(self._on_dialog_closed)
        dialog.open()

    def _on_dialog_closed(self, _result: int) -> None:
        self._dialog = None

    # Test

    def _start(self, plan: BeforeAfterPlan) -> None:
        approved = plan.plan.approval is not None
        args = BeforeAfterArgs(
            change=msgspec.structs.replace(plan.change, approved=approved),
            spec=plan.spec,
            recommendations=plan.recommendations,
            seconds=plan.seconds,
        )
        self._plan, self._report, self._keep_plan = plan, None, None
        self._stopping = False
        self._mount_point = plan.change.mount_point
        self._card.show_started(self._mount_point)
        self._card.setVisible(self.is_shown)
        self._card.focus_next()
        self._set_busy(running=True)
        self._call.ask("before-after.run", args, self._on_report, self._on_failed, self._on_event)

    def _on_event(self, event: BeforeAfterEvent) -> None:
        self._card.take(event)
        if event.result is not None:
            self._record(event.result)

    def _record(self, result: TestResult) -> None:
        call = self._run_blocking("history-keep", lambda: record_test(result))
        call.succeeded.connect(self._on_recorded)
        call.failed.connect(self.failed)

    def _on_recorded(self, _recorded: object) -> None:
        self.recorded.emit()

    def _on_report(self, report: BeforeAfterReport) -> None:
        self._report = report
        self._set_busy(running=False)
        self._card.show_result(report)
        self._card.setVisible(self.is_shown)
        if self.is_shown:
            self._card.focus_next()
        self.measured.emit(report)
        self.settings_changed.emit()
        if report.keep is not None:
            self._keep_call.ask("mounts.plan", report.keep, self._on_keep_plan, ignore)

    def _on_failed(self, error: AppError) -> None:
        self._set_busy(running=False)
        if error.kind is ErrorKind.CANCELLED:
            self._card.show_ended(self.tr("Stopped"), self.tr("The old settings are in use."))
        else:
            self._card.show_ended(self.tr("The test failed"), convert_to_chosen_unit(error.message))
            self.failed.emit(error)
        self._card.setVisible(self.is_shown)
        self.settings_changed.emit()

    # Keep and undo

    def _on_keep_plan(self, plan: ApplyPlan) -> None:
        self._keep_plan = plan
        self._card.show_keep_plan(plan)

    def _on_keep(self) -> None:
        report = self._report
        if report is None or report.keep is None or self.is_busy:
            return
        plan = self._keep_plan
        args: ApplyArgs = report.keep
        if plan is not None:
            approved = plan.approval is not None
            args = msgspec.structs.replace(args, expected_sha256=plan.sha256, approved=approved)
        self._set_busy(saving=True)
        self._keep_call.ask("mounts.apply", args, self._on_kept, self._on_not_saved)

    def _on_kept(self, report: ApplyReport) -> None:
        self._set_busy(saving=False)
        self._card.show_kept(report)
        self.settings_changed.emit()

    def _on_undo(self) -> None:
        if self._report is None or self.is_busy:
            return
        plan = self._keep_plan or (self._plan.plan if self._plan is not None else None)
        approved = plan is not None and plan.approval is not None
        self._set_busy(saving=True)
        args = RestoreArgs(settings=self._report.before, approved=approved)
        self._keep_call.ask("mounts.restore", args, self._on_restored, self._on_not_saved)

    def _on_restored(self, _mount: Mount) -> None:
        self._report = None
        self._set_busy(saving=False)
        self._card.show_undone()
        self.settings_changed.emit()

    def _on_not_saved(self, error: AppError) -> None:
        self._set_busy(saving=False)
        self.failed.emit(error)
        self.settings_changed.emit()

    def _on_close(self) -> None:
        self._mount_point = ""
        self._card.hide()
        self.closed.emit()

    def _set_busy(self, *, running: bool | None = None, saving: bool | None = None) -> None:
        self._running = self._running if running is None else running
        self._saving = self._saving if saving is None else saving
        self._card.set_busy(busy=self._saving)
        self.changed.emit()

"""Plan view: steps of a change with their exact commands, differences of files, and warnings.

While the change is applied, each step shows its state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QGridLayout, QLabel, QVBoxLayout, QWidget

from advisor.options import catalogue
from app.mounts.change_text import approval_sentences
from app.mounts.entry_options import added_sentences
from app.mounts.findings import finding_text, findings_before_writing
from app.text.message import message_text
from ui.common import theme
from ui.common.cards import text_button
from ui.common.labels import MutedLabel, enlarge, plain_label
from ui.common.message_list import MessageList
from ui.common.status_text import diff_files, value_label
from ui.common.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.errors import AppError
    from app.mounts.change_model import ApplyPlan, ApplyStep, PlannedOptionChange, StepKind, StepState
    from app.mounts.model import Holder

#: Symbol of each step state.
_SIGNS: dict[StepState, str] = {"begun": "▸", "done": "✓", "failed": "✖", "skipped": "–"}  # noqa: RUF001
#: Step state to the name of its color, a field of :class:`ui.common.theme.Colors`.
_MEANINGS: dict[StepState, str] = {"begun": "info", "done": "ok", "failed": "error", "skipped": "muted"}


class StepList(QWidget):
    """List of the steps of a change, each with its state."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._steps: list[ApplyStep] = []
        self._states: dict[int, StepState] = {}
        self._signs: list[QLabel] = []
        self._notes: list[QLabel] = []
        self._widgets: list[QWidget] = []
        self._commands: list[QLabel] = []
        self._shows_commands = False
        self._title = plain_label(title)
        enlarge(self._title, 1.0, bold=True)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(2, 1)
        self._grid.addWidget(self._title, 0, 0, 1, 3)
        self.hide()

    def show_steps(self, steps: Sequence[ApplyStep]) -> None:
        """Show these steps without a state."""
        self._steps = list(steps)
        self._states = {}
        for widget in self._widgets:
            self._grid.removeWidget(widget)
            widget.hide()
            widget.deleteLater()
        self._signs, self._notes, self._widgets, self._commands = [], [], [], []
        for number, step in enumerate(steps):
            self._add(number, step)
        self._update_colors()
        self.setVisible(bool(steps))

    def show_commands(self, *, shown: bool) -> None:
        """Show or hide the command of each step."""
        self._shows_commands = shown
        for command in self._commands:
            command.setVisible(shown)

    def kind(self, number: int) -> StepKind | None:
        """Return the kind of a step, or None if no step has this number; the first step is 0."""
        return self._steps[number].kind if 0 <= number < len(self._steps) else None

    def state(self, number: int) -> StepState | None:
        """Return the state of a step, or None if it has not begun."""
        return self._states.get(number)

    def set_state(self, number: int, state: StepState, note: str = "") -> None:
        """Show the state of a step; the first step is 0.

        Args:
            number: index of the step.
            state: its new state.
            note: text below the step; not shown if it repeats the step's text.
        """
        if not 0 <= number < len(self._steps):
            return
        self._states[number] = state
        self._signs[number].setText(_SIGNS[state])
        self._signs[number].setAccessibleName(self._state_text(state))
        shown_note = "" if note == self._steps[number].text else note
        self._notes[number].setText(shown_note)
        self._notes[number].setVisible(bool(shown_note))
        self._update_colors()

    def _state_text(self, state: StepState) -> str:
        return {
            "begun": self.tr("Running"),
            "done": self.tr("Done"),
            "failed": self.tr("Failed"),
            "skipped": self.tr("Skipped"),
        }[state]

    def _add(self, number: int, step: ApplyStep) -> None:
        sign = plain_label(" ")
        sign.setMinimumWidth(self.fontMetrics().horizontalAdvance("✖ "))
        enlarge(sign, 1.0, bold=True)
        text = plain_label(step.text, wrap=True)
        note = plain_label(wrap=True)
        note.hide()
        row = 1 + 3 * number
        top = Qt.AlignmentFlag.AlignTop
        self._grid.addWidget(sign, row, 0, top)
        self._grid.addWidget(text, row, 2)
        count = plain_label(f"{number + 1}.")
        self._grid.addWidget(count, row, 1, top)
        self._widgets += [sign, count, text, note]
        if step.command:
            command = MutedLabel(step.command, wrap=True)
            command.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
            command.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            command.setVisible(self._shows_commands)
            self._grid.addWidget(command, row + 1, 2)
            self._widgets.append(command)
            self._commands.append(command)
        self._grid.addWidget(note, row + 2, 2)
        self._signs.append(sign)
        self._notes.append(note)

    def _update_colors(self) -> None:
        colors = theme.colors()
        for number, state in self._states.items():
            theme.tint(self._signs[number], getattr(colors, _MEANINGS[state]))
            if state == "failed":
                theme.tint(self._notes[number], colors.error)

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_grid"):
            self._update_colors()


#: Maximum number of lines of an error's detail.
_DETAIL_LINES = 6


def process_line(holder: Holder) -> str:
    """Return a process in one line: command, process ID, owner, and the file that it uses."""
    user = f", {holder.user}" if holder.user else ""
    return f"{holder.command} ({holder.pid}{user}): {holder.use}"


class PlanView(QWidget):
    """View of an ApplyPlan, and of its progress while the change is applied."""

    def __init__(self) -> None:
        super().__init__()
        self._problem = MessageList("", "error")
        self._problem.setObjectName("plan-problem")
        self._approval = MessageList("", "warn")
        self._approval.setObjectName("plan-approval")
        self._warnings = MessageList("", "warn")
        self._warnings.setObjectName("plan-warnings")
        self._holders = MessageList(self.tr("Programs That Use the Mount"), "warn")
        self._holders.setObjectName("plan-holders")
        self._added = MessageList("", "info")
        self._added.setObjectName("plan-added")
        self._changes = MessageList(self.tr("Changes"), "info")
        self._changes.setObjectName("plan-changes")
        self.steps = StepList(self.tr("Steps"))
        self._show_commands = text_button("")
        self._show_commands.setObjectName("plan-commands")
        self._show_commands.setCheckable(True)
        self._show_commands.toggled.connect(self._on_commands_toggled)
        #: Differences of the files that the plan writes.
        self._diff_text = ""
        self._diff_title = plain_label(wrap=True)
        enlarge(self._diff_title, 1.0, bold=True)
        self._diff = TextView(self.tr("Change of the file"), lines=16, diff=True)
        self._diff.setObjectName("plan-diff")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 8, 0)
        layout.setSpacing(12)
        for widget in (self._problem, self._approval, self._warnings, self._holders, self._changes,
                       self._added, self.steps):  # fmt: skip
            layout.addWidget(widget)
        layout.addWidget(self._show_commands, 0, Qt.AlignmentFlag.AlignLeft)
        layout.addWidget(self._diff_title)
        layout.addWidget(self._diff)
        layout.addStretch(1)
        self._messages = (
            self._problem, self._approval, self._warnings, self._holders, self._changes, self._added,
        )  # fmt: skip
        self.clear()

    def clear(self) -> None:
        """Clear the view."""
        for message_list in self._messages:
            message_list.show_sentences([])
        self.steps.show_steps([])
        self._show_diff("")

    def show_plan(self, plan: ApplyPlan) -> None:
        """Show a plan."""
        self._problem.show_sentences([])
        self._approval.show_sentences(approval_sentences(plan.approval) if plan.approval is not None else [])
        warnings: list[str] = []
        if plan.sharing:
            warnings.append(
                self.tr("The options of the connections do not change while these mounts of the server are "
                        "mounted: {places}.").format(places=", ".join(plan.sharing))
            )  # fmt: skip
        missing = [finding_text(finding) for finding in findings_before_writing(plan.findings)]
        self._warnings.show_sentences([*missing, *warnings, *plan.warnings])
        self._holders.show_sentences([process_line(holder) for holder in plan.holders])
        self._changes.show_sentences([self._change_line(change) for change in plan.changes])
        self._added.show_sentences(added_sentences(plan.for_safety, plan.for_boot))
        self.steps.show_steps(plan.steps)
        self._show_diff(plan.diff + plan.rule_diff)

    def show_problem(self, error: AppError) -> None:
        """Show the error that prevented the plan or made the change fail; the steps stay visible."""
        texts = [error.message, error.hint, *error.detail.splitlines()[:_DETAIL_LINES]]
        self._problem.show_sentences(["\n".join(text for text in texts if text)])

    def show_progress_only(self) -> None:
        """Hide all parts of the plan but its steps."""
        for message_list in self._messages:
            message_list.show_sentences([])
        self._show_diff("")

    def show_waiting_for(self, holders: list[Holder]) -> None:
        """Show the processes whose end the change waits for."""
        self._holders.show_sentences([process_line(holder) for holder in holders])

    def problem(self) -> str:
        """Return the text of the error shown, or ""."""
        return " ".join(self._problem.sentences())

    def _show_diff(self, diff: str) -> None:
        self._diff_text = diff
        names = diff_files(diff)
        self._diff_title.setText(self.tr("Written to {files}").format(files=", ".join(names)))
        self._diff.show_text(diff)
        self._on_commands_toggled(self._show_commands.isChecked())

    def _on_commands_toggled(self, shown: bool) -> None:  # noqa: FBT001 - a slot
        self.steps.show_commands(shown=shown)
        self._diff_title.setVisible(shown and bool(self._diff_text))
        self._diff.setVisible(shown and bool(self._diff_text))
        self._show_commands.setText(self.tr("Hide Commands") if shown else self.tr("Show Commands"))
        self._show_commands.setVisible(not self.steps.isHidden())

    def _change_line(self, change: PlannedOptionChange) -> str:
        option = catalogue().find(change.name)
        title = option.label if option is not None else self.tr("Readahead")  # the only one without an option
        label = f"{title} ({change.name})"
        takes = {
            "live": self.tr("takes effect at once"),
            "remount": self.tr("takes effect by a remount"),
            "mount": self.tr("takes effect by unmounting and mounting"),
            "host": self.tr("for the whole computer"),
            "boot": self.tr("takes effect at the next boot"),
        }[change.takes]
        note = f" {message_text(change.note)}" if change.note is not None and change.takes != "boot" else ""
        before, after = (
            self.tr("not set") if value is None else value_label(change.name, value)
            for value in (change.before, change.after)
        )
        return self.tr("{label}: {before} → {after}, {takes}.{note}").format(
            label=label, before=before, after=after, takes=takes, note=note
        )

"""What a change would do, to be read before anybody agrees to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QVBoxLayout, QWidget

from advisor.options import catalogue
from app.mounts.approval import sentences
from app.mounts.entry_options import added_sentences
from app.mounts.findings import finding_text, grave
from ui.apply.plan_view import StepList
from ui.common.labels import enlarge, plain_label
from ui.common.message_list import Sentences
from ui.common.status_text import diff_files, value_of
from ui.common.text_view import TextView

if TYPE_CHECKING:
    from app.errors import AppError
    from app.mounts.change_model import OptionChange, Plan
    from app.mounts.model import Holder


#: Of the raw text of a failure.
_DETAIL_LINES = 6


def holder_line(holder: Holder) -> str:
    """Return a process in one line: name, number, owner, and what it uses."""
    user = f", {holder.user}" if holder.user else ""
    return f"{holder.command} ({holder.pid}{user}): {holder.use}"


class PlanView(QWidget):
    """Shows a Plan, and while it is carried out how far it is."""

    def __init__(self) -> None:
        super().__init__()
        self._problem = Sentences("", "error")
        self._problem.setObjectName("plan-problem")
        self._approval = Sentences("", "warn")
        self._approval.setObjectName("plan-approval")
        self._warnings = Sentences("", "warn")
        self._warnings.setObjectName("plan-warnings")
        self._holders = Sentences(self.tr("Programs that use it now"), "warn")
        self._holders.setObjectName("plan-holders")
        self._added = Sentences("", "info")
        self._added.setObjectName("plan-added")
        self._changes = Sentences(self.tr("What changes"), "info")
        self._changes.setObjectName("plan-changes")
        self.steps = StepList(self.tr("What will be done"))
        self._diff_title = plain_label(wrap=True)
        enlarge(self._diff_title, 1.0, bold=True)
        self._diff = TextView(self.tr("Change of the file"), lines=16, diff=True)
        self._diff.setObjectName("plan-diff")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 8, 0)
        layout.setSpacing(12)
        for widget in (self._problem, self._approval, self._warnings, self._holders, self._changes,
                       self._added, self.steps, self._diff_title, self._diff):  # fmt: skip
            layout.addWidget(widget)
        layout.addStretch(1)
        self._all = (
            self._problem, self._approval, self._warnings, self._holders, self._changes, self._added,
        )  # fmt: skip
        self.clear()

    def clear(self) -> None:
        """Show nothing."""
        for shown in self._all:
            shown.show_sentences([])
        self.steps.show_steps([])
        self._show_diff("")

    def show_plan(self, plan: Plan) -> None:
        """Show a plan."""
        self._problem.show_sentences([])
        self._approval.show_sentences(sentences(plan.approval) if plan.approval is not None else [])
        warnings: list[str] = []
        if plan.sharing:
            warnings.append(
                self.tr("These mounts share the server's connections; what belongs to those stays as it is "
                        "while any of them is mounted: {places}.").format(places=", ".join(plan.sharing))
            )  # fmt: skip
        missing = [finding_text(finding) for finding in grave(plan.findings)]
        self._warnings.show_sentences([*missing, *warnings, *plan.warnings])
        self._holders.show_sentences([holder_line(holder) for holder in plan.holders])
        self._changes.show_sentences([self._change_line(change) for change in plan.changes])
        self._added.show_sentences(added_sentences(plan.for_safety, plan.for_boot))
        self.steps.show_steps(plan.steps)
        self._show_diff(plan.diff + plan.rule_diff)

    def show_problem(self, error: AppError) -> None:
        """Show why there is no plan, or what failed of it; the steps stay."""
        texts = [error.message, error.hint, *error.detail.splitlines()[:_DETAIL_LINES]]
        self._problem.show_sentences(["\n".join(text for text in texts if text)])

    def show_progress_only(self) -> None:
        """Hide what belongs to the choice."""
        for shown in self._all:
            shown.show_sentences([])
        self._show_diff("")

    def show_waiting_for(self, holders: list[Holder]) -> None:
        """Show the processes that are waited for."""
        self._holders.show_sentences([holder_line(holder) for holder in holders])

    def problem(self) -> str:
        """Return what is wrong, "" if nothing."""
        return " ".join(self._problem.sentences())

    def _show_diff(self, diff: str) -> None:
        names = diff_files(diff)
        self._diff_title.setText(self.tr("What is written to {files}").format(files=", ".join(names)))
        self._diff.show_text(diff)
        self._diff_title.setVisible(bool(diff))
        self._diff.setVisible(bool(diff))

    def _change_line(self, change: OptionChange) -> str:
        option = catalogue().find(change.name)
        named = option.label if option is not None else self.tr("Readahead")  # which is no mount option
        label = f"{named} ({change.name})"
        takes = {
            "live": self.tr("takes effect at once"),
            "remount": self.tr("takes effect by a remount"),
            "mount": self.tr("takes effect by unmounting and mounting"),
            "host": self.tr("for the whole computer"),
            "boot": self.tr("takes effect at the next start"),
        }[change.takes]
        note = f" {change.note}" if change.note and change.takes != "boot" else ""
        before, after = (
            self.tr("not given") if value is None else value_of(change.name, value)
            for value in (change.before, change.after)
        )
        return f"{label}: {before} → {after}; {takes}.{note}"

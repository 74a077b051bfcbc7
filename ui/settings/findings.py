"""Findings in the settings form: each in one line, with its reason on request and a button that fixes it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QPushButton, QVBoxLayout, QWidget

from ui.common.cards import text_button
from ui.common.icons import icon_label
from ui.common.labels import MutedLabel, plain_label, plain_tip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.finding import Finding
    from advisor.lint import Severity

#: Severity to its icon and the name of its color, a field of :class:`ui.common.theme.Colors`.
_ICONS: dict[Severity, tuple[str, str]] = {
    "error": ("error", "error"), "warning": ("warning", "warn"), "info": ("info", "info")
}  # fmt: skip


class FindingView(QWidget):
    """One finding: symbol, sentence, the buttons “Why” and “Fix”, and the reason while it is unfolded.

    Signals:
        fix_chosen: the user wants the fix in the form.
    """

    fix_chosen = Signal()

    def __init__(self, finding: Finding) -> None:
        super().__init__()
        self.finding = finding
        names: dict[Severity, str] = {
            "error": self.tr("Error"), "warning": self.tr("Warning"), "info": self.tr("Note")
        }  # fmt: skip
        sign = icon_label(*_ICONS[finding.severity])
        sign.setAccessibleName(names[finding.severity])
        title = plain_label(finding.title, wrap=True)
        title.setObjectName(f"finding-{finding.rule}")
        title.setToolTip(plain_tip(finding.source))
        title.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._why_button = text_button(self.tr("Why"))
        self._why_button.setObjectName(f"why-{finding.rule}")
        self._why_button.setCheckable(True)
        self._why_button.setAccessibleName(self.tr("Why: {title}").format(title=finding.title))
        # Commands for the administrator: one per line, and selectable to be copied.
        self._why = MutedLabel("\n".join([finding.why, *finding.mend]), wrap=True)
        self._why.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._why.hide()
        self._why_button.toggled.connect(self._why.setVisible)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 2, 0, 2)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(1, 1)
        top = Qt.AlignmentFlag.AlignTop
        grid.addWidget(sign, 0, 0, top)
        grid.addWidget(title, 0, 1, Qt.AlignmentFlag.AlignVCenter)
        grid.addWidget(self._why_button, 0, 2, top)
        grid.addWidget(self._why, 1, 1, 1, -1)
        if finding.fix is not None:
            fix = QPushButton(self.tr("Fix: {change}").format(change=finding.change))
            fix.setObjectName(f"fix-{finding.rule}")
            fix.clicked.connect(self.fix_chosen)
            grid.addWidget(fix, 0, 3, top)


class FindingList(QWidget):
    """Findings below each other; hidden if there are none.

    Signals:
        fix_chosen: the Finding whose fix the user wants in the form.
    """

    fix_chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._views: list[FindingView] = []
        self._rows = QVBoxLayout(self)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(2)
        self.hide()

    def findings(self) -> list[Finding]:
        """Return the findings shown."""
        return [view.finding for view in self._views]

    def show_findings(self, findings: Sequence[Finding]) -> None:
        """Replace the findings shown; those that stay keep their unfolded reason."""
        if list(findings) == self.findings():
            return
        before = {id(view): view for view in self._views}
        views: list[FindingView] = []
        for finding in findings:
            kept = next((view for view in before.values() if view.finding == finding), None)
            if kept is not None:
                del before[id(kept)]
            views.append(kept or self._make_view(finding))
        for view in before.values():
            self._rows.removeWidget(view)
            view.hide()
            view.deleteLater()
        for number, view in enumerate(views):
            self._rows.insertWidget(number, view)
        self._views = views
        self.setVisible(bool(views))

    def _make_view(self, finding: Finding) -> FindingView:
        view = FindingView(finding)
        view.fix_chosen.connect(partial(self.fix_chosen.emit, finding))
        return view

"""Findings panel: lint results on the options in the form: severity, reason, and a button that fixes them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QPushButton, QScrollArea, QWidget

from ui.common import theme
from ui.common.labels import MutedLabel, enlarge, plain_label, plain_tip

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent

    from advisor.finding import Finding
    from advisor.lint import Severity

#: Maximum height of the panel, text lines; it scrolls beyond that.
_LINES = 7
#: Symbol of each severity.
_MARKS: dict[Severity, str] = {"error": "✖", "warning": "⚠", "info": "ℹ"}  # noqa: RUF001 - the sign
#: Severity to the name of its color, a field of :class:`ui.common.theme.Colors`.
_MEANINGS: dict[Severity, str] = {"error": "error", "warning": "warn", "info": "info"}


class FindingsPanel(QScrollArea):
    """List of lint findings; hidden if there are none.

    Signals:
        fix_chosen: the Finding whose fix the user wants in the form.
    """

    fix_chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("findings")
        self.setAccessibleName(self.tr("Findings"))
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._findings: list[Finding] = []
        self._severity_labels: list[tuple[QLabel, Severity]] = []
        self.hide()

    def show_findings(self, findings: list[Finding]) -> None:
        """Replace the findings shown."""
        if findings == self._findings:
            return
        self._findings = findings
        self._severity_labels = []
        page = QWidget()
        grid = QGridLayout(page)
        grid.setContentsMargins(0, 2, 0, 2)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(1)
        grid.setColumnStretch(1, 1)
        for number, finding in enumerate(findings):
            self._add(grid, 2 * number, finding)
        self.setWidget(page)  # Qt deletes the previous page
        self._update_colors()
        self.setVisible(bool(findings))
        self.updateGeometry()

    def _add(self, grid: QGridLayout, row: int, finding: Finding) -> None:
        severity_names: dict[Severity, str] = {
            "error": self.tr("Error"), "warning": self.tr("Warning"), "info": self.tr("Note")
        }  # fmt: skip
        severity_label = plain_label(f"{_MARKS[finding.severity]} {severity_names[finding.severity]}")
        enlarge(severity_label, 1.0, bold=True)
        title = plain_label(finding.title, wrap=True)
        # Commands for the administrator: one per line, and selectable to be copied.
        why = MutedLabel("\n".join([finding.why, *finding.mend]), wrap=True)
        for label in (title, why):
            label.setToolTip(plain_tip(finding.source))
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._severity_labels.append((severity_label, finding.severity))
        grid.addWidget(severity_label, row, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(title, row, 1)
        grid.addWidget(why, row + 1, 1)
        if finding.fix is not None:
            button = QPushButton(self.tr("Fix: {change}").format(change=finding.change))
            button.setObjectName(f"fix-{finding.rule}")
            button.clicked.connect(partial(self.fix_chosen.emit, finding))
            grid.addWidget(button, row, 2, 2, 1, Qt.AlignmentFlag.AlignTop)

    def _update_colors(self) -> None:
        colors = theme.colors()
        for label, severity in self._severity_labels:
            theme.tint(label, getattr(colors, _MEANINGS[severity]))

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: the height of the findings, at most _LINES text lines."""
        page = self.widget()
        layout = page.layout() if page is not None else None
        if layout is None:
            return QSize(0, 0)
        content_height = max(layout.totalHeightForWidth(self.width()), layout.totalMinimumSize().height())
        return QSize(
            super().sizeHint().width(), min(content_height, self.fontMetrics().lineSpacing() * _LINES)
        )

    def minimumSizeHint(self) -> QSize:
        """Qt: the height of the size hint, so that a layout cannot shrink the findings away."""
        return QSize(0, self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: update the height, because the new width wraps the lines differently."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_words"):
            self._update_colors()

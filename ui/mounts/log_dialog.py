"""Log dialog: lines of the system log about a mount and its server, with a button to copy them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QDialog, QHBoxLayout, QLabel, QPushButton, QVBoxLayout

from app.mounts.model import LogArgs, MountLog
from app.mounts.system_log import log_text
from ui.common.bridge import LatestCall
from ui.common.dialogs import add_buttons
from ui.common.labels import ProblemLabel, plain_label
from ui.common.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from app.errors import AppError
    from ui.common.bridge import BridgeCall

#: Maximum number of lines requested from the log.
_LINES = 1000


class LogDialog(QDialog):
    """Dialog with the log lines of a selectable period, newest last.

    Args:
        parent: the window.
        share: share of the mount.
        mount_point: mount point of the mount.
        submit: sends a request to the agent.
    """

    def __init__(
        self, parent: QWidget, share: str, mount_point: str, submit: Callable[[str, Any], BridgeCall]
    ) -> None:
        super().__init__(parent)
        self.setObjectName("log-dialog")
        self.setWindowTitle(self.tr("Log of {path}").format(path=mount_point))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._mount_point = mount_point
        self._call = LatestCall(submit)
        self._about = plain_label(
            self.tr("Lines of this computer's log about {share} at {path}, and about its server.").format(
                share=share, path=mount_point
            ),
            wrap=True,
        )
        self._since = QComboBox()
        self._since.setObjectName("log-since")
        for text, hours in ((self.tr("Last hour"), 1), (self.tr("Last 24 hours"), 24),
                            (self.tr("Last 7 days"), 168)):  # fmt: skip
            self._since.addItem(text, hours)
        self._since.setCurrentIndex(1)
        self._lines = TextView(self.tr("Lines of the log"), lines=24)
        self._lines.setObjectName("log-lines")
        self._lines.setLineWrapMode(TextView.LineWrapMode.WidgetWidth)
        self._status = plain_label(wrap=True)
        self._status.setObjectName("log-told")
        self._status.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._problem = ProblemLabel()
        self._refresh = QPushButton(self.tr("&Refresh"))
        self._refresh.setObjectName("log-refresh")
        self._refresh.clicked.connect(self._ask)
        self._copy = QPushButton(self.tr("&Copy Lines"))
        self._copy.setObjectName("log-copy")
        self._copy.clicked.connect(self._on_copy)
        self._lay_out()
        self._since.currentIndexChanged.connect(self._ask)
        self._ask()

    def _lay_out(self) -> None:
        label = QLabel(self.tr("&Period"))
        label.setBuddy(self._since)
        period = QHBoxLayout()
        period.addWidget(label)
        period.addWidget(self._since)
        period.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 14)
        layout.setSpacing(10)
        layout.addWidget(self._about)
        layout.addLayout(period)
        layout.addWidget(self._lines, 1)
        layout.addWidget(self._status)
        layout.addWidget(self._problem)
        close = add_buttons(self, layout, self.tr("C&lose"), [self._refresh, self._copy], None)
        close.setFocus()
        self.resize(self.fontMetrics().averageCharWidth() * 140, self.fontMetrics().lineSpacing() * 32)

    def _ask(self) -> None:
        self._stop()
        args = LogArgs(
            mount_point=self._mount_point, since_s=3600.0 * self._since.currentData(), lines=_LINES
        )
        self._show_status(self.tr("Reading the log…"))
        self._refresh.setEnabled(not self._call.ask("mounts.log", args, self._on_log, self._on_failed))

    def _on_log(self, log: MountLog) -> None:
        self._refresh.setEnabled(True)
        self._lines.show_text(
            "\n".join(f"{_time_text(line.time_s)}  {line.program}: {line.text}" for line in log.lines)
        )
        bar = self._lines.verticalScrollBar()
        bar.setValue(bar.maximum())
        self._copy.setEnabled(bool(log.lines))
        self._show_status("\n".join(log_text(log, self._mount_point)))

    def _on_failed(self, error: AppError) -> None:
        self._refresh.setEnabled(True)
        self._show_status("")
        self._problem.show_problem(f"{error.message} {error.hint}".strip())

    def _stop(self) -> None:
        self._problem.show_problem("")
        self._copy.setEnabled(False)
        self._call.cancel()

    def _show_status(self, text: str) -> None:
        self._status.setText(text)
        self._status.setVisible(bool(text))

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._lines.toPlainText() + "\n")

    # Qt overrides

    def done(self, result: int) -> None:
        """Qt: cancel the pending request."""
        self._stop()
        super().done(result)


def _time_text(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC).astimezone():%b %d %H:%M:%S}"

"""“Keep these settings?”, with the seconds until they are taken back."""

from __future__ import annotations

import math

from PySide6.QtCore import QDeadlineTimer, Qt, QTimer, Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from ui.common.dialogs import add_buttons, fit
from ui.common.labels import enlarge, heading, plain_label

#: How often the seconds are looked at, milliseconds.
_TICK_MS = 100


class KeepDialog(QDialog):
    """Counts down. The agent reverts by itself when nobody answers it.

    Signals:
        kept: the person wants to keep them.
        reverted: the person wants them back as they were, now.
    """

    kept = Signal()
    reverted = Signal()

    def __init__(self, parent: QWidget, mount_point: str, seconds: float) -> None:
        super().__init__(parent)
        self.setObjectName("keep")
        self.setWindowTitle(self.tr("Keep these settings?"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._answered = False
        self._deadline = QDeadlineTimer(int(seconds * 1000))
        self._seconds = plain_label()
        self._seconds.setObjectName("keep-seconds")
        enlarge(self._seconds, 3.2, bold=True)
        self._seconds.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._seconds.setMinimumWidth(self._seconds.fontMetrics().horizontalAdvance("000"))
        self._text = plain_label(
            self.tr("{path} is mounted with the new settings. Look whether all works as it should: without "
                    "an answer, everything goes back to what it was.").format(path=mount_point), wrap=True
        )  # fmt: skip
        self._keep = QPushButton(self.tr("&Keep these settings"))
        self._keep.setObjectName("keep-keep")
        self._keep.clicked.connect(self._on_keep)
        texts = QVBoxLayout()
        texts.addWidget(heading(self.tr("Keep these settings?"), scale=1.3))
        texts.addWidget(self._text)
        top = QHBoxLayout()
        top.setSpacing(18)
        top.addWidget(self._seconds)
        top.addLayout(texts, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 18, 18, 14)
        layout.setSpacing(14)
        layout.addLayout(top)
        self._back = add_buttons(self, layout, self.tr("&Revert now"), [self._keep], None)
        self._tick = QTimer(self)
        self._tick.setInterval(_TICK_MS)
        self._tick.timeout.connect(self._show_seconds)
        self._tick.start()
        self._show_seconds()
        fit(self, 76)

    def set_remaining(self, seconds: float) -> None:
        """Take the agent's word for the time that is left."""
        self._deadline = QDeadlineTimer(int(seconds * 1000))

    def done(self, result: int) -> None:
        """Qt: closing it in any other way than by Keep reverts."""
        self._tick.stop()
        if not self._answered:
            self._answered = True
            self.reverted.emit()
        super().done(result)

    def finish(self) -> None:
        """Close it: the change has ended."""
        self._answered = True
        self.reject()

    def _show_seconds(self) -> None:
        left = math.ceil(self._deadline.remainingTime() / 1000)
        if left == 0:
            self._keep.setEnabled(False)
            self._back.setEnabled(False)
            self._text.setText(self.tr("Nobody answered: everything goes back to what it was…"))
            self._answered = True  # the agent does it
            self._tick.stop()
        if self._seconds.text() != str(left):
            self._seconds.setText(str(left))
            self._seconds.setAccessibleName(self.tr("{count} seconds left").format(count=left))

    def _on_keep(self) -> None:
        self._answered = True
        self.kept.emit()
        self.accept()

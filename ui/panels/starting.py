"""Shown while a host is being opened, and when that failed."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from ui.common.labels import MutedLabel, heading


class StartingPanel(QWidget):
    """A sentence, a moving bar, and a way back.

    Signals:
        retry_clicked: try the same host again.
        back_clicked: go back to this computer.
    """

    retry_clicked = Signal()
    back_clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._title = heading("", scale=1.4)
        self._title.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._text = MutedLabel(wrap=True)
        self._text.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(self.tr("In progress"))
        self._bar.setMaximumWidth(self.fontMetrics().averageCharWidth() * 50)
        self._retry = QPushButton(self.tr("&Try again"))
        self._retry.setObjectName("starting-retry")
        self._retry.clicked.connect(self.retry_clicked)
        self._back = QPushButton(self.tr("&Back to this computer"))
        self._back.setObjectName("starting-back")
        self._back.clicked.connect(self.back_clicked)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self._retry)
        buttons.addWidget(self._back)
        buttons.addStretch(1)
        bar = QHBoxLayout()
        bar.addWidget(self._bar)
        layout = QVBoxLayout(self)
        layout.setSpacing(12)
        layout.addStretch(2)
        layout.addWidget(self._title)
        layout.addWidget(self._text)
        layout.addLayout(bar)
        layout.addLayout(buttons)
        layout.addStretch(3)

    def show_starting(self, *, lab: bool) -> None:
        """Say that a host is being opened."""
        if lab:
            self._title.setText(self.tr("Starting the lab…"))
            self._text.setText(self.tr("A small virtual machine boots with an NFS server, a client "
                                       "and the link between them. It takes a few seconds."))  # fmt: skip
        else:
            self._title.setText(self.tr("Looking at this computer…"))
            self._text.setText("")
        self._bar.setRange(0, 0)
        self._bar.show()
        self._retry.hide()
        self._back.setVisible(lab)

    def show_failed(self, *, lab: bool) -> None:
        """Say that it did not work; the reason is in the message area."""
        self._title.setText(
            self.tr("The lab is not running") if lab else self.tr("This computer did not answer")
        )
        self._text.setText(self.tr("The message above says why."))
        self._bar.setRange(0, 1)  # stops the movement
        self._bar.hide()
        self._retry.show()
        self._back.setVisible(lab)

"""Placeholder pages: no NFS mount yet, and a host that is being opened or could not be opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from ui.common.labels import MutedLabel, enlarge, heading, plain_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ui.common.session import LabLink

#: Width of the combo box for the link, characters; fits into a narrow window.
_LETTERS = 20


class WelcomePage(QWidget):
    """Page of a host without NFS mounts; offers a first mount and the lab.

    Signals:
        mount_clicked: a new mount is requested.
        lab_clicked: the lab is requested; carries the key of the selected link.
    """

    mount_clicked = Signal()
    lab_clicked = Signal(str)

    def __init__(self, links: Sequence[LabLink]) -> None:
        super().__init__()
        self._links = QComboBox()
        self._links.setObjectName("empty-link")
        self._links.setAccessibleName(self.tr("Link of the lab"))
        for link in links:
            self._links.addItem(link.title, link.key)
        self._links.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self._links.setMinimumContentsLength(_LETTERS)
        gigabit = self._links.findData("gigabit")
        self._links.setCurrentIndex(max(0, gigabit))
        mount_button = QPushButton(self.tr("&Mount a share…"))
        mount_button.setObjectName("empty-mount")
        mount_button.clicked.connect(self.mount_clicked)
        lab_button = QPushButton(self.tr("&Try it in the lab"))
        lab_button.setObjectName("empty-lab")
        lab_button.clicked.connect(self._on_lab)
        for button in (mount_button, lab_button):
            enlarge(button, 1.1)
        inner = QVBoxLayout()
        inner.setSpacing(10)
        title = heading(self.tr("No NFS mounts here yet"), scale=1.5)
        inner.addWidget(title)
        inner.addWidget(
            plain_label(
                self.tr("This computer has no NFS mount, neither in use now nor set up in /etc/fstab."),
                wrap=True,
            )
        )
        inner.addSpacing(14)
        inner.addWidget(self._section(
            self.tr("Mount a share"),
            self.tr("You need the name of a file server and the folder that it shares, "
                    "for example nas01:/export/home."), mount_button))  # fmt: skip
        inner.addWidget(self._section(
            self.tr("Or try everything without a server"),
            self.tr("The lab is a small virtual machine with a real NFS server and client and a network link "
                    "of your choice between them. It changes nothing on this computer and is gone when you "
                    "leave it."), self._links, lab_button))  # fmt: skip
        column = QWidget()
        column.setLayout(inner)
        column.setMaximumWidth(self.fontMetrics().averageCharWidth() * 84)
        outer = QHBoxLayout(self)
        outer.addStretch(1)
        outer.addWidget(column, 8, Qt.AlignmentFlag.AlignVCenter)
        outer.addStretch(1)

    def _section(self, title: str, text: str, *widgets: QWidget) -> QFrame:
        frame = QFrame()
        frame.setFrameShape(QFrame.Shape.StyledPanel)
        row = QHBoxLayout()
        for widget in widgets:
            row.addWidget(widget)
        row.addStretch(1)
        layout = QVBoxLayout(frame)
        layout.setContentsMargins(18, 14, 18, 16)
        layout.setSpacing(8)
        layout.addWidget(heading(title))
        layout.addWidget(MutedLabel(text, wrap=True))
        layout.addLayout(row)
        return frame

    def _on_lab(self) -> None:
        self.lab_clicked.emit(str(self._links.currentData()))


class ConnectingPage(QWidget):
    """Page shown while a host is being opened, and after that failed.

    Signals:
        retry_clicked: open the same host again.
        back_clicked: return to this computer.
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
        """Show that a host is being opened; ``lab`` selects the text for the lab."""
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
        """Show that the host could not be opened; the message area has the reason."""
        self._title.setText(
            self.tr("The lab is not running") if lab else self.tr("This computer did not answer")
        )
        self._text.setText(self.tr("The message above says why."))
        self._bar.setRange(0, 1)  # stops the animation
        self._bar.hide()
        self._retry.show()
        self._back.setVisible(lab)

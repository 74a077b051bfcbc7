"""Where a test before and after stands, and what came out."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout

from ui.common.labels import heading
from ui.widgets.spoken_label import SpokenLabel


class TrialBox(QFrame):
    """Hidden until there is something to say.

    Signals:
        stop_clicked: give it up.
        back_clicked: apply what was before again.
    """

    stop_clicked = Signal()
    back_clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("trial")
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._text = SpokenLabel()
        self._text.setObjectName("trial-text")
        self._title = heading("", scale=1.0)
        self._title.setObjectName("trial-title")
        self._running = self._offered = False
        #: The mount point that it is about, and the one that is shown.
        self._place = self._shown = ""
        self._button = QPushButton()
        self._button.setObjectName("trial-stop")
        self._button.clicked.connect(self._on_clicked)
        self._back = QPushButton(self.tr("Put the old values &back…"))
        self._back.setObjectName("trial-back")
        self._back.clicked.connect(self.back_clicked)
        self._back.hide()
        texts = QVBoxLayout()
        texts.addWidget(self._title)
        texts.addWidget(self._text)
        texts.addWidget(self._back, 0, Qt.AlignmentFlag.AlignLeft)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(14, 8, 14, 10)
        layout.addLayout(texts, 1)
        layout.addWidget(self._button, 0, Qt.AlignmentFlag.AlignTop)
        self.hide()

    def say(self, place: str, text: str, *, running: bool) -> None:
        """Say where the test of a mount point is, and whether it goes on."""
        self._running = running
        self._place = place
        self._title.setText(self.tr("Test before and after: {path}").format(path=place))
        self._text.say(text)
        self.offer_way_back(offered=False)
        self._button.setText(self.tr("&Stop") if running else self.tr("&Close"))
        self.show()

    def offer_way_back(self, *, offered: bool) -> None:
        """Offer to apply again what was before: the change made it slower."""
        self._offered = offered
        self._back.setVisible(offered and self._place == self._shown)

    def look_at(self, place: str) -> None:
        """Another mount is shown: what was before is put back only where it was."""
        self._shown = place
        self.offer_way_back(offered=self._offered)

    def _on_clicked(self) -> None:
        if self._running:
            self.stop_clicked.emit()
        else:
            self.hide()

"""What is wrong with a mount, who waits for it, and what can be done: each choice with what comes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.text.mounts import trouble_text
from ui.common import theme
from ui.common.labels import MutedLabel, plain_label

if TYPE_CHECKING:
    from app.mounts.model import Mount
    from app.mounts.waiting import Waiting
    from app.text.mounts import Choice

_BAR_WIDTH = 4


class TroubleCard(QFrame):
    """Hidden while nothing is wrong.

    Signals:
        force_clicked: unmount it by force.
        detach_clicked: take it out of sight.
        remount_clicked: unmount it and mount it again.
    """

    force_clicked = Signal()
    detach_clicked = Signal()
    remount_clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("trouble")
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAutoFillBackground(True)
        self.setBackgroundRole(QPalette.ColorRole.Base)
        self._bar = QWidget()
        self._bar.setFixedWidth(_BAR_WIDTH)
        self._bar.setAutoFillBackground(True)
        self._message = plain_label(wrap=True)
        self._message.setObjectName("trouble-message")
        self._message.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._choices = QGridLayout()
        self._choices.setColumnStretch(1, 1)
        self._choices.setHorizontalSpacing(12)
        self._choices.setVerticalSpacing(4)
        self._shown: list[Choice] = []
        self._buttons: list[QPushButton] = []
        texts = QVBoxLayout()
        texts.setContentsMargins(12, 8, 12, 8)
        texts.setSpacing(8)
        texts.addWidget(self._message)
        texts.addLayout(self._choices)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._bar)
        layout.addLayout(texts, 1)
        self._colour()
        self.hide()

    def show_trouble(self, mount: Mount | None, now: float, waiting: Waiting | None) -> None:
        """Show what is wrong with a mount; arguments as of :func:`app.text.mounts.trouble_text`."""
        text = trouble_text(mount, now, waiting) if mount is not None else None
        if text is None:
            self.hide()
            return
        if self._message.text() != text.message:
            self._message.setText(text.message)
        if text.choices != self._shown:
            self._show_choices(text.choices)
        self.show()

    def let_act(self, *, busy: bool) -> None:
        """Enable the buttons, or not while something is under way."""
        for button in self._buttons:
            button.setEnabled(not busy)

    def _show_choices(self, choices: list[Choice]) -> None:
        self._shown = choices
        self._buttons = []
        while (item := self._choices.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        actions = {
            "Unmount by force": (self.tr("Unmount by &Force…"), "trouble-force", self.force_clicked),
            "Detach": (self.tr("De&tach…"), "trouble-detach", self.detach_clicked),
            "Remount": (self.tr("&Remount…"), "trouble-remount", self.remount_clicked),
        }
        for row, choice in enumerate(choices):
            action = actions.get(choice.name)
            if action is None:
                name: QWidget = plain_label(choice.name)
            else:
                text, object_name, clicked = action
                button = QPushButton(text)
                button.setObjectName(object_name)
                button.setAccessibleDescription(choice.meaning)
                button.clicked.connect(clicked)
                self._buttons.append(button)
                name = button
            self._choices.addWidget(name, row, 0)
            self._choices.addWidget(MutedLabel(choice.meaning, wrap=True), row, 1)

    def _colour(self) -> None:
        theme.tint(self._bar, theme.colours().error, QPalette.ColorRole.Window, QPalette.ColorRole.Base)

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_bar"):
            self._colour()

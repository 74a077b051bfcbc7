"""Bar of changes that are not applied yet: what was changed, undo of all, and the way to apply them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton

from ui.common.cards import Card, CardKind, primary_button
from ui.common.icons import icon, icon_label
from ui.common.labels import ElidedLabel

if TYPE_CHECKING:
    from collections.abc import Sequence


class PendingBar(Card):
    """Bar below the pages; hidden without changes.

    Signals:
        undo_clicked: undo all changes.
        apply_clicked: preview the changes and apply them.
    """

    undo_clicked = Signal()
    apply_clicked = Signal()

    def __init__(self) -> None:
        super().__init__(CardKind.ACCENT)
        self.setObjectName("pending-bar")
        self._text = ElidedLabel(mode=Qt.TextElideMode.ElideRight)
        self._text.setObjectName("pending-text")
        self._undo = QPushButton(icon("undo"), self.tr("Undo All"))
        self._undo.setObjectName("undo-all")
        self._undo.clicked.connect(self.undo_clicked)
        self._apply = primary_button(self.tr("&Apply…"))
        self._apply.setObjectName("apply")
        self._apply.clicked.connect(self.apply_clicked)
        row = QHBoxLayout()
        row.addWidget(icon_label("info", "accent"))
        row.addWidget(self._text, 1)
        row.addWidget(self._undo)
        row.addWidget(self._apply)
        self.body.setContentsMargins(12, 6, 8, 6)
        self.body.addLayout(row)
        self.hide()

    def show_changes(self, names: Sequence[str], *, busy: bool) -> None:
        """Show what was changed; nothing hides the bar.

        Args:
            names: labels of the changed settings.
            busy: whether an action is running, during which nothing else can be applied.
        """
        self.setVisible(bool(names))
        if names:
            text = (
                self.tr("1 change not applied: {names}")
                if len(names) == 1
                else self.tr("{count} changes not applied: {names}")
            )
            self._text.setText(text.format(count=len(names), names=", ".join(names)))
        self._undo.setEnabled(not busy)
        self._apply.setEnabled(not busy)

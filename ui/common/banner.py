"""Banner: non-modal message area with message, hint, details and an optional action button."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QPushButton, QVBoxLayout

from app.errors import AppError, ErrorKind, leftover_files_text
from app.helper_client.polkit import install_command
from ui.common.cards import Card, CardKind
from ui.common.fonts import scale_font
from ui.common.icons import icon_label
from ui.common.labels import TintedLabel, enlarge, plain_label
from ui.common.speed_units import convert_to_chosen_unit

if TYPE_CHECKING:
    from collections.abc import Callable

#: Time until a note hides itself, ms.
_NOTE_MS = 8000


#: Kind of the card, and icon, by the name of the color of a message.
_LOOKS = {
    "error": (CardKind.ERROR, "error"),
    "warn": (CardKind.WARNING, "warning"),
    "info": (CardKind.ACCENT, "info"),
}


class Banner(Card):
    """Shows one plain-text message; hidden without one.

    Attributes:
        number: serial number of the latest message, from 1; 0 before the first.

    Signals:
        closed: the message was dismissed by the user or by its timer.
    """

    closed = Signal()

    def __init__(self) -> None:
        super().__init__(CardKind.ERROR)
        self.setObjectName("banner")
        self.number = 0
        self._hide_timer = QTimer(self)
        self._hide_timer.setSingleShot(True)
        self._hide_timer.setInterval(_NOTE_MS)
        self._hide_timer.timeout.connect(self.dismiss)
        self._icon = icon_label("error", "error")
        self._severity = TintedLabel(color="error")
        self._severity.setAlignment(Qt.AlignmentFlag.AlignTop)
        enlarge(self._severity, 1.0, bold=True)
        self._message = plain_label(wrap=True)
        self._hint = plain_label(wrap=True)
        for label in (self._message, self._hint):
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        # No mnemonics: the banner is above every page, whose buttons use them. Esc closes it.
        self._details_button = QPushButton(self.tr("Details"))
        self._details_button.setCheckable(True)
        self._details_button.toggled.connect(self._on_details)
        self._copy_button = QPushButton(self.tr("Copy Details"))
        self._copy_button.clicked.connect(self._on_copy)
        self._action_button = QPushButton()
        self._action_button.setObjectName("banner-action")
        self._action_button.clicked.connect(self._on_action)
        self._action: Callable[[], None] | None = None
        close_button = QPushButton(self.tr("Close"))
        close_button.setObjectName("banner-close")
        close_button.clicked.connect(self.dismiss)
        self._detail = QPlainTextEdit()
        self._detail.setReadOnly(True)
        scale_font(self._detail, 1.0, fixed_width=True)
        self._detail.setAccessibleName(self.tr("Details"))
        self._detail.setTabChangesFocus(True)
        self._lay_out(close_button)
        self.hide()

    def _lay_out(self, close_button: QPushButton) -> None:
        texts = QVBoxLayout()
        texts.setSpacing(4)
        texts.addWidget(self._message)
        texts.addWidget(self._hint)
        buttons = QHBoxLayout()
        buttons.addWidget(self._action_button)
        buttons.addWidget(self._details_button)
        buttons.addWidget(self._copy_button)
        buttons.addWidget(close_button)
        top = QHBoxLayout()
        top.setSpacing(12)
        top.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        top.addWidget(self._severity, 0, Qt.AlignmentFlag.AlignTop)
        top.addLayout(texts, 1)
        top.addLayout(buttons)
        top.setAlignment(buttons, Qt.AlignmentFlag.AlignTop)
        self.body.setContentsMargins(12, 10, 10, 10)
        self.body.addLayout(top)
        self.body.addWidget(self._detail)

    def show_error(
        self, error: AppError, action_text: str = "", action: Callable[[], None] | None = None
    ) -> None:
        """Show an error; a cancellation appears as information.

        Args:
            error: error to show.
            action_text: text of the action button.
            action: called once when the button is clicked. None hides the button, except for a missing
                helper: then the button copies the install command.
        """
        if error.kind is ErrorKind.CANCELLED:
            self._show("info", self.tr("Cancelled"), error)
        else:
            self._show("error", self.tr("Error"), error)
        if error.kind is ErrorKind.HELPER_MISSING and action is None:
            action_text, action = self.tr("Copy Command"), _copy_install_command
        self._offer(action_text, action)

    def show_warning(
        self,
        message: str,
        hint: str = "",
        detail: str = "",
        *,
        action_text: str = "",
        action: Callable[[], None] | None = None,
    ) -> None:
        """Show a warning; ``action_text`` and ``action`` are those of :meth:`show_error`."""
        self._show(
            "warn", self.tr("Warning"), AppError(ErrorKind.INTERNAL, message, hint=hint, detail=detail)
        )
        self._offer(action_text, action)

    def show_information(self, message: str, detail: str = "") -> None:
        """Show a note, which hides itself after some seconds if it has no details."""
        self._show("info", self.tr("Note"), AppError(ErrorKind.INTERNAL, message, detail=detail))

    def message(self) -> str:
        """Return the shown message, "" while the banner is hidden."""
        return "" if self.isHidden() else self._message.text()

    def dismiss(self) -> None:
        """Hide the banner."""
        if self.isHidden():
            return
        self._hide_timer.stop()
        self.hide()
        self.closed.emit()

    def _show(self, meaning: str, severity: str, error: AppError) -> None:
        self.number += 1
        self._severity.setText(severity)
        self._message.setText(convert_to_chosen_unit(error.message))
        hint = f"{error.hint} {leftover_files_text(error.remains)}".strip()
        self._hint.setText(hint)
        self._hint.setVisible(bool(hint))
        self._detail.setPlainText(error.detail)
        lines = min(8, max(2, error.detail.count("\n") + 1))
        margins = 2 * (int(self._detail.document().documentMargin()) + self._detail.frameWidth())
        self._detail.setFixedHeight(self._detail.fontMetrics().lineSpacing() * lines + margins + 4)
        self._details_button.setChecked(False)
        self._details_button.setVisible(bool(error.detail))
        self._action = None
        self._action_button.hide()
        self._on_details(shown=False)
        self.setAccessibleName(f"{severity}: {error.message} {hint}".strip())
        kind, icon_name = _LOOKS[meaning]
        self.set_kind(kind)
        self._icon.set_icon(icon_name, meaning)
        self._severity.set_color(meaning)
        self.show()
        # A note without details hides itself; all other messages stay until the user closes them.
        if meaning == "info" and not error.detail and not error.remains:
            self._hide_timer.start()
        else:
            self._hide_timer.stop()

    def _offer(self, text: str, action: Callable[[], None] | None) -> None:
        self._action = action
        self._action_button.setText(text)
        self._action_button.setVisible(action is not None)

    def _on_details(self, shown: bool) -> None:  # noqa: FBT001 - a slot
        self._detail.setVisible(shown)
        self._copy_button.setVisible(shown)

    def _on_action(self) -> None:
        action = self._action
        self.dismiss()
        if action is not None:
            action()

    def _on_copy(self) -> None:
        text = "\n".join(part for part in (self._message.text(), self._hint.text(),
                                           self._detail.toPlainText()) if part)  # fmt: skip
        QGuiApplication.clipboard().setText(text)


def _copy_install_command() -> None:
    QGuiApplication.clipboard().setText(install_command())

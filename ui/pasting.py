"""Paste of a whole mount: from the command, and into the field of the share."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QClipboard, QGuiApplication

from ui.settings.paste import MAX_TEXT, PasteDialog, readings_of

if TYPE_CHECKING:
    from PySide6.QtWidgets import QLineEdit, QWidget

#: Fewer characters than this, added at once, are typed; no mount is shorter.
_LEAST = 8
#: What a field makes of line ends and tabs.
_BLANKS = re.compile(r"[\s\x00-\x1f\u2028\u2029]+")


class Pasting(QObject):
    """Opens the dialog that reads a pasted text.

    Signals:
        chosen: the advisor.dialects.Entry that is to fill the form.
    """

    chosen = Signal(object)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._before: dict[QLineEdit, str] = {}
        self._dialog: PasteDialog | None = None

    def ask(self) -> None:
        """Open the dialog with the clipboard's text, if that says how to mount something."""
        text = _clipboard()
        self._open(text if readings_of(text) else "")

    def close(self) -> None:
        """Close the dialog: the host that it was for is left."""
        if self._dialog is not None:
            self._dialog.reject()

    def watch(self, field: QLineEdit) -> None:
        """Open the dialog when a whole command or line is pasted into this field."""
        self._before[field] = field.text()
        # Qt emits textEdited before textChanged, so the text before is known there.
        field.textEdited.connect(partial(self._on_edited, field))
        field.textChanged.connect(partial(self._on_changed, field))

    def _on_changed(self, field: QLineEdit, _text: str) -> None:
        self._before[field] = field.text()  # the argument is stale where _on_edited has put the text back

    def _on_edited(self, field: QLineEdit, text: str) -> None:
        before = self._before[field]
        if len(text) - len(before) < _LEAST or len(text) > MAX_TEXT or not _BLANKS.search(text):
            return
        found = next((one for one in _candidates(text) if readings_of(one)), "")
        if found:
            field.setText(before)
            field.textEdited.emit(before)
            self._open(found)

    def _open(self, text: str) -> None:
        dialog = PasteDialog(self._window, text)
        self._dialog = dialog
        dialog.chosen.connect(self.chosen)
        dialog.finished.connect(self._on_closed)
        dialog.open()

    def _on_closed(self, _result: int) -> None:
        self._dialog = None


def _candidates(text: str) -> list[str]:
    """Return what may have been pasted: a clipboard's text, which still has its lines, or the field's."""
    flat = _flat(text)
    clipboards = [_clipboard(), _clipboard(QClipboard.Mode.Selection)]
    return [one for one in clipboards if one.strip() and _flat(one) in flat] + [text]


def _flat(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()


def _clipboard(mode: QClipboard.Mode = QClipboard.Mode.Clipboard) -> str:
    clipboard = QGuiApplication.clipboard()
    if mode is QClipboard.Mode.Selection and not clipboard.supportsSelection():
        return ""
    text = clipboard.text(mode)
    return text if len(text) <= MAX_TEXT else ""

"""Paste of a mount: reads a description of an NFS mount in any dialect, from the menu or the share field."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QClipboard, QFontDatabase, QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QFormLayout,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from advisor.dialects import UnreadableMountError, read_every
from ui.common.dialogs import add_buttons
from ui.common.labels import MutedLabel, plain_label
from ui.common.message_list import MessageList

if TYPE_CHECKING:
    from PySide6.QtWidgets import QLineEdit

    from advisor.dialects import MountSpec, ParseResult

#: Maximum length of a text that is parsed, characters; longer than any fstab.
MAX_TEXT = 200_000
#: Delay between the last edit of the text and its parsing, ms.
_TYPING_PAUSE_MS = 120


def parse_results(text: str) -> list[ParseResult]:
    """Return the mounts that a text describes; [] if it is too long or describes no NFS mount."""
    if not text.strip() or len(text) > MAX_TEXT:
        return []
    try:
        return read_every(text)
    except UnreadableMountError:
        return []


class PasteDialog(QDialog):
    """Dialog with a text and the mounts that were read from it.

    Args:
        parent: the window.
        text: initial text.

    Signals:
        chosen: the advisor.dialects.MountSpec that the user wants in the form.
    """

    chosen = Signal(object)

    def __init__(self, parent: QWidget, text: str = "") -> None:
        super().__init__(parent)
        self.setObjectName("paste")
        self.setWindowTitle(self.tr("Paste a mount"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._results: list[ParseResult] = []
        self._text = QPlainTextEdit()
        self._text.setObjectName("paste-text")
        self._text.setAccessibleName(self.tr("Text to read"))
        self._text.setTabChangesFocus(True)
        self._text.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self._text.setPlaceholderText(
            self.tr("for example  mount -t nfs -o vers=4.2 nas01:/export/home /mnt/home")
        )
        self._choice = QListWidget()
        self._choice.setObjectName("paste-entries")
        self._choice.setAccessibleName(self.tr("Mounts in this text"))
        self._status = plain_label(wrap=True)
        self._status.setObjectName("paste-said")
        self._share, self._mount_point, self._options = (plain_label(wrap=True) for _ in range(3))
        self._untranslated = MessageList(self.tr("Not taken over"), "warn")
        self._untranslated.setObjectName("paste-untranslated")
        self._result = QWidget()
        self._use = QPushButton(self.tr("&Fill the form"))
        self._use.setObjectName("paste-use")
        self._use.clicked.connect(self._on_use)
        self._typing_pause = QTimer(self)
        self._typing_pause.setSingleShot(True)
        self._typing_pause.setInterval(_TYPING_PAUSE_MS)
        self._typing_pause.timeout.connect(self._read)
        self._lay_out()
        self._text.textChanged.connect(self._typing_pause.start)
        self._choice.currentRowChanged.connect(self._show_result)
        self._text.setPlainText(text)
        self._text.selectAll()
        self._read()

    def _lay_out(self) -> None:
        form = QFormLayout(self._result)
        form.setContentsMargins(0, 0, 0, 0)
        form.addRow(MutedLabel(self.tr("Share")), self._share)
        form.addRow(MutedLabel(self.tr("Mount point")), self._mount_point)
        form.addRow(MutedLabel(self.tr("Options")), self._options)
        for label in (self._share, self._mount_point):
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 14)
        layout.setSpacing(10)
        layout.addWidget(plain_label(
            self.tr("A mount command, lines of fstab, a systemd unit, an autofs map, or a command of "
                    "OpenBSD, FreeBSD or macOS. Nothing is mounted by this."), wrap=True))  # fmt: skip
        layout.addWidget(self._text, 1)
        layout.addWidget(self._status)
        layout.addWidget(self._choice)
        layout.addWidget(self._result)
        layout.addWidget(self._untranslated)
        add_buttons(self, layout, self.tr("&Cancel"), [self._use], self._use)
        unit = self.fontMetrics().averageCharWidth()
        self.resize(unit * 96, self.fontMetrics().lineSpacing() * 24)
        self._choice.setMaximumHeight(self.fontMetrics().lineSpacing() * 7)

    def _read(self) -> None:
        self._typing_pause.stop()
        text = self._text.toPlainText()
        problem = ""
        self._results = []
        if len(text) > MAX_TEXT:
            problem = self.tr("This text is too long to be read here.")
        elif text.strip():
            try:
                self._results = read_every(text)
            except UnreadableMountError as error:
                problem = str(error)
        self._choice.blockSignals(True)  # noqa: FBT003
        self._choice.clear()
        self._choice.addItems([f"{r.entry.share}  →  {r.entry.mount_point}" for r in self._results])
        self._choice.setCurrentRow(0)
        self._choice.blockSignals(False)  # noqa: FBT003
        self._choice.setVisible(len(self._results) > 1)
        self._status.setText(problem)
        self._show_result(0)

    def _show_result(self, row: int) -> None:
        result = self._results[row] if 0 <= row < len(self._results) else None
        self._result.setVisible(result is not None)
        self._use.setEnabled(result is not None)
        self._untranslated.show_sentences(result.untranslated if result is not None else [])
        self._status.setVisible(result is not None or bool(self._status.text()))
        if result is None:
            return
        status = self.tr("Read as {form}.").format(form=result.form)
        if len(self._results) > 1:
            status = self.tr("{count} mounts; choose one. This one is read as {form}.").format(
                count=len(self._results), form=result.form)  # fmt: skip
        self._status.setText(status)
        self._share.setText(str(result.entry.share))
        self._mount_point.setText(result.entry.mount_point)
        # A zero-width space allows line breaks after commas.
        self._options.setText(str(result.entry.options).replace(",", ",\u200b") or self.tr("none"))

    def _on_use(self) -> None:
        if self._typing_pause.isActive():
            self._read()
        row = max(0, self._choice.currentRow())
        if row < len(self._results):
            entry: MountSpec = self._results[row].entry
            self.accept()
            self.chosen.emit(entry)


#: Minimum number of characters inserted at once that count as a paste; every mount is longer.
_MIN_LENGTH = 8
#: White space and control characters, which a line edit replaces by spaces.
_BLANKS = re.compile(r"[\s\x00-\x1f\u2028\u2029]+")


class PasteController(QObject):
    """Opens the paste dialog from the menu, or when a mount is pasted into a watched field.

    Signals:
        chosen: the advisor.dialects.MountSpec that the user wants in the form.
    """

    chosen = Signal(object)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._previous_text: dict[QLineEdit, str] = {}
        self._dialog: PasteDialog | None = None

    def ask(self) -> None:
        """Open the dialog, with the clipboard's text if that describes a mount."""
        text = _clipboard()
        self._open(text if parse_results(text) else "")

    def close(self) -> None:
        """Close the dialog, because the window switches to another host."""
        if self._dialog is not None:
            self._dialog.reject()

    def watch(self, field: QLineEdit) -> None:
        """Open the dialog when a text that describes a mount is pasted into this field."""
        self._previous_text[field] = field.text()
        # Qt emits textEdited before textChanged, so _on_edited still has the previous text.
        field.textEdited.connect(partial(self._on_edited, field))
        field.textChanged.connect(partial(self._on_changed, field))

    def _on_changed(self, field: QLineEdit, _text: str) -> None:
        self._previous_text[field] = (
            field.text()
        )  # not the argument, which is outdated if _on_edited restored the text

    def _on_edited(self, field: QLineEdit, text: str) -> None:
        previous = self._previous_text[field]
        if len(text) - len(previous) < _MIN_LENGTH or len(text) > MAX_TEXT or not _BLANKS.search(text):
            return
        pasted = next((candidate for candidate in _candidates(text) if parse_results(candidate)), "")
        if pasted:
            field.setText(previous)
            field.textEdited.emit(previous)
            self._open(pasted)

    def _open(self, text: str) -> None:
        dialog = PasteDialog(self._window, text)
        self._dialog = dialog
        dialog.chosen.connect(self.chosen)
        dialog.finished.connect(self._on_closed)
        dialog.open()

    def _on_closed(self, _result: int) -> None:
        self._dialog = None


def _candidates(text: str) -> list[str]:
    """Return the texts that may have been pasted: clipboards contained in the field's text, then that text.

    A clipboard's text comes first because it still has the line ends that the field replaced.
    """
    flat = _single_line(text)
    clipboards = [_clipboard(), _clipboard(QClipboard.Mode.Selection)]
    return [content for content in clipboards if content.strip() and _single_line(content) in flat] + [text]


def _single_line(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()


def _clipboard(mode: QClipboard.Mode = QClipboard.Mode.Clipboard) -> str:
    clipboard = QGuiApplication.clipboard()
    if mode is QClipboard.Mode.Selection and not clipboard.supportsSelection():
        return ""
    text = clipboard.text(mode)
    return text if len(text) <= MAX_TEXT else ""

"""Paste of a mount: any text that describes an NFS mount, from the menu or into the share field."""

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

#: No fstab is longer, in characters; a longer text is not looked at while it is typed.
MAX_TEXT = 200_000
#: How long typing has to rest before the text is read, milliseconds.
_TYPING_PAUSE_MS = 120


def parse_results(text: str) -> list[ParseResult]:
    """Return what a text says, [] if it is nothing that says how to mount NFS."""
    if not text.strip() or len(text) > MAX_TEXT:
        return []
    try:
        return read_every(text)
    except UnreadableMountError:
        return []


class PasteDialog(QDialog):
    """Shows what a text says.

    Signals:
        chosen: the advisor.dialects.MountSpec that is to fill the form.
    """

    chosen = Signal(object)

    def __init__(self, parent: QWidget, text: str = "") -> None:
        super().__init__(parent)
        self.setObjectName("paste")
        self.setWindowTitle(self.tr("Paste a mount"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._readings: list[ParseResult] = []
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
        self._said = plain_label(wrap=True)
        self._said.setObjectName("paste-said")
        self._share, self._point, self._options = (plain_label(wrap=True) for _ in range(3))
        self._untranslated = MessageList(self.tr("Not taken over"), "warn")
        self._untranslated.setObjectName("paste-untranslated")
        self._result = QWidget()
        self._use = QPushButton(self.tr("&Fill the form"))
        self._use.setObjectName("paste-use")
        self._use.clicked.connect(self._on_use)
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(_TYPING_PAUSE_MS)
        self._rest.timeout.connect(self._read)
        self._lay_out()
        self._text.textChanged.connect(self._rest.start)
        self._choice.currentRowChanged.connect(self._show_reading)
        self._text.setPlainText(text)
        self._text.selectAll()
        self._read()

    def _lay_out(self) -> None:
        form = QFormLayout(self._result)
        form.setContentsMargins(0, 0, 0, 0)
        form.addRow(MutedLabel(self.tr("Share")), self._share)
        form.addRow(MutedLabel(self.tr("Mount point")), self._point)
        form.addRow(MutedLabel(self.tr("Options")), self._options)
        for label in (self._share, self._point):
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 14)
        layout.setSpacing(10)
        layout.addWidget(plain_label(
            self.tr("A mount command, lines of fstab, a systemd unit, an autofs map, or a command of "
                    "OpenBSD, FreeBSD or macOS. Nothing is mounted by this."), wrap=True))  # fmt: skip
        layout.addWidget(self._text, 1)
        layout.addWidget(self._said)
        layout.addWidget(self._choice)
        layout.addWidget(self._result)
        layout.addWidget(self._untranslated)
        add_buttons(self, layout, self.tr("&Cancel"), [self._use], self._use)
        unit = self.fontMetrics().averageCharWidth()
        self.resize(unit * 96, self.fontMetrics().lineSpacing() * 24)
        self._choice.setMaximumHeight(self.fontMetrics().lineSpacing() * 7)

    def _read(self) -> None:
        self._rest.stop()
        text = self._text.toPlainText()
        problem = ""
        self._readings = []
        if len(text) > MAX_TEXT:
            problem = self.tr("This text is too long to be read here.")
        elif text.strip():
            try:
                self._readings = read_every(text)
            except UnreadableMountError as error:
                problem = str(error)
        self._choice.blockSignals(True)  # noqa: FBT003
        self._choice.clear()
        self._choice.addItems([f"{r.entry.share}  →  {r.entry.mount_point}" for r in self._readings])
        self._choice.setCurrentRow(0)
        self._choice.blockSignals(False)  # noqa: FBT003
        self._choice.setVisible(len(self._readings) > 1)
        self._said.setText(problem)
        self._show_reading(0)

    def _show_reading(self, row: int) -> None:
        reading = self._readings[row] if 0 <= row < len(self._readings) else None
        self._result.setVisible(reading is not None)
        self._use.setEnabled(reading is not None)
        self._untranslated.show_sentences(reading.untranslated if reading is not None else [])
        self._said.setVisible(reading is not None or bool(self._said.text()))
        if reading is None:
            return
        said = self.tr("Read as {form}.").format(form=reading.form)
        if len(self._readings) > 1:
            said = self.tr("{count} mounts; choose one. This one is read as {form}.").format(
                count=len(self._readings), form=reading.form)  # fmt: skip
        self._said.setText(said)
        self._share.setText(str(reading.entry.share))
        self._point.setText(reading.entry.mount_point)
        # Long option lists may break at their commas.
        self._options.setText(str(reading.entry.options).replace(",", ",\u200b") or self.tr("none"))

    def _on_use(self) -> None:
        if self._rest.isActive():
            self._read()
        row = max(0, self._choice.currentRow())
        if row < len(self._readings):
            entry: MountSpec = self._readings[row].entry
            self.accept()
            self.chosen.emit(entry)


#: Fewer characters than this, added at once, are typed; no mount is shorter.
_MIN_LENGTH = 8
#: What a field makes of line ends and tabs.
_BLANKS = re.compile(r"[\s\x00-\x1f\u2028\u2029]+")


class PasteController(QObject):
    """Opens the dialog that reads a pasted text.

    Signals:
        chosen: the advisor.dialects.MountSpec that is to fill the form.
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
        self._open(text if parse_results(text) else "")

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
        if len(text) - len(before) < _MIN_LENGTH or len(text) > MAX_TEXT or not _BLANKS.search(text):
            return
        found = next((one for one in _candidates(text) if parse_results(one)), "")
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
    flat = _single_line(text)
    clipboards = [_clipboard(), _clipboard(QClipboard.Mode.Selection)]
    return [one for one in clipboards if one.strip() and _single_line(one) in flat] + [text]


def _single_line(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()


def _clipboard(mode: QClipboard.Mode = QClipboard.Mode.Clipboard) -> str:
    clipboard = QGuiApplication.clipboard()
    if mode is QClipboard.Mode.Selection and not clipboard.supportsSelection():
        return ""
    text = clipboard.text(mode)
    return text if len(text) <= MAX_TEXT else ""

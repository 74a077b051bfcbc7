"""Paste anything that says how to mount NFS: what was understood is shown while the text changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import (
    QDialog,
    QFormLayout,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from advisor.dialects import UnreadableError, read_every
from ui.common.dialogs import add_buttons
from ui.common.labels import MutedLabel, plain_label
from ui.common.message_list import Sentences

if TYPE_CHECKING:
    from advisor.dialects import Entry, Reading

#: No fstab is longer, in characters; a longer text is not looked at while it is typed.
MAX_TEXT = 200_000
#: How long typing has to rest before the text is read, milliseconds.
_REST_MS = 120


def readings_of(text: str) -> list[Reading]:
    """Return what a text says, [] if it is nothing that says how to mount NFS."""
    if not text.strip() or len(text) > MAX_TEXT:
        return []
    try:
        return read_every(text)
    except UnreadableError:
        return []


class PasteDialog(QDialog):
    """Shows what a text says.

    Signals:
        chosen: the advisor.dialects.Entry that is to fill the form.
    """

    chosen = Signal(object)

    def __init__(self, parent: QWidget, text: str = "") -> None:
        super().__init__(parent)
        self.setObjectName("paste")
        self.setWindowTitle(self.tr("Paste a mount"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._readings: list[Reading] = []
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
        self._untranslated = Sentences(self.tr("Not taken over"), "warn")
        self._untranslated.setObjectName("paste-untranslated")
        self._result = QWidget()
        self._use = QPushButton(self.tr("&Fill the form"))
        self._use.setObjectName("paste-use")
        self._use.clicked.connect(self._on_use)
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(_REST_MS)
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
            except UnreadableError as error:
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
            entry: Entry = self._readings[row].entry
            self.accept()
            self.chosen.emit(entry)

"""Copy As dialog: a mount in the format (dialect) of another program or system, with that system's limits."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from advisor.dialects import DIALECTS, DialectError, MountSpec
from app.files.safe_write import default_folder, save_text
from ui.common.dialogs import add_buttons
from ui.common.labels import MutedLabel, plain_label
from ui.common.message_list import MessageList
from ui.common.text_view import TextView

if TYPE_CHECKING:
    from app.errors import AppError
    from ui.common.bridge import RunInThread


#: File names for dialects that do not prescribe one.
_FILE_NAMES = {"ansible": "mount.yml", "kubernetes": "volume.yaml", "command": "mount.sh"}


class CopyAsDialog(QDialog):
    """Dialog that shows a mount in a selectable dialect, and copies or saves the text.

    Args:
        parent: the window.
        request: share, mount point and option string of the form.
        dialect: name of the dialect shown first.
        run: saves the text on a thread.
    """

    def __init__(
        self, parent: QWidget, request: tuple[str, str, str], dialect: str, run: RunInThread
    ) -> None:
        super().__init__(parent)
        self.setObjectName("copy-as-dialog")
        self.setWindowTitle(self.tr("Copy as"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._request = request
        self._run = run
        self._saving = ""
        self._dialects = QComboBox()
        self._dialects.setObjectName("copy-as-dialect")
        for item in DIALECTS.values():
            self._dialects.addItem(item.label, item.name)
        self._dialects.setCurrentIndex(max(0, self._dialects.findData(dialect)))
        self._view = TextView(self.tr("Text"), lines=22)
        self._view.setObjectName("copy-as-text")
        self._where = MutedLabel(wrap=True)
        self._refused = MessageList("", "error")
        self._untranslated = MessageList(self.tr("What it cannot say"), "warn")
        self._untranslated.setObjectName("copy-as-untranslated")
        self._problems = MessageList(self.tr("What that system limits or changes"), "warn")
        self._problems.setObjectName("copy-as-problems")
        self._path = QLineEdit()
        self._path.setObjectName("copy-as-path")
        self._save = QPushButton(self.tr("&Save"))
        self._save.setObjectName("copy-as-save")
        self._save.setAutoDefault(False)
        self._save.clicked.connect(self._on_save)
        self._copy = QPushButton(self.tr("&Copy"))
        self._copy.setObjectName("copy-as-copy")
        self._copy.clicked.connect(self._on_copy)
        self._status = plain_label(wrap=True)
        self._status.setObjectName("copy-as-told")
        self._lay_out()
        self._dialects.currentIndexChanged.connect(self._show)
        self._show()

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        label = QLabel(self.tr("&Write it as"))
        label.setBuddy(self._dialects)
        top.addWidget(label)
        top.addWidget(self._dialects)
        top.addWidget(self._where, 1)
        save = QHBoxLayout()
        to_file = QLabel(self.tr("To a new &file"))
        to_file.setBuddy(self._path)
        save.addWidget(to_file)
        save.addWidget(self._path, 1)
        save.addWidget(self._save)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 14)
        layout.setSpacing(10)
        layout.addLayout(top)
        layout.addWidget(self._refused)
        layout.addWidget(self._view, 1)
        layout.addWidget(self._untranslated)
        layout.addWidget(self._problems)
        layout.addLayout(save)
        layout.addWidget(self._status)
        add_buttons(self, layout, self.tr("C&lose"), [self._copy], self._copy)
        self.resize(self.fontMetrics().averageCharWidth() * 104, self.fontMetrics().lineSpacing() * 34)

    def _show(self) -> None:
        dialect = DIALECTS[str(self._dialects.currentData())]
        self._status.setText("")
        try:
            written = dialect.write(MountSpec.make(*self._request))
        except DialectError as error:
            self._refused.show_sentences([str(error)])
            written = None
        else:
            self._refused.show_sentences([])
        self._view.setVisible(written is not None)
        self._view.show_text(written.text if written else "")
        self._untranslated.show_sentences(written.untranslated if written else [])
        self._problems.show_sentences(written.problems if written else [])
        name = written.file_name if written else ""
        self._where.setText(self.tr("It belongs in {file}.").format(file=name) if name else "")
        self._path.setText(
            str(default_folder() / (posixpath.basename(name) or _FILE_NAMES.get(dialect.name, "mount.txt")))
        )
        for widget in (self._copy, self._save, self._path):
            widget.setEnabled(written is not None)

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._view.toPlainText())
        self._status.setText(self.tr("Copied."))

    def _on_save(self) -> None:
        path, text = self._path.text().strip(), self._view.toPlainText()
        self._save.setEnabled(False)
        self._status.setText(self.tr("Saving…"))
        call = self._run("save", lambda: save_text(path, text))
        self._saving = path
        call.succeeded.connect(self._on_saved)
        call.failed.connect(self._on_not_saved)

    def _on_saved(self, _none: object) -> None:
        self._save.setEnabled(True)
        self._status.setText(self.tr("Saved as {path}.").format(path=self._saving))

    def _on_not_saved(self, error: AppError) -> None:
        self._save.setEnabled(True)
        self._status.setText(f"{error.message} {error.hint}".strip())

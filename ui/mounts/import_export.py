"""“Export Mounts…”: all mounts of the host in one new file. A path is written, as folders may hang."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QLineEdit, QPushButton, QVBoxLayout

from app.files.safe_write import default_folder, save_file
from app.mounts.mounts_file import entries_of, to_toml
from ui.common.dialogs import add_buttons
from ui.common.labels import plain_label
from ui.widgets.problem_label import ProblemLabel

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.errors import AppError
    from app.mounts.model import MountTable
    from ui.common.bridge import RunInThread


class ExportMountsDialog(QDialog):
    """Asks for the name of the file, and writes it.

    Args:
        parent: the window.
        table: the mounts.
        host: name of the host, for the name of the file.
        run: for writing.
    """

    def __init__(self, parent: QWidget, table: MountTable, host: str, run: RunInThread) -> None:
        super().__init__(parent)
        self.setObjectName("export-mounts")
        self.setWindowTitle(self.tr("Export Mounts"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._table = table
        self._host = host
        self._run = run
        self._saving = ""
        self._path = QLineEdit()
        self._path.setObjectName("export-path")
        name = re.sub(r"[^\w.-]+", "-", host).strip("-.") or "host"
        self._path.setText(str(default_folder() / f"mounts-{name}.toml"))
        self._save = QPushButton(self.tr("&Export Mounts"))
        self._save.setObjectName("export-do")
        self._save.clicked.connect(self._on_save)
        self._told = plain_label(wrap=True)
        self._told.setObjectName("export-told")
        self._problem = ProblemLabel()
        self._problem.setObjectName("export-problem")
        self._lay_out()

    def _lay_out(self) -> None:
        count = len(self._table.mounts)
        what = self.tr("1 mount") if count == 1 else self.tr("{count} mounts").format(count=count)
        text = self.tr(
            "Write {what} of {host} to a new file: share, mount point, options, where each is saved, and "
            "readahead. Import Mounts… reads it on another computer."
        )
        label = QLabel(self.tr("New &file"))
        label.setBuddy(self._path)
        row = QHBoxLayout()
        row.addWidget(label)
        row.addWidget(self._path, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 14)
        layout.setSpacing(10)
        layout.addWidget(plain_label(text.format(what=what, host=self._host), wrap=True))
        layout.addLayout(row)
        layout.addWidget(self._told)
        layout.addWidget(self._problem)
        add_buttons(self, layout, self.tr("C&lose"), [self._save], self._save)
        self.resize(self.fontMetrics().averageCharWidth() * 84, self.sizeHint().height())

    def _on_save(self) -> None:
        path, table, host = self._path.text().strip(), self._table, self._host
        self._save.setEnabled(False)
        self._problem.show_problem("")
        self._told.setText(self.tr("Writing {path}…").format(path=path))
        self._saving = path
        call = self._run("export", lambda: save_file(path, to_toml(entries_of(table), host)))
        call.succeeded.connect(self._on_saved)
        call.failed.connect(self._on_failed)

    def _on_saved(self, _none: object) -> None:
        self._save.setEnabled(True)
        self._told.setText(self.tr("Exported to {path}.").format(path=self._saving))

    def _on_failed(self, error: AppError) -> None:
        self._save.setEnabled(True)
        self._told.setText("")
        self._problem.show_problem(f"{error.message} {error.hint}".strip())

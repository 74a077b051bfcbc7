"""Export of all mounts to a TOML file, and import from such a file.

The import shows a preview of each entry before it writes. Paths are typed into a field, because a file dialog
hangs if it lists a directory whose NFS server does not respond.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QFormLayout,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.files.safe_write import default_folder, read_file, save_file
from app.mounts.change_model import ImportArgs, ImportChoice, ImportItem, ImportPlan, ImportPlanArgs
from app.mounts.change_text import approval_sentences, import_report_lines, import_status_text, prompts_text
from app.mounts.mounts_file import MAX_BYTES, entries_of_table, from_toml, to_toml
from ui.common.bridge import LatestCall
from ui.common.dialogs import add_buttons
from ui.common.labels import ProblemLabel, plain_label
from ui.common.message_list import MessageList
from ui.common.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.errors import AppError
    from app.mounts.change_model import ImportProgress, ImportReport, MountEntry
    from app.mounts.model import MountTable
    from ui.common.bridge import BridgeCall, RunInThread


class ExportMountsDialog(QDialog):
    """Dialog that writes all mounts of a host to a file.

    Args:
        parent: the window.
        table: the mounts to write.
        host: name of the host, used in the proposed file name.
        run: runs the writing on a thread.
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
        self._status = plain_label(wrap=True)
        self._status.setObjectName("export-told")
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
        layout.addWidget(self._status)
        layout.addWidget(self._problem)
        add_buttons(self, layout, self.tr("C&lose"), [self._save], self._save)
        self.resize(self.fontMetrics().averageCharWidth() * 84, self.sizeHint().height())

    def _on_save(self) -> None:
        path, table, host = self._path.text().strip(), self._table, self._host
        self._save.setEnabled(False)
        self._problem.show_problem("")
        self._status.setText(self.tr("Writing {path}…").format(path=path))
        self._saving = path
        call = self._run("export", lambda: save_file(path, to_toml(entries_of_table(table), host)))
        call.succeeded.connect(self._on_saved)
        call.failed.connect(self._on_failed)

    def _on_saved(self, _none: object) -> None:
        self._save.setEnabled(True)
        self._status.setText(self.tr("Exported to {path}.").format(path=self._saving))

    def _on_failed(self, error: AppError) -> None:
        self._save.setEnabled(True)
        self._status.setText("")
        self._problem.show_problem(f"{error.message} {error.hint}".strip())


#: Columns of the list of entries.
_CHECK, _POINT, _SHARE, _STATUS = range(4)


class ImportMountsDialog(QDialog):
    """Dialog that reads a file, lists its entries with check boxes, and saves the checked ones.

    Args:
        parent: the window.
        submit: sends a request to the agent.
        run: reads the file on a thread.
    """

    def __init__(self, parent: QWidget, submit: Callable[[str, Any], BridgeCall], run: RunInThread) -> None:
        super().__init__(parent)
        self.setObjectName("import-mounts")
        self.setWindowTitle(self.tr("Import Mounts"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._run = run
        self._entries: list[MountEntry] = []
        self._plan = ImportPlan(items=[])
        self._call = LatestCall(submit)
        self._writing = False
        self._path = QLineEdit()
        self._path.setObjectName("import-path")
        self._path.setText(f"{default_folder()}/")
        self._path.setPlaceholderText(self.tr("for example /home/ada/mounts-nas.toml"))
        self._path.returnPressed.connect(self._on_read)
        self._read = QPushButton(self.tr("&Read File"))
        self._read.setObjectName("import-read")
        self._read.setAutoDefault(False)
        self._read.clicked.connect(self._on_read)
        self._save_in = QComboBox()
        self._save_in.setObjectName("import-place")
        for text, word in ((self.tr("Where the file says"), ""), (self.tr("In /etc/fstab"), "fstab"),
                           (self.tr("In systemd units"), "systemd")):  # fmt: skip
            self._save_in.addItem(text, word)
        self._save_in.currentIndexChanged.connect(self._ask_plan)
        self._list = _make_list(self.tr("Entries of the file"))
        self._list.setHeaderLabels(["", self.tr("Mount Point"), self.tr("Share"), self.tr("Status")])
        self._list.itemChanged.connect(self._show_choice)
        self._list.currentItemChanged.connect(self._show_details)
        self._refused = MessageList("", "error")
        self._findings = MessageList("", "warn")
        self._notes = MessageList("", "info")
        self._diff = TextView(self.tr("What would be written"), lines=9, diff=True)
        self._diff.setObjectName("import-diff")
        self._mount = self._make_mount()
        self._prompts = plain_label(wrap=True)
        self._prompts.setObjectName("import-asked")
        self._status = plain_label(wrap=True)
        self._status.setObjectName("import-told")
        self._problem = ProblemLabel()
        self._problem.setObjectName("import-problem")
        self._import = QPushButton(self.tr("&Import Entries"))
        self._import.setObjectName("import-do")
        self._import.clicked.connect(self._on_import)
        self._report = TextView(self.tr("Report"), lines=20)
        self._report.setObjectName("import-report")
        self._report.hide()
        self._about = plain_label(
            self.tr("Reads a file of Export Mounts… and shows what each entry would change here."), wrap=True
        )
        self._form = QWidget()
        self._lay_out()
        self._show_plan(ImportPlan(items=[]))

    def _make_mount(self) -> QCheckBox:
        box = QCheckBox(self.tr("&Mount them now"))
        box.setObjectName("import-mount")
        box.toggled.connect(self._show_choice)
        return box

    def _lay_out(self) -> None:
        file = QHBoxLayout()
        file.addWidget(self._path, 1)
        file.addWidget(self._read)
        label = QLabel(self.tr("&File"))
        label.setBuddy(self._path)
        form = QFormLayout(self._form)
        form.setContentsMargins(0, 0, 0, 0)
        form.addRow(label, file)
        form.addRow(self.tr("&Save entries"), self._save_in)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 14)
        layout.setSpacing(8)
        layout.addWidget(self._about)
        layout.addWidget(self._form)
        layout.addWidget(self._list, 1)
        layout.addWidget(self._report, 1)
        for widget in (self._refused, self._findings, self._notes, self._diff, self._mount, self._prompts,
                       self._status, self._problem):  # fmt: skip
            layout.addWidget(widget)
        self._close = add_buttons(self, layout, self.tr("&Cancel"), [self._import], self._read)
        self.resize(self.fontMetrics().averageCharWidth() * 120, self.fontMetrics().lineSpacing() * 32)

    # Reading the file and previewing its entries

    def _on_read(self) -> None:
        path = self._path.text().strip()
        self._stop()
        self._entries = []
        self._show_plan(ImportPlan(items=[]))
        self._show_status(self.tr("Reading {path}…").format(path=path))
        call = self._run("import", lambda: from_toml(read_file(path, MAX_BYTES), path))
        self._begin()
        self._call.follow(call, self._on_entries, self._on_failed)

    def _on_entries(self, entries: list[MountEntry]) -> None:
        self._entries = entries
        self._ask_plan()

    def _ask_plan(self) -> None:
        if not self._entries:
            if not self._call.is_pending and self._path.text().strip():
                self._show_status("")
            return
        self._stop()
        self._show_status(self.tr("Comparing with what is saved here…"))
        args = ImportPlanArgs(entries=self._entries, save_in=self._save_in.currentData())
        self._begin()
        self._call.ask("mounts.import-plan", args, self._show_plan, self._on_failed)

    def _show_plan(self, plan: ImportPlan) -> None:
        self._plan = plan
        self._show_status("")
        self._list.blockSignals(True)  # noqa: FBT003
        self._list.clear()
        self._list.addTopLevelItems([_row(item) for item in plan.items])
        self._list.blockSignals(False)  # noqa: FBT003
        for widget in (self._list, self._mount):
            widget.setEnabled(bool(plan.items))
        if plan.items:
            self._list.setCurrentIndex(self._list.model().index(0, _POINT))
            self._list.setFocus()
        self._show_details()
        self._show_choice()

    def _show_details(self, *_items: Any) -> None:
        row = self._list.currentIndex().row()
        item = self._plan.items[row] if 0 <= row < len(self._plan.items) else None
        self._refused.show_sentences([f"{item.error} {item.hint}".strip()] if item and item.error else [])
        self._findings.show_sentences(
            [f"{finding.title} {finding.why}" for finding in item.findings] if item else []
        )
        approval = approval_sentences(item.approval) if item is not None and item.approval is not None else []
        self._notes.show_sentences([*item.notes, *approval] if item else [])
        self._diff.setVisible(item is not None and bool(item.diff))
        self._diff.show_text(item.diff if item is not None else "")

    def _chosen(self) -> list[int]:
        rows = [self._list.topLevelItem(number) for number in range(self._list.topLevelItemCount())]
        checked = Qt.CheckState.Checked
        return [number for number, row in enumerate(rows) if row and row.checkState(_CHECK) == checked]

    def _show_choice(self, *_item: Any) -> None:
        chosen = [self._plan.items[number] for number in self._chosen()]
        prompts = prompts_text(chosen, mount=self._mount.isChecked(), root=self._plan.root)
        self._prompts.setText(prompts)
        self._prompts.setVisible(bool(prompts))
        count = len(chosen)
        text = (
            self.tr("&Import 1 Entry")
            if count == 1
            else self.tr("&Import {count} Entries").format(count=count)
        )
        self._import.setText(text if count else self.tr("&Import Entries"))
        self._import.setEnabled(bool(chosen) and not self._call.is_pending)
        (self._import if chosen else self._read).setDefault(True)

    # Writing

    def _on_import(self) -> None:
        choices = [
            ImportChoice(index=number, diff=self._plan.items[number].diff) for number in self._chosen()
        ]
        args = ImportArgs(
            entries=self._entries, choices=choices, save_in=self._save_in.currentData(),
            mount=self._mount.isChecked(), approved=True,
        )  # fmt: skip
        self._begin()
        if not self._call.ask("mounts.import", args, self._on_report, self._on_failed, self._on_progress):
            return
        self._writing = True
        self._close.setText(self.tr("&Stop"))
        for widget in (self._path, self._read, self._save_in, self._list, self._mount, self._import):
            widget.setEnabled(False)
        self._show_status(self.tr("Writing…"))

    def _on_progress(self, event: ImportProgress) -> None:
        text = self.tr("Writing {number} of {count}: {path}…")
        self._show_status(text.format(number=event.number, count=event.count, path=event.mount_point))

    def _on_report(self, report: ImportReport) -> None:
        self._end_writing()
        outcomes = [item for item in report.outcomes if item.result != "not-chosen"]
        lines = import_report_lines(type(report)(outcomes=outcomes))
        self._show_status(
            "" if report.complete else self.tr("Not everything was done. The report says what is saved.")
        )
        for widget in (self._form, self._list, self._mount, self._prompts, self._refused, self._findings,
                       self._notes, self._diff, self._import):  # fmt: skip
            widget.hide()
        saved = sum(item.result == "written" for item in outcomes)
        about = self.tr("{saved} of {count} entries are saved.")
        self._about.setText(about.format(saved=saved, count=len(outcomes)))
        self._report.show_text("\n".join(lines))
        self._report.show()
        self._close.setText(self.tr("C&lose"))
        self._close.setDefault(True)
        self._close.setFocus()

    def _end_writing(self) -> None:
        self._writing = False
        self._close.setText(self.tr("&Cancel"))
        for widget in (self._path, self._read, self._save_in, self._list, self._mount):
            widget.setEnabled(True)
        self._show_choice()

    # Requests

    def _begin(self) -> None:
        self._problem.show_problem("")
        self._import.setEnabled(False)

    def _on_failed(self, error: AppError) -> None:
        if self._writing:
            self._end_writing()
        self._show_status("")
        self._problem.show_problem(f"{error.message} {error.hint}".strip())
        self._show_choice()

    def _stop(self) -> None:
        self._call.cancel()

    def _show_status(self, text: str) -> None:
        self._status.setText(text)
        self._status.setVisible(bool(text))

    # Qt overrides

    def reject(self) -> None:
        """Qt: while entries are being written, stop after the current entry instead of closing."""
        if self._writing:
            self._call.interrupt()
            self._show_status(self.tr("Stopping after this entry…"))
            return
        super().reject()

    def done(self, result: int) -> None:
        """Qt: cancel the pending request."""
        self._stop()
        super().done(result)


def _make_list(name: str) -> QTreeWidget:
    tree = QTreeWidget()
    tree.setObjectName("import-entries")
    tree.setAccessibleName(name)
    tree.setColumnCount(4)
    tree.setRootIsDecorated(False)
    tree.setUniformRowHeights(True)
    tree.setMinimumHeight(tree.fontMetrics().lineSpacing() * 7)
    header = tree.header()
    header.setStretchLastSection(False)
    header.setSectionResizeMode(_CHECK, QHeaderView.ResizeMode.ResizeToContents)
    header.setSectionResizeMode(_POINT, QHeaderView.ResizeMode.Stretch)
    header.setSectionResizeMode(_SHARE, QHeaderView.ResizeMode.Stretch)
    header.setSectionResizeMode(_STATUS, QHeaderView.ResizeMode.ResizeToContents)
    return tree


def _row(item: ImportItem) -> QTreeWidgetItem:
    row = QTreeWidgetItem(["", item.entry.mount_point, item.entry.share, import_status_text(item)])
    writable = item.status in {"new", "differs"}
    flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
    row.setFlags(flags | Qt.ItemFlag.ItemIsUserCheckable if writable else flags)
    if writable:
        row.setData(_CHECK, Qt.ItemDataRole.AccessibleTextRole, item.entry.mount_point)
        row.setCheckState(_CHECK, Qt.CheckState.Checked if item.chosen else Qt.CheckState.Unchecked)
    for column, text in ((_POINT, item.entry.mount_point), (_SHARE, item.entry.share)):
        row.setToolTip(column, text if "<" not in text else "")
    return row


class ImportExportDialogs(QObject):
    """Opens the export and import dialogs, one at a time.

    Args:
        window: parent of the dialogs.
        submit: sends a request to the agent.
        run: reads and writes files on a thread.
    """

    def __init__(self, window: QWidget, submit: Callable[[str, Any], BridgeCall], run: RunInThread) -> None:
        super().__init__(window)
        self._window = window
        self._submit = submit
        self._run = run
        self._dialog: QDialog | None = None

    def export(self, table: MountTable, host: str) -> None:
        """Open the dialog that exports these mounts."""
        self._open(ExportMountsDialog(self._window, table, host, self._run))

    def take_in(self) -> None:
        """Open the dialog that imports mounts."""
        self._open(ImportMountsDialog(self._window, self._submit, self._run))

    def close(self) -> None:
        """Close the open dialog, because the window switches to another host."""
        if self._dialog is not None:
            self._dialog.done(0)

    def _open(self, dialog: QDialog) -> None:
        self.close()
        self._dialog = dialog
        dialog.finished.connect(self._on_closed)
        dialog.open()

    def _on_closed(self, _result: int) -> None:
        self._dialog = None

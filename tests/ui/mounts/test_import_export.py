"""Export of all mounts to a file and import from one, started from the menu."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from fake_host import DIFF, configured, mounted
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QComboBox, QDialog, QLabel, QLineEdit, QPushButton, QTreeWidget
from waiting import DEADLINE_S

from app.mounts.change_model import (
    ImportFinding,
    ImportItem,
    ImportOutcome,
    ImportPlan,
    ImportProgress,
    ImportReport,
    MountEntry,
)
from app.mounts.model import Approval
from app.mounts.mounts_file import from_toml, to_toml
from ui.actions import Command
from ui.common.text_view import TextView
from ui.mounts.import_export import ExportMountsDialog, ImportMountsDialog

if TYPE_CHECKING:
    from pathlib import Path
    from typing import TypeVar

    from driver import Driver
    from fake_host import FakeHost

    from app.service.server import Context

    W = TypeVar("W")

ENTRIES = [
    MountEntry(share=f"nas:/{name}", mount_point=f"/mnt/{name}", options="vers=4.2")
    for name in ("a", "b", "c", "d")
]


def item(number: int, status: Any, **changes: Any) -> ImportItem:
    return ImportItem(entry=ENTRIES[number], status=status, options="vers=4.2", saved_in="fstab", **changes)


PLAN = ImportPlan(items=[
    item(0, "new", diff=DIFF, chosen=True),
    item(1, "same"),
    item(2, "differs", diff=DIFF, notes=["A note."], approval=Approval(reasons=["It is of root."]),
         findings=[ImportFinding(severity="error", title="It will not mount.", why="Because.")]),
    item(3, "refused", error="The word “odd” cannot be written.", hint="Remove it."),
])  # fmt: skip


class Imports:
    """Agent's answers with the plan and the report of an import."""

    def __init__(self, fake: FakeHost) -> None:
        self.planned: list[Any] = []
        self.imported: list[Any] = []
        real = fake.handlers
        more = {"mounts.import-plan": self.plan, "mounts.import": self.take_in}
        fake.handlers = lambda: {**real(), **more}  # type: ignore[method-assign]
        self.hold = False
        self.stopped = threading.Event()

    def plan(self, args: Any, _context: Context) -> ImportPlan:
        self.planned.append(args)
        return PLAN

    def take_in(self, args: Any, context: Context) -> ImportReport:
        self.imported.append(args)
        chosen = {choice.index for choice in args.choices}
        context.emit(ImportProgress(mount_point="/mnt/a", number=1, count=len(chosen)))
        with context.token.on_cancel(self.stopped.set):
            self.stopped.wait(DEADLINE_S if self.hold else 0)
        result: Any = "not-begun" if self.hold else "written"
        return ImportReport(outcomes=[
            ImportOutcome(mount_point=entry.mount_point, result=result if n in chosen else "not-chosen",
                          backup="/b" if n in chosen else "")
            for n, entry in enumerate(args.entries)
        ])  # fmt: skip


@pytest.fixture
def imports(fake: FakeHost) -> Imports:
    return Imports(fake)


def child(dialog: QDialog, kind: type[W], name: str) -> W:
    found = dialog.findChild(kind, name)  # type: ignore[call-overload]
    assert found is not None, name
    return found


def opened(driver: Driver, fake: FakeHost, command: Command, kind: type[W]) -> W:
    fake.set_mounts([mounted(), configured()])
    driver.open()
    driver.wait(driver.window._actions[command].isEnabled)
    driver.window._actions[command].trigger()
    found = driver.window.findChild(kind)  # type: ignore[call-overload]
    assert found is not None
    return found


def read(driver: Driver, fake: FakeHost, tmp_path: Path) -> ImportMountsDialog:
    file = tmp_path / "mounts.toml"
    file.write_bytes(to_toml(ENTRIES, "there"))
    dialog = opened(driver, fake, Command.IMPORT, ImportMountsDialog)
    child(dialog, QLineEdit, "import-path").setText(str(file))
    child(dialog, QPushButton, "import-read").click()
    driver.wait(lambda: child(dialog, QTreeWidget, "import-entries").topLevelItemCount() == 4)
    return dialog


def rows(dialog: ImportMountsDialog) -> list[tuple[str, str, bool]]:
    tree = child(dialog, QTreeWidget, "import-entries")
    found = [tree.topLevelItem(number) for number in range(tree.topLevelItemCount())]
    return [
        (entry.text(1), entry.text(3), entry.checkState(0) == Qt.CheckState.Checked)
        for entry in found
        if entry
    ]


def test_all_mounts_are_written_to_a_new_file(driver: Driver, fake: FakeHost, tmp_path: Path) -> None:
    dialog = opened(driver, fake, Command.EXPORT, ExportMountsDialog)
    path = child(dialog, QLineEdit, "export-path")
    assert path.text().endswith("mounts-testhost.toml")
    path.setText(str(tmp_path / "all.toml"))
    child(dialog, QPushButton, "export-do").click()
    status_label = child(dialog, QLabel, "export-told")
    driver.wait(lambda: status_label.text() == f"Exported to {tmp_path / 'all.toml'}.")
    entries = from_toml((tmp_path / "all.toml").read_bytes(), "f")
    assert [(entry.mount_point, entry.saved_in) for entry in entries] == [
        ("/home", "nowhere"),
        ("/media", "fstab"),
    ]
    child(dialog, QPushButton, "export-do").click()
    driver.wait(lambda: "not replaced" in child(dialog, QLabel, "export-problem").text())
    dialog.reject()


def test_entries_are_listed_and_the_checked_ones_are_written(
    driver: Driver, fake: FakeHost, imports: Imports, tmp_path: Path
) -> None:
    dialog = read(driver, fake, tmp_path)
    assert rows(dialog) == [
        ("/mnt/a", "New", True), ("/mnt/b", "Same", False), ("/mnt/c", "Differs", False),
        ("/mnt/d", "Cannot be written", False),
    ]  # fmt: skip
    tree = child(dialog, QTreeWidget, "import-entries")
    do = child(dialog, QPushButton, "import-do")
    assert do.text() == "&Import 1 Entry"
    assert child(dialog, TextView, "import-diff").toPlainText() == DIFF
    assert child(dialog, QLabel, "import-asked").text() == "An administrator is asked once."
    third = tree.topLevelItem(2)
    assert third is not None
    tree.setCurrentItem(third)
    assert dialog._findings.sentences() == ["It will not mount. Because."]
    assert "A note." in dialog._notes.sentences()[0]
    third.setCheckState(0, Qt.CheckState.Checked)
    assert do.text() == "&Import 2 Entries"
    assert "asked 2 times" in child(dialog, QLabel, "import-asked").text()
    last = tree.topLevelItem(3)
    assert last is not None
    tree.setCurrentItem(last)
    assert dialog._refused.sentences() == ["The word “odd” cannot be written. Remove it."]
    assert not last.flags() & Qt.ItemFlag.ItemIsUserCheckable
    do.click()
    driver.wait(lambda: "/mnt/a: saved" in child(dialog, TextView, "import-report").toPlainText())
    (args,) = imports.imported
    assert [(choice.index, choice.diff) for choice in args.choices] == [(0, DIFF), (2, DIFF)]
    assert (args.mount, args.save_in, args.entries[0].options) == (False, "", "vers=4.2")
    dialog.reject()


def test_the_save_target_and_mounting_can_be_chosen(
    driver: Driver, fake: FakeHost, imports: Imports, tmp_path: Path
) -> None:
    dialog = read(driver, fake, tmp_path)
    child(dialog, QComboBox, "import-place").setCurrentIndex(2)
    driver.wait(lambda: [args.save_in for args in imports.planned] == ["", "systemd"])
    driver.wait(lambda: child(dialog, QPushButton, "import-do").isEnabled())
    child(dialog, QCheckBox, "import-mount").setChecked(True)
    child(dialog, QPushButton, "import-do").click()
    driver.wait(lambda: bool(imports.imported))
    assert (imports.imported[0].mount, imports.imported[0].save_in) == (True, "systemd")
    driver.wait(lambda: not dialog._writing)
    dialog.reject()


def test_esc_stops_the_writing_and_the_report_is_shown(
    driver: Driver, fake: FakeHost, imports: Imports, tmp_path: Path
) -> None:
    imports.hold = True
    dialog = read(driver, fake, tmp_path)
    child(dialog, QPushButton, "import-do").click()
    driver.wait(lambda: bool(imports.imported))
    dialog.reject()
    assert dialog.isVisible()
    driver.wait(lambda: "/mnt/a: not begun" in child(dialog, TextView, "import-report").toPlainText())
    dialog.reject()


def test_the_error_of_an_invalid_file_names_its_line(
    driver: Driver, fake: FakeHost, imports: Imports, tmp_path: Path
) -> None:
    file = tmp_path / "broken.toml"
    file.write_text('format = "mountwright-mounts"\nversion = 1\ncolor = 7\n')
    dialog = opened(driver, fake, Command.IMPORT, ImportMountsDialog)
    problem = child(dialog, QLabel, "import-problem")
    for path, expected in ((file, "line 3"), (tmp_path / "none", "could not be read")):
        child(dialog, QLineEdit, "import-path").setText(str(path))
        child(dialog, QPushButton, "import-read").click()
        driver.wait(lambda expected=expected: expected in problem.text())  # type: ignore[misc]
    assert not child(dialog, QPushButton, "import-do").isEnabled()
    assert imports.planned == []
    dialog.reject()

"""History actions: baseline, tags, notes, deletion, export and import of saved tests.

Each runs on a thread and reports its result by a signal.
"""

from __future__ import annotations

import posixpath
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QInputDialog, QLineEdit, QPushButton, QWidget

from app.files.safe_write import default_folder
from app.history import queries
from app.report.export import save_experiment, save_runs
from ui.common.speed_units import SPEED_UNITS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.errors import AppError
    from app.history.import_export import ImportResult
    from app.history.model import Run, RunSummary
    from app.report.export import ExportFormat
    from ui.common.bridge import RunInThread


class _Prompt(NamedTuple):
    """Texts of an input dialog.

    Attributes:
        title: title of the dialog.
        label: label of the field.
        action: text of the confirming button.
    """

    title: str
    label: str
    action: str


class HistoryActions(QObject):
    """Actions on the history; those that need an input ask for it in a dialog.

    Args:
        run: runs blocking work on a thread.
        parent: widget whose window shows the dialogs.

    Signals:
        changed: an action succeeded; a sentence about it, and the deleted runs that can be restored.
        failed: an action failed (AppError).
    """

    changed = Signal(str, object)
    failed = Signal(object)

    def __init__(self, run: RunInThread, parent: QWidget) -> None:
        super().__init__(parent)
        self._parent = parent
        self._run = run
        #: Numbers of runs that are being deleted, and of deleted runs that the list still shows.
        self._being_deleted: set[int] = set()
        self._deleted: set[int] = set()

    def set_baseline(self, row: RunSummary) -> None:
        """Make a run the baseline of later tests, or end that if it is one."""
        if row.baseline:
            text = self.tr("Later tests are no longer compared with this test.")
            self._run_action(partial(queries.change_store, lambda store: store.clear_baseline(row.id)), text)
        else:
            call = self._run("history", lambda: queries.set_baseline(row.id))
            call.succeeded.connect(partial(self._on_baseline, row))
            call.failed.connect(self.failed)

    def ask_tags(self, rows: Sequence[RunSummary]) -> None:
        """Ask for the common tags of some runs and save them."""
        numbers = [row.id for row in rows]
        common = [tag for tag in rows[0].tags if all(tag in row.tags for row in rows)]

        def write(text: str) -> None:
            wanted = text.replace(",", " ").split()
            removed = set(common) - set(wanted)
            self._run_action(
                partial(queries.change_store, lambda store: store.tag(numbers, add=wanted, remove=removed)),
                self.tr("Saved the tags."),
            )

        prompt = _Prompt(self.tr("Edit Tags"), self.tr("Words, such as “before-upgrade”"), self.tr("&Save"))
        self._ask(prompt, " ".join(common), write)

    def ask_note(self, row: RunSummary) -> None:
        """Ask for the note of a run and save it."""

        def write(text: str) -> None:
            work = partial(queries.change_store, lambda store: store.note(row.id, text))
            self._run_action(work, self.tr("Saved the note."))

        label = self.tr("Note for this test")
        self._ask(_Prompt(self.tr("Edit Note"), label, self.tr("&Save")), row.note, write)

    def delete(self, rows: Sequence[RunSummary]) -> None:
        """Delete runs; `restore_runs` can restore them while the program runs."""
        numbers = [row.id for row in rows if row.id not in self._being_deleted | self._deleted]
        if not numbers:
            return
        self._being_deleted.update(numbers)
        call = self._run("history", lambda: queries.delete_runs(numbers))
        call.succeeded.connect(partial(self._on_deleted, numbers))
        call.failed.connect(partial(self._on_not_deleted, numbers))

    def is_deleted(self, numbers: Sequence[int]) -> bool:
        """Return whether one of these runs is being deleted, or is deleted but still listed."""
        return not (self._being_deleted | self._deleted).isdisjoint(numbers)

    def list_reloaded(self) -> None:
        """Forget the deleted runs after a reload of the list; a new run may reuse their numbers."""
        self._deleted.clear()

    def restore_runs(self, runs: Sequence[Run]) -> None:
        """Restore deleted runs."""
        self._run_action(lambda: queries.restore_runs(runs), self.tr("Restored the tests."))

    def ask_export(self, rows: Sequence[RunSummary], kind: ExportFormat) -> None:
        """Ask for the path of a new file and export runs to it."""
        numbers = [row.id for row in rows]

        def write(path: str) -> None:
            text = self.tr("Saved {path}.").format(path=path)
            unit = SPEED_UNITS.unit
            self._run_action(lambda: save_runs(numbers, path.strip(), kind, unit), text)

        label = self.tr("New file for the test")
        if len(rows) > 1:
            label = self.tr("New file for {count} tests").format(count=len(rows))
        path = default_folder() / f"mountwright-history.{kind}"
        self._ask(_Prompt(self.tr("Export"), label, self.tr("&Export")), str(path), write)

    def ask_export_experiment(self, number: int, kind: ExportFormat) -> None:
        """Ask for the path of a new file and export an experiment to it."""

        def write(path: str) -> None:
            text = self.tr("Saved {path}.").format(path=path)
            unit = SPEED_UNITS.unit
            self._run_action(lambda: save_experiment(number, path.strip(), kind, unit), text)

        path = default_folder() / f"mountwright-experiment-{number}.{kind}"
        label = self.tr("New file for the experiment")
        self._ask(_Prompt(self.tr("Export"), label, self.tr("&Export")), str(path), write)

    def ask_import(self) -> None:
        """Ask for the path of an exported file and import its runs and experiments."""
        label = self.tr("File from “Export as JSON” or “mountwright test --json”")
        self._ask(_Prompt(self.tr("Import"), label, self.tr("&Import")), f"{default_folder()}/", self.take)

    def take(self, path: str) -> None:
        """Import the runs and experiments of a file."""
        path = path.strip()
        call = self._run("history", lambda: queries.import_file(path))
        call.succeeded.connect(partial(self._on_imported, path))
        call.failed.connect(self.failed)

    def _ask(self, prompt: _Prompt, text: str, answered: Callable[[str], None]) -> None:
        dialog = QInputDialog(self._parent)
        dialog.setObjectName("history-ask")
        dialog.setWindowTitle(prompt.title)
        dialog.setLabelText(prompt.label)
        dialog.setOkButtonText(prompt.action)
        dialog.setCancelButtonText(self.tr("&Cancel"))
        dialog.setTextValue(text)
        dialog.textValueSelected.connect(answered)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        # The field exists only after open(); its minimum width determines the width of the dialog.
        for line in dialog.findChildren(QLineEdit):
            line.setMinimumWidth(dialog.fontMetrics().averageCharWidth() * 60)
            line.setAccessibleName(prompt.label)
        for button in dialog.findChildren(QPushButton):
            button.setIcon(QIcon())

    def _run_action(self, work: Callable[[], object], text: str) -> None:
        call = self._run("history", work)
        call.succeeded.connect(partial(self._on_done, text))
        call.failed.connect(self.failed)

    def _on_done(self, text: str, _none: object) -> None:
        self.changed.emit(text, ())

    def _on_baseline(self, row: RunSummary, former: list[RunSummary]) -> None:
        texts = [self.tr("Later tests of {share} are compared with this test.").format(share=row.share)]
        texts += [
            self.tr("The test of {when} is no longer the baseline.").format(when=other.started_at[:10])
            for other in former
        ]
        self.changed.emit(" ".join(texts), ())

    def _on_deleted(self, numbers: Sequence[int], runs: list[Run]) -> None:
        self._being_deleted.difference_update(numbers)
        self._deleted.update(numbers)
        one = self.tr("Deleted one test.")
        many = self.tr("Deleted {count} tests.").format(count=len(runs))
        self.changed.emit(one if len(runs) == 1 else many, runs)

    def _on_not_deleted(self, numbers: Sequence[int], error: AppError) -> None:
        self._being_deleted.difference_update(numbers)
        self.failed.emit(error)

    def _on_imported(self, path: str, imported: ImportResult) -> None:
        sentences = [
            self.tr("Imported {name}.").format(name=posixpath.basename(path)),
            self.tr("Tests: {new} new, {known} saved before.").format(
                new=len(imported.added), known=imported.known
            ),
        ]
        if imported.experiments or imported.known_experiments:
            text = self.tr("Experiments: {new} new, {known} saved before.")
            sentences.append(text.format(new=len(imported.experiments), known=imported.known_experiments))
        if imported.trials:
            sentences.append(
                self.tr("Trials added to saved experiments: {count}.").format(count=imported.trials)
            )
        self.changed.emit(" ".join(sentences), ())

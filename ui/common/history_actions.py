"""History actions: baseline, tags, notes, deletion, export and import of saved tests.

Each runs on a thread, and its outcome is reported.
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
    """What a person is asked.

    Attributes:
        title: of the window.
        label: of the field.
        action: of the button that takes the answer.
    """

    title: str
    label: str
    action: str


class HistoryActions(QObject):
    """Changes the history.

    Signals:
        changed: something was changed; what was done in words, and the runs that can be brought back.
        failed: something did not work (AppError).
    """

    changed = Signal(str, object)
    failed = Signal(object)

    def __init__(self, run: RunInThread, parent: QWidget) -> None:
        super().__init__(parent)
        self._parent = parent
        self._run = run
        #: Numbers of runs that are being taken out, and of those that are out though still in the list.
        self._going: set[int] = set()
        self._gone: set[int] = set()

    def set_baseline(self, row: RunSummary) -> None:
        """Let later tests of its share be compared with it; or no longer, if they are."""
        if row.baseline:
            text = self.tr("Later tests are no longer compared with it.")
            self._do(partial(queries.change_store, lambda store: store.clear_baseline(row.id)), text)
        else:
            call = self._run("history", lambda: queries.set_baseline(row.id))
            call.succeeded.connect(partial(self._on_baseline, row))
            call.failed.connect(self.failed)

    def ask_tags(self, rows: Sequence[RunSummary]) -> None:
        """Ask for the tags of some runs and write them."""
        numbers = [row.id for row in rows]
        common = [tag for tag in rows[0].tags if all(tag in row.tags for row in rows)]

        def write(text: str) -> None:
            wanted = text.replace(",", " ").split()
            gone = set(common) - set(wanted)
            self._do(
                partial(queries.change_store, lambda store: store.tag(numbers, add=wanted, remove=gone)),
                self.tr("The tags are written."),
            )

        asked = _Prompt(self.tr("Tags"), self.tr("Words, such as before-upgrade:"), self.tr("&Save"))
        self._ask(asked, " ".join(common), write)

    def ask_note(self, row: RunSummary) -> None:
        """Ask for the note of a run and write it."""

        def write(text: str) -> None:
            work = partial(queries.change_store, lambda store: store.note(row.id, text))
            self._do(work, self.tr("The note is written."))

        label = self.tr("What is to be remembered of this test:")
        self._ask(_Prompt(self.tr("Note"), label, self.tr("&Save")), row.note, write)

    def delete(self, rows: Sequence[RunSummary]) -> None:
        """Take runs out; they can be brought back while the program runs."""
        numbers = [row.id for row in rows if row.id not in self._going | self._gone]
        if not numbers:
            return
        self._going.update(numbers)
        call = self._run("history", lambda: queries.delete_runs(numbers))
        call.succeeded.connect(partial(self._on_deleted, numbers))
        call.failed.connect(partial(self._on_not_deleted, numbers))

    def is_deleted(self, numbers: Sequence[int]) -> bool:
        """Return whether one of these runs is being taken out, or is out though still in the list."""
        return not (self._going | self._gone).isdisjoint(numbers)

    def list_reloaded(self) -> None:
        """The list was read again: what it shows is there, and may have the number of what was taken out."""
        self._gone.clear()

    def restore_runs(self, runs: Sequence[Run]) -> None:
        """Add runs again that were taken out."""
        self._do(lambda: queries.restore_runs(runs), self.tr("They are back."))

    def ask_export(self, rows: Sequence[RunSummary], kind: ExportFormat) -> None:
        """Ask for a new file and write runs to it."""
        numbers = [row.id for row in rows]

        def write(path: str) -> None:
            text = self.tr("Written: {path}").format(path=path)
            unit = SPEED_UNITS.unit
            self._do(lambda: save_runs(numbers, path.strip(), kind, unit), text)

        label = self.tr("One test goes to a new file:")
        if len(rows) > 1:
            label = self.tr("{count} tests go to a new file:").format(count=len(rows))
        path = default_folder() / f"mountwright-history.{kind}"
        self._ask(_Prompt(self.tr("Export"), label, self.tr("&Write")), str(path), write)

    def ask_export_experiment(self, number: int, kind: ExportFormat) -> None:
        """Ask for a new file and write an experiment to it."""

        def write(path: str) -> None:
            text = self.tr("Written: {path}").format(path=path)
            unit = SPEED_UNITS.unit
            self._do(lambda: save_experiment(number, path.strip(), kind, unit), text)

        path = default_folder() / f"mountwright-experiment-{number}.{kind}"
        label = self.tr("The experiment goes to a new file:")
        self._ask(_Prompt(self.tr("Export"), label, self.tr("&Write")), str(path), write)

    def ask_import(self) -> None:
        """Ask for a file that was exported elsewhere and add its runs."""
        label = self.tr("A file of “Export as JSON”, or of “mountwright test --json”:")
        self._ask(_Prompt(self.tr("Import"), label, self.tr("&Import")), f"{default_folder()}/", self.take)

    def take(self, path: str) -> None:
        """Add the runs of this file."""
        path = path.strip()
        call = self._run("history", lambda: queries.import_file(path))
        call.succeeded.connect(partial(self._on_taken, path))
        call.failed.connect(self.failed)

    def _ask(self, asked: _Prompt, text: str, answered: Callable[[str], None]) -> None:
        dialog = QInputDialog(self._parent)
        dialog.setObjectName("history-ask")
        dialog.setWindowTitle(asked.title)
        dialog.setLabelText(asked.label)
        dialog.setOkButtonText(asked.action)
        dialog.setCancelButtonText(self.tr("&Cancel"))
        dialog.setTextValue(text)
        dialog.textValueSelected.connect(answered)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        # Only now is there a field; the dialog itself keeps to the width that its parts ask for.
        for line in dialog.findChildren(QLineEdit):
            line.setMinimumWidth(dialog.fontMetrics().averageCharWidth() * 60)
            line.setAccessibleName(asked.label)
        for button in dialog.findChildren(QPushButton):
            button.setIcon(QIcon())

    def _do(self, work: Callable[[], object], text: str) -> None:
        call = self._run("history", work)
        call.succeeded.connect(partial(self._on_done, text))
        call.failed.connect(self.failed)

    def _on_done(self, text: str, _none: object) -> None:
        self.changed.emit(text, ())

    def _on_baseline(self, row: RunSummary, gone: list[RunSummary]) -> None:
        texts = [
            self.tr("Later tests of {share} like this one are compared with it.").format(share=row.share)
        ]
        texts += [
            self.tr("That of {when} is no longer a baseline: it was a test like it.").format(
                when=other.started_at[:10]
            )
            for other in gone
        ]
        self.changed.emit(" ".join(texts), ())

    def _on_deleted(self, numbers: Sequence[int], runs: list[Run]) -> None:
        self._going.difference_update(numbers)
        self._gone.update(numbers)
        one = self.tr("One test is taken out of the history.")
        many = self.tr("{count} tests are taken out of the history.").format(count=len(runs))
        self.changed.emit(one if len(runs) == 1 else many, runs)

    def _on_not_deleted(self, numbers: Sequence[int], error: AppError) -> None:
        self._going.difference_update(numbers)
        self.failed.emit(error)

    def _on_taken(self, path: str, taken: ImportResult) -> None:
        one, many = self.tr("1 test new here"), self.tr("{count} tests new here")
        new = one if len(taken.added) == 1 else many.format(count=len(taken.added))
        text = self.tr("{name}: {new}, {known} here already").format(
            name=posixpath.basename(path), new=new, known=taken.known
        )
        if taken.experiments or taken.known_experiments:
            more = self.tr("; experiments: {new} new, {known} known")
            text += more.format(new=len(taken.experiments), known=taken.known_experiments)
        if taken.trials:
            text += self.tr("; trials added to known ones: {count}").format(count=taken.trials)
        self.changed.emit(f"{text}.", ())

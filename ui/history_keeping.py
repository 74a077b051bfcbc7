"""What a person does with the tests of the history: every change runs on a thread, and is said when done."""

from __future__ import annotations

import posixpath
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QInputDialog, QLineEdit, QWidget

from app.history import desk
from app.save import default_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from app.history.exchange import Imported
    from app.history.export import Format
    from app.history.model import Row, Run
    from ui.bridge import BridgeCall

    #: Runs blocking work on a thread: its name and the work.
    RunInThread = Callable[[str, Callable[[], Any]], BridgeCall]


class HistoryKeeping(QObject):
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

    def set_baseline(self, row: Row) -> None:
        """Let later tests of its share be compared with it; or no longer, if they are."""
        if row.baseline:
            text = self.tr("Later tests are no longer compared with it.")
            self._do(partial(desk.change, lambda store: store.clear_baseline(row.id)), text)
        else:
            text = self.tr("Later tests of {share} are compared with it.").format(share=row.share)
            self._do(partial(desk.change, lambda store: store.set_baseline(row.id)), text)

    def ask_tags(self, rows: Sequence[Row]) -> None:
        """Ask for the tags of some runs and write them."""
        numbers = [row.id for row in rows]
        common = [tag for tag in rows[0].tags if all(tag in row.tags for row in rows)]

        def write(text: str) -> None:
            wanted = text.replace(",", " ").split()
            gone = set(common) - set(wanted)
            self._do(
                partial(desk.change, lambda store: store.tag(numbers, add=wanted, remove=gone)),
                self.tr("The tags are written."),
            )

        self._ask(self.tr("Tags"), self.tr("Words, such as before-upgrade:"), " ".join(common), write)

    def ask_note(self, row: Row) -> None:
        """Ask for the note of a run and write it."""

        def write(text: str) -> None:
            work = partial(desk.change, lambda store: store.note(row.id, text))
            self._do(work, self.tr("The note is written."))

        self._ask(self.tr("Note"), self.tr("What is to be remembered of this test:"), row.note, write)

    def delete(self, rows: Sequence[Row]) -> None:
        """Take runs out; they can be brought back while the program runs."""
        numbers = [row.id for row in rows]
        call = self._run("history", lambda: desk.delete(numbers))
        call.succeeded.connect(self._on_deleted)
        call.failed.connect(self.failed)

    def bring_back(self, runs: Sequence[Run]) -> None:
        """Add runs again that were taken out."""
        self._do(lambda: desk.bring_back(runs), self.tr("They are back."))

    def ask_export(self, rows: Sequence[Row], kind: Format) -> None:
        """Ask for a new file and write runs to it."""
        numbers = [row.id for row in rows]

        def write(path: str) -> None:
            text = self.tr("Written: {path}").format(path=path)
            self._do(lambda: desk.export(numbers, path.strip(), kind), text)

        label = self.tr("One test goes to a new file:")
        if len(rows) > 1:
            label = self.tr("{count} tests go to a new file:").format(count=len(rows))
        self._ask(self.tr("Export"), label, str(default_folder() / f"mountwright-history.{kind}"), write)

    def ask_export_experiment(self, number: int, kind: Format) -> None:
        """Ask for a new file and write an experiment to it."""

        def write(path: str) -> None:
            text = self.tr("Written: {path}").format(path=path)
            self._do(lambda: desk.export_experiment(number, path.strip(), kind), text)

        path = default_folder() / f"mountwright-experiment-{number}.{kind}"
        self._ask(self.tr("Export"), self.tr("The experiment goes to a new file:"), str(path), write)

    def ask_import(self) -> None:
        """Ask for a file that was exported elsewhere and add its runs."""
        label = self.tr("A file of “Export as JSON”, or of “mountwright test --json”:")
        self._ask(self.tr("Import"), label, f"{default_folder()}/", self.take)

    def take(self, path: str) -> None:
        """Add the runs of this file."""
        path = path.strip()
        call = self._run("history", lambda: desk.take(path))
        call.succeeded.connect(partial(self._on_taken, path))
        call.failed.connect(self.failed)

    def _ask(self, title: str, label: str, text: str, answered: Callable[[str], None]) -> None:
        dialog = QInputDialog(self._parent)
        dialog.setObjectName("history-ask")
        dialog.setWindowTitle(title)
        dialog.setLabelText(label)
        dialog.setTextValue(text)
        dialog.textValueSelected.connect(answered)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        # Only now is there a field; the dialog itself keeps to the width that its parts ask for.
        for line in dialog.findChildren(QLineEdit):
            line.setMinimumWidth(dialog.fontMetrics().averageCharWidth() * 60)

    def _do(self, work: Callable[[], object], text: str) -> None:
        call = self._run("history", work)
        call.succeeded.connect(partial(self._on_done, text))
        call.failed.connect(self.failed)

    def _on_done(self, text: str, _none: object) -> None:
        self.changed.emit(text, ())

    def _on_deleted(self, runs: list[Run]) -> None:
        one = self.tr("One test is taken out of the history.")
        many = self.tr("{count} tests are taken out of the history.").format(count=len(runs))
        self.changed.emit(one if len(runs) == 1 else many, runs)

    def _on_taken(self, path: str, taken: Imported) -> None:
        one, many = self.tr("1 test new here"), self.tr("{count} tests new here")
        new = one if len(taken.added) == 1 else many.format(count=len(taken.added))
        text = self.tr("{name}: {new}, {known} here already").format(
            name=posixpath.basename(path), new=new, known=taken.known
        )
        if taken.experiments or taken.known_experiments:
            more = self.tr("; experiments: {new} new, {known} known")
            text += more.format(new=len(taken.experiments), known=taken.known_experiments)
        self.changed.emit(f"{text}.", ())

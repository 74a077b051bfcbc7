"""History page: find, compare, tag, delete, restore, import and export saved tests."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QItemSelection, QItemSelectionModel, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QPushButton,
    QScrollArea,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from app.history import queries
from ui.common import theme
from ui.common.history_actions import HistoryActions
from ui.common.labels import MutedLabel, plain_label
from ui.history.details import HistoryDetails
from ui.history.table import HistoryModel, HistoryTable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtGui import QShowEvent

    from app.errors import AppError
    from app.history.model import Run, RunSummary
    from app.history.queries import HistoryPage, SelectedRuns
    from app.report.export import ExportFormat
    from ui.common.bridge import BridgeCall, RunInThread

#: Pause after the last key before the search starts, ms.
_TYPING_MS = 150


class HistoryPanel(QWidget):
    """Page with the saved tests of one share or of all shares.

    Args:
        run: runs blocking work on a thread.

    Signals:
        failed: an operation failed (AppError).
    """

    failed = Signal(object)

    def __init__(self, run: RunInThread) -> None:
        super().__init__()
        self._run = run
        self._share = ""
        self._list_call: BridgeCall | None = None
        self._compare_call: BridgeCall | None = None
        self._deleted: Sequence[Run] = ()
        self._changeable = True
        #: Number of the test to compare with the one before it, as soon as the list is read.
        self._compared: int | None = None
        self._actions = HistoryActions(run, self)
        self._actions.failed.connect(self.failed)
        self._actions.changed.connect(self._on_changed)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_TYPING_MS)
        self._timer.timeout.connect(self.refresh)
        self._search = QLineEdit()
        self._search.setObjectName("history-words")
        self._search.setAccessibleName(self.tr("Find tests"))
        self._search.setPlaceholderText(self.tr("Find share, option, tag, note or host"))
        self._search.setClearButtonEnabled(True)
        self._search.textChanged.connect(self._on_words)
        self._scope = QComboBox()
        self._scope.setObjectName("history-scope")
        self._scope.setAccessibleName(self.tr("Shares shown"))
        self._scope.addItem(self.tr("This share"))
        self._scope.addItem(self.tr("All shares"))
        self._scope.currentIndexChanged.connect(self._on_scope)
        self._model = HistoryModel(self)
        self._view = HistoryTable(self._model)
        self._view.selectionModel().selectionChanged.connect(self._on_selection)
        self._status = plain_label(wrap=True)
        self._status.setObjectName("history-told")
        self._undo = self._button(self.tr("&Restore"), "history-undo", self._on_undo)
        self._count = MutedLabel(wrap=True)
        self._count.setObjectName("history-count")
        self._details = HistoryDetails()
        self._baseline = self._button(self.tr("Set as &Baseline"), "history-baseline", self._on_baseline)
        self._baseline.setToolTip(
            self.tr("Compares later tests with this one, and warns if they are slower.\n"
                    "This applies to tests of the same share and kind, and of about the same size.")
        )  # fmt: skip
        self._tags = self._button(self.tr("Edit Tag&s…"), "history-tags", self._on_tags)
        self._note = self._button(self.tr("Edit Not&e…"), "history-note", self._on_note)
        self._delete = self._button(self.tr("&Delete"), "history-delete", self._on_delete)
        self._more = QPushButton(self.tr("&More"))
        self._set_up_more()
        self._lay_out()
        self._show_undo("", ())
        self._show_buttons()
        self._details.show_tests(None)

    def _set_up_more(self) -> None:
        menu = QMenu(self)
        self._exports = [
            menu.addAction(self.tr("Save &Report (HTML)…"), partial(self._on_export, "html")),
            menu.addAction(self.tr("Export as &CSV…"), partial(self._on_export, "csv")),
            menu.addAction(self.tr("Export as &Excel Workbook…"), partial(self._on_export, "xlsx")),
            menu.addAction(self.tr("Export as &JSON…"), partial(self._on_export, "json")),
        ]
        self._import = menu.addAction(self.tr("&Import…"), self._actions.ask_import)
        self._more.setObjectName("history-more")
        self._more.setMenu(menu)

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.addWidget(self._search, 1)
        top.addWidget(self._scope)
        actions = QHBoxLayout()
        for button in (self._baseline, self._tags, self._note, self._delete, self._more):
            actions.addWidget(button)
        actions.addStretch(1)
        status_row = QHBoxLayout()
        status_row.addWidget(self._status, 1)
        status_row.addWidget(self._undo)
        upper = QWidget()
        above = QVBoxLayout(upper)
        above.setContentsMargins(0, 0, 0, 4)
        above.addLayout(top)
        above.addWidget(self._view, 1)
        above.addWidget(self._count)
        above.addLayout(actions)
        above.addLayout(status_row)
        page = QWidget()
        below = QVBoxLayout(page)
        below.setContentsMargins(0, 6, 8, 0)
        below.addWidget(self._details)
        scroll = QScrollArea()
        scroll.setAccessibleName(self.tr("Selected tests"))
        scroll.setWidget(page)
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(upper)
        splitter.addWidget(scroll)
        splitter.setStretchFactor(0, 2)
        splitter.setStretchFactor(1, 3)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 14, 16, 10)
        layout.addWidget(splitter)

    def _button(self, text: str, name: str, clicked: Callable[[], None]) -> QPushButton:
        button = QPushButton(text)
        button.setObjectName(name)
        button.setAutoDefault(False)
        button.clicked.connect(clicked)
        return button

    # Called by the window

    def set_share(self, share: str) -> None:
        """Set the share of the scope “This share”; "" shows the tests of all shares."""
        if share == self._share:
            return
        self._share = share
        self._scope.setEnabled(bool(share))
        self._show_undo("", ())
        if self.isVisible():
            self.refresh()

    def refresh(self) -> None:
        """Read the history again; a hidden page reads it when it is shown."""
        if not self.isVisible():
            return
        share = self._share if self._scope.currentIndex() == 0 else ""
        self._view.show_scope(one_share=bool(share))
        text = self._search.text()
        call = self._run("history", lambda: queries.find_runs(text, share))
        self._list_call = call
        call.succeeded.connect(partial(self._on_listed, call))
        call.failed.connect(partial(self._on_list_failed, call))

    def compare_with_earlier(self, number: int) -> None:
        """Select a test by its number, and the one before it that copied the same kind of files."""
        self._compared = number
        self._search.clear()
        self._scope.setCurrentIndex(0)
        self.refresh()

    # Results of queries

    def _on_listed(self, call: BridgeCall, page: HistoryPage) -> None:
        if call is not self._list_call:
            return
        self._actions.list_reloaded()
        chosen = self._compared_rows(page.rows) or [row.id for row in self._chosen()]
        self._model.show_rows(page.rows, page.differences)
        self._changeable = not page.read_only
        if page.messages:
            self._show_undo(" ".join(page.messages), self._deleted)
        self._count.setText(self._count_text(page))
        if page.rows and not any(self._model.place_of(number) is not None for number in chosen):
            chosen = [page.rows[0].id]
        selection = QItemSelection()
        for number in chosen:
            row = self._model.place_of(number)
            if row is not None:
                index = self._model.index(row, 0)
                selection.select(index, index)
        flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
        self._view.selectionModel().select(selection, flags)
        self._on_selection()

    def _compared_rows(self, rows: Sequence[RunSummary]) -> list[int]:
        """Return the numbers of the test to compare and of the one before it, [] without one."""
        place = next((index for index, row in enumerate(rows) if row.id == self._compared), None)
        if place is None:
            return []
        self._compared = None
        test = rows[place]
        same = (row.id for row in rows[place + 1 :] if (row.kind, row.link) == (test.kind, test.link))
        return [test.id, *list(same)[:1]]

    def _on_list_failed(self, call: BridgeCall, error: AppError) -> None:
        if call is self._list_call:
            self.failed.emit(error)

    def _count_text(self, page: HistoryPage) -> str:
        if not page.total:
            if self._search.text():
                return self.tr("No test contains these words.")
            return self.tr("No test is saved for this share. Run one on the page Test.")
        if page.total > len(page.rows):
            text = self.tr("The newest {shown} of {total} tests. Use Find for the others.")
            return text.format(shown=len(page.rows), total=page.total)
        if page.total == 1:
            return self.tr("1 test")
        return self.tr("{count} tests. Select two to compare them.").format(count=page.total)

    def _chosen(self) -> list[RunSummary]:
        return [self._model.row_at(index.row()) for index in self._view.selectionModel().selectedRows()]

    def _on_selection(self, *_changes: QItemSelection) -> None:
        self._show_buttons()
        numbers = [row.id for row in self._chosen()]
        if not numbers:
            self._compare_call = None
            self._details.show_tests(None)
            return
        call = self._run("history", lambda: queries.select_runs(numbers))
        self._compare_call = call
        call.succeeded.connect(partial(self._on_compared, call))
        call.failed.connect(partial(self._on_compare_failed, call, numbers))

    def _on_compared(self, call: BridgeCall, selected: SelectedRuns) -> None:
        if call is self._compare_call:
            self._details.show_tests(selected)

    def _on_compare_failed(self, call: BridgeCall, numbers: Sequence[int], error: AppError) -> None:
        # A test that the user has deleted meanwhile is missing, which is no error.
        if call is self._compare_call and not self._actions.is_deleted(numbers):
            self.failed.emit(error)

    def _on_changed(self, text: str, deleted: Sequence[Run]) -> None:
        self._show_undo(text, deleted)
        self.refresh()

    def _show_undo(self, text: str, deleted: Sequence[Run]) -> None:
        self._deleted = deleted
        self._status.setText(text)
        self._status.setVisible(bool(text))
        self._undo.setVisible(bool(deleted))

    def _show_buttons(self) -> None:
        rows = self._chosen()
        single = len(rows) == 1 and self._changeable
        self._baseline.setEnabled(single)
        self._baseline.setText(
            self.tr("Clear &Baseline") if single and rows[0].baseline else self.tr("Set as &Baseline")
        )
        self._note.setEnabled(single)
        self._tags.setEnabled(bool(rows) and self._changeable)
        self._delete.setEnabled(bool(rows) and self._changeable)
        for action in self._exports:
            action.setEnabled(bool(rows))
        self._import.setEnabled(self._changeable)

    # Actions of the user

    def _on_words(self, _text: str) -> None:
        self._timer.start()

    def _on_scope(self, _index: int) -> None:
        self.refresh()

    def _on_baseline(self) -> None:
        self._actions.set_baseline(self._chosen()[0])

    def _on_tags(self) -> None:
        self._actions.ask_tags(self._chosen())

    def _on_note(self) -> None:
        self._actions.ask_note(self._chosen()[0])

    def _on_delete(self) -> None:
        self._actions.delete(self._chosen())

    def _on_undo(self) -> None:
        self._actions.restore_runs(self._deleted)

    def _on_export(self, kind: ExportFormat) -> None:
        self._actions.ask_export(self._chosen(), kind)

    # Qt overrides

    def showEvent(self, event: QShowEvent) -> None:
        """Qt: read the history when the page is shown."""
        super().showEvent(event)
        self.refresh()

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_status"):
            theme.tint(self._status, theme.colors().muted)

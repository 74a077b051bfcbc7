"""Table of saved tests; a narrow window hides the least important columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from app.text.units import format_size
from ui.common.labels import plain_tip
from ui.common.speed_units import SPEED_UNITS, speed_text
from ui.common.status_text import local_time
from ui.common.tables import style_as_list

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent

    from app.history.model import RunSummary

if TYPE_CHECKING:
    AnyIndex = QModelIndex | QPersistentModelIndex


_NO_INDEX = QModelIndex()
#: Column numbers.
WHEN, SHARE, WHAT, WRITE, READ, REMARKS = range(6)
#: Columns that the tooltip of the time repeats, because a narrow window may hide them.
_TIP_COLUMNS = (WHEN, SHARE, WHAT)


class HistoryModel(QAbstractTableModel):
    """Item model of the saved tests, newest first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[RunSummary] = []
        self._titles = [
            self.tr("When"), self.tr("Share"), self.tr("Copied"), self.tr("To the server"),
            self.tr("From the server"), self.tr("Remarks"),
        ]  # fmt: skip
        SPEED_UNITS.changed.connect(self._on_unit)

    def show_rows(self, rows: list[RunSummary]) -> None:
        """Replace the rows."""
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def row_at(self, index: int) -> RunSummary:
        """Return the test of a row."""
        return self._rows[index]

    def place_of(self, number: int) -> int | None:
        """Return the row of a test by its number, None if the table does not have it."""
        return next((index for index, run in enumerate(self._rows) if run.id == number), None)

    def _on_unit(self) -> None:
        if self._rows:
            self.dataChanged.emit(self.index(0, WRITE), self.index(len(self._rows) - 1, READ))

    def _cell_text(self, row: RunSummary, column: int) -> str:
        if column == WHEN:
            return local_time(row.started_at)
        if column == SHARE:
            return f"{row.share}  ({row.link})" if row.link else row.share
        if column == WHAT:
            return self._workload_text(row)
        if column in {WRITE, READ}:
            speed = row.write if column == WRITE else row.read
            return self._speed_text(speed, cached=column == READ and row.read_cached)
        words = [self.tr("baseline")] if row.baseline else []
        return "  ·  ".join([*words, *row.tags, *([row.note] if row.note else [])])

    def _speed_text(self, speed: float | None, *, cached: bool) -> str:
        if speed is None:
            return "—"
        return self.tr("{speed} (cached)").format(speed=speed_text(speed)) if cached else speed_text(speed)

    def _workload_text(self, row: RunSummary) -> str:
        if row.kind == "grid":
            return self.tr("grid of fio")
        each = format_size(row.size / row.count)
        text = f"{row.count} × {each}" if row.count > 1 else each  # noqa: RUF001 - the sign
        return f"{text}, {row.repeats}×" if row.repeats > 1 else text  # noqa: RUF001 - the sign

    def _tip(self, row: RunSummary, column: int) -> str:
        if column == READ and row.read_cached:
            return self.tr("The client's cache had a part in it: this is not the server's speed.")
        lines = [self._cell_text(row, column)]
        if column in {WHEN, SHARE}:
            # The tooltip of the time repeats the columns that a narrow window may hide.
            lines = (
                [row.share, row.options]
                if column == SHARE
                else [self._cell_text(row, c) for c in _TIP_COLUMNS]
            )
        if column == REMARKS and row.origin:
            lines.append(self.tr("Imported from {file}.").format(file=row.origin))
        return plain_tip("\n".join(line for line in lines if line))

    # Qt overrides

    def rowCount(self, parent: AnyIndex = _NO_INDEX) -> int:
        """Qt: number of tests."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: AnyIndex = _NO_INDEX) -> int:
        """Qt: number of columns."""
        return 0 if parent.isValid() else len(self._titles)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Qt: column titles and their alignment."""
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole and section in {WRITE, READ}:
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return self._titles[section] if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Qt: text, tooltip and alignment of a cell."""
        if not index.isValid():
            return None
        row, column = self._rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._cell_text(row, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(row, column)
        if role == Qt.ItemDataRole.TextAlignmentRole and column in {WRITE, READ}:
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return None


#: Width of each column, characters.
_COLUMN_CHARACTERS = {WHEN: 18, SHARE: 26, WHAT: 20, WRITE: 15, READ: 19, REMARKS: 10}
#: Minimum width of a shrunk column before it is hidden, characters.
_MIN_CHARACTERS = 12


class HistoryTable(QTableView):
    """Table of tests with multiple selection.

    Args:
        model: model of the saved tests.
    """

    def __init__(self, model: HistoryModel) -> None:
        super().__init__()
        self._one_share = True
        self.setObjectName("history")
        self.setAccessibleName(self.tr("Tests"))
        style_as_list(self)
        self.setModel(model)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setCornerButtonEnabled(False)
        header = self.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        unit = self.fontMetrics().averageCharWidth()
        for column, characters in _COLUMN_CHARACTERS.items():
            self.setColumnWidth(column, characters * unit)
        header.setSectionResizeMode(REMARKS, QHeaderView.ResizeMode.Stretch)

    def show_scope(self, *, one_share: bool) -> None:
        """Adapt the columns to tests of one share, where the share is redundant, or of all shares."""
        self._one_share = one_share
        self._fit()

    def _fit(self) -> None:
        """Fit the columns to the width: hide the least important one, then shrink and hide the second."""
        unit = self.fontMetrics().averageCharWidth()
        first, second = (SHARE, WHAT) if self._one_share else (WHAT, SHARE)
        available, needed = self.viewport().width() // unit, sum(_COLUMN_CHARACTERS.values())
        self.setColumnHidden(first, needed > available)
        needed -= _COLUMN_CHARACTERS[first] if needed > available else 0
        characters = max(_COLUMN_CHARACTERS[second] - max(needed - available, 0), 0)
        self.setColumnHidden(second, characters < _MIN_CHARACTERS)
        self.setColumnWidth(second, characters * unit)

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: fit the columns to the new width."""
        super().resizeEvent(event)
        self._fit()

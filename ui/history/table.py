"""Table of saved tests; in a narrow window the least important columns give way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from app.units import format_size
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
#: Columns by number.
WHEN, SHARE, WHAT, WRITE, READ, REMARKS = range(6)
_PLACED = (WHEN, SHARE, WHAT)


class HistoryModel(QAbstractTableModel):
    """Rows as they were asked for, newest first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[RunSummary] = []
        self._titles = [
            self.tr("When"), self.tr("Share"), self.tr("Copied"), self.tr("To the server"),
            self.tr("From the server"), self.tr("Remarks"),
        ]  # fmt: skip
        SPEED_UNITS.changed.connect(self._on_unit)

    def show_rows(self, rows: list[RunSummary]) -> None:
        """Show these."""
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def row_at(self, place: int) -> RunSummary:
        """Return what a line shows."""
        return self._rows[place]

    def place_of(self, number: int) -> int | None:
        """Return the line of a run, None if it is not shown."""
        return next((place for place, row in enumerate(self._rows) if row.id == number), None)

    def _on_unit(self) -> None:
        if self._rows:
            self.dataChanged.emit(self.index(0, WRITE), self.index(len(self._rows) - 1, READ))

    def _text(self, row: RunSummary, column: int) -> str:
        if column == WHEN:
            return local_time(row.started_at)
        if column == SHARE:
            return f"{row.share}  ({row.link})" if row.link else row.share
        if column == WHAT:
            return self._what(row)
        if column in {WRITE, READ}:
            speed = row.write if column == WRITE else row.read
            return self._speed(speed, cached=column == READ and row.read_cached)
        words = [self.tr("baseline")] if row.baseline else []
        return "  ·  ".join([*words, *row.tags, *([row.note] if row.note else [])])

    def _speed(self, speed: float | None, *, cached: bool) -> str:
        if speed is None:
            return "—"
        return self.tr("{speed} (cached)").format(speed=speed_text(speed)) if cached else speed_text(speed)

    def _what(self, row: RunSummary) -> str:
        if row.kind == "grid":
            return self.tr("grid of fio")
        each = format_size(row.size / row.count)
        text = f"{row.count} × {each}" if row.count > 1 else each  # noqa: RUF001 - the sign
        return f"{text}, {row.repeats}×" if row.repeats > 1 else text  # noqa: RUF001 - the sign

    def _tip(self, row: RunSummary, column: int) -> str:
        if column == READ and row.read_cached:
            return self.tr("The client's cache had a part in it: this is not the server's speed.")
        lines = [self._text(row, column)]
        if column in {WHEN, SHARE}:
            # What a narrow window has no column for is with the time.
            lines = [row.share, row.options] if column == SHARE else [self._text(row, c) for c in _PLACED]
        if column == REMARKS and row.origin:
            lines.append(self.tr("Imported from {file}.").format(file=row.origin))
        return plain_tip("\n".join(line for line in lines if line))

    # Qt overrides

    def rowCount(self, parent: AnyIndex = _NO_INDEX) -> int:
        """Qt: runs."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: AnyIndex = _NO_INDEX) -> int:
        """Qt: columns."""
        return 0 if parent.isValid() else len(self._titles)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Qt: titles."""
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole and section in {WRITE, READ}:
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return self._titles[section] if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Qt: texts, tool tips, and where they stand."""
        if not index.isValid():
            return None
        row, column = self._rows[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(row, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(row, column)
        if role == Qt.ItemDataRole.TextAlignmentRole and column in {WRITE, READ}:
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return None


#: Letters of each column.
_LETTERS = {WHEN: 18, SHARE: 26, WHAT: 20, WRITE: 15, READ: 19, REMARKS: 10}
#: Letters of a column that has to make room, before it is left out.
_LEAST = 12


class HistoryTable(QTableView):
    """Lists tests, of which several can be chosen.

    Args:
        model: of the tests.
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
        for column, letters in _LETTERS.items():
            self.setColumnWidth(column, letters * unit)
        header.setSectionResizeMode(REMARKS, QHeaderView.ResizeMode.Stretch)

    def show_scope(self, *, one_share: bool) -> None:
        """Show tests of one share, which needs no column then, or of all."""
        self._one_share = one_share
        self._fit()

    def _fit(self) -> None:
        """Leave out what says least, make the next narrower, and leave it out, too, if nothing else helps."""
        unit = self.fontMetrics().averageCharWidth()
        first, second = (SHARE, WHAT) if self._one_share else (WHAT, SHARE)
        room, needed = self.viewport().width() // unit, sum(_LETTERS.values())
        self.setColumnHidden(first, needed > room)
        needed -= _LETTERS[first] if needed > room else 0
        letters = max(_LETTERS[second] - max(needed - room, 0), 0)
        self.setColumnHidden(second, letters < _LEAST)
        self.setColumnWidth(second, letters * unit)

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: another width has room for other columns."""
        super().resizeEvent(event)
        self._fit()

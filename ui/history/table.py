"""Table of saved tests: columns fit their content until the user sizes them; a narrow table hides some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, QSettings, Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from app.history.queries import changed_options
from app.text.units import format_size
from ui.common.labels import plain_tip
from ui.common.speed_units import SPEED_UNITS, speed_text
from ui.common.status_text import local_time, moment_text
from ui.common.tables import style_as_list

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from PySide6.QtGui import QResizeEvent

    from app.history.model import RunSummary
    from app.history.queries import BaselineDifference

if TYPE_CHECKING:
    AnyIndex = QModelIndex | QPersistentModelIndex


_NO_INDEX = QModelIndex()
#: Column numbers.
WHEN, SHARE, WHAT, SETTINGS, WRITE, READ, DIFFERENCE, REMARKS = range(8)
_NUMBERS = frozenset({WRITE, READ, DIFFERENCE})


class HistoryModel(QAbstractTableModel):
    """Item model of the saved tests, newest first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: Sequence[RunSummary] = []
        self._differences: Mapping[int, BaselineDifference] = {}
        self._titles = [
            self.tr("When"), self.tr("Share"), self.tr("What"), self.tr("Settings"), self.tr("To Server"),
            self.tr("From Server"), self.tr("To Baseline"), self.tr("Remarks"),
        ]  # fmt: skip
        SPEED_UNITS.changed.connect(self._on_unit)

    def show_rows(self, rows: Sequence[RunSummary], differences: Mapping[int, BaselineDifference]) -> None:
        """Replace the rows, and their differences to a baseline by the number of the test."""
        self.beginResetModel()
        self._rows, self._differences = rows, differences
        self.endResetModel()

    def row_at(self, index: int) -> RunSummary:
        """Return the test of a row."""
        return self._rows[index]

    def place_of(self, number: int) -> int | None:
        """Return the row of a test by its number, None if the table does not have it."""
        return next((index for index, run in enumerate(self._rows) if run.id == number), None)

    def is_empty(self, column: int) -> bool:
        """Return whether no row has anything to say in a column."""
        return not any(self._cell_text(row, column) for row in self._rows)

    def _on_unit(self) -> None:
        if self._rows:
            self.dataChanged.emit(self.index(0, WRITE), self.index(len(self._rows) - 1, READ))

    def _cell_text(self, row: RunSummary, column: int) -> str:
        if column in {WRITE, READ}:
            speed = row.write if column == WRITE else row.read
            return self._speed_text(speed, cached=column == READ and row.read_cached)
        if column == SETTINGS:
            return changed_options(row).replace(",", ", ") or self.tr("Defaults")
        if column == DIFFERENCE:
            return self.tr("Baseline") if row.baseline else self._difference_text(row)
        return {
            WHEN: moment_text(row.started_at),
            SHARE: f"{row.share}  ({row.link})" if row.link else row.share,
            WHAT: self._workload_text(row),
            REMARKS: "  ·  ".join([*row.tags, *([row.note] if row.note else [])]),
        }[column]

    def _speed_text(self, speed: float | None, *, cached: bool) -> str:
        if speed is None:
            return "—"
        return self.tr("{speed} (cached)").format(speed=speed_text(speed)) if cached else speed_text(speed)

    def _difference_text(self, row: RunSummary) -> str:
        difference = self._differences.get(row.id)
        if difference is None:
            return ""
        return "  ".join(_percent_text(part) for part in difference if part is not None)

    def _workload_text(self, row: RunSummary) -> str:
        if row.kind == "grid":
            return self.tr("Grid of requests (fio)")
        size = format_size(row.size / row.count)
        if row.count > 1:
            return self.tr("{count} files of {size}").format(count=f"{row.count:,}", size=size)
        return self.tr("One file of {size}").format(size=size)

    def _tip(self, row: RunSummary, column: int) -> str:
        if column == READ and row.read_cached:
            return self.tr("Part of the read came from the client's cache, not from the server.")
        lines = {
            WHEN: [local_time(row.started_at), row.share, self._workload_text(row)],
            SHARE: [row.share, row.options],
            WHAT: [self._workload_text(row), self.tr("Repeats: {count}").format(count=row.repeats)],
            SETTINGS: [self.tr("Requested: {options}").format(options=row.requested or "—"),
                       self.tr("In use: {options}").format(options=row.options or "—")],
            DIFFERENCE: self._difference_lines(row),
        }.get(column, [self._cell_text(row, column)])  # fmt: skip
        if column == REMARKS and row.origin:
            lines.append(self.tr("Imported from {file}.").format(file=row.origin))
        return plain_tip("\n".join(line for line in lines if line))

    def _difference_lines(self, row: RunSummary) -> list[str]:
        difference = self._differences.get(row.id)
        if row.baseline or difference is None:
            return []
        texts = ((self.tr("To the server: {percent}"), difference.write),
                 (self.tr("From the server: {percent}"), difference.read))  # fmt: skip
        lines = [text.format(percent=_percent_text(part)) for text, part in texts if part is not None]
        return [*lines, self.tr("Select both tests to see whether the difference is significant.")]

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
        if role == Qt.ItemDataRole.TextAlignmentRole and section in _NUMBERS:
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
        if role == Qt.ItemDataRole.TextAlignmentRole and column in _NUMBERS:
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return None


def _percent_text(part: float) -> str:
    """Return a difference with its sign; a rounded zero has none."""
    percent = round(100 * part)
    return f"{percent:+d}%".replace("-", "\N{MINUS SIGN}") if percent else "0%"


#: Largest width of a column that is as wide as its content, characters.
_MAX_CHARACTERS = {SHARE: 30, WHAT: 24, SETTINGS: 36, REMARKS: 30}
#: Width to which a column shrinks before it is hidden, characters.
_MIN_CHARACTERS = 11
#: Key of the settings with the widths that the user has chosen: pairs of column and pixels.
_WIDTHS_KEY = "history/column-widths"


class HistoryTable(QTableView):
    """Table of tests with multiple selection.

    Args:
        model: model of the saved tests.
    """

    def __init__(self, model: HistoryModel) -> None:
        super().__init__()
        self._model = model
        self._one_share = True
        self._fitting = False
        self._chosen_widths = _stored_widths()
        self.setObjectName("history")
        self.setAccessibleName(self.tr("Tests"))
        style_as_list(self)
        self.setModel(model)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setCornerButtonEnabled(False)
        header = self.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setMinimumSectionSize(self.fontMetrics().averageCharWidth() * 4)
        header.sectionResized.connect(self._on_resized)
        model.modelReset.connect(self._fit)

    def show_scope(self, *, one_share: bool) -> None:
        """Adapt the columns to tests of one share, where the share is redundant, or of all shares."""
        self._one_share = one_share
        self._fit()

    def _on_resized(self, column: int, _old: int, width: int) -> None:
        if self._fitting:
            return
        self._chosen_widths[column] = width
        pairs = [f"{key}:{value}" for key, value in sorted(self._chosen_widths.items())]
        QSettings().setValue(_WIDTHS_KEY, " ".join(pairs))

    def _wanted_width(self, column: int) -> int:
        if column in self._chosen_widths:
            return self._chosen_widths[column]
        unit = self.fontMetrics().averageCharWidth()
        content = max(self.sizeHintForColumn(column), self.horizontalHeader().sectionSizeHint(column)) + unit
        return min(content, _MAX_CHARACTERS.get(column, 40) * unit)

    def _fit(self) -> None:
        """Fit the columns to the width."""
        widths = self._fitting_widths()
        self._fitting = True
        for column in range(self._model.columnCount()):
            self.setColumnHidden(column, column not in widths)
            if column in widths:
                self.setColumnWidth(column, widths[column])
        self._fitting = False

    def _fitting_widths(self) -> dict[int, int]:
        """Return the widths of the columns to show: the least important ones shrink, then are hidden."""
        unit, available = self.fontMetrics().averageCharWidth(), self.viewport().width()
        hidden = {column for column in (DIFFERENCE, REMARKS) if self._model.is_empty(column)}
        if self._one_share:
            hidden.add(SHARE)
        shown = [column for column in range(self._model.columnCount()) if column not in hidden]
        widths = {column: self._wanted_width(column) for column in shown}
        for column in (REMARKS, WHAT, SETTINGS, DIFFERENCE, SHARE):
            excess = sum(widths.values()) - available
            if excess <= 0 or column not in widths:
                continue
            least = widths[column] if column == DIFFERENCE else _MIN_CHARACTERS * unit
            if widths[column] - excess >= least:
                widths[column] -= excess
            else:
                del widths[column]
        wide = next((column for column in (REMARKS, SETTINGS, WHAT) if column in widths), None)
        if wide is not None:
            widths[wide] += max(0, available - sum(widths.values()))
        return widths

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: fit the columns to the new width."""
        super().resizeEvent(event)
        self._fit()


def _stored_widths() -> dict[int, int]:
    """Return the widths that the user has chosen, px by column."""
    widths: dict[int, int] = {}
    for pair in str(QSettings().value(_WIDTHS_KEY, "")).split():
        column, _, width = pair.partition(":")
        if column.isdecimal() and width.isdecimal():
            widths[int(column)] = int(width)
    return widths

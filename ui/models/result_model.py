"""The figures of a finished test as a table: a row for each, a column for each direction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.units import format_duration, format_size, format_speed

if TYPE_CHECKING:
    from app.bench.result import TestResult, Transfer

    AnyIndex = QModelIndex | QPersistentModelIndex

#: True for a cell that deserves a look.
WarnRole = Qt.ItemDataRole.UserRole + 1

_NO_INDEX = QModelIndex()


class ResultModel(QAbstractTableModel):
    """Speed, times and losses of a test; columns only for the directions that were tested."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._titles: list[str] = []
        self._rows: list[tuple[str, str, list[str]]] = []
        self._warned: set[tuple[int, int]] = set()

    def show_result(self, result: TestResult | None) -> None:
        """Show these figures, or none."""
        self.beginResetModel()
        self._titles, self._rows, self._warned = [], [], set()
        if result is not None:
            self._fill(result)
        self.endResetModel()

    def _fill(self, result: TestResult) -> None:
        columns: list[Transfer] = []
        for title, transfer in (
            (self.tr("To the server"), result.write),
            (self.tr("From the server"), result.read),
        ):
            if transfer is not None:
                self._titles.append(title)
                columns.append(transfer)
        self._add(self.tr("Speed"), self.tr("Bytes over the whole time, fsync and close included."),
                  [self._speed(column) for column in columns])  # fmt: skip
        self._warned = {(0, place + 1) for place, column in enumerate(columns) if column.cached}
        self._add(self.tr("Amount"), self.tr("Bytes of the file."),
                  [format_size(column.bytes) for column in columns])  # fmt: skip
        self._add(self.tr("Copying"), self.tr("Time in the read or write calls alone."),
                  [format_duration(column.transfer_s) for column in columns])  # fmt: skip
        self._add(self.tr("Flushing (fsync)"), self.tr("Time until the server had every byte."),
                  [_time(column.fsync_s) for column in columns])  # fmt: skip
        self._add(self.tr("Closing"), self.tr("Time to close the file."),
                  [_time(column.close_s) for column in columns])  # fmt: skip
        if result.nfs:
            self._fill_network(columns)

    def _fill_network(self, columns: list[Transfer]) -> None:
        self._add(self.tr("Time-outs"), self.tr("Requests that got no answer in time (mountstats)."),
                  [str(column.timeouts) for column in columns])  # fmt: skip
        lost = self.tr("What had to be sent again because it, or its answer, was lost")
        self._add_counts(self.tr("Sent again (NFS requests)"), f"{lost} (mountstats).",
                         [column.rpc_retransmissions for column in columns])  # fmt: skip
        self._add_counts(self.tr("Sent again (TCP segments)"), f"{lost} (TCP_INFO of its connections).",
                         [column.tcp_retransmissions for column in columns])  # fmt: skip
        self._add(self.tr("Mean round trip"), self.tr("From sending a request to its answer."),
                  ["—" if column.mean_rtt_s is None else format_duration(column.mean_rtt_s)
                   for column in columns])  # fmt: skip

    def _add_counts(self, title: str, tip: str, counts: list[int | None]) -> None:
        """Add a row, unless its source has nothing to say on this mount."""
        if any(count is not None for count in counts):
            self._add(title, tip, ["—" if count is None else str(count) for count in counts])

    def _speed(self, transfer: Transfer) -> str:
        text = format_speed(transfer.bytes_per_s)
        return self.tr("{speed}, from the cache").format(speed=text) if transfer.cached else text

    def _add(self, title: str, tip: str, cells: list[str]) -> None:
        self._rows.append((title, tip, cells))

    # Qt overrides

    def rowCount(self, parent: AnyIndex = _NO_INDEX) -> int:
        """Qt: one a figure."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: AnyIndex = _NO_INDEX) -> int:
        """Qt: the figure's name, and one a direction."""
        return 0 if parent.isValid() or not self._titles else 1 + len(self._titles)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Qt: the directions above their columns."""
        across = orientation == Qt.Orientation.Horizontal
        if across and role == Qt.ItemDataRole.DisplayRole and section <= len(self._titles):
            return self._titles[section - 1] if section else ""
        return None

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Qt: the figure as text."""
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            title, _tip, cells = self._rows[index.row()]
            return cells[index.column() - 1] if index.column() else title
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._rows[index.row()][1]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if index.column() else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        if role == WarnRole:
            return (index.row(), index.column()) in self._warned
        return None


def _time(seconds: float) -> str:
    """Return a time; nothing to wait for is a dash."""
    return format_duration(seconds) if seconds else "—"

"""Tables of a test's figures: speeds, times and losses, and the grid cells that fio measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QColor, QGuiApplication, QKeyEvent, QKeySequence, QPalette
from PySide6.QtWidgets import (
    QFrame,
    QHeaderView,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QTableWidgetItem,
    QWidget,
)

from advisor.transfer_sizes import SMALL_READ_SIZE
from app.speedtest.model import SMALL_READS
from app.units import format_duration, format_size
from ui.common import theme
from ui.common.figure_text import interval_text, interval_title, kind_text
from ui.common.speed_units import speed_text
from ui.common.tables import AutoHeightTable, style_read_only, wrapped_title
from ui.common.translation import tr

if TYPE_CHECKING:
    from app.speedtest.model import Figure, GridCell, GridRun, TestResult, Transfer

if TYPE_CHECKING:
    #: One direction, and its repeats if there are several.
    Column = tuple[Transfer, Figure | None]

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
        columns: list[Column] = []
        for title, name, transfer in (
            (self.tr("To the server"), "write", result.write),
            (self.tr("From the server"), "read", result.read),
            (
                self.tr("Small reads ({size} a call)").format(size=format_size(SMALL_READ_SIZE)),
                SMALL_READS,
                result.small_read,
            ),
        ):
            if transfer is not None:
                self._titles.append(title)
                figure = result.figures.get(name)
                columns.append((transfer, figure if figure and len(figure.values) > 1 else None))
        self._fill_speeds(columns)
        self._warned = {(0, place + 1) for place, (transfer, _) in enumerate(columns) if transfer.cached}
        self._add(self.tr("Amount"), self.tr("Bytes of the files, in each repeat."),
                  [format_size(column.bytes) for column, _ in columns])  # fmt: skip
        self._add(self.tr("Copying"), self.tr("Time in the read or write calls alone."),
                  [format_duration(column.transfer_s) for column, _ in columns])  # fmt: skip
        flushed = self.tr(
            "Time until the server said that it has every byte; one that exports “async” says so before "
            "they are on its disk."
        )
        self._add(self.tr("Flushing (fsync)"), flushed, [_time(column.fsync_s) for column, _ in columns])
        self._add(self.tr("Closing"), self.tr("Time to close the file."),
                  [_time(column.close_s) for column, _ in columns])  # fmt: skip
        if result.nfs:
            self._fill_network(columns, result.write)

    def _fill_speeds(self, columns: list[Column]) -> None:
        """Add the speed, and how sure it is; what follows is of the repeat with the median speed."""
        whole = self.tr("Bytes over the whole time, fsync and close included.")
        figures = [figure for _, figure in columns if figure is not None]
        if not figures:
            self._add(
                self.tr("Speed"), whole, [self._speed(column, column.bytes_per_s) for column, _ in columns]
            )
            return
        count = min(len(figure.values) for figure in figures)
        self._add(self.tr("Speed, median of {count}").format(count=count), whole,
                  [self._speed(column, figure.median if figure else column.bytes_per_s)
                   for column, figure in columns])  # fmt: skip
        self._add(interval_title(figures[0]),
                  self.tr("Where the median of all such repeats lies; the warm-up is not among them."),
                  [interval_text(figure) if figure else "—" for _, figure in columns])  # fmt: skip

    def _fill_network(self, columns: list[Column], write: Transfer | None) -> None:
        self._add(self.tr("Time-outs"), self.tr("Requests that got no answer in time (mountstats)."),
                  [self._of_all(column.timeouts, figure.timeouts if figure else None)
                   for column, figure in columns])  # fmt: skip
        lost = self.tr("What this computer had to send again because it, or its answer, was lost")
        self._add_counts(self.tr("Sent again (NFS requests)"), f"{lost} (mountstats).",
                         [self._resent(pair, "mountstats") for pair in columns])  # fmt: skip
        self._add_counts(self.tr("Sent again (TCP segments)"), f"{lost} (TCP_INFO of its connections).",
                         [self._resent(pair, "tcp_info") for pair in columns])  # fmt: skip
        self._add_counts(
            self.tr("Out of order (TCP segments)"),
            self.tr("Of a read: what the server sent again is not counted here, but it comes out of order."),
            [_disorder(column) if column is not write else None for column, _ in columns],
        )
        self._add(self.tr("Mean round trip"), self.tr("From sending a request to its answer."),
                  ["—" if column.mean_rtt_s is None else format_duration(column.mean_rtt_s)
                   for column, _ in columns])  # fmt: skip

    def _resent(self, pair: Column, source: str) -> str | None:
        """Return what was sent again by one source; only the one that counts is summed over the repeats."""
        column, figure = pair
        count = column.tcp_retransmissions if source == "tcp_info" else column.rpc_retransmissions
        if count is None:
            return None
        summed = figure is not None and column.retransmissions_from == source
        return self._of_all(count, figure.retransmissions if figure is not None and summed else None)

    def _of_all(self, count: int, total: int | None) -> str:
        """Return a count, and that of all repeats if it is another."""
        if total is None or total == count:
            return str(count)
        return self.tr("{count}, in all repeats {total}").format(count=count, total=total)

    def _add_counts(self, title: str, tip: str, counts: list[str | None]) -> None:
        """Add a row, unless its source has nothing to say on this mount."""
        if any(count is not None for count in counts):
            self._add(title, tip, ["—" if count is None else count for count in counts])

    def _speed(self, transfer: Transfer, bytes_per_s: float) -> str:
        text = speed_text(bytes_per_s)
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


def _disorder(transfer: Transfer) -> str | None:
    part = transfer.disorder
    return None if part is None else f"{100 * part:.2g} %"


class _WarnDelegate(QStyledItemDelegate):
    """Colors the cells that deserve a look."""

    # Qt overrides

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Qt: prepare a cell."""
        super().initStyleOption(option, index)
        if index.data(WarnRole):
            palette: QPalette = option.palette
            dark = palette.color(QPalette.ColorRole.Base).lightness() < 128
            palette.setColor(QPalette.ColorRole.Text, QColor((theme.DARK if dark else theme.LIGHT).warn))
            option.palette = palette


class ResultTable(QTableView):
    """Shows a :class:`ResultModel`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = ResultModel(self)
        self.setObjectName("results")
        self.setAccessibleName(self.tr("Result of the test"))
        style_read_only(self)
        self.setModel(self._model)
        self.setItemDelegate(_WarnDelegate(self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAlternatingRowColors(True)
        self.setCornerButtonEnabled(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        columns = self.horizontalHeader()
        columns.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        columns.setDefaultAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        rows = self.verticalHeader()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setDefaultSectionSize(int(self.fontMetrics().lineSpacing() * 1.45))
        rows.hide()

    def show_result(self, result: TestResult | None) -> None:
        """Show these figures."""
        self._model.show_result(result)
        unit = self.fontMetrics().averageCharWidth()
        for column in range(self._model.columnCount()):
            needed = max(self.sizeHintForColumn(column), self.horizontalHeader().sectionSizeHint(column))
            self.setColumnWidth(column, max(needed + 3 * unit, 20 * unit))
        self.updateGeometry()

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: as large as the whole table."""
        rows, columns = self.verticalHeader(), self.horizontalHeader()
        return QSize(columns.length() + 2, columns.sizeHint().height() + rows.length() + 2)

    def minimumSizeHint(self) -> QSize:
        """Qt: never less than the whole table."""
        return self.sizeHint()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt: copy the whole table as tab-separated text."""
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.text())
            return
        super().keyPressEvent(event)

    def text(self) -> str:
        """Return the table as tab-separated text."""
        model = self._model
        columns = range(model.columnCount())
        lines = [[str(model.headerData(column, Qt.Orientation.Horizontal)) for column in columns]]
        lines += [
            [str(model.index(row, column).data()) for column in columns] for row in range(model.rowCount())
        ]
        return "\n".join("\t".join(line) for line in lines)


_JOBS = 2


class GridCellTable(AutoHeightTable):
    """Hidden while there are none."""

    def __init__(self) -> None:
        titles = [
            tr("Pattern"), tr("Request"), tr("Jobs"), tr("At once"),
            tr("Requests/s"), tr("Speed"), tr("Mean time"), tr("99 % within"), tr("Held back by"),
        ]  # fmt: skip
        super().__init__("grid", tr("Result of the grid"), [wrapped_title(title) for title in titles])
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.horizontalHeader().setStretchLastSection(True)
        self.hide()

    def show_cells(self, cells: list[GridCell]) -> None:
        """Show these; of several repeats the one with the median number of requests."""
        self.setVisible(bool(cells))
        self.setRowCount(len(cells))
        self.setColumnHidden(_JOBS, all(cell.jobs == 1 for cell in cells))
        names = {
            "seqread": self.tr("Read in order"), "seqwrite": self.tr("Write in order"),
            "randread": self.tr("Read at random"), "randwrite": self.tr("Write at random"),
        }  # fmt: skip
        for row, cell in enumerate(cells):
            texts = [
                names[cell.pattern],
                format_size(cell.record),
                str(cell.jobs),
                str(cell.depth),
                *_figures(cell.median_run),
                self._held_text(cell),
            ]
            for column, text in enumerate(texts):
                item = QTableWidgetItem(text)
                if 0 < column < len(texts) - 1:
                    item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                self.setItem(row, column, item)
        self.updateGeometry()

    def _held_text(self, cell: GridCell) -> str:
        found = cell.bottleneck
        if found is None:
            return "—"
        return self.tr("not clear") if found.kind == "unclear" else kind_text(found)


def _figures(run: GridRun | None) -> list[str]:
    if run is None:
        return ["—"] * 4
    p99 = format_duration(run.p99_s) if run.p99_s else "—"
    return [f"{run.iops:,.0f}", speed_text(run.bytes_per_s), format_duration(run.latency_s), p99]

"""Tables of a test's figures: speeds, times and losses, and the grid cells measured by fio."""

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
from app.text.units import format_duration, format_size
from ui.common import theme
from ui.common.figure_text import interval_text, interval_title
from ui.common.speed_units import speed_text
from ui.common.tables import AutoHeightTable, style_read_only, wrapped_title
from ui.common.translation import tr

if TYPE_CHECKING:
    from app.speedtest.model import Figure, GridCell, GridRun, TestResult, Transfer

if TYPE_CHECKING:
    #: Transfer in one direction (the median repeat), and the figure over all repeats if there are several.
    Column = tuple[Transfer, Figure | None]

    AnyIndex = QModelIndex | QPersistentModelIndex

#: Item data role that is True for a cell with a warning.
WarnRole = Qt.ItemDataRole.UserRole + 1

_NO_INDEX = QModelIndex()


class ResultModel(QAbstractTableModel):
    """Item model of speed, times and losses of a test; one column per tested direction."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._titles: list[str] = []
        self._rows: list[tuple[str, str, list[str]]] = []
        self._warning_cells: set[tuple[int, int]] = set()

    def show_result(self, result: TestResult | None) -> None:
        """Replace the figures; None empties the model."""
        self.beginResetModel()
        self._titles, self._rows, self._warning_cells = [], [], set()
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
        self._warning_cells = {
            (0, index + 1) for index, (transfer, _) in enumerate(columns) if transfer.cached
        }
        self._add(self.tr("Amount"), self.tr("Bytes of the files in each repeat"),
                  [format_size(column.bytes) for column, _ in columns])  # fmt: skip
        self._add(self.tr("Copy"), self.tr("Time in the read or write calls"),
                  [format_duration(column.transfer_s) for column, _ in columns])  # fmt: skip
        flushed = self.tr(
            "Time until the server confirmed every byte. A server that exports “async” confirms before "
            "they are on its disk."
        )
        self._add(self.tr("Flush (fsync)"), flushed, [_time(column.fsync_s) for column, _ in columns])
        self._add(self.tr("Close"), self.tr("Time to close the file"),
                  [_time(column.close_s) for column, _ in columns])  # fmt: skip
        if result.nfs:
            self._fill_network(columns, result.write)

    def _fill_speeds(self, columns: list[Column]) -> None:
        """Add the rows of the median speed and its interval; all other rows are of the median repeat."""
        whole = self.tr("Bytes by the whole time, with fsync and close")
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
                  self.tr("Interval of the median over the repeats, without the warm-up"),
                  [interval_text(figure) if figure else "—" for _, figure in columns])  # fmt: skip

    def _fill_network(self, columns: list[Column], write: Transfer | None) -> None:
        self._add(self.tr("Timeouts"), self.tr("Requests without an answer in time (mountstats)"),
                  [self._with_total(column.timeouts, figure.timeouts if figure else None)
                   for column, figure in columns])  # fmt: skip
        self._add_counts(self.tr("Retransmitted requests"),
                         self.tr("Lost NFS requests or answers (mountstats)"),
                         [self._retransmissions_text(pair, "mountstats") for pair in columns])  # fmt: skip
        self._add_counts(self.tr("Retransmitted TCP segments"),
                         self.tr("Lost segments, by TCP_INFO of the connections"),
                         [self._retransmissions_text(pair, "tcp_info") for pair in columns])  # fmt: skip
        self._add_counts(
            self.tr("TCP segments out of order"),
            self.tr("Segments that the server retransmitted arrive out of order."),
            [_disorder_text(column) if column is not write else None for column, _ in columns],
        )
        self._add(self.tr("Mean wait per request"), self.tr("Time from sending a request to its answer"),
                  ["—" if column.mean_rtt_s is None else format_duration(column.mean_rtt_s)
                   for column, _ in columns])  # fmt: skip

    def _retransmissions_text(self, pair: Column, source: str) -> str | None:
        """Format the retransmissions of a source, "mountstats" or "tcp_info"; None if it has no counter.

        A total over all repeats exists only for the source that the test chose.
        """
        column, figure = pair
        count = column.tcp_retransmissions if source == "tcp_info" else column.rpc_retransmissions
        if count is None:
            return None
        summed = figure is not None and column.retransmissions_from == source
        return self._with_total(count, figure.retransmissions if figure is not None and summed else None)

    def _with_total(self, count: int, total: int | None) -> str:
        """Format a count of the median repeat, and the total of all repeats if it differs."""
        if total is None or total == count:
            return str(count)
        return self.tr("{count}, in all repeats {total}").format(count=count, total=total)

    def _add_counts(self, title: str, tip: str, counts: list[str | None]) -> None:
        """Add a row, unless all its counts are missing."""
        if any(count is not None for count in counts):
            self._add(title, tip, ["—" if count is None else count for count in counts])

    def _speed(self, transfer: Transfer, bytes_per_s: float) -> str:
        text = speed_text(bytes_per_s)
        return self.tr("{speed} (cached)").format(speed=text) if transfer.cached else text

    def _add(self, title: str, tip: str, cells: list[str]) -> None:
        self._rows.append((title, tip, cells))

    # Qt overrides

    def rowCount(self, parent: AnyIndex = _NO_INDEX) -> int:
        """Qt: number of figures."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: AnyIndex = _NO_INDEX) -> int:
        """Qt: one column for the titles, and one per direction."""
        return 0 if parent.isValid() or not self._titles else 1 + len(self._titles)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Qt: names of the directions."""
        across = orientation == Qt.Orientation.Horizontal
        if across and role == Qt.ItemDataRole.DisplayRole and section <= len(self._titles):
            return self._titles[section - 1] if section else ""
        return None

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Qt: text, tooltip, alignment and warning of a cell."""
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
            return (index.row(), index.column()) in self._warning_cells
        return None


def _time(seconds: float) -> str:
    """Format a time in seconds; zero is a dash."""
    return format_duration(seconds) if seconds else "—"


def _disorder_text(transfer: Transfer) -> str | None:
    part = transfer.disorder
    return None if part is None else f"{100 * part:.2g}%"


class _WarnDelegate(QStyledItemDelegate):
    """Delegate that colors the text of cells with a warning."""

    # Qt overrides

    def initStyleOption(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Qt: set the palette of one cell."""
        super().initStyleOption(option, index)
        if index.data(WarnRole):
            palette: QPalette = option.palette
            palette.setColor(QPalette.ColorRole.Text, QColor(theme.colors().warn))
            option.palette = palette


class ResultTable(QTableView):
    """Table of a :class:`ResultModel`, as large as its content; Copy copies all of it."""

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
        """Show the figures of a test; None empties the table."""
        self._model.show_result(result)
        unit = self.fontMetrics().averageCharWidth()
        for column in range(self._model.columnCount()):
            needed = max(self.sizeHintForColumn(column), self.horizontalHeader().sectionSizeHint(column))
            self.setColumnWidth(column, max(needed + 3 * unit, 20 * unit))
        self.updateGeometry()

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: size of the whole table."""
        rows, columns = self.verticalHeader(), self.horizontalHeader()
        return QSize(columns.length() + 2, columns.sizeHint().height() + rows.length() + 2)

    def minimumSizeHint(self) -> QSize:
        """Qt: size of the whole table."""
        return self.sizeHint()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt: the Copy shortcut copies the whole table as tab-separated text."""
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


#: Column of the number of jobs; hidden if it is 1 in all cells.
_JOBS = 2


class GridCellTable(AutoHeightTable):
    """Table of the grid cells measured by fio; hidden while it is empty."""

    def __init__(self) -> None:
        titles = [
            tr("Pattern"), tr("Request"), tr("Jobs"), tr("Queue Depth"),
            tr("Requests/s"), tr("Speed"), tr("Mean Time"), tr("99% Within"), tr("Limited By"),
        ]  # fmt: skip
        super().__init__("grid", tr("Results of the grid"), [wrapped_title(title) for title in titles])
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.horizontalHeader().setStretchLastSection(True)
        self.hide()

    def show_cells(self, cells: list[GridCell]) -> None:
        """Show grid cells; of several repeats, the one with the median number of requests."""
        self.setVisible(bool(cells))
        self.setRowCount(len(cells))
        self.setColumnHidden(_JOBS, all(cell.jobs == 1 for cell in cells))
        names = {
            "seqread": self.tr("Sequential read"), "seqwrite": self.tr("Sequential write"),
            "randread": self.tr("Random read"), "randwrite": self.tr("Random write"),
        }  # fmt: skip
        for row, cell in enumerate(cells):
            texts = [
                names[cell.pattern],
                format_size(cell.record),
                str(cell.jobs),
                str(cell.depth),
                *_figures(cell.median_run),
                self._bottleneck_text(cell),
            ]
            for column, text in enumerate(texts):
                item = QTableWidgetItem(text)
                if 0 < column < len(texts) - 1:
                    item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                self.setItem(row, column, item)
        self.updateGeometry()

    def _bottleneck_text(self, cell: GridCell) -> str:
        bottleneck = cell.bottleneck
        if bottleneck is None:
            return "—"
        return {
            "network": self.tr("Network"), "server": self.tr("Server"),
            "round-trips": self.tr("Wait per request"), "client": self.tr("This computer"),
            "unclear": self.tr("Unclear"),
        }[bottleneck.kind]  # fmt: skip


def _figures(run: GridRun | None) -> list[str]:
    if run is None:
        return ["—"] * 4
    p99 = format_duration(run.p99_s) if run.p99_s else "—"
    return [f"{run.iops:,.0f}", speed_text(run.bytes_per_s), format_duration(run.latency_s), p99]

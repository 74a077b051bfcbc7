"""Live page: what a mount does now, by the NFS client's counters, in tiles and a plot of two minutes.

The agent reads /proc/self/mountstats and sends no request to the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QTableWidgetItem, QVBoxLayout, QWidget

from advisor.speeds import format_speed
from app.errors import AppError, ErrorKind
from app.stats.model import WatchArgs
from app.text.units import format_duration, format_size
from ui.common.bridge import LatestCall, ignore
from ui.common.cards import Card, CardKind, Tile
from ui.common.fonts import TextSize
from ui.common.icons import icon_label
from ui.common.labels import MutedLabel, plain_label
from ui.common.layout import CollapsibleSection, PageColumn, PageScrollArea
from ui.common.speed_units import SPEED_UNITS, SpeedUnitBox, speed_text
from ui.common.tables import ReadOnlyTable
from ui.common.translation import tr
from ui.live.sample_window import SPAN_S, SampleWindow
from ui.plots.legend import Legend

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent

    from app.mounts.model import Mount
    from app.stats.model import OperationRate, StatsSample
    from app.stats.unusual import UnusualFigure
    from ui.common.bridge import BridgeCall
    from ui.live.sample_window import LossCounts

#: Maximum number of rows visible without scrolling.
_ROWS = 6


class OperationsTable(ReadOnlyTable):
    """Table of the NFS operations called in the last second, with rate, speed, times and errors."""

    def __init__(self) -> None:
        titles = [
            tr("Operation"), tr("Per Second"), tr("Speed"), tr("RTT"),
            tr("Queue"), tr("Total Time"), tr("Errors"),
        ]  # fmt: skip
        super().__init__("operations", tr("Operations"), titles)

    def show_operations(self, operations: list[OperationRate]) -> None:
        """Replace the shown operations."""
        self.clearSpans()
        self.setRowCount(max(len(operations), 1))
        if not operations:
            self.setItem(0, 0, QTableWidgetItem(self.tr("No requests in the last second")))
            self.setSpan(0, 0, 1, self.columnCount())
        for row, operation in enumerate(operations):
            texts = [
                operation.name, f"{operation.ops_per_s:.0f}", speed_text(operation.bytes_per_s),
                format_duration(operation.rtt_s), format_duration(operation.queue_s),
                format_duration(operation.execute_s),
                "—" if operation.errors is None else str(operation.errors),
            ]  # fmt: skip
            for column, text in enumerate(texts):
                item = QTableWidgetItem(text)
                if column:
                    item.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                self.setItem(row, column, item)
        self.updateGeometry()

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: height of one to ``_ROWS`` rows and the header."""
        rows = max(1, min(self.rowCount(), _ROWS))
        height = (
            self.horizontalHeader().sizeHint().height() + rows * self.verticalHeader().defaultSectionSize()
        )
        return QSize(super().sizeHint().width(), height + 4)

    def minimumSizeHint(self) -> QSize:
        """Qt: the full height."""
        return QSize(0, self.sizeHint().height())


#: Delay before watching a mount again that was not mounted, ms.
_RETRY_DELAY_MS = 1000
#: Tiles in a row, of a wide page and of a narrow one; minimum width of a tile, characters.
_COLUMNS, _NARROW_COLUMNS, _TILE_CHARACTERS = 4, 2, 17
#: Tiles that are always shown; the others are folded.
_MAIN_TILES = 8


class LivePanel(QWidget):
    """Page that watches one mount while it is visible.

    Args:
        submit: sends a request to the agent.

    Signals:
        failed: the watch failed (AppError).
    """

    failed = Signal(object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall]) -> None:
        super().__init__()
        self._share = self._mount_point = ""
        self._call = LatestCall(submit)
        self._retry_timer = QTimer(self)
        self._retry_timer.setSingleShot(True)
        self._retry_timer.timeout.connect(self._start)
        self._window = SampleWindow()
        self._plot: Any = None
        self._captions = {
            "read": self.tr("From the server"), "write": self.tr("To the server"),
            "ops": self.tr("Requests"), "rtt": self.tr("Wait per request"),
            "segments": self.tr("Retransmissions"), "timeouts": self.tr("Timeouts"),
            "errors": self.tr("Errors"), "queue": self.tr("Send queue"),
            "execute": self.tr("Total time per request"),
            "retransmissions": self.tr("Retransmitted requests"),
            "disordered": self.tr("Segments out of order"), "readahead": self.tr("Readahead"),
        }  # fmt: skip
        self._tiles = {name: Tile(size=TextSize.TITLE) for name in self._captions}
        for name, tip in self._tips().items():
            self._tiles[name].setObjectName(f"live-{name}")
            self._tiles[name].setToolTip(tip)
            self._tiles[name].setMinimumWidth(1)
            self._tiles[name].body.setContentsMargins(12, 8, 12, 8)
        self._status = MutedLabel(wrap=True)
        self._status.setObjectName("live-said")
        self._note = plain_label(wrap=True)
        self._note.setObjectName("live-elsewhere")
        self._note_card = Card(CardKind.ACCENT)
        self._note_card.hide()
        self._legend = Legend()
        self._plot_box = QWidget()
        self._plot_layout = QVBoxLayout(self._plot_box)
        self._plot_layout.setContentsMargins(0, 0, 0, 0)
        self._operations = OperationsTable()
        self._connections = MutedLabel(wrap=True)
        self._connections.setObjectName("connections")
        self._columns = 0
        self._lay_out()
        SPEED_UNITS.changed.connect(self._show)
        self._show()

    def _lay_out(self) -> None:
        note = QHBoxLayout()
        note.addWidget(icon_label("info", "info"), 0, Qt.AlignmentFlag.AlignTop)
        note.addWidget(self._note, 1)
        self._note_card.body.addLayout(note)
        self._main_tiles, more = QWidget(), QWidget()
        self._grids = (QGridLayout(self._main_tiles), QGridLayout(more))
        for grid in self._grids:
            grid.setContentsMargins(0, 0, 0, 0)
            grid.setSpacing(8)
        self._arrange(_NARROW_COLUMNS)
        above = QHBoxLayout()
        above.addWidget(self._legend, 1)
        above.addWidget(SpeedUnitBox(), 0, Qt.AlignmentFlag.AlignTop)
        details = CollapsibleSection("live-more", [more])
        details.set_title(self.tr("More Counters"))
        operations = CollapsibleSection("live-operations", [self._operations, self._connections])
        operations.set_title(self.tr("Operations and Connections"))
        page = PageColumn()
        page.body.setSpacing(12)
        for part in (self._status, self._note_card, self._main_tiles):
            page.body.addWidget(part)
        page.body.addLayout(above)
        page.body.addWidget(self._plot_box, 1)
        page.body.addWidget(details)
        page.body.addWidget(operations)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(PageScrollArea(page, self.tr("Live")))

    def _arrange(self, columns: int) -> None:
        """Arrange the tiles in a number of columns."""
        if columns == self._columns:
            return
        self._columns = columns
        tiles = list(self._tiles.values())
        for grid, shown in zip(self._grids, (tiles[:_MAIN_TILES], tiles[_MAIN_TILES:]), strict=True):
            for index, tile in enumerate(shown):
                grid.addWidget(tile, index // columns, index % columns)
            for column in range(_COLUMNS):
                grid.setColumnStretch(column, 1 if column < columns else 0)
        self._plot_box.setMinimumHeight(self.fontMetrics().lineSpacing() * 9)

    def _tips(self) -> dict[str, str]:
        """Return what each figure means, and what is usual."""
        return {
            "read": self.tr("Payload that programs read from the server, per second."),
            "write": self.tr("Payload that programs wrote to the server, per second."),
            "ops": self.tr("NFS requests per second. “Operations and Connections” has them by kind."),
            "rtt": self.tr(
                "Round-trip time of network and server together. A few milliseconds are usual on a local "
                "network.\nIf it grows while the link is not full, check the server's disks."
            ),
            "queue": self.tr(
                "Time before a request is sent. Near zero is usual.\n"
                "More than the RTT means too few slots or connections: try nconnect."
            ),
            "execute": self.tr(
                "Time from the call to its end. Usually it is queue and RTT together.\nMuch more means that "
                "this computer is busy."
            ),
            "timeouts": self.tr(
                "Requests without an answer within timeo. None is usual.\nCheck the server and the network. "
                "On a slow link, try a longer timeo."
            ),
            "retransmissions": self.tr(
                "Requests that the client retransmitted. None is usual over TCP, unless a connection broke.\n"
                "Over UDP, each is a lost request: use TCP."
            ),
            "segments": self.tr(
                "TCP segments lost on the link from this computer. All mounts of the server share them.\n"
                "A few are usual. One in a hundred makes a long link slow: check cables, Wi-Fi and load."
            ),
            "disordered": self.tr(
                "Segments that the server retransmitted arrive out of order. A few are usual.\n"
                "Many mean losses on the link from the server."
            ),
            "errors": self.tr(
                "Replies with an error status. Look-ups of missing files count, so a few are usual.\n"
                "For errors of OPEN or ACCESS, check the permissions."
            ),
            "readahead": self.tr(
                "Data that the kernel reads ahead of a program. The kernel's default is 128 KiB.\n"
                "A long or fast link needs more."
            ),
        }

    # Called by the window

    def set_mount(self, mount: Mount | None) -> None:
        """Watch a mount, if it is mounted; None watches none."""
        watched: tuple[str, str] = ("", "")
        if mount is not None and mount.active is not None:
            watched = (mount.share, mount.mount_point)
        if watched == (self._share, self._mount_point):
            return
        self._stop()
        self._share, self._mount_point = watched
        self._show_nothing()
        if self.isVisible():
            self._start()

    def show_elsewhere(self, text: str) -> None:
        """Show why a running measurement does not appear in these figures; "" hides the note."""
        self._note.setText(text)
        self._note_card.setVisible(bool(text))

    def reset(self) -> None:
        """Stop watching, because the window shows another host."""
        self.set_mount(None)

    # Watching

    def _start(self) -> None:
        if self._call.is_pending or not self._mount_point or not self.isVisible():
            return
        # The times of a watch start at zero, so samples of an earlier one do not fit.
        self._show_nothing()
        args = WatchArgs(mount_point=self._mount_point)
        if self._call.ask("stats.watch", args, ignore, self._on_failed, self._on_sample):
            self._show_status(self.tr("Waiting for the first second…"))

    def _stop(self) -> None:
        self._retry_timer.stop()
        self._call.cancel()

    def _on_sample(self, sample: StatsSample) -> None:
        self._window.take(sample)
        self._show()

    def _on_failed(self, error: AppError) -> None:
        self._show_nothing()
        if error.kind is ErrorKind.NOT_MOUNTED:
            # Changing options unmounts briefly; the mount list shows a lasting unmount.
            self._show_status(self.tr("Not mounted at the moment"))
            self._retry_timer.start(_RETRY_DELAY_MS)
        elif error.kind is not ErrorKind.CANCELLED:
            self.failed.emit(error)

    # Display

    def _show_nothing(self) -> None:
        """Clear the samples, so that old figures do not appear as present ones."""
        self._window.clear()
        self._show()

    def _show(self) -> None:
        sample = self._window.latest
        timeline = self._window.timeline()
        self._legend.show_marks(timeline)
        if self._plot is not None:
            self._plot.draw(timeline)
            self._plot.describe_timeline()
        self._operations.show_operations(sample.operations if sample is not None else [])
        self._connections.setText(self._connections_text(sample) if sample is not None else "")
        self._show_status("")
        if sample is None:
            for name, tile in self._tiles.items():
                self._show_tile(tile, name, "—", " ", unusual=False)
            return
        unusual = self._window.unusual()
        losses = self._window.trouble()
        span = self.tr("in {seconds} s").format(seconds=round(losses.span_s))
        if losses.span_s >= SPAN_S:
            span = self.tr("in 2 minutes")
        for name, count in _counts(losses).items():
            self._show_tile(
                self._tiles[name], name, "—" if count is None else f"{count:,}", span, unusual=name in unusual
            )
        readahead = "—" if sample.read_ahead_kb is None else format_size(sample.read_ahead_kb * 1024)
        values = {
            "read": format_speed(sample.read_bytes_per_s), "write": format_speed(sample.write_bytes_per_s),
            "ops": self.tr("{count}/s").format(count=round(sample.ops_per_s)), "rtt": _time(sample.rtt_s),
            "queue": _time(sample.queue_s), "execute": _time(sample.execute_s), "readahead": readahead,
        }  # fmt: skip
        for name, value in values.items():
            self._show_tile(self._tiles[name], name, value, " ", unusual=name in unusual)
        for name, (field, color) in _COURSES.items():
            self._tiles[name].set_sparkline(self._window.values(field), color)

    def _show_tile(self, tile: Tile, name: str, value: str, detail: str, *, unusual: bool) -> None:
        """Show a value; red and a word mark what is unusual."""
        if unusual:
            detail = (
                self.tr("{detail}, unusual").format(detail=detail) if detail.strip() else self.tr("Unusual")
            )
        tile.set_kind(CardKind.ERROR if unusual else CardKind.PLAIN)
        color = "error" if unusual else name if name in {"read", "write"} else None
        tile.set_value(self._captions[name], value, detail, color)

    def _show_status(self, text: str) -> None:
        self._status.setText(text)
        self._status.setVisible(bool(text))

    def _connections_text(self, sample: StatsSample) -> str:
        lines = [
            self.tr("Connection {number} ({kind}): {sends} sent, {answers} answered per second").format(
                number=number,
                kind=transport.kind,
                sends=round(transport.sends_per_s),
                answers=round(transport.receives_per_s),
            )
            for number, transport in enumerate(sample.transports, 1)
        ]
        return "\n".join(lines)

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: arrange the tiles for the new width."""
        super().resizeEvent(event)
        needed = self.fontMetrics().averageCharWidth() * _TILE_CHARACTERS * _COLUMNS
        self._arrange(_COLUMNS if self.width() >= needed else _NARROW_COLUMNS)

    def showEvent(self, event: QShowEvent) -> None:
        """Qt: load the plot and start watching."""
        super().showEvent(event)
        if self._plot is None:
            # Imported late, because pyqtgraph takes a second to import.
            from ui.plots.live_plot import LivePlot

            self._plot = LivePlot()
            self._plot_layout.addWidget(self._plot)
            self._plot.draw(self._window.timeline())
        self._start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Qt: stop watching."""
        super().hideEvent(event)
        self._stop()


#: Tiles with a sparkline: field of StatsSample, and field of :class:`ui.common.theme.Colors`.
_COURSES = {
    "read": ("read_bytes_per_s", "read"), "write": ("write_bytes_per_s", "write"),
    "ops": ("ops_per_s", "muted"), "rtt": ("rtt_s", "trip"), "segments": ("segments", "warn"),
    "timeouts": ("timeouts", "error"),
    "errors": ("errors", "muted"), "queue": ("queue_s", "trip"),
}  # fmt: skip


def _counts(losses: LossCounts) -> dict[UnusualFigure, int | None]:
    """Return the counts of losses and errors over the whole plotted time, as single seconds hide them."""
    return {
        "timeouts": losses.timeouts, "retransmissions": losses.retransmissions, "segments": losses.segments,
        "disordered": losses.disordered, "errors": losses.errors,
    }  # fmt: skip


def _time(seconds: float | None) -> str:
    return "—" if seconds is None else format_duration(seconds)

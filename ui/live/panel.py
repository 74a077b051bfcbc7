"""Live page: speed, latencies, losses and operations of a mount, from the NFS client's counters.

The agent reads /proc/self/mountstats and sends no request to the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.errors import AppError, ErrorKind
from app.stats.model import WatchArgs
from app.text.units import format_duration, format_size
from ui.common.bridge import LatestCall, ignore
from ui.common.labels import MutedLabel, enlarge, heading, plain_label
from ui.common.speed_units import SPEED_UNITS, SpeedUnitBox, speed_text
from ui.common.tables import ReadOnlyTable
from ui.common.translation import tr
from ui.live.sample_window import SPAN_S, SampleWindow
from ui.plots.legend import Legend

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QHideEvent, QShowEvent

    from app.mounts.model import Mount
    from app.stats.model import OperationRate, StatsSample
    from ui.common.bridge import BridgeCall
    from ui.live.sample_window import LossCounts

#: Maximum number of rows visible without scrolling.
_ROWS = 6


class OperationsTable(ReadOnlyTable):
    """Table of the NFS operations called in the last second, with rate, speed, times and errors."""

    def __init__(self) -> None:
        titles = [
            tr("Operation"), tr("a second"), tr("Speed"), tr("Round trip"),
            tr("Waiting"), tr("In all"), tr("Errors"),
        ]  # fmt: skip
        super().__init__("operations", tr("Operations"), titles)

    def show_operations(self, operations: list[OperationRate]) -> None:
        """Replace the shown operations."""
        self.clearSpans()
        self.setRowCount(max(len(operations), 1))
        if not operations:
            self.setItem(0, 0, QTableWidgetItem(self.tr("None was called in the last second.")))
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
        self._values: dict[str, QLabel] = {}
        self._status = plain_label(wrap=True)
        self._status.setObjectName("live-said")
        self._note = MutedLabel(wrap=True)
        self._note.setObjectName("live-elsewhere")
        self._note.hide()
        self._legend = Legend()
        self._plot_box = QFrame()
        self._plot_box.setFrameShape(QFrame.Shape.StyledPanel)
        self._plot_box.setMinimumHeight(self.fontMetrics().lineSpacing() * 9)
        self._plot_layout = QVBoxLayout(self._plot_box)
        self._plot_layout.setContentsMargins(1, 1, 1, 1)
        self._operations = OperationsTable()
        self._connections = MutedLabel(wrap=True)
        self._connections.setObjectName("connections")
        self._lay_out()
        SPEED_UNITS.changed.connect(self._show)

    def _lay_out(self) -> None:
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.setContentsMargins(16, 14, 16, 14)
        layout.setSpacing(10)
        top = QHBoxLayout()
        top.addWidget(self._status, 1)
        top.addWidget(SpeedUnitBox())
        layout.addLayout(top)
        layout.addWidget(self._note)
        layout.addWidget(self._legend)
        layout.addWidget(self._plot_box, 1)
        layout.addLayout(self._figures())
        layout.addWidget(heading(self.tr("Operations"), scale=1.0))
        layout.addWidget(self._operations)
        layout.addWidget(self._connections)
        scroll = QScrollArea()
        scroll.setAccessibleName(self.tr("What the mount does now"))
        scroll.setWidget(page)
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(scroll)

    def _figures(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(3)
        grid.setColumnStretch(2, 1)
        rows = [
            ("rtt", self.tr("Round trip"),
             self.tr("Network and server together. A few milliseconds are usual on a local network; if it "
                     "grows while the link is not full, the server's disks are busy: see what uses them.")),
            ("queue", self.tr("Waiting to be sent"),
             self.tr("Near zero is usual. More than the round trip means that more is asked for than may be "
                     "under way at once: more connections (nconnect) or slots can help.")),
            ("execute", self.tr("From the call to its end"),
             self.tr("Waiting and round trip together, and what the client itself takes. Much more than "
                     "these two means that this computer is busy: see which programs are.")),
            ("timeouts", self.tr("Time-outs"),
             self.tr("None is usual. Otherwise the server or the network was away for longer than timeo: "
                     "look at both; on a way that is only slow, a longer timeo helps.")),
            ("retransmissions", self.tr("Requests sent again"),
             self.tr("None is usual over TCP, where a request is made again only after its connection broke. "
                     "Over UDP each one is a lost request: TCP spares them.")),
            ("segments", self.tr("TCP segments sent again"),
             self.tr("Lost on the way from this computer, on the connections to this server, which all its "
                     "mounts share. A few are usual; one in a hundred makes a long way slow: look for a bad "
                     "cable, a weak radio, or a link that is full.")),
            ("disordered", self.tr("TCP segments out of order"),
             self.tr("What the server had to send again comes out of order, so this is how loss on the way "
                     "from it shows. A few are usual; many are lost on the way as above.")),
            ("errors", self.tr("Answers with an error"),
             self.tr("Look-ups of files that do not exist count too, so a few are usual. If there are many, "
                     "the table below says of what: of OPEN or ACCESS, look at the rights.")),
            ("readahead", self.tr("Readahead"),
             self.tr("What the kernel reads ahead of a program that goes through a file. 128 KiB is the "
                     "kernel's choice; a long or fast link wants more.")),
        ]  # fmt: skip
        for row, (name, label, text) in enumerate(rows):
            value = plain_label("—")
            enlarge(value, 1.05, bold=True)
            value.setObjectName(f"live-{name}")
            value.setMinimumWidth(self.fontMetrics().averageCharWidth() * 14)
            self._values[name] = value
            grid.addWidget(plain_label(label), row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(value, row, 1, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(MutedLabel(text, wrap=True), row, 2)
        return grid

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
        self._note.setVisible(bool(text))

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
            self._status.setText(self.tr("waiting for the first second…"))

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
            self._status.setText(self.tr("it is not mounted at the moment"))
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
        self._operations.show_operations(sample.operations if sample is not None else [])
        if sample is None:
            self._status.setText("")
            self._connections.setText("")
            for value in self._values.values():
                value.setText("—")
            return
        self._status.setText(
            self.tr("reads {read}, writes {write}, {count} operations a second").format(
                read=speed_text(sample.read_bytes_per_s),
                write=speed_text(sample.write_bytes_per_s),
                count=round(sample.ops_per_s),
            )
        )
        texts = {
            "rtt": _time(sample.rtt_s), "queue": _time(sample.queue_s),
            "execute": _time(sample.execute_s), **self._loss_texts(self._window.trouble()),
            "readahead": "—" if sample.read_ahead_kb is None else format_size(sample.read_ahead_kb * 1024),
        }  # fmt: skip
        for name, text in texts.items():
            self._values[name].setText(text)
        self._connections.setText(self._connections_text(sample))

    def _loss_texts(self, losses: LossCounts) -> dict[str, str]:
        """Return the counts of losses and errors over the whole plotted time, as single seconds hide them."""
        if losses.span_s < SPAN_S:
            text = self.tr("{count} in {seconds} s")
        else:
            text = self.tr("{count} in 2 minutes")
        counts = {
            "timeouts": losses.timeouts, "retransmissions": losses.retransmissions,
            "segments": losses.segments, "disordered": losses.disordered, "errors": losses.errors,
        }  # fmt: skip
        return {
            name: "—" if count is None else text.format(count=count, seconds=round(losses.span_s))
            for name, count in counts.items()
        }

    def _connections_text(self, sample: StatsSample) -> str:
        lines = [
            self.tr("Connection {number} ({kind}): {sends} sent, {answers} answered a second").format(
                number=number,
                kind=transport.kind,
                sends=round(transport.sends_per_s),
                answers=round(transport.receives_per_s),
            )
            for number, transport in enumerate(sample.transports, 1)
        ]
        return "\n".join(lines)

    # Qt overrides

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


def _time(seconds: float | None) -> str:
    return "—" if seconds is None else format_duration(seconds)

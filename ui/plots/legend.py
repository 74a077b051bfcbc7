"""Legend and toolbar of a plot: meaning of colors and markers; layers, pause and zoom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from PySide6.QtCore import QEvent, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QAction, QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import (
    QBoxLayout,
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from ui.common import theme
from ui.common.labels import MutedLabel, plain_label
from ui.common.speed_units import SpeedUnitBox

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from PySide6.QtGui import QResizeEvent

    from ui.common.theme import ColorName
    from ui.plots.timeline import Timeline, TransferDirection

if TYPE_CHECKING:
    Shape = Literal["line", "area", "triangle", "cross"]

#: Layer of a live plot that is shown on demand: waits of requests, what the model expects with averages, the
#: best earlier speed, and phases.
PlotLayerName = Literal["latency", "model", "best", "phases"]
PLOT_LAYERS: tuple[PlotLayerName, ...] = ("latency", "model", "best", "phases")

#: Opacity of the color in an area swatch (0 to 1).
_AREA_OPACITY = 0.3


class RunStyle(NamedTuple):
    """Look of the curves of one of several tests.

    Attributes:
        strength: part of the direction's color, 0 to 1; the rest is the background.
        dashes: dashes of the line.
    """

    strength: float
    dashes: Qt.PenStyle


#: Looks of the curves of several tests, the newest first; their number limits the tests drawn.
_RUN_STYLES = (
    RunStyle(1.0, Qt.PenStyle.SolidLine), RunStyle(0.72, Qt.PenStyle.DashLine),
    RunStyle(1.0, Qt.PenStyle.DotLine), RunStyle(0.72, Qt.PenStyle.DashDotLine),
    RunStyle(1.0, Qt.PenStyle.DashDotDotLine),
)  # fmt: skip
MAX_RUNS = len(_RUN_STYLES)


def run_styles(count: int) -> tuple[RunStyle, ...]:
    """Return the looks of some tests, the oldest first."""
    return tuple(reversed(_RUN_STYLES[:count]))


class Swatch(QWidget):
    """Sample of a curve, area or marker of the plot.

    Args:
        meaning: name of the color.
        shape: shape on the plot.
        style: look of a line.
    """

    def __init__(self, meaning: ColorName, shape: Shape = "line", style: RunStyle = _RUN_STYLES[0]) -> None:
        super().__init__()
        self._meaning = meaning
        self._shape = shape
        self._style = style
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: a few characters wide, one line high."""
        characters = 2 if self._style.dashes is Qt.PenStyle.SolidLine else 5
        return QSize(self.fontMetrics().averageCharWidth() * characters, self.fontMetrics().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: paint the shape."""
        del event
        painter = QPainter(self)
        colors = theme.colors()
        color = QColor(theme.blend(getattr(colors, self._meaning), colors.base, self._style.strength))
        middle, high = self.height() / 2, self.height() / 3
        if self._shape == "line":
            painter.setPen(
                QPen(color, 3 if self._style.dashes is Qt.PenStyle.SolidLine else 2, self._style.dashes)
            )
            painter.drawLine(QPointF(1, middle), QPointF(self.width() - 1, middle))
        elif self._shape == "area":
            shade = QColor(theme.blend(color.name(), colors.base, _AREA_OPACITY))
            painter.fillRect(0, int(middle - high), self.width(), int(2 * high), shade)
        else:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(color)
            center = QPointF(self.width() / 2, middle)
            if self._shape == "triangle":
                painter.setBrush(color)
                painter.drawPolygon(QPolygonF([
                    center + QPointF(0, -high), center + QPointF(high, high), center + QPointF(-high, high)
                ]))  # fmt: skip
            else:
                painter.drawLine(center + QPointF(-high, -high), center + QPointF(high, high))
                painter.drawLine(center + QPointF(-high, high), center + QPointF(high, -high))
        painter.end()


#: Gap between two entries in a row, px.
_GAP_PX = 26
_DIRECTIONS: tuple[TransferDirection, ...] = ("write", "read")


class _LegendEntry(QWidget):
    """Swatch with its label."""

    def __init__(self, swatch: Swatch, label: QLabel, parent: QWidget) -> None:
        super().__init__(parent)
        self.label = label
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(7)
        row.addWidget(swatch)
        row.addWidget(label)


class Legend(QWidget):
    """Entries of curves, reference line, phases and losses, in as many rows as they need."""

    def __init__(self) -> None:
        super().__init__()
        self._layers: frozenset[PlotLayerName] = frozenset()
        self._names = {
            "write": self.tr("To the server"), "read": self.tr("From the server"),
            "trip": self.tr("Wait per request"),
        }  # fmt: skip
        self._labels: dict[str, QLabel] = {}
        self._marks: dict[str, _LegendEntry] = {}
        self._entries: list[_LegendEntry] = []
        for name, swatch in (("write", Swatch("write")), ("read", Swatch("read")), ("trip", Swatch("trip"))):
            self._labels[name] = plain_label(self._names[name])
            self._entries.append(_LegendEntry(swatch, self._labels[name], self))
        self._entries[-1].hide()
        for name, swatch in (
            ("limit", Swatch("ok")), ("fsync", Swatch("ok", "area")), ("close", Swatch("warn", "area")),
            ("retransmission", Swatch("warn", "triangle")), ("timeout", Swatch("error", "cross")),
        ):  # fmt: skip
            label = MutedLabel()
            label.setObjectName(f"legend-{name}")
            self._marks[name] = _LegendEntry(swatch, label, self)
            self._entries.append(self._marks[name])
            self._mark(name, "")
        #: Visible entries by row, as laid out.
        self._rows: list[list[_LegendEntry]] = []
        #: Layouts of the rows; an empty one takes no room.
        self._lines = [QHBoxLayout() for _ in self._entries]
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        for line in self._lines:
            line.setSpacing(_GAP_PX)
            line.addStretch(1)
            layout.addLayout(line)
        self._arrange()
        # Without a small minimum, a long figure would widen the page.
        self.setMinimumWidth(1)

    def show_layers(self, names: Collection[PlotLayerName]) -> None:
        """Show the entries of the layers that the plot shows."""
        self._layers = frozenset(names)
        self._entries[2].setVisible("latency" in names)
        self._arrange()

    def show_speeds(self, texts: Mapping[TransferDirection, str]) -> None:
        """Show the speed of each direction beside its name, as a saved picture needs it."""
        for direction in _DIRECTIONS:
            text = texts.get(direction, "")
            self._labels[direction].setText(" ".join(part for part in (self._names[direction], text) if part))
        self._arrange()

    def set_limit(self, text: str) -> None:
        """Show the label of the link's limit; "" hides its entry."""
        self._mark("limit", text)
        self._arrange()

    def show_marks(self, timeline: Timeline) -> None:
        """Show the entries of the phases and losses that the plot contains."""
        intervals = timeline.phase_intervals if "phases" in self._layers else ()
        phases = {span.phase for span in intervals}
        self._mark("fsync", self.tr("Flush (fsync)") if "fsync" in phases else "")
        self._mark("close", self.tr("Close") if "close" in phases else "")
        for trouble, text in (
            ("retransmission", self.tr("Retransmitted: {count}")),
            ("timeout", self.tr("Timeouts: {count}")),
        ):
            count = sum(event.count for event in timeline.loss_events if event.trouble == trouble)
            self._mark(trouble, text.format(count=count) if count else "")
        self._arrange()

    def _mark(self, name: str, text: str) -> None:
        self._marks[name].label.setText(text)
        self._marks[name].setVisible(bool(text))

    def _arrange(self) -> None:
        """Fill rows with the visible entries."""
        rows: list[list[_LegendEntry]] = [[]]
        left = self.width()
        for entry in self._entries:
            if entry.isHidden():
                continue
            width = entry.sizeHint().width()
            if rows[-1] and width > left:
                rows.append([])
                left = self.width()
            rows[-1].append(entry)
            left -= width + _GAP_PX
        if rows == self._rows:
            return
        for line, entries in zip(self._lines, self._rows, strict=False):
            for entry in entries:
                line.removeWidget(entry)
        for line, entries in zip(self._lines, rows, strict=False):
            for index, entry in enumerate(entries):
                line.insertWidget(index, entry)
        self._rows = rows

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: arrange the rows for the new width."""
        super().resizeEvent(event)
        self._arrange()

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.update()


class PlotToolbar(QWidget):
    """Row below a plot, or two where it is narrow: layers, unit of speeds, and a menu for pause and zoom.

    Signals:
        layers_changed: the layers that the user wants to see (names of `PLOT_LAYERS`).
        pause_changed: whether the drawing is paused.
        zoom_clicked: the user zooms by a factor; above 1 enlarges.
        reset_zoom_clicked: the user resets the zoom.
    """

    layers_changed = Signal(object)
    pause_changed = Signal(bool)
    zoom_clicked = Signal(float)
    reset_zoom_clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._boxes: dict[PlotLayerName, QCheckBox] = {}
        texts: dict[PlotLayerName, tuple[str, str]] = {
            "latency": (self.tr("L&atency"), self.tr("The wait for the answer to each request.")),
            "model": (self.tr("M&odel"), self.tr("The speed that the model expects, and the averages.")),
            "best": (self.tr("&Best before"), self.tr("The best earlier speed of the same test.")),
            "phases": (self.tr("Phas&es"), self.tr("The times of flushing (fsync) and closing the file.")),
        }
        self._parts = (QHBoxLayout(), QHBoxLayout())
        self._layout = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        for part in self._parts:
            part.setSpacing(12)
            self._layout.addLayout(part, 1 if part is self._parts[0] else 0)
        for name in PLOT_LAYERS:
            box = QCheckBox(texts[name][0])
            box.setObjectName(f"show-{name}")
            box.setToolTip(texts[name][1])
            box.toggled.connect(self._on_layer)
            self._boxes[name] = box
            self._parts[0].addWidget(box)
        self._parts[0].addStretch(1)
        self._parts[1].addWidget(SpeedUnitBox())
        menu = QMenu(self)
        self._pause = self._action(menu, "pause", self.tr("&Pause Drawing"))
        self._pause.setCheckable(True)
        self._pause.toggled.connect(self.pause_changed)
        self._action(menu, "zoom-in", self.tr("Zoom &In")).triggered.connect(
            lambda: self.zoom_clicked.emit(2.0)
        )
        self._action(menu, "zoom-out", self.tr("Zoom &Out")).triggered.connect(
            lambda: self.zoom_clicked.emit(0.5)
        )
        self._reset_zoom = self._action(menu, "zoom-reset", self.tr("&Reset Zoom"))
        self._reset_zoom.triggered.connect(self.reset_zoom_clicked)
        more = QPushButton(self.tr("Plo&t"))
        more.setObjectName("plot-menu")
        more.setToolTip(self.tr("Pause or zoom the plot. Ctrl and the wheel zoom, too."))
        more.setMenu(menu)
        self._parts[1].addWidget(more)
        self.set_zoomed(False)
        # Without a small minimum, the row would widen the page.
        self.setMinimumWidth(1)

    def layers(self) -> frozenset[PlotLayerName]:
        """Return the layers that the user wants to see."""
        return frozenset(name for name, box in self._boxes.items() if box.isChecked())

    def set_layers(self, names: Collection[str]) -> None:
        """Check the boxes of some layers; unknown names are ignored."""
        for name, box in self._boxes.items():
            box.setChecked(name in names)

    def set_running(self, *, running: bool) -> None:
        """Enable Pause during a test; the end of a test also ends the pause."""
        if not running:
            self._pause.setChecked(False)
        self._pause.setEnabled(running)

    def set_zoomed(self, zoomed: bool) -> None:  # noqa: FBT001 - a slot
        """Enable the reset of the zoom while the plot is zoomed."""
        self._reset_zoom.setEnabled(zoomed)

    def _on_layer(self, _on: bool) -> None:  # noqa: FBT001 - a slot
        self.layers_changed.emit(self.layers())

    def _action(self, menu: QMenu, name: str, text: str) -> QAction:
        action = menu.addAction(text)
        action.setObjectName(name)
        return action

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: arrange the parts for the new width."""
        super().resizeEvent(event)
        needed = sum(part.sizeHint().width() for part in self._parts) + self._layout.spacing()
        directions = QBoxLayout.Direction
        self._layout.setDirection(
            directions.LeftToRight if needed <= self.width() else directions.TopToBottom
        )

"""Legend and toolbar of a plot: meaning of colors and markers, present figures; pause, zoom and save."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QEvent, QPointF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPolygonF
from PySide6.QtWidgets import (
    QBoxLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.text.units import format_duration
from ui.common import theme
from ui.common.labels import MutedLabel, plain_label
from ui.common.speed_units import SpeedUnitBox, speed_text

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent

    from app.speedtest.model import TestResult
    from ui.common.theme import ColorName
    from ui.plots.timeline import Timeline, TransferDirection

if TYPE_CHECKING:
    Shape = Literal["line", "area", "triangle", "cross"]

#: Opacity of the color in an area swatch (0 to 1).
_AREA_OPACITY = 0.3


class Swatch(QWidget):
    """Sample of a curve, area or marker of the plot.

    Args:
        meaning: name of the color.
        shape: shape on the plot.
    """

    def __init__(self, meaning: ColorName, shape: Shape = "line") -> None:
        super().__init__()
        self._meaning = meaning
        self._shape = shape
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: two characters wide, one line high."""
        return QSize(self.fontMetrics().averageCharWidth() * 2, self.fontMetrics().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: paint the shape."""
        del event
        painter = QPainter(self)
        colors = theme.colors()
        color = QColor(getattr(colors, self._meaning))
        middle, high = self.height() / 2, self.height() / 3
        if self._shape == "line":
            painter.fillRect(0, int(middle) - 1, self.width(), 3, color)
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

    def __init__(self, swatch: Swatch, label: QLabel) -> None:
        super().__init__()
        self.label = label
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(7)
        row.addWidget(swatch)
        row.addWidget(label)


class Legend(QWidget):
    """Two rows of entries: curves with their figures, and reference line, phases and losses.

    A row that does not fit the width becomes a column.
    """

    def __init__(self) -> None:
        super().__init__()
        self._names = {
            "write": self.tr("To the server"), "read": self.tr("From the server"),
            "trip": self.tr("Round trip"),
        }  # fmt: skip
        self._labels: dict[str, QLabel] = {}
        self._marks: dict[str, _LegendEntry] = {}
        horizontal = QBoxLayout.Direction.LeftToRight
        curves, marks = QBoxLayout(horizontal), QBoxLayout(horizontal)
        for name, swatch in (("write", Swatch("write")), ("read", Swatch("read")), ("trip", Swatch("trip"))):
            self._labels[name] = plain_label(self._names[name])
            curves.addWidget(_LegendEntry(swatch, self._labels[name]))
        for name, swatch in (
            ("limit", Swatch("ok")), ("fsync", Swatch("ok", "area")), ("close", Swatch("warn", "area")),
            ("retransmission", Swatch("warn", "triangle")), ("timeout", Swatch("error", "cross")),
        ):  # fmt: skip
            label = MutedLabel()
            label.setObjectName(f"legend-{name}")
            self._marks[name] = _LegendEntry(swatch, label)
            marks.addWidget(self._marks[name])
            self._mark(name, "")
        #: Maximum width so far of each row, px, so that changing figures do not toggle the arrangement.
        self._rows = {curves: 0, marks: 0}
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(4)
        for row in self._rows:
            rows.addLayout(row)
            rows.setAlignment(row, Qt.AlignmentFlag.AlignLeft)
        self._arrange()
        # Without a small minimum, a long figure would widen the page.
        self.setMinimumWidth(1)

    def show_now(self, timeline: Timeline) -> None:
        """Show the present speed, average and round-trip time of a running test."""
        for direction in _DIRECTIONS:
            curve = timeline.latest(direction)
            speed, average = (curve.recent_speed, curve.average) if curve is not None else (None, None)
            if speed is None or average is None:
                self._figure(direction, "")
                continue
            text = self.tr("{speed} now, {average} average")
            self._figure(direction, text.format(speed=speed_text(speed), average=speed_text(average)))
        trips = timeline.curves[-1].trips_s[-20:] if timeline.curves else []
        known = [trip for trip in trips if trip == trip]  # noqa: PLR0124 - NaN is not
        self._figure("trip", format_duration(known[-1]) if known else "")
        self.show_marks(timeline)

    def show_result(self, result: TestResult | None, timeline: Timeline) -> None:
        """Show the speeds of a finished test, None for an unfinished one."""
        for direction in _DIRECTIONS:
            figure = result.figures.get(direction) if result is not None else None
            transfer = getattr(result, direction) if result is not None else None
            if figure is not None and len(figure.values) > 1:
                self._figure(direction, self.tr("{speed} (median)").format(speed=speed_text(figure.median)))
            else:
                self._figure(direction, speed_text(transfer.bytes_per_s) if transfer is not None else "")
        self._figure("trip", "")
        self.show_marks(timeline)

    def set_limit(self, text: str) -> None:
        """Show the label of the link's limit; "" hides its entry."""
        self._mark("limit", text)
        self._arrange()

    def show_marks(self, timeline: Timeline) -> None:
        """Show the entries of the phases and losses that the plot contains."""
        phases = {span.phase for span in timeline.phase_intervals}
        self._mark("fsync", self.tr("flushing (fsync)") if "fsync" in phases else "")
        self._mark("close", self.tr("closing") if "close" in phases else "")
        for trouble, text in (
            ("retransmission", self.tr("sent again: {count}")),
            ("timeout", self.tr("timed out: {count}")),
        ):
            count = sum(event.count for event in timeline.loss_events if event.trouble == trouble)
            self._mark(trouble, text.format(count=count) if count else "")
        self._arrange()

    def _figure(self, name: str, text: str) -> None:
        self._labels[name].setText(f"{self._names[name]}  {text}" if text else self._names[name])

    def _mark(self, name: str, text: str) -> None:
        self._marks[name].label.setText(text)
        self._marks[name].setVisible(bool(text))

    def _arrange(self) -> None:
        """Arrange each row horizontally if it fits the width, otherwise vertically."""
        for row, widest in self._rows.items():
            marks = [item.widget() for index in range(row.count()) if (item := row.itemAt(index)) is not None]
            widths = [mark.sizeHint().width() for mark in marks if mark is not None and not mark.isHidden()]
            needed = max(widest, sum(widths) + _GAP_PX * (len(widths) - 1))
            self._rows[row] = needed
            fits = needed <= self.width()
            directions = QBoxLayout.Direction
            row.setDirection(directions.LeftToRight if fits else directions.TopToBottom)
            row.setSpacing(_GAP_PX if fits else 2)

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
    """Row of buttons for pause, zoom and save, and the unit of speeds.

    Signals:
        pause_changed: whether the drawing is paused.
        zoom_clicked: the user zooms by a factor; above 1 enlarges.
        reset_zoom_clicked: the user resets the zoom.
        save_clicked: the user wants to save the plot.
    """

    pause_changed = Signal(bool)
    zoom_clicked = Signal(float)
    reset_zoom_clicked = Signal()
    save_clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._pause = self._button(
            "pause", self.tr("&Pause"), self.tr("The test goes on; only the plot stands still.")
        )
        self._pause.setCheckable(True)
        self._pause.toggled.connect(self.pause_changed)
        larger = self._button(
            "zoom-in", "+", self.tr("Show the middle larger (or Ctrl and the wheel, or draw a frame).")
        )
        larger.setAccessibleName(self.tr("Larger"))
        larger.clicked.connect(lambda: self.zoom_clicked.emit(2.0))
        smaller = self._button("zoom-out", "−", self.tr("Show more of it."))  # noqa: RUF001 - the sign
        smaller.setAccessibleName(self.tr("Smaller"))
        smaller.clicked.connect(lambda: self.zoom_clicked.emit(0.5))
        self._reset_zoom = self._button("zoom-reset", self.tr("&Whole"), self.tr("Show all of it again."))
        self._reset_zoom.clicked.connect(self.reset_zoom_clicked)
        save = self._button(
            "save-plot", self.tr("Sa&ve…"), self.tr("Keep the plot as a picture, or its samples as a table.")
        )
        save.clicked.connect(self.save_clicked)
        for button in (larger, smaller):
            button.setFixedWidth(button.sizeHint().height())
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        for widget in (self._pause, larger, smaller, self._reset_zoom, save, SpeedUnitBox()):
            layout.addWidget(widget)
        self.set_zoomed(False)

    def set_running(self, *, running: bool) -> None:
        """Enable Pause during a test; the end of a test also ends the pause."""
        if not running:
            self._pause.setChecked(False)
        self._pause.setEnabled(running)

    def set_zoomed(self, zoomed: bool) -> None:  # noqa: FBT001 - a slot
        """Enable the reset of the zoom while the plot is zoomed."""
        self._reset_zoom.setEnabled(zoomed)

    def _button(self, name: str, text: str, tip: str) -> QPushButton:
        button = QPushButton(text)
        button.setObjectName(name)
        button.setToolTip(tip)
        button.setAutoDefault(False)
        return button

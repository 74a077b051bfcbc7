"""Legend and toolbar of a plot: what colors and markers mean, present figures, pause, zoom and save."""

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

from app.units import format_duration
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

#: Part of the color in an area, as on the plot.
_AREA_OPACITY = 0.3


class Swatch(QWidget):
    """Painted in the colors of the palette.

    Args:
        meaning: names the color.
        shape: as on the plot.
    """

    def __init__(self, meaning: ColorName, shape: Shape = "line") -> None:
        super().__init__()
        self._meaning = meaning
        self._shape = shape
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: as high as the text beside it."""
        return QSize(self.fontMetrics().averageCharWidth() * 2, self.fontMetrics().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: paint it."""
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
            centre = QPointF(self.width() / 2, middle)
            if self._shape == "triangle":
                painter.setBrush(color)
                painter.drawPolygon(QPolygonF([
                    centre + QPointF(0, -high), centre + QPointF(high, high), centre + QPointF(-high, high)
                ]))  # fmt: skip
            else:
                painter.drawLine(centre + QPointF(-high, -high), centre + QPointF(high, high))
                painter.drawLine(centre + QPointF(-high, high), centre + QPointF(high, -high))
        painter.end()


#: Pixels between two that stand side by side.
_GAP_LETTERS = 26
_DIRECTIONS: tuple[TransferDirection, ...] = ("write", "read")


class _LegendEntry(QWidget):
    """A swatch with what it means."""

    def __init__(self, swatch: Swatch, label: QLabel) -> None:
        super().__init__()
        self.label = label
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(7)
        row.addWidget(swatch)
        row.addWidget(label)


class Legend(QWidget):
    """To the server, from the server, round trip; below, what else is on the plot.

    What does not fit side by side stands one below the other.
    """

    def __init__(self) -> None:
        super().__init__()
        self._names = {
            "write": self.tr("To the server"), "read": self.tr("From the server"),
            "trip": self.tr("Round trip"),
        }  # fmt: skip
        self._labels: dict[str, QLabel] = {}
        self._marks: dict[str, _LegendEntry] = {}
        beside = QBoxLayout.Direction.LeftToRight
        curves, marks = QBoxLayout(beside), QBoxLayout(beside)
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
        #: Each row with the widest that it has been: figures change, and the rows must not with them.
        self._rows = {curves: 0, marks: 0}
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(4)
        for row in self._rows:
            rows.addLayout(row)
            rows.setAlignment(row, Qt.AlignmentFlag.AlignLeft)
        self._fold()
        # The page is not made wider with every figure.
        self.setMinimumWidth(1)

    def show_now(self, timeline: Timeline) -> None:
        """Show the figures of a test that runs."""
        for way in _DIRECTIONS:
            curve = timeline.latest(way)
            speed, average = (curve.recent_speed, curve.average) if curve is not None else (None, None)
            if speed is None or average is None:
                self._figure(way, "")
                continue
            text = self.tr("{speed} now, {average} average")
            self._figure(way, text.format(speed=speed_text(speed), average=speed_text(average)))
        trips = timeline.curves[-1].trips_s[-20:] if timeline.curves else []
        known = [trip for trip in trips if trip == trip]  # noqa: PLR0124 - NaN is not
        self._figure("trip", format_duration(known[-1]) if known else "")
        self.show_marks(timeline)

    def show_result(self, result: TestResult | None, timeline: Timeline) -> None:
        """Show the speeds of the whole test, or none."""
        for way in _DIRECTIONS:
            figure = result.figures.get(way) if result is not None else None
            transfer = getattr(result, way) if result is not None else None
            if figure is not None and len(figure.values) > 1:
                self._figure(way, self.tr("{speed} (median)").format(speed=speed_text(figure.median)))
            else:
                self._figure(way, speed_text(transfer.bytes_per_s) if transfer is not None else "")
        self._figure("trip", "")
        self.show_marks(timeline)

    def set_limit(self, text: str) -> None:
        """Show what the reference line is; "" if there is none."""
        self._mark("limit", text)
        self._fold()

    def show_marks(self, timeline: Timeline) -> None:
        """Show what the plot marks."""
        phases = {span.phase for span in timeline.phase_intervals}
        self._mark("fsync", self.tr("flushing (fsync)") if "fsync" in phases else "")
        self._mark("close", self.tr("closing") if "close" in phases else "")
        for trouble, text in (
            ("retransmission", self.tr("sent again: {count}")),
            ("timeout", self.tr("timed out: {count}")),
        ):
            count = sum(one.count for one in timeline.loss_events if one.trouble == trouble)
            self._mark(trouble, text.format(count=count) if count else "")
        self._fold()

    def _figure(self, name: str, text: str) -> None:
        self._labels[name].setText(f"{self._names[name]}  {text}" if text else self._names[name])

    def _mark(self, name: str, text: str) -> None:
        self._marks[name].label.setText(text)
        self._marks[name].setVisible(bool(text))

    def _fold(self) -> None:
        """Put side by side what fits, and one below the other what does not."""
        for row, widest in self._rows.items():
            marks = [item.widget() for place in range(row.count()) if (item := row.itemAt(place)) is not None]
            widths = [mark.sizeHint().width() for mark in marks if mark is not None and not mark.isHidden()]
            needed = max(widest, sum(widths) + _GAP_LETTERS * (len(widths) - 1))
            self._rows[row] = needed
            fits = needed <= self.width()
            directions = QBoxLayout.Direction
            row.setDirection(directions.LeftToRight if fits else directions.TopToBottom)
            row.setSpacing(_GAP_LETTERS if fits else 2)

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: another width fits more or less."""
        super().resizeEvent(event)
        self._fold()

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.update()


class PlotToolbar(QWidget):
    """A row of small buttons.

    Signals:
        pause_changed: whether the plot stands still.
        zoom_clicked: the factor.
        whole_clicked: show all of it.
        save_clicked: keep it in a file.
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
        self._whole = self._button("zoom-reset", self.tr("&Whole"), self.tr("Show all of it again."))
        self._whole.clicked.connect(self.reset_zoom_clicked)
        save = self._button(
            "save-plot", self.tr("Sa&ve…"), self.tr("Keep the plot as a picture, or its samples as a table.")
        )
        save.clicked.connect(self.save_clicked)
        for button in (larger, smaller):
            button.setFixedWidth(button.sizeHint().height())
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        for widget in (self._pause, larger, smaller, self._whole, save, SpeedUnitBox()):
            layout.addWidget(widget)
        self.set_zoomed(False)

    def set_running(self, *, running: bool) -> None:
        """Offer Pause while there is something to pause."""
        if not running:
            self._pause.setChecked(False)
        self._pause.setEnabled(running)

    def set_zoomed(self, zoomed: bool) -> None:  # noqa: FBT001 - a slot
        """Offer the way back from a zoom."""
        self._whole.setEnabled(zoomed)

    def _button(self, name: str, text: str, tip: str) -> QPushButton:
        button = QPushButton(text)
        button.setObjectName(name)
        button.setToolTip(tip)
        button.setAutoDefault(False)
        return button

"""What the colours and marks of the plot mean, with the figures of this moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.units import format_duration
from ui.common.labels import MutedLabel, plain_label
from ui.common.speed_units import speed_text
from ui.plots.legend import Swatch

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent

    from app.speedtest.model import TestResult
    from ui.plots.timeline import Timeline, Way

#: Pixels between two that stand side by side.
_APART = 26
_WAYS: tuple[Way, ...] = ("write", "read")


class _Mark(QWidget):
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
        self._marks: dict[str, _Mark] = {}
        beside = QBoxLayout.Direction.LeftToRight
        curves, marks = QBoxLayout(beside), QBoxLayout(beside)
        for name, swatch in (("write", Swatch("write")), ("read", Swatch("read")), ("trip", Swatch("trip"))):
            self._labels[name] = plain_label(self._names[name])
            curves.addWidget(_Mark(swatch, self._labels[name]))
        for name, swatch in (
            ("limit", Swatch("ok")), ("fsync", Swatch("ok", "area")), ("close", Swatch("warn", "area")),
            ("retransmission", Swatch("warn", "triangle")), ("timeout", Swatch("error", "cross")),
        ):  # fmt: skip
            label = MutedLabel()
            label.setObjectName(f"legend-{name}")
            self._marks[name] = _Mark(swatch, label)
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
        for way in _WAYS:
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
        for way in _WAYS:
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
        phases = {span.phase for span in timeline.spans}
        self._mark("fsync", self.tr("flushing (fsync)") if "fsync" in phases else "")
        self._mark("close", self.tr("closing") if "close" in phases else "")
        for trouble, text in (
            ("retransmission", self.tr("sent again: {count}")),
            ("timeout", self.tr("timed out: {count}")),
        ):
            count = sum(one.count for one in timeline.incidents if one.trouble == trouble)
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
            needed = max(widest, sum(widths) + _APART * (len(widths) - 1))
            self._rows[row] = needed
            fits = needed <= self.width()
            directions = QBoxLayout.Direction
            row.setDirection(directions.LeftToRight if fits else directions.TopToBottom)
            row.setSpacing(_APART if fits else 2)

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

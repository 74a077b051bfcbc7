"""Crosshair: a vertical line at the mouse, with the values of the curves at that time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtWidgets import QFrame, QLabel

from app.text.units import format_duration
from ui.common.labels import plain_label
from ui.common.speed_units import speed_text
from ui.common.translation import tr
from ui.plots.axes import pg

if TYPE_CHECKING:
    from collections.abc import Callable

    from ui.common.theme import Colors
    from ui.plots.timeline import CursorReadout, SpeedCurve, Timeline


def readout_text(timeline: Timeline, time_s: float) -> str:
    """Return the time and one line per curve with its values at a time of the axis, "" without curves."""
    readouts = timeline.readings(time_s)
    if not readouts:
        return ""
    several = len(timeline.rounds()) > 1
    head = tr("At {time}").format(time=format_duration(readouts[0].time_s))
    return "\n".join([head, *(_readout_line(reading, several=several) for reading in readouts)])


def _readout_line(reading: CursorReadout, *, several: bool) -> str:
    curve = reading.curve
    parts = [_curve_name(curve, several=several), speed_text(reading.speed)]
    if reading.average is not None:
        parts.append(tr("average {speed}").format(speed=speed_text(reading.average)))
    if reading.trip_s is not None:
        parts.append(tr("wait per request {time}").format(time=format_duration(reading.trip_s)))
    if reading.phase is not None:
        parts.append(tr("waiting for fsync") if reading.phase == "fsync" else tr("closing"))
    return " · ".join(parts)


def _curve_name(curve: SpeedCurve, *, several: bool) -> str:
    direction = tr("To the server") if curve.way == "write" else tr("From the server")
    if curve.warm_up:
        return tr("{way}, warm-up").format(way=direction)
    return tr("{way}, repeat {number}").format(way=direction, number=curve.round) if several else direction


#: Gap between the line and the text, px.
_MARGIN = 10


class Crosshair(QObject):
    """Vertical line and text label that follow the mouse over a plot.

    Args:
        plot: ``pyqtgraph.PlotWidget``.
        text_at: returns the text for a time of the axis (s), "" to hide the crosshair.
    """

    def __init__(self, plot: Any, text_at: Callable[[float], str]) -> None:
        super().__init__(plot)
        self._plot = plot
        self._text_at = text_at
        self._time_s: float | None = None
        self.line: Any = pg.InfiniteLine(angle=90, movable=False)
        self.line.setZValue(20)
        self.line.hide()
        plot.getPlotItem().addItem(self.line, ignoreBounds=True)
        self.label: QLabel = plain_label(parent=plot)
        self.label.setObjectName("readout")
        self.label.setFrameShape(QFrame.Shape.StyledPanel)
        self.label.setAutoFillBackground(True)
        self.label.setMargin(4)
        self.label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.label.hide()
        plot.scene().sigMouseMoved.connect(self._on_moved)
        plot.viewport().installEventFilter(self)

    def refresh(self) -> None:
        """Update the text, because the curves have changed."""
        if self._time_s is not None:
            text = self._text_at(self._time_s)
            if text:
                self.label.setText(text)
                self.label.adjustSize()

    def hide(self) -> None:
        """Hide the line and the text."""
        self._time_s = None
        self.line.hide()
        self.label.hide()

    def update_colors(self, colors: Colors) -> None:
        """Set the color of the line."""
        self.line.setPen(pg.mkPen(colors.muted, width=1))

    def _on_moved(self, position: Any) -> None:
        box = self._plot.getPlotItem().getViewBox()
        time_s = box.mapSceneToView(position).x() if box.sceneBoundingRect().contains(position) else None
        text = self._text_at(time_s) if time_s is not None else ""
        if not text:
            self.hide()
            return
        self._time_s = time_s
        self.line.setValue(time_s)
        self.line.show()
        self.label.setText(text)
        self.label.adjustSize()
        self.label.move(self._label_position(self._plot.mapFromScene(position)))
        self.label.show()

    def _label_position(self, position: QPoint) -> QPoint:
        """Return the position of the text: right of the mouse, or left of it at the right edge."""
        size = self.label.size()
        left = position.x() + _MARGIN
        if left + size.width() > self._plot.width():
            left = max(0, position.x() - _MARGIN - size.width())
        top = min(max(0, position.y() - size.height() - _MARGIN), self._plot.height() - size.height())
        return QPoint(left, top)

    # Qt overrides

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt: hide the crosshair when the mouse leaves the plot."""
        if event.type() == QEvent.Type.Leave:
            self.hide()
        return super().eventFilter(watched, event)

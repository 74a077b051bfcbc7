"""Crosshair: a line below the mouse, and what the curves show there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyqtgraph  # pyright: ignore[reportMissingTypeStubs]
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtWidgets import QFrame, QLabel

from app.units import format_duration
from ui.common.labels import plain_label
from ui.common.speed_units import speed_text
from ui.common.translation import tr

if TYPE_CHECKING:
    from collections.abc import Callable

    from ui.common.theme import Colors
    from ui.plots.timeline import CursorReadout, SpeedCurve, Timeline


def readout_text(timeline: Timeline, time_s: float) -> str:
    """Return what is drawn at a moment, a line for each curve; "" where nothing is."""
    found = timeline.readings(time_s)
    if not found:
        return ""
    several = len(timeline.rounds()) > 1
    head = tr("{time} on the axis").format(time=format_duration(found[0].time_s))
    return "\n".join([head, *(_readout_line(reading, several=several) for reading in found)])


def _readout_line(reading: CursorReadout, *, several: bool) -> str:
    curve = reading.curve
    parts = [_curve_name(curve, several=several), speed_text(reading.speed)]
    if reading.average is not None:
        parts.append(tr("average {speed}").format(speed=speed_text(reading.average)))
    if reading.trip_s is not None:
        parts.append(tr("round trip {time}").format(time=format_duration(reading.trip_s)))
    if reading.phase is not None:
        parts.append(tr("waiting for fsync") if reading.phase == "fsync" else tr("closing"))
    return " · ".join(parts)


def _curve_name(curve: SpeedCurve, *, several: bool) -> str:
    way = tr("To the server") if curve.way == "write" else tr("From the server")
    if curve.warm_up:
        return tr("{way}, warm-up").format(way=way)
    return tr("{way}, repeat {number}").format(way=way, number=curve.round) if several else way


os.environ.setdefault("PYQTGRAPH_QT_LIB", "PySide6")


#: It has no type information; this module is its typed face.
pg: Any = pyqtgraph

#: Between the line and the text, pixels.
_MARGIN = 10


class Crosshair(QObject):
    """Follows the mouse over a ``pyqtgraph.PlotWidget``.

    Args:
        plot: the widget.
        say: returns what there is to say of a moment on the time axis, "" for nothing.
    """

    def __init__(self, plot: Any, say: Callable[[float], str]) -> None:
        super().__init__(plot)
        self._plot = plot
        self._say = say
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
        """Say it again: the curves have changed."""
        if self._time_s is not None:
            text = self._say(self._time_s)
            if text:
                self.label.setText(text)
                self.label.adjustSize()

    def hide(self) -> None:
        """Say nothing."""
        self._time_s = None
        self.line.hide()
        self.label.hide()

    def update_colors(self, colors: Colors) -> None:
        """Follow the palette."""
        self.line.setPen(pg.mkPen(colors.muted, width=1))

    def _on_moved(self, place: Any) -> None:
        box = self._plot.getPlotItem().getViewBox()
        time_s = box.mapSceneToView(place).x() if box.sceneBoundingRect().contains(place) else None
        text = self._say(time_s) if time_s is not None else ""
        if not text:
            self.hide()
            return
        self._time_s = time_s
        self.line.setValue(time_s)
        self.line.show()
        self.label.setText(text)
        self.label.adjustSize()
        self.label.move(self._beside(self._plot.mapFromScene(place)))
        self.label.show()

    def _beside(self, place: QPoint) -> QPoint:
        """Return where the text goes: right of the mouse, or left of it where that ends."""
        size = self.label.size()
        left = place.x() + _MARGIN
        if left + size.width() > self._plot.width():
            left = max(0, place.x() - _MARGIN - size.width())
        top = min(max(0, place.y() - size.height() - _MARGIN), self._plot.height() - size.height())
        return QPoint(left, top)

    # Qt overrides

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt: hide it when the mouse leaves."""
        if event.type() == QEvent.Type.Leave:
            self.hide()
        return super().eventFilter(watched, event)

"""What the plot says of one moment, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.units import format_duration
from ui.common.speed_units import speed_text
from ui.common.translation import tr

if TYPE_CHECKING:
    from ui.plots.timeline import Curve, Reading, Timeline


def readings_text(timeline: Timeline, time_s: float) -> str:
    """Return what is drawn at a moment, a line for each curve; "" where nothing is."""
    found = timeline.readings(time_s)
    if not found:
        return ""
    several = len(timeline.rounds()) > 1
    head = tr("{time} on the axis").format(time=format_duration(found[0].time_s))
    return "\n".join([head, *(_line(reading, several=several) for reading in found)])


def _line(reading: Reading, *, several: bool) -> str:
    curve = reading.curve
    parts = [_name(curve, several=several), speed_text(reading.speed)]
    if reading.average is not None:
        parts.append(tr("average {speed}").format(speed=speed_text(reading.average)))
    if reading.trip_s is not None:
        parts.append(tr("round trip {time}").format(time=format_duration(reading.trip_s)))
    if reading.phase is not None:
        parts.append(tr("waiting for fsync") if reading.phase == "fsync" else tr("closing"))
    return " · ".join(parts)


def _name(curve: Curve, *, several: bool) -> str:
    way = tr("To the server") if curve.way == "write" else tr("From the server")
    if curve.warm_up:
        return tr("{way}, warm-up").format(way=way)
    return tr("{way}, repeat {number}").format(way=way, number=curve.round) if several else way

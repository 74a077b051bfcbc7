"""Finished tests as lines over the time since each of their transfers began."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from app.history.model import option_string
from app.speedtest.model import TestEvent
from ui.plots.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.speedtest.model import TestResult
    from ui.common.theme import Meaning
    from ui.plots.timeline import Way

#: Fields of ui.common.theme.Colours by place: as many tests can be told apart.
SERIES: tuple[Meaning, ...] = ("write", "read", "trip", "ok", "text")
_WAYS: tuple[Way, ...] = ("write", "read")


class Line(NamedTuple):
    """One direction of one test.

    Attributes:
        place: of the test among those that are shown, from 0: its colour.
        way: to the server or from it.
        times_s: moments since the transfer began.
        speeds: bytes a second at each.
    """

    place: int
    way: Way
    times_s: list[float]
    speeds: list[float]


def options_of(results: Sequence[TestResult]) -> list[str]:
    """Return the options in use in each test, of several only those that are not the same in all."""
    names = list(dict.fromkeys(name for result in results for name in result.effective))
    if len(results) > 1:
        names = [name for name in names if len({result.effective.get(name) for result in results}) > 1]
    shown = [{name: each.effective[name] for name in names if name in each.effective} for each in results]
    # With blanks, so that the line can be broken.
    return [option_string(values).replace(",", ", ") for values in shown]


def lines_of(results: Sequence[TestResult]) -> list[Line]:
    """Return the lines of some tests: of several repeats, the one with the median speed is kept."""
    found: list[Line] = []
    for place, result in enumerate(results):
        for way in _WAYS:
            transfer = result.write if way == "write" else result.read
            timeline = Timeline()
            for sample in transfer.samples if transfer is not None else ():
                timeline.take(TestEvent(direction=way, phase=way, sample=sample))
            found += [Line(place, way, curve.times_s, curve.speeds) for curve in timeline.curves]
    return found

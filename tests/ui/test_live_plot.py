"""The plot's scales, marks and cheapness."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtWidgets import QGraphicsItem

from app.bench.result import Sample, TestEvent
from ui.models.timeline import Timeline
from ui.plots.live_plot import LivePlot

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


@pytest.fixture
def plot(qtbot: QtBot) -> LivePlot:
    made = LivePlot()
    qtbot.addWidget(made)
    made.resize(800, 300)
    made.show()
    return made


def run(speed: float, seconds: float) -> Timeline:
    timeline = Timeline()
    for step in range(1, int(seconds * 20) + 1):
        count = int(speed * step * 0.05)
        timeline.take(TestEvent(direction="write", phase="write", sample=Sample(step * 0.05, count, count)))
    return timeline


def test_scales_fit_what_is_drawn(plot: LivePlot) -> None:
    plot.draw(run(42e6, 7))
    (left, right), (_bottom, top) = plot._item.viewRange()
    assert (left, right) == (0, 10)
    assert top == plot.top() == 50e6


def test_the_links_limit_is_in_view_while_it_means_something(plot: LivePlot) -> None:
    plot.set_limit(11.8e6)
    assert plot.top() >= 11.8e6
    plot.draw(run(10e6, 1))
    assert plot.top() >= 11.8e6
    plot.set_limit(1e9)
    plot.draw(run(10e6, 1))
    assert plot.top() < 1e9


def test_marks_that_are_near_share_a_label(plot: LivePlot) -> None:
    timeline = run(10e6, 5)
    timeline.take(TestEvent(direction="write", phase="fsync"))
    timeline.take(TestEvent(direction="write", phase="close"))
    plot.draw(timeline)
    assert [line.label.format for line in plot._marks] == ["fsync, close"]
    plot.clear()
    assert plot._marks == []
    assert len(plot._curves["write"].getData()[0]) == 0


def test_drawing_stays_cheap(plot: LivePlot) -> None:
    """What makes it cheap, rather than a time: thin opaque pens and axes with a cache (measured)."""
    for side in ("left", "bottom"):
        assert plot._item.getAxis(side).cacheMode() == QGraphicsItem.CacheMode.DeviceCoordinateCache
    for curve in plot._curves.values():
        assert curve.opts["pen"].widthF() == 1
        assert curve.opts["pen"].color().alpha() == 255
        assert not curve.opts["antialias"]


def test_the_expectation_is_a_line_in_a_band(plot: LivePlot) -> None:
    plot.set_expected({"read": (100e6, 0.1)})
    line, band = plot._expected["read"]
    assert line.isVisible()
    assert line.value() == 100e6
    assert band.getRegion() == pytest.approx((90e6, 110e6))
    assert not plot._expected["write"][0].isVisible()
    plot.set_expected({})
    assert not line.isVisible()
    assert not band.isVisible()

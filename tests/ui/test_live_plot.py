"""The plot's scales, marks and cheapness."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QGraphicsItem, QLabel

from app.bench.result import Sample, TestEvent
from app.units import SpeedUnit
from ui.models.timeline import Timeline
from ui.plots.live_plot import LivePlot
from ui.speed_units import SPEED_UNITS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytestqt.qtbot import QtBot


@pytest.fixture
def plot(qtbot: QtBot) -> LivePlot:
    made = LivePlot()
    qtbot.addWidget(made)
    made.resize(800, 300)
    made.show()
    return made


@pytest.fixture
def units() -> Iterator[None]:
    yield
    SPEED_UNITS.choose(SpeedUnit.BYTES)


def run(speed: float, seconds: float, *, rounds: int = 1) -> Timeline:
    timeline = Timeline(warm_up=rounds > 1)
    for number in range(rounds):
        for step in range(1, int(seconds * 20) + 1):
            count = int(speed * step * 0.05)
            timeline.take(TestEvent(direction="write", phase="write", round=number,
                                    sample=Sample(step * 0.05, count, count, rtt_s=0.002)))  # fmt: skip
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


def test_the_warm_up_is_drawn_pale_and_repeats_are_numbered(plot: LivePlot) -> None:
    plot.draw(run(10e6, 2, rounds=3))
    pale, full = (plot._speeds.lines["write", warm_up] for warm_up in (True, False))
    assert len(pale.getData()[0]) == 40
    assert len(full.getData()[0]) == 81  # with a gap between the repeats
    assert pale.opts["pen"].color() != full.opts["pen"].color()
    assert [line.label.format for line in plot._rounds.lines] == ["warm-up", "1", "2"]
    plot.clear()
    assert plot._rounds.lines == []
    assert len(full.getData()[0]) == 0


def test_round_trips_are_read_on_their_own_axis(plot: LivePlot) -> None:
    plot.draw(run(42e6, 2))
    axis = plot._trips.axis
    assert axis.isVisible()
    height = plot._trips.line.getData()[1][-1]
    assert height * axis.scale == pytest.approx(0.002)
    assert height < plot.top() / 2
    plot.clear()
    assert not axis.isVisible()


def test_phases_are_areas_and_losses_are_marks(plot: LivePlot) -> None:
    timeline = run(10e6, 5)
    timeline.take(TestEvent(direction="write", phase="fsync"))
    timeline.take(TestEvent(direction="write", phase="fsync", sample=Sample(6.0, 1, 10**8, 1, 7)))
    plot.draw(timeline)
    area = plot._phases.areas["fsync"].opts
    assert (area["x0"], area["x1"]) == ([pytest.approx(5)], [6.0])
    for trouble in ("timeout", "retransmission"):
        assert list(plot._losses.marks[trouble].getData()[0]) == [6.0]


def test_drawing_stays_cheap(plot: LivePlot) -> None:
    """What makes it cheap, rather than a time: thin opaque pens and axes with a cache (measured)."""
    for side in ("left", "bottom", "right"):
        assert plot._item.getAxis(side).cacheMode() == QGraphicsItem.CacheMode.DeviceCoordinateCache
    for curve in [*plot._speeds.lines.values(), *plot._speeds.averages.values(), plot._trips.line]:
        assert curve.opts["pen"].widthF() == 1
        assert curve.opts["pen"].color().alpha() == 255
        assert not curve.opts["antialias"]


def test_the_expectation_is_a_line_in_a_band(plot: LivePlot) -> None:
    plot.set_expected({"read": (100e6, 0.1)})
    line, band = plot._references.expected["read"]
    assert line.isVisible()
    assert line.value() == 100e6
    assert band.getRegion() == pytest.approx((90e6, 110e6))
    assert not plot._references.expected["write"][0].isVisible()
    plot.set_expected({})
    assert not line.isVisible()
    assert not band.isVisible()


def test_the_best_so_far_is_a_line(plot: LivePlot) -> None:
    plot.set_best({"write": 9e6})
    assert plot._references.best["write"].value() == 9e6
    assert plot._references.best["write"].isVisible()
    assert not plot._references.best["read"].isVisible()


def test_zoom_stays_while_the_test_goes_on_and_can_be_taken_back(plot: LivePlot, qtbot: QtBot) -> None:
    plot.draw(run(10e6, 9))
    with qtbot.waitSignal(plot.zoomed, check_params_cb=lambda zoomed: zoomed):
        plot.zoom(2.0)
    assert plot._item.viewRange()[0] == [2.5, 7.5]
    plot.draw(run(10e6, 40))
    assert plot._item.viewRange()[0] == [2.5, 7.5]
    plot.reset_zoom()
    assert plot._item.viewRange()[0] == [0, 45]


def test_the_axis_follows_the_unit(plot: LivePlot, units: None) -> None:
    plot.draw(run(42e6, 1))
    axis = plot._item.getAxis("left")
    assert "MB/s" in axis.labelText
    assert axis.scale == pytest.approx(1e-6)
    SPEED_UNITS.choose(SpeedUnit.BITS)
    assert "Mbit/s" in axis.labelText
    assert axis.scale == pytest.approx(8e-6)


def test_the_mouse_reads_values(plot: LivePlot, qtbot: QtBot) -> None:
    plot.draw(run(42e6, 9))
    label = plot.findChild(QLabel, "readout")
    assert label is not None
    box = plot._item.getViewBox()
    place = plot._plot.mapFromScene(box.mapViewToScene(box.viewRect().center()))
    qtbot.waitExposed(plot)
    QTest.mouseMove(plot._plot.viewport(), QPoint(place.x() - 5, place.y()))
    QTest.mouseMove(plot._plot.viewport(), place)
    qtbot.waitUntil(label.isVisible)
    assert "42 MB/s" in label.text()
    assert "round trip 2 ms" in label.text()
    assert label.testAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
    plot._crosshair.eventFilter(plot, QEvent(QEvent.Type.Leave))
    assert not label.isVisible()

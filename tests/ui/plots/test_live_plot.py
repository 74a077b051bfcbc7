"""Live plot: scales, markers, repainting, and cost of drawing."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QImage, QPainter, QTransform
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QGraphicsItem, QLabel
from waiting import DEADLINE_MS

from advisor.speeds import SpeedUnit
from app.speedtest.model import Sample, TestEvent
from ui.common import theme
from ui.common.speed_units import SPEED_UNITS
from ui.plots.layers import GrowingLine, PlotTransform
from ui.plots.legend import PLOT_LAYERS
from ui.plots.live_plot import LivePlot
from ui.plots.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytestqt.qtbot import QtBot

    from app.speedtest.model import TestPhase
    from ui.plots.timeline import TransferDirection


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


def more(timeline: Timeline, speed: float, moment: float) -> None:
    count = int(speed * moment)
    timeline.take(
        TestEvent(direction="write", phase="write", sample=Sample(moment, count, count, rtt_s=0.002))
    )


def test_scales_fit_what_is_drawn(plot: LivePlot) -> None:
    plot.draw(run(42e6, 7))
    (left, right), (_bottom, top) = plot._item.viewRange()
    assert (left, right) == (0, 10)
    assert top == plot.top() == 50e6


def test_the_links_limit_is_in_view_while_it_means_something(plot: LivePlot) -> None:
    plot.set_limits({"write": 11.8e6})
    assert plot.top() >= 11.8e6
    plot.draw(run(10e6, 1))
    assert plot.top() >= 11.8e6
    plot.set_limits({"write": 1e9})
    plot.draw(run(10e6, 1))
    assert plot.top() < 1e9


def test_each_way_has_the_limit_of_its_own(plot: LivePlot) -> None:
    plot.set_limits({"write": 1.2e6, "read": 5.9e6})
    assert plot.top() >= 5.9e6
    plot.draw(run(1.1e6, 1))
    assert plot.top() < 5.9e6  # a limit of more than five times the peak is not kept in view
    plot.draw(run(1.2e6, 1))
    assert plot.top() >= 5.9e6


def test_the_warm_up_is_drawn_pale_and_repeats_are_numbered(plot: LivePlot) -> None:
    plot.draw(run(10e6, 2, rounds=3))
    curves = plot._curves
    pale, full = (curves.speeds["write", warm_up] for warm_up in (True, False))
    assert len(pale.times_s) == len(pale.values) == 40
    assert len(full.times_s) == len(full.values) == 81  # including the gap between the repeats
    assert curves.pens["write", True].color() != curves.pens["write", False].color()
    assert [name for _, name in plot._repeats.shown] == ["Warm-up", "1", "2"]
    plot.clear()
    assert plot._repeats.shown == []
    assert full.times_s == []


def test_waits_are_read_on_their_own_axis_on_demand(plot: LivePlot) -> None:
    plot.draw(run(42e6, 2))
    axis = plot._curves.axis
    assert not axis.isVisible()
    plot.show_layers({"latency"})
    assert axis.isVisible()
    assert axis.title() == "Wait per request (ms)"
    assert plot._curves.trips.values[-1] == 0.002
    assert 2 * 2 <= plot.top() * axis.scale < 4 * 2
    plot.show_layers(())
    assert not axis.isVisible()
    plot.show_layers({"latency"})
    plot.clear()
    assert not axis.isVisible()


def test_more_than_curves_and_the_link_is_drawn_on_demand(plot: LivePlot) -> None:
    timeline = run(10e6, 5)
    timeline.take(TestEvent(direction="write", phase="fsync"))
    timeline.take(TestEvent(direction="write", phase="fsync", sample=Sample(6.0, 1, 6 * 10**7, 0, 0)))
    plot.set_limits({"write": 11.8e6})
    plot.set_expected({"write": (8e6, 0.2)})
    plot.set_best({"write": 4e6})
    plot.draw(timeline)
    plot.grab()
    QApplication.processEvents()  # the first painting finds the widths of the axes
    plain = plot._plot.grab().toImage()
    for layer in PLOT_LAYERS:
        plot.show_layers({layer})
        QApplication.processEvents()
        assert plot._plot.grab().toImage() != plain, layer
    plot.show_layers(())
    QApplication.processEvents()
    assert plot._plot.grab().toImage() == plain


def _has_ink(image: QImage, area: QRectF, color: str) -> bool:
    places = area.toAlignedRect().intersected(image.rect())
    return any(
        image.pixelColor(x, y) == QColor(color)
        for x in range(places.left(), places.right() + 1)
        for y in range(places.top(), places.bottom() + 1)
    )


@pytest.mark.parametrize("points", [9.0, 24.0])
def test_labels_and_titles_are_whole_after_a_change_of_the_font(
    plot: LivePlot, qapp: QApplication, points: float
) -> None:
    """Titles are inside the plot, and the halves of the labels at the ends of the axes, too."""
    before = qapp.font()
    try:
        font = QFont(before)
        font.setPointSizeF(points)
        qapp.setFont(font)
        plot.show_layers({"latency"})
        plot.draw(run(14e6, 13))  # the axes end at 15 MB/s and at 15 s
        QApplication.processEvents()
        plot.grab()
        QApplication.processEvents()
        shown = plot._plot.sceneRect()
        for side in ("left", "right"):
            axis = plot.axis(side)
            assert axis._title.font().pointSizeF() == points
            assert shown.contains(axis._title.mapToScene(axis._title.boundingRect()).boundingRect())
        axis, box = plot.axis("left"), plot._item.getViewBox().sceneBoundingRect()
        half = plot.fontMetrics().height() / 2
        label = QRectF(0, box.top() - half, box.left(), half)
        assert shown.contains(label)
        assert axis.mapToScene(axis.boundingRect()).boundingRect().top() <= box.top() - half
        assert _has_ink(plot._plot.grab().toImage(), label, theme.colors().muted)
        end = plot.fontMetrics().horizontalAdvance("15 s") / 2
        assert shown.right() - box.right() >= end
    finally:
        qapp.setFont(before)


def test_the_table_is_the_description_of_the_plot(plot: LivePlot) -> None:
    plot.draw(run(10e6, 2, rounds=3))
    titles, *rows = plot.accessibleDescription().splitlines()
    assert titles == "Repeat, Direction, Average, Highest, Longest wait per request"
    assert rows[0] == "Warm-up, To the server, 10 MB/s, 10 MB/s, 2 ms"
    assert [row.split(",")[0] for row in rows] == ["Warm-up", "1", "2"]


def test_phases_are_areas_and_losses_are_marks(plot: LivePlot) -> None:
    timeline = run(10e6, 5)
    timeline.take(TestEvent(direction="write", phase="fsync"))
    timeline.take(TestEvent(direction="write", phase="fsync", sample=Sample(6.0, 1, 10**8, 1, 7)))
    plot.draw(timeline)
    assert [(span.phase, span.end_s) for span in plot._phases.phase_intervals] == [("fsync", 6.0)]
    assert plot._losses.places == {"timeout": [6.0], "retransmission": [6.0]}


def test_another_test_begins_without_the_phases_of_the_last(plot: LivePlot) -> None:
    for _ in range(2):
        timeline = Timeline()
        plot.draw(timeline)
        phases: tuple[TestPhase, ...] = ("fsync", "close")
        for phase in phases:
            timeline.take(TestEvent(direction="write", phase=phase, sample=Sample(1.0, 1, 10**8)))
            plot.draw(timeline)
        assert [span.phase for span in plot._phases.phase_intervals] == ["fsync", "close"]
        plot.clear()
        assert not plot._phases.phase_intervals


def test_drawing_stays_cheap(plot: LivePlot) -> None:
    """Check the causes of fast drawing instead of a time: thin opaque pens and cached items."""
    kept = [*(plot._item.getAxis(side) for side in ("left", "bottom", "right")), plot._canvas]
    assert {item.cacheMode() for item in kept} == {QGraphicsItem.CacheMode.DeviceCoordinateCache}
    for pen in plot._curves.pens.values():
        assert pen.widthF() == 1
        assert pen.color().alpha() == 255


class Spy:
    """Layer that records the exposed intervals."""

    def __init__(self) -> None:
        self.exposed: list[tuple[float, float]] = []

    def paint(self, _painter: object, view: PlotTransform) -> None:
        self.exposed.append(view.exposed)

    def update_colors(self, _colors: object) -> None:
        pass


def test_only_what_is_new_is_painted(plot: LivePlot, qtbot: QtBot) -> None:
    spy, timeline = Spy(), run(10e6, 21)
    plot._canvas._layers = (*plot._layers, spy)
    plot.draw(timeline)
    qtbot.waitUntil(lambda: len(spy.exposed) > 0 and plot._plot.isVisible(), timeout=DEADLINE_MS)
    qtbot.wait(50)  # until all pending paints are done
    spy.exposed.clear()
    more(timeline, 10e6, 21.05)
    plot.draw(timeline)
    qtbot.waitUntil(lambda: len(spy.exposed) > 0, timeout=DEADLINE_MS)
    (start_s, end_s), *rest = spy.exposed
    assert not rest
    assert 19 < start_s < 21
    assert end_s < 23


def test_painted_piece_by_piece_it_looks_as_painted_at_once(plot: LivePlot) -> None:
    """Incremental painting updates all layers: curves, averages, areas, markers and numbers."""
    timeline = Timeline(warm_up=True)
    plot.set_limits({"write": 50e6})
    plot.show_layers(PLOT_LAYERS)
    ways: tuple[TransferDirection, ...] = ("write", "read")
    for number in range(2):
        for way in ways:
            for step in range(1, 25):
                phase: TestPhase = "fsync" if way == "write" and step > 16 else way
                count = int(30e6 * step * 0.05 * (1 + (step * 7 % 11) / 20))
                sample = Sample(step * 0.05, count, count, step // 25, step // 7, 0.001 * (1 + step % 3))
                timeline.take(TestEvent(direction=way, phase=phase, round=number, sample=sample))
                plot.draw(timeline)
                plot._plot.viewport().repaint()
    pieces = plot._plot.grab().toImage()
    plot._canvas.fit()
    assert plot._plot.grab().toImage() == pieces


def test_what_is_denser_than_pixels_keeps_its_extremes() -> None:
    line = GrowingLine()
    count = 20_000
    values = [50.0 + place % 3 for place in range(count)]
    values[7_777], values[15_000] = 5.0, 95.0
    line.extend([place / count * 100 for place in range(count)], values)
    image = QImage(100, 100, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    line.paint(painter, PlotTransform(QRectF(0, 0, 100, 100), (0.0, 100.0), QTransform(1, 0, 0, 1, 0, 0)))
    painter.end()
    assert image.pixelColor(38, 7) == image.pixelColor(75, 93) == QColor(Qt.GlobalColor.black)
    assert image.pixelColor(40, 7) == QColor(Qt.GlobalColor.white)


def test_numbers_of_repeats_that_have_no_room_are_left_out(plot: LivePlot) -> None:
    plot.draw(run(10e6, 0.5, rounds=60))
    written: list[str] = []

    class Pen(QPainter):
        def drawText(self, _place: QPointF, text: str) -> None:  # type: ignore[override]  # noqa: N802
            written.append(text)

    image = QImage(800, 300, QImage.Format.Format_RGB32)
    painter = Pen(image)
    plot._repeats.paint(
        painter, PlotTransform(QRectF(0, 0, 800, 300), (0.0, 60.0), QTransform(13, 0, 0, 1, 0, 0))
    )
    painter.end()
    assert written[0] == "Warm-up"
    assert 10 < len(written) < 50


def test_the_expectation_is_a_line_in_a_band(plot: LivePlot) -> None:
    plot.set_expected({"read": (100e6, 0.1)})
    plot.show_layers({"model"})
    assert plot._references.expected == {"read": (100e6, 0.1)}
    plot.draw(run(95e6, 2))
    plot._plot.viewport().repaint()
    colors = theme.colors()
    inside = plot._plot.grab().toImage().pixelColor(plot._plot.mapFromScene(
        plot._item.getViewBox().mapViewToScene(QPointF(1.0, 105e6))))  # fmt: skip
    assert inside == QColor(theme.blend(colors.read, colors.base, 0.13))
    plot.set_expected({})
    assert plot._references.expected == {}


def test_the_best_so_far_is_a_line(plot: LivePlot) -> None:
    plot.set_best({"write": 9e6})
    assert plot._references.best == {"write": 9e6}


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
    axis = plot.axis("left")
    assert "MB/s" in axis.title()
    assert axis.scale == pytest.approx(1e-6)
    SPEED_UNITS.choose(SpeedUnit.BITS)
    assert "Mbit/s" in axis.title()
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
    qtbot.waitUntil(label.isVisible, timeout=DEADLINE_MS)
    assert "42 MB/s" in label.text()
    assert "wait per request 2 ms" in label.text()
    assert label.testAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
    plot._crosshair.eventFilter(plot, QEvent(QEvent.Type.Leave))
    assert not label.isVisible()


def test_plots_are_loaded_on_a_thread_without_an_object_of_qt() -> None:
    """A Qt object of the import thread would die with it; the event loop runs during the import."""
    code = (
        "import gc, sys\n"
        "from PySide6.QtCore import QObject, QThread\n"
        "from PySide6.QtWidgets import QApplication\n"
        "app = QApplication([])\n"
        "import ui.main\n"
        "from ui.main import preload\n"
        "assert 'pyqtgraph' not in sys.modules\n"
        "preload().result(60)\n"
        "assert 'pyqtgraph' in sys.modules\n"
        "ours = QThread.currentThread()\n"
        "foreign = [o for o in gc.get_objects() if isinstance(o, QObject) and o.thread() is not ours]\n"
        "assert foreign == [], foreign\n"
        "from ui.plots.live_plot import LivePlot\n"
        "plot = LivePlot()\n"
        "plot.resize(300, 200)\n"
        "plot.grab()\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

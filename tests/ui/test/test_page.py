"""Test page: start, stop, display of results, and separation from other actions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from fake_host import FakeHost, result, transfer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QScrollArea, QSpinBox, QWidget
from speed_test_steps import choose, events, show

from advisor.bottleneck import Bottleneck, Evidence
from advisor.message import message
from advisor.speeds import SpeedUnit
from app.errors import AppError, ErrorKind
from app.history.model import Run
from app.history.store import HistoryStore
from app.speedtest.analysis import outlier_notes
from app.speedtest.model import Figure, GridCell, GridRun, NetworkThroughput, Sample, TestEvent
from app.speedtest.network_measurement import network_notes
from app.text.message import message_text
from ui.common import style, theme
from ui.common.cards import Headline
from ui.common.message_list import MessageList
from ui.common.result_tables import GridCellTable, ResultTable
from ui.common.speed_units import SPEED_UNITS
from ui.common.status_text import moment_text
from ui.test.plot_panel import SpeedTestPlot
from ui.test.run import TestTarget

if TYPE_CHECKING:
    from pathlib import Path

    from driver import Driver


def test_quick_test_runs_and_shows_the_figures(driver: Driver, fake: FakeHost) -> None:
    fake.events = events()
    fake.hold.clear()
    driver.open()
    driver.tab("Test")
    driver.wait(lambda: "1 Gbit/s" in driver.text_of("facts"))
    driver.wait(lambda: "about 15 s" in driver.text_of("plan"))
    assert "Repeats this 6 times after a warm-up" in driver.text_of("plan")
    assert "are free there" in driver.text_of("plan")
    start = driver.find(QPushButton, "start")
    assert isinstance(start, QPushButton)
    assert start.text() == "Test the &Speed · 15 s"
    options = driver.find(QPushButton, "test-options")
    assert isinstance(options, QPushButton)
    assert options.text() == "Options: One file, both directions · cache emptied before reading"
    assert not driver.sees("what")
    for hidden in ("expected", "test-result", "figure-write", "progress", "stop-test"):
        assert not driver.sees(hidden), hidden
    driver.click("start")
    panel = driver.window._detail.quick_test
    driver.wait(lambda: panel._plot.plot is not None
                and len(panel._plot.plot._curves.speeds["read", True].times_s) == 20)  # fmt: skip
    assert panel._plot.drawing
    assert not driver.sees("expected")
    show(driver, "model")
    assert "the model expects" in driver.text_of("expected")
    assert "read" in panel._plot.plot._references.expected
    assert not driver.find(QPushButton, "unmount").isEnabled()
    assert driver.sees("stop-test")
    assert not driver.sees("start")
    driver.wait(lambda: "Closing the file ·" in driver.text_of("progress"))
    assert driver.text_of("progress").endswith(" left")
    assert panel._figures.value("read") == "9.3 MB/s"
    fake.hold.set()
    driver.wait(lambda: driver.sees("test-result"))
    assert not panel._plot.drawing
    assert driver.find(QPushButton, "unmount").isEnabled()
    assert driver.sees("start")
    assert not driver.sees("stop-test")
    assert panel._figures.value("write") == "100 MB/s"
    assert panel._figures.value("read") == "110 MB/s"
    assert not driver.sees("cached-warning")
    assert not driver.sees("results")
    driver.click("test-figures")
    assert driver.sees("results")
    driver.wait(lambda: "A note to the reader." in driver.text_of("notes"))
    (spec,) = fake.asked("test.run")
    assert (spec.path, spec.direction, spec.cache, spec.repeats) == ("/home", "both", "fadvise", 6)
    assert spec.size > 32 * 2**20


def test_a_custom_size_is_taken_as_it_is(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.tab("Test")
    assert not driver.sees("size")
    choose(driver, "duration", "")
    choose(driver, "size", float(4 * 2**20))
    choose(driver, "direction", "write")
    driver.wait(lambda: "1 Gbit/s" in driver.text_of("facts"))
    choose(driver, "cache", "fresh-mount")
    repeats = driver.find(QSpinBox, "repeats")
    assert isinstance(repeats, QSpinBox)
    repeats.setValue(1)
    assert "one file of 4 MiB" in driver.text_of("plan")
    driver.click("start")
    driver.wait(lambda: driver.sees("test-result"))
    (spec,) = fake.asked("test.run")
    assert (spec.size, spec.direction, spec.repeats, spec.workload) == (4 * 2**20, "write", 1, "file")
    assert spec.cache == "fresh-mount"


def test_start_is_in_sight_in_a_narrow_window(driver: Driver, fake: FakeHost) -> None:
    fake.events = events()
    driver.open()
    driver.tab("Test")
    start = driver.find(QPushButton, "start")
    driver.window.resize(760, 560)
    panel = driver.window._detail.quick_test
    assert start.visibleRegion().boundingRect() == start.rect()
    driver.wait(lambda: "Takes about" in driver.text_of("plan"))
    driver.click("start")
    driver.wait(lambda: driver.sees("test-result"))
    (scroll,) = panel.findChildren(QScrollArea)
    driver.wait(lambda: scroll.horizontalScrollBar().maximum() == 0)
    # Plot and figures are laid out in separate turns of the event loop.
    driver.wait(lambda: start.visibleRegion().boundingRect() == start.rect())


def in_sight(driver: Driver, name: str) -> bool:
    widget = driver.find(QWidget, name)
    return widget.isVisible() and widget.visibleRegion().boundingRect() == widget.rect()


def test_the_answer_is_in_sight_at_1000_by_700(driver: Driver, fake: FakeHost) -> None:
    fake.events = events()
    found = Bottleneck(kind="network", evidence=["It was full."], confidence="high", way="read")
    uses = ["Video: about 4 films in 4K in parallel (25 Mbit/s for each).",
            "Backup: about 2.9 TB in a night of 8 hours, if the files are large."]  # fmt: skip
    fake.result = msgspec.structs.replace(fake.result, bottleneck=found, enough=uses)
    driver.open()
    driver.window.resize(1000, 700)
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: driver.sees("test-result"))
    for name in ("start", "figure-write", "figure-read", "verdict", "enough", "improve", "compare-test"):
        driver.wait(partial(in_sight, driver, name))
    headline = driver.find(Headline, "verdict")
    assert isinstance(headline, Headline)
    assert headline.title() == "93% of the link. The network is the limit."


def test_the_answer_leads_to_the_advice_and_to_the_history(driver: Driver, fake: FakeHost) -> None:
    with HistoryStore.open() as store:
        store.add(Run(result=msgspec.structs.replace(fake.result, started_at="2025-12-01T00:00:00Z")))
    fake.events = events()
    driver.open()
    detail = driver.window._detail
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: detail.quick_test._run() is not None and not detail.quick_test._run().earlier)
    driver.wait(lambda: driver.sees("test-result") and driver.find(QPushButton, "compare-test").isEnabled())
    driver.click("improve")
    assert detail._tabs.currentWidget() is detail.overview
    driver.tab("Test")
    driver.click("compare-test")
    assert detail._tabs.currentWidget() is detail.history
    driver.wait(lambda: len(detail.history._chosen()) == 2)


def test_the_last_test_of_the_share_is_shown(driver: Driver, fake: FakeHost) -> None:
    with HistoryStore.open() as store:
        store.add(Run(result=fake.result))
        store.add(Run(result=msgspec.structs.replace(fake.result, link=None, write=transfer(1e6))))
    driver.open()
    driver.tab("Test")
    driver.wait(lambda: driver.sees("earlier-test"))
    assert driver.text_of("earlier-test") == f"Last test: {moment_text(fake.result.started_at)}"
    assert driver.window._detail.quick_test._figures.value("write") == "100 MB/s"
    start = driver.find(QPushButton, "start")
    assert isinstance(start, QPushButton)
    assert start.text().startswith("Test the &Speed Again")
    fake.hold.clear()
    driver.click("start")
    driver.wait(lambda: driver.sees("stop-test"))
    assert not driver.sees("earlier-test")
    fake.hold.set()
    driver.wait(lambda: driver.sees("test-result"))
    assert not driver.sees("earlier-test")


def test_a_slow_test_corrects_the_time_of_the_next_one(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.tab("Test")
    driver.wait(lambda: "Takes about 15 s" in driver.text_of("plan"))
    driver.click("start")
    driver.wait(lambda: driver.sees("test-result"))
    panel = driver.window._detail.quick_test
    assert list(panel._slowness) == [(("nas01:/export/home", "/home"), "gigabit")]
    panel._slowness = dict.fromkeys(panel._slowness, 2.0)
    panel._show_plan()
    driver.wait(lambda: "Takes about 30 s" in driver.text_of("plan"))
    start = driver.find(QPushButton, "start")
    assert isinstance(start, QPushButton)
    assert start.text() == "Test the &Speed Again · 30 s"


def test_what_the_plot_shows_is_remembered(driver: Driver, fake: FakeHost) -> None:
    fake.events = events()
    driver.open()
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: driver.sees("test-result"))
    show(driver, "latency")
    show(driver, "phases")
    plot = SpeedTestPlot(driver.window._detail.quick_test._run_blocking)
    assert plot._tools.layers() == {"latency", "phases"}
    plot.deleteLater()


def test_each_way_is_compared_with_what_the_link_carries_that_way(driver: Driver, fake: FakeHost) -> None:
    fake.link = replace(fake.link, rate_bps=50e6, up_bps=10e6)
    driver.open()
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: driver.sees("test-result"))
    shown = driver.window._detail.quick_test._plot
    limits = shown.plot._references.limits
    assert 5.5 < limits["read"] / 1e6 < 6.25
    assert 1.1 < limits["write"] / 1e6 < 1.25
    text = shown._legend._marks["limit"].label.text()
    assert text.startswith("Link: at most 1.")
    assert "to the server, 5." in text


def test_many_small_files(driver: Driver, fake: FakeHost) -> None:
    rate = Figure(
        values=[200.0, 210.0, 220.0], median=210.0, low=200.0, high=220.0, confidence=0.75, wide=False
    )
    fake.result = msgspec.structs.replace(
        fake.result, workload="files", count=1000, figures={"create": rate, "stat": rate, "delete": rate}
    )
    driver.open()
    driver.tab("Test")
    choose(driver, "what", 4096)
    assert not driver.sees("count")
    choose(driver, "duration", "")
    driver.wait(lambda: "1000 files of 4 KiB" in driver.text_of("plan") and "cross" in driver.text_of("plan"))
    driver.click("start")
    driver.wait(lambda: driver.sees("test-result"))
    driver.click("test-figures")
    driver.wait(lambda: driver.sees("rates"))
    (spec,) = fake.asked("test.run")
    assert (spec.workload, spec.size, spec.count) == ("files", 4096, 1000)
    assert driver.text_of("rates").splitlines()[0] == "Create: 210 files/s (Range 200 to 220)"


def test_the_persons_own_files(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.tab("Test")
    choose(driver, "what", "own")
    assert "Enter a file or directory" in driver.text_of("plan")
    assert not driver.find(QPushButton, "start").isEnabled()
    source = driver.find(QLineEdit, "source")
    assert isinstance(source, QLineEdit)
    source.setText("/home/ada/films")
    driver.wait(lambda: "Copies /home/ada/films to /home" in driver.text_of("plan"))
    driver.click("start")
    driver.wait(lambda: driver.sees("test-result"))
    (spec,) = fake.asked("test.run")
    assert (spec.workload, spec.source) == ("own", "/home/ada/films")


def test_a_grid_through_fio(driver: Driver, fake: FakeHost) -> None:
    run = GridRun(iops=1234.0, bytes_per_s=5.05e6, latency_s=0.0008, p99_s=0.002)
    held = Bottleneck(kind="round-trips", evidence=["Far away."], confidence="high", way="read")
    cell = GridCell(pattern="randread", record=4096, depth=16, jobs=1, runs=[run], bottleneck=held)
    fake.result = msgspec.structs.replace(
        fake.result, workload="grid", write=None, read=None, grid=[cell], bottleneck=held
    )
    driver.open()
    driver.tab("Test")
    choose(driver, "what", "grid")
    choose(driver, "direction", "read")
    assert not driver.sees("repeats")
    driver.wait(lambda: "fio measures 8 cells, each for 0." in driver.text_of("plan"))
    assert "Requests of 4 KiB and 1 MiB, 1 and 16 at once." in driver.text_of("plan")
    choose(driver, "duration", "normal")
    driver.wait(lambda: "fio measures 12 cells, each for 2." in driver.text_of("plan"))
    choose(driver, "duration", "")
    assert driver.sees("repeats")
    driver.wait(lambda: "fio measures 12 cells, each for 2 s" in driver.text_of("plan"))
    driver.click("start")
    driver.wait(lambda: driver.sees("test-result"))
    assert not driver.sees("figure-read")
    driver.click("test-figures")
    driver.wait(lambda: driver.sees("grid"))
    assert not driver.sees("results")
    (spec,) = fake.asked("test.run")
    assert spec.repeats == 1
    assert spec.grid.patterns == ("seqread", "randread")
    table = driver.find(GridCellTable, "grid")
    assert isinstance(table, GridCellTable)
    texts = [item.text() for column in range(9) if (item := table.item(0, column)) is not None]
    figures = ["Random read", "4 KiB", "1", "16", "1,234", "5.05 MB/s", "800 µs", "2 ms"]
    assert texts == [*figures, "Wait per request"]
    assert (
        driver.text_of("bottleneck") == "From the server: limited by the wait per request (high confidence)"
    )


def test_start_waits_for_the_plan_and_says_when_there_is_none(driver: Driver, fake: FakeHost) -> None:
    fake.test_plan_error = AppError(ErrorKind.NOT_RESPONDING, "It does not answer.")
    driver.open()
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: driver.message() == "It does not answer.")
    assert "It does not answer." in driver.text_of("plan")
    assert fake.asked("test.run") == []
    fake.test_plan_error = None
    driver.click("start")
    driver.wait(lambda: driver.sees("test-result"))


def test_smaller_repeats_are_compared_with_what_was_as_small(driver: Driver, fake: FakeHost) -> None:
    figure = Figure(values=[7e6] * 6, median=7e6, low=7e6, high=7e6, confidence=0.97, wide=False)
    small = msgspec.structs.replace(transfer(), bytes=2**20)
    with HistoryStore.open() as store:
        store.add(Run(result=msgspec.structs.replace(fake.result, write=small, figures={"write": figure})))
    fake.events = [
        TestEvent(direction="write", phase="write", total=100 * 2**20),
        *(TestEvent(direction="write", phase="write", round=1, total=2**20, sample=sample)
          for sample in (None, Sample(0.5, 1000, 1000), Sample(1.0, 2000, 2000))),
    ]  # fmt: skip
    fake.hold.clear()
    driver.open()
    driver.tab("Test")
    driver.click("start")
    show(driver, "best")
    driver.wait(lambda: "the best before: to the server 7 MB/s" in driver.text_of("expected"))
    driver.wait(lambda: "Writing 1 of 6" in driver.text_of("progress"))
    fake.hold.set()
    driver.wait(lambda: driver.sees("test-result"))


def test_a_finished_test_does_not_look_busy(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.tab("Test")
    driver.wait(lambda: "Takes about" in driver.text_of("plan"))
    fake.hold_plan.clear()
    driver.click("start")
    driver.wait(lambda: driver.sees("test-result"))
    driver.wait(lambda: "Takes about" in driver.text_of("plan"))
    fake.hold_plan.set()
    driver.wait(lambda: not driver.window._detail.quick_test._planner.asking)
    assert "Takes about" in driver.text_of("plan")


def test_repeats_are_told_with_how_sure_they_are(driver: Driver, fake: FakeHost) -> None:
    speeds = [float(speed) for speed in (90e6, 95e6, 100e6, 101e6, 102e6, 140e6)]
    figure = Figure(values=speeds, median=100.5e6, low=90e6, high=140e6, confidence=0.97, wide=True,
                    timeouts=4, retransmissions=11)  # fmt: skip
    fake.result = msgspec.structs.replace(
        fake.result, figures={"write": figure}, enough=["Backup: about 2.9 TB in a night of 8 hours."]
    )
    driver.open()
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: driver.sees("test-result"))
    table = driver.find(ResultTable, "results")
    assert isinstance(table, ResultTable)
    text = table.text()
    assert "Speed, median of 6\t100 MB/s" in text or "Speed, median of 6\t101 MB/s" in text
    assert "95% CI\t90 to 140 MB/s" in text
    assert "1, in all repeats 4" in text
    assert "3, in all repeats 11" in text
    assert driver.sees("wide-warning")
    assert driver.sees("enough")
    SPEED_UNITS.choose(SpeedUnit.BITS)
    try:
        assert "720 Mbit/s to 1.12 Gbit/s" in table.text()
    finally:
        SPEED_UNITS.choose(SpeedUnit.BYTES)


def test_the_plot_can_stand_still_while_the_test_goes_on(driver: Driver, fake: FakeHost) -> None:
    fake.events = events()
    fake.hold.clear()
    driver.open()
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: driver.window._detail.quick_test._plot.drawing)
    driver.trigger("pause")
    assert not driver.window._detail.quick_test._plot.drawing
    driver.trigger("pause")
    assert driver.window._detail.quick_test._plot.drawing
    driver.trigger("zoom-in")
    driver.trigger("zoom-reset")
    fake.hold.set()
    driver.wait(lambda: driver.sees("test-result"))
    assert not driver.window.findChild(QAction, "pause").isEnabled()  # type: ignore[union-attr]


def test_the_plot_is_saved_as_a_picture_and_as_a_table(
    driver: Driver, fake: FakeHost, tmp_path: Path
) -> None:
    fake.events = events()
    driver.open()
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: driver.sees("test-result"))
    driver.click("save-plot")
    driver.wait(lambda: driver.sees("save-plot-dialog"))
    path, told = driver.find(QLineEdit, "save-plot-path"), driver.find(QLabel, "save-plot-told")
    assert isinstance(path, QLineEdit)
    assert isinstance(told, QLabel)
    assert path.text().endswith("/speed-home.png")
    for kind, start in (("png", b"\x89PNG"), ("csv", b"repeat,warm_up,direction")):
        choose(driver, "save-plot-kind", kind)
        path.setText(str(tmp_path / f"plot.{kind}"))
        driver.click("save-plot-save")
        driver.wait(lambda: told.text() not in {"", "Saving…"})
        assert told.text().startswith("Saved as")
        assert (tmp_path / f"plot.{kind}").read_bytes().startswith(start)
    driver.click("save-plot-save")
    driver.wait(lambda: "could not be written" in told.text())
    driver.click("save-plot-dialog-close")


def test_a_cached_read_is_flagged(driver: Driver, fake: FakeHost) -> None:
    fake.result = result(cached=True)
    driver.open()
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: driver.sees("cached-warning"))


def test_stop_cancels_and_leaves_no_result(driver: Driver, fake: FakeHost) -> None:
    fake.events = events()[:8]
    fake.hold.clear()
    driver.open()
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: driver.window._detail.quick_test.running)
    driver.click("stop-test")
    driver.wait(lambda: not driver.window._detail.quick_test.running)
    assert not driver.sees("test-result")
    assert driver.message() == ""
    assert driver.text_of("earlier-test") == "The test was stopped."
    assert driver.sees("start")


def test_a_failed_test_says_why(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.tab("Test")

    def fail(_args: object, _context: object) -> object:
        raise AppError(ErrorKind.NO_SPACE, "It would not fit.", hint="Choose a smaller size.")

    fake.test = fail  # type: ignore[assignment, method-assign]
    driver.open()
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: driver.message() == "It would not fit.")


def test_what_held_it_back_is_told_with_its_evidence(driver: Driver, fake: FakeHost) -> None:
    said = message(Evidence.LINK_FULL, share=0.95, limit=118e6)
    found = Bottleneck(kind="network", evidence=[said], confidence="high", way="read")
    noted = "The read, 300 MB/s, is more than the link carries."
    fake.result = msgspec.structs.replace(fake.result, bottleneck=found, notes=[noted])
    driver.open()
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: driver.sees("test-result"))
    driver.click("test-method")
    driver.wait(lambda: driver.sees("evidence"))
    assert driver.text_of("bottleneck") == "From the server: limited by the network (high confidence)"
    evidence = driver.find(MessageList, "evidence")
    assert isinstance(evidence, MessageList)
    SPEED_UNITS.choose(SpeedUnit.BITS)
    try:
        assert "of the 944 Mbit/s that the link can carry" in evidence.sentences()[0]
        assert "The read, 2.4 Gbit/s, is more" in driver.text_of("notes")
    finally:
        SPEED_UNITS.choose(SpeedUnit.BYTES)
    assert "118 MB/s" in evidence.sentences()[0]


def test_the_plot_can_be_drawn_in_both_lights(driver: Driver, fake: FakeHost, qapp: QApplication) -> None:

    fake.events = events(1)
    driver.open()
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: driver.sees("test-result"))
    try:
        for appearance in (theme.Appearance.DARK, theme.Appearance.LIGHT):
            style.apply_appearance(qapp, appearance)
            QApplication.processEvents()
            colors = theme.colors()
            image = driver.window._detail.quick_test._plot.plot.grab().toImage()
            seen = {
                image.pixelColor(x, y).name()
                for x in range(0, image.width(), 2)
                for y in range(image.height())
            }
            assert colors.base in seen
            assert colors.write in seen
            assert colors.read in seen
    finally:
        style.apply_appearance(qapp, theme.Appearance.LIGHT)


def test_the_baselines_are_offered_for_a_thorough_test(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.tab("Test")
    controls = driver.window._detail.quick_test._controls
    driver.click("test-options")
    target = TestTarget("nas01:/export/home", "/home", "", mounted=True)
    assert not controls._baseline.isVisible()
    assert not controls._memory.isVisible()
    controls._baseline.setCurrentIndex(1)
    controls._memory.setCurrentIndex(4)
    spec = controls._spec(target)
    assert (spec.network_alone, spec.server_memory) == (False, 0)  # hidden fields have no effect
    controls._duration.setCurrentIndex(controls._duration.findData("thorough"))
    assert controls._baseline.isVisible()
    assert controls._memory.isVisible()
    spec = controls._spec(target)
    assert (spec.network_alone, spec.server_memory) == (True, 8 * 2**30)
    controls._workload.setCurrentIndex(1)
    assert not controls._memory.isVisible()
    assert controls._spec(target).server_memory == 0


def test_an_outlier_is_a_warning_and_the_network_alone_is_evidence(driver: Driver, fake: FakeHost) -> None:
    network = NetworkThroughput(write=118e6, read=117e6)
    values = [100e6, 101e6, 99e6, 55e6, 100e6, 100e6]
    figure = Figure(values=values, median=100e6, low=55e6, high=101e6, confidence=0.97, wide=False)
    messages = [
        *outlier_notes({"write": figure}),
        *network_notes(network, fake.result.write, fake.result.read),
    ]
    notes = [message_text(one) for one in messages]
    fake.result = msgspec.structs.replace(
        fake.result, network=network, figures={"write": figure}, notes=["Something else.", *notes]
    )
    driver.open()
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: driver.sees("test-result"))
    driver.click("test-method")
    driver.wait(lambda: driver.sees("evidence"))
    evidence, warning = driver.find(MessageList, "evidence"), driver.find(MessageList, "wide-warning")
    assert isinstance(evidence, MessageList)
    assert isinstance(warning, MessageList)
    assert evidence.sentences()[-1].startswith("The network alone")
    assert warning.sentences()[0].startswith("Outlier: repeat 4 of 6 to the server was 45% below")
    assert "Something else." in driver.text_of("notes")
    assert "Outlier" not in driver.text_of("notes")
    assert "iperf3" not in driver.text_of("notes")

"""Live page: a mount is watched only while the page is visible."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import msgspec
from fake_host import configured, mounted
from PySide6.QtWidgets import QLabel, QTabWidget
from waiting import DEADLINE_S

import ui.live.panel
from advisor.speeds import SpeedUnit
from app.errors import AppError, ErrorKind
from app.stats.model import ConnectionRate, OperationRate, StatsSample
from ui.common.cards import CardKind, Tile
from ui.common.speed_units import SPEED_UNITS, SpeedUnitBox
from ui.live.panel import OperationsTable
from ui.live.sample_window import SPAN_S, SampleWindow

if TYPE_CHECKING:
    import pytest
    from driver import Driver
    from fake_host import FakeHost

    from app.service.protocol import Empty
    from app.service.server import Context


def _sample(t_s: float, speed: float = 11.5e6) -> StatsSample:
    return StatsSample(
        t_s=t_s, read_bytes_per_s=speed, write_bytes_per_s=0, ops_per_s=44, rtt_s=0.0021, queue_s=None,
        timeouts=0, retransmissions=0, connections=1, errors=2, read_ahead_kb=128, execute_s=0.0031,
        operations=[
            OperationRate(name="READ", ops_per_s=44, bytes_per_s=speed, queue_s=0, rtt_s=0.0021,
                          execute_s=0.003, timeouts=0, retransmissions=0, errors=2)
        ],
        transports=[
            ConnectionRate(kind="tcp", sends_per_s=44, receives_per_s=44, reconnections=0, waiting=0)
        ],
    )  # fmt: skip


def tile(driver: Driver, name: str) -> Tile:
    found = driver.find(Tile, f"live-{name}")
    assert isinstance(found, Tile)
    return found


def value(driver: Driver, name: str) -> str:
    return tile(driver, name).figure.value()


def count(driver: Driver, name: str) -> tuple[str, str]:
    """Return the value of a tile and the time that it covers."""
    _caption, number, detail = tile(driver, name).figure.accessibleName().split(", ", 2)
    return number, detail


def test_a_mount_is_watched_while_somebody_looks(driver: Driver, fake: FakeHost) -> None:
    fake.samples = [_sample(1), _sample(2, 9e6)]
    driver.open()
    assert fake.asked("stats.watch") == []
    driver.tab("Live")
    driver.wait(lambda: value(driver, "read") == "9 MB/s")
    assert value(driver, "rtt") == "2.1 ms"
    assert value(driver, "execute") == "3.1 ms"
    assert value(driver, "readahead") == "128 KiB"
    assert "44 answered per second" in driver.text_of("connections")
    table = driver.find(OperationsTable, "operations")
    assert isinstance(table, OperationsTable)
    item = table.item(0, 0)
    assert item is not None
    assert item.text() == "READ"
    assert len(fake.asked("stats.watch")) == 1
    driver.tab("Settings")
    driver.wait(lambda: fake.watching == 0)


def test_another_mount_is_another_watch(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [mounted(), configured()]
    fake.samples = [_sample(1)]
    driver.open()
    driver.tab("Live")
    driver.wait(lambda: "MB/s" in value(driver, "read"))
    panel = driver.window._detail.live
    panel.set_mount(mounted("nas02:/b", "/b"))
    driver.wait(lambda: [args.mount_point for args in fake.asked("stats.watch")] == ["/home", "/b"])
    panel.set_mount(None)
    driver.wait(lambda: fake.watching == 0)
    assert value(driver, "rtt") == "—"


def test_what_is_not_mounted_has_no_live_tab(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [configured()]
    driver.open()
    tabs = driver.find(QTabWidget, "tabs")
    assert isinstance(tabs, QTabWidget)
    seen = [tabs.tabText(index) for index in range(tabs.count()) if tabs.isTabVisible(index)]
    assert "Live" not in seen


def test_it_says_why_it_is_still_while_something_private_is_measured(
    driver: Driver, fake: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.open()
    driver.tab("Live")
    note = driver.find(QLabel, "live-elsewhere")
    assert not note.isVisible()
    detail = driver.window._detail
    monkeypatch.setattr(type(detail.experiment), "running", property(lambda _self: True))
    detail._on_running(True)
    assert note.isVisible()
    assert driver.text_of("live-elsewhere").startswith("An experiment uses private mounts.")
    monkeypatch.undo()
    monkeypatch.setattr(type(detail.quick_test), "uses_private_mount", property(lambda _self: True))
    detail._on_running(True)
    assert driver.text_of("live-elsewhere").startswith("A test uses a private mount.")
    monkeypatch.undo()
    detail._on_running(False)
    assert not note.isVisible()


def test_tiles_and_plot_are_in_sight_at_1000_by_700(driver: Driver, fake: FakeHost) -> None:
    fake.samples = [_sample(1), _sample(2)]
    driver.open()
    driver.window.resize(1000, 700)
    driver.tab("Live")
    driver.wait(lambda: "MB/s" in value(driver, "read"))
    shown = [tile(driver, name) for name in ("read", "write", "ops", "rtt", "segments", "timeouts", "queue")]
    driver.wait(lambda: all(each.visibleRegion().boundingRect() == each.rect() for each in shown))
    assert len({each.y() for each in shown}) == 2
    assert not tile(driver, "readahead").isVisible()
    driver.click("live-more")
    assert tile(driver, "readahead").isVisible()
    for each in shown:
        assert each.toolTip()
    plot = driver.window._detail.live._plot
    assert plot.accessibleDescription().splitlines()[0] == "Time, To the server, From the server"


def test_the_window_of_time_moves() -> None:
    window = SampleWindow()
    for second in range(300):
        window.take(_sample(float(second), speed=second))
    timeline = window.timeline()
    assert timeline.end_s == SPAN_S
    assert timeline.curves[1].way == "read"
    assert timeline.curves[1].speeds[-1] == 299
    assert timeline.peak == 299
    assert window.trouble().span_s == SPAN_S + 1
    window.clear()
    assert window.latest is None
    assert window.trouble().span_s == 0
    assert window.timeline().curves == []


def test_what_went_wrong_is_that_of_all_the_time_shown(driver: Driver, fake: FakeHost) -> None:
    bad = msgspec.structs.replace(_sample(1), timeouts=1, segments=7, disordered=40)
    fake.samples = [bad, msgspec.structs.replace(_sample(2), segments=2), _sample(3)]
    driver.open()
    driver.tab("Live")
    driver.wait(lambda: count(driver, "timeouts") == ("1", "in 3 s, unusual"))
    assert count(driver, "segments") == ("9", "in 3 s, unusual")
    assert count(driver, "disordered") == ("40", "in 3 s")
    assert count(driver, "retransmissions") == ("0", "in 3 s")
    assert count(driver, "errors") == ("6", "in 3 s")
    kinds = {name: tile(driver, name).kind() for name in ("timeouts", "segments", "disordered", "errors")}
    assert kinds.pop("timeouts") is kinds.pop("segments") is CardKind.ERROR
    assert set(kinds.values()) == {CardKind.PLAIN}
    legend = driver.window._detail.live._legend
    assert legend._marks["timeout"].label.text() == "Timeouts: 1"
    assert legend._marks["retransmission"].label.text() == "Retransmitted: 9"


def test_what_the_plot_marks_live() -> None:
    window = SampleWindow()
    window.take(_sample(1))
    window.take(msgspec.structs.replace(_sample(2), retransmissions=1, segments=3, timeouts=2))
    found = [(mark.time_s, mark.trouble, mark.count) for mark in window.timeline().loss_events]
    assert found == [(1, "timeout", 2), (1, "retransmission", 4)]
    for second in range(3, 124):
        window.take(_sample(float(second)))
    assert window.timeline().loss_events == []
    assert window.trouble().timeouts == 0


def test_one_choice_of_the_unit_counts_everywhere(driver: Driver, fake: FakeHost) -> None:
    fake.samples = [_sample(0.0, speed=1_000_000)]
    driver.open()
    driver.tab("Live")
    driver.wait(lambda: value(driver, "read") == "1 MB/s")
    choices = driver.window.findChildren(SpeedUnitBox)
    assert len(choices) > 1
    try:
        choices[0].setCurrentIndex(choices[0].findData("Mbit/s"))
        choices[0].activated.emit(choices[0].currentIndex())
        assert {choice.currentText() for choice in choices} == {"Mbit/s"}
        assert value(driver, "read") == "8 Mbit/s"
    finally:
        SPEED_UNITS.choose(SpeedUnit.BYTES)
    assert value(driver, "read") == "1 MB/s"


def test_the_legend_is_whole_in_a_narrow_window(driver: Driver, fake: FakeHost) -> None:
    fake.samples = [_sample(1)]
    driver.window.resize(760, 560)
    driver.open()
    driver.tab("Live")
    driver.wait(lambda: "MB/s" in value(driver, "read"))
    legend = driver.window._detail.live._legend
    labels = [legend._labels[name] for name in ("write", "read")]
    driver.wait(lambda: all(label.visibleRegion().boundingRect() == label.rect() for label in labels))
    assert all(label.width() >= label.sizeHint().width() for label in labels)
    legend.show_speeds({"write": "x" * 60})
    # The entries are arranged vertically now.
    driver.wait(lambda: len({label.mapTo(legend, label.rect().topLeft()).y() for label in labels}) == 2)


def test_figures_of_before_are_not_counted_when_somebody_looks_again(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [mounted()]
    fake.samples = [msgspec.structs.replace(_sample(second), timeouts=1) for second in range(1, 61)]
    driver.open()
    driver.tab("Live")
    driver.wait(lambda: count(driver, "timeouts") == ("60", "in 60 s, unusual"))
    fake.samples = [_sample(second) for second in range(1, 4)]
    driver.tab("Settings")
    driver.tab("Live")
    driver.wait(lambda: count(driver, "timeouts") == ("0", "in 3 s"))
    times = driver.window._detail.live._window.timeline().curves[0].times_s
    assert list(times) == sorted(times)


def test_a_mount_that_is_away_for_a_moment_is_watched_again(
    driver: Driver, fake: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ui.live.panel, "_RETRY_DELAY_MS", 300)
    gone = threading.Event()
    watch = fake.watch

    def watch_once(args: Any, context: Context) -> Empty:
        if fake.asked("stats.watch"):
            return watch(args, context)
        fake.calls.append(("stats.watch", args))
        context.emit(_sample(1))
        gone.wait(DEADLINE_S)
        raise AppError(ErrorKind.NOT_MOUNTED, "No NFS share is mounted at /home.")

    fake.watch = watch_once  # type: ignore[method-assign]
    fake.mounts = [mounted()]
    fake.samples = [_sample(1)]
    driver.open()
    driver.tab("Live")
    driver.wait(lambda: "MB/s" in value(driver, "read"))
    gone.set()
    driver.wait(lambda: driver.text_of("live-said") == "Not mounted at the moment")
    assert value(driver, "rtt") == "—"
    assert driver.message() == ""
    driver.wait(lambda: len(fake.asked("stats.watch")) == 2)
    driver.wait(lambda: "MB/s" in value(driver, "read"))

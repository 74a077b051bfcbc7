"""The quick test in the window: started, stopped, shown, and kept apart from what else goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fake_host import FakeHost, result
from PySide6.QtWidgets import (
    QApplication,
    QPushButton,
)

from app.bench.result import Sample, TestEvent
from app.errors import AppError, ErrorKind
from ui import theme

if TYPE_CHECKING:
    from driver import Driver


def events() -> list[TestEvent]:
    made = [TestEvent(direction="write", phase="prepare")]
    for way in ("write", "read"):
        for step in range(1, 21):
            count = step * 465_000
            made.append(TestEvent(direction=way, phase=way, sample=Sample(step * 0.05, count, count)))
        made.append(TestEvent(direction=way, phase="close"))
    return made


def test_quick_test_runs_and_shows_the_figures(driver: Driver, fake: FakeHost) -> None:
    fake.events = events()
    fake.hold.clear()
    driver.open()
    driver.tab("Quick test")
    driver.wait(lambda: "gigabit" in driver.text_of("facts"))
    assert "64 MiB" in driver.text_of("plan")
    assert not driver.sees("expected")
    assert not driver.sees("results")
    driver.click("start")
    panel = driver.window._detail.quick_test
    driver.wait(lambda: panel._plot is not None and panel._plot._curves["read"].getData()[0] is not None
                and len(panel._plot._curves["read"].getData()[0]) == 20)  # fmt: skip
    assert panel._timer.isActive()
    assert "what the model expects" in driver.text_of("expected")
    assert panel._plot._expected["read"][0].isVisible()
    assert not driver.find(QPushButton, "unmount").isEnabled()
    assert driver.find(QPushButton, "start").text() == "&Stop"  # type: ignore[attr-defined]
    fake.hold.set()
    driver.wait(lambda: driver.sees("results"))
    assert not panel._timer.isActive()
    assert driver.find(QPushButton, "unmount").isEnabled()
    assert not driver.sees("cached-warning")
    assert "A note to the reader." in driver.text_of("notes")
    (spec,) = fake.asked("test.run")
    assert (spec.path, spec.direction, spec.size, spec.cache) == ("/home", "both", 64 * 2**20, "fadvise")


def test_a_cached_read_is_flagged(driver: Driver, fake: FakeHost) -> None:
    fake.result = result(cached=True)
    driver.open()
    driver.tab("Quick test")
    driver.click("start")
    driver.wait(lambda: driver.sees("cached-warning"))


def test_stop_cancels_and_leaves_no_result(driver: Driver, fake: FakeHost) -> None:
    fake.events = events()[:8]
    fake.hold.clear()
    driver.open()
    driver.tab("Quick test")
    driver.click("start")
    driver.wait(lambda: driver.window._detail.quick_test.running)
    driver.click("start")
    driver.wait(lambda: not driver.window._detail.quick_test.running)
    assert not driver.sees("results")
    assert driver.message() == ""
    assert driver.find(QPushButton, "start").text() == "&Start"  # type: ignore[attr-defined]


def test_a_failed_test_says_why(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.tab("Quick test")

    def fail(_args: object, _context: object) -> object:
        raise AppError(ErrorKind.NO_SPACE, "It would not fit.", hint="Choose a smaller size.")

    fake.test = fail  # type: ignore[assignment, method-assign]
    driver.open()
    driver.tab("Quick test")
    driver.click("start")
    driver.wait(lambda: driver.message() == "It would not fit.")


def test_what_is_not_mounted_cannot_be_tested(driver: Driver) -> None:
    driver.open()
    driver.window._mounts.choose("nas01:/media", "/media")
    driver.tab("Quick test")
    assert not driver.find(QPushButton, "start").isEnabled()
    assert "mounted before" in driver.text_of("plan")


def test_a_running_test_stays_with_its_mount(driver: Driver, fake: FakeHost) -> None:
    fake.events = events()
    fake.hold.clear()
    driver.open()
    driver.tab("Quick test")
    driver.click("start")
    driver.window._mounts.choose("nas01:/media", "/media")
    assert not driver.find(QPushButton, "start").isEnabled()
    assert "/home" in driver.text_of("plan")
    driver.window._mounts.choose("nas01:/export/home", "/home")
    fake.hold.set()
    driver.wait(lambda: driver.sees("results"))


def test_another_host_is_refused_while_a_test_runs(driver: Driver, fake: FakeHost) -> None:
    fake.hold.clear()
    driver.open()
    driver.tab("Quick test")
    driver.click("start")
    driver.window._on_host_chosen("gigabit")
    assert "still running" in driver.message()
    assert driver.window.session.key == ""


def test_the_plot_can_be_drawn_in_both_lights(driver: Driver, fake: FakeHost, qapp: QApplication) -> None:

    fake.events = events()
    driver.open()
    driver.tab("Quick test")
    driver.click("start")
    driver.wait(lambda: driver.sees("results"))
    try:
        for appearance in (theme.Appearance.DARK, theme.Appearance.LIGHT):
            theme.apply_appearance(qapp, appearance)
            QApplication.processEvents()
            colours = theme.colours_of(driver.window)
            image = driver.window._detail.quick_test._plot.grab().toImage()
            seen = {
                image.pixelColor(x, y).name()
                for x in range(0, image.width(), 2)
                for y in range(image.height())
            }
            assert colours.base in seen
            assert colours.write in seen
            assert colours.read in seen
    finally:
        theme.apply_appearance(qapp, theme.Appearance.LIGHT)

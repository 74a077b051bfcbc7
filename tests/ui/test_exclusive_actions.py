"""Exclusive actions: one measurement or change runs at a time, and each reports its result."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from before_after_steps import HOME, begin, offered
from experiment_steps import plan_first_recipe
from fake_host import configured, mounted
from PySide6.QtWidgets import QPushButton
from waiting import DEADLINE_S

from app.errors import AppError, ErrorKind
from ui.mounts.actions import RemoveDialog

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost

    from app.mounts.model import SavedEntryReport
    from app.service.server import Context


def _start(driver: Driver) -> QPushButton:
    button = driver.find(QPushButton, "start")
    assert isinstance(button, QPushButton)
    return button


def test_no_test_begins_while_an_experiment_runs(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    plan_first_recipe(driver)
    fake.hold.clear()
    driver.click("experiment-start")
    driver.wait(lambda: fake.asked("experiment.run") != [])
    driver.tab("Test")
    assert not _start(driver).isEnabled()
    assert "Wait until it has finished" in _start(driver).toolTip()
    assert "Wait until it has finished" in driver.text_of("plan")
    driver.tab("Overview")
    fake.hold.set()
    driver.wait(lambda: not driver.window._detail.busy)
    driver.tab("Test")
    driver.wait(lambda: _start(driver).isEnabled())
    assert _start(driver).toolTip() == ""


def test_no_experiment_begins_while_a_test_runs(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [mounted()]
    plan_first_recipe(driver)
    driver.tab("Test")
    driver.wait(lambda: _start(driver).isEnabled())
    fake.hold.clear()
    driver.click("start")
    driver.wait(lambda: fake.asked("test.run") != [])
    driver.tab("Experiments")
    for name in ("experiment-start", "experiment-plan"):
        button = driver.find(QPushButton, name)
        assert not button.isEnabled()
        assert "Wait until it has finished" in button.toolTip()
    fake.hold.set()
    driver.wait(lambda: not driver.window._detail.busy)
    assert driver.find(QPushButton, "experiment-start").isEnabled()


def test_no_test_begins_while_a_mount_is_taken_away(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [mounted()]
    driver.open()
    driver.tab("Test")
    driver.wait(lambda: _start(driver).isEnabled())
    fake.hold.clear()
    driver.click("unmount")
    driver.agree()
    driver.wait(lambda: fake.asked("mounts.unmount") != [])
    assert not _start(driver).isEnabled()
    fake.hold.set()
    driver.wait(lambda: not driver.window._detail.busy)


def test_a_test_that_is_being_planned_is_one(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [configured()]
    driver.open()
    driver.tab("Test")
    fake.hold_plan.clear()
    driver.click("start")
    assert driver.window._detail.busy
    assert not driver.find(QPushButton, "mount").isEnabled()
    driver.tab("Settings")  # another tab does not cancel it
    fake.hold_plan.set()
    driver.wait(lambda: fake.asked("test.run") != [])
    driver.wait(lambda: not driver.window._detail.busy)


def test_a_start_that_finds_no_plan_is_over(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [configured()]
    fake.test_plan_error = AppError(ErrorKind.NOT_AUTHORIZED, "You did not give the password.")
    driver.open()
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: "password" in driver.message())
    assert not driver.window._detail.busy
    assert driver.find(QPushButton, "mount").isEnabled()


def test_no_before_and_after_test_begins_while_a_test_runs(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    offered(driver, fake)
    driver.tab("Test")
    driver.wait(lambda: _start(driver).isEnabled())
    fake.hold.clear()
    driver.click("start")
    driver.wait(lambda: fake.asked("test.run") != [])
    driver.tab("Overview")
    button = driver.find(QPushButton, "overview-try")
    assert not button.isEnabled()
    assert "Wait until it has finished" in button.toolTip()
    fake.hold.set()
    driver.wait(button.isEnabled)


def test_no_test_begins_while_a_before_and_after_test_runs(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    offered(driver, fake)
    fake.hold.clear()
    begin(driver)
    driver.wait(lambda: fake.asked("before-after.run") != [])
    driver.tab("Test")
    assert not _start(driver).isEnabled()
    driver.tab("Overview")
    assert not driver.find(QPushButton, "tile-test-button").isEnabled()
    fake.hold.set()
    driver.wait(lambda: not driver.window._detail.busy)


def test_another_entry_waits_until_one_is_taken_out(driver: Driver, fake: FakeHost) -> None:
    go, written = threading.Event(), threading.Event()

    def forget(args: Any, context: Context) -> SavedEntryReport:
        if args.preview:
            return look(args, context)
        written.set()
        go.wait(DEADLINE_S)
        raise AppError(ErrorKind.NOT_AUTHORIZED, "You did not give the password.")

    look = fake.forget
    fake.forget = forget  # type: ignore[method-assign]
    fake.mounts = [configured(), configured("nas01:/b", "/b")]
    driver.open()
    driver.window._mounts.choose("nas01:/media", "/media")
    driver.trigger("forget")
    driver.wait(lambda: driver.window.findChild(RemoveDialog) is not None)
    driver.click("forget-do")
    driver.wait(written.is_set)
    driver.window._mounts.choose("nas01:/b", "/b")
    assert driver.window._detail.busy
    assert not driver.action("forget").isEnabled()
    go.set()
    driver.wait(lambda: driver.message() == "You did not give the password.")
    assert driver.action("forget").isEnabled()

"""Slow host: the window warns, offers a restart, and can abandon requests that do not stop."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from experiment_steps import plan_first_recipe
from fake_host import mounted
from PySide6.QtWidgets import QPushButton

import ui.common.bridge
from app.errors import AppError, ErrorKind
from ui.common.session import OpenHost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from driver import Driver
    from fake_host import FakeHost

    from app.service.server import Context

REPORT = "/home/me/.local/state/mountwright/lab-reports/lab-1.txt"


@pytest.fixture
def slow(driver: Driver) -> Callable[[bool], None]:
    """Return a function that reports to the window whether the host is slow."""
    tellers: list[Callable[[bool], None]] = []
    good = driver.window.session._opener

    def opener(key: str, token: Any) -> OpenHost:
        host = good(key, token)
        return OpenHost(host.client, host.close, tellers.append)

    driver.window.session._opener = opener

    def tell(slow: bool) -> None:
        threading.Thread(target=tellers[-1], args=(slow,)).start()

    return tell


@pytest.fixture
def over(fake: FakeHost) -> Iterator[threading.Event]:
    """Event that ends the requests blocked by :func:`hold`; set at the latest after the test."""
    event = threading.Event()
    yield event
    event.set()


def hold(fake: FakeHost, over: threading.Event) -> None:
    """Let later requests ignore their cancellation until ``over`` is set."""

    def wait(_context: Context) -> None:
        over.wait(60)

    fake._hold = wait  # type: ignore[method-assign]


def button(driver: Driver, name: str) -> QPushButton:
    found = driver.find(QPushButton, name)
    assert isinstance(found, QPushButton)
    return found


def test_a_slow_lab_is_told_until_it_answers(driver: Driver, slow: Callable[[bool], None]) -> None:
    driver.open("gigabit")
    slow(True)
    driver.wait(lambda: "has not answered" in driver.message())
    slow(False)
    driver.wait(lambda: driver.message() == "")


def test_a_slow_lab_can_be_restarted(driver: Driver, fake: FakeHost, slow: Callable[[bool], None]) -> None:
    driver.open("gigabit")
    slow(True)
    driver.wait(lambda: driver.sees("banner-action"))
    before = driver.window.session._host
    driver.click("banner-action")
    driver.wait(lambda: driver.window.session.hello is not None)
    assert driver.window.session._host is not before
    assert driver.window.session.key == "gigabit"
    assert driver.message() == ""


def test_a_slow_lab_can_be_left_while_a_test_runs(
    driver: Driver, fake: FakeHost, slow: Callable[[bool], None], over: threading.Event
) -> None:
    hold(fake, over)
    fake.mounts = [mounted("10.9.0.1:/", "/mnt/lab")]
    driver.open("gigabit")
    driver.tab("Test")
    driver.wait(lambda: button(driver, "start").isEnabled())
    driver.click("start")
    driver.wait(lambda: bool(fake.asked("test.run")))
    driver.window._on_host_chosen("")
    assert "still running" in driver.message()
    slow(True)
    driver.wait(lambda: driver.window.session.slow)
    driver.window._on_host_chosen("")
    driver.wait(lambda: driver.window.session.key == "" and driver.window.session.hello is not None)
    over.set()


def test_a_dead_lab_says_where_its_report_is_and_can_be_started_again(
    driver: Driver, slow: Callable[[bool], None]
) -> None:
    driver.open("gigabit")
    host = driver.window.session._host
    assert host is not None
    stopped = AppError(
        ErrorKind.LAB_STOPPED, "The lab's guest has not answered for 15 s.", hint=f"Restart the lab. {REPORT}"
    )
    host.client._transport.failure = stopped  # type: ignore[attr-defined]
    host.client._end()  # type: ignore[attr-defined]  # a dead guest answers nothing more
    driver.wait(lambda: driver.sees("starting-retry"))
    assert "has not answered" in driver.message()
    assert REPORT in driver.window._banner._hint.text()
    driver.click("starting-retry")
    driver.wait(lambda: driver.window.session.hello is not None)


def test_a_test_that_does_not_stop_can_be_abandoned(
    driver: Driver, fake: FakeHost, over: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ui.common.bridge, "OVERDUE_MS", 50)
    hold(fake, over)
    driver.open()
    driver.tab("Test")
    driver.wait(lambda: button(driver, "start").isEnabled())
    driver.click("start")
    driver.wait(lambda: bool(fake.asked("test.run")))
    driver.click("stop-test")
    assert not button(driver, "stop-test").isEnabled()
    driver.wait(lambda: button(driver, "stop-test").text() == "A&bandon")
    driver.wait(lambda: "Abandon it" in driver.text_of("progress"))
    driver.click("stop-test")
    driver.wait(lambda: driver.sees("start"))
    assert not driver.window._detail.quick_test.running
    over.set()


def test_an_experiment_that_does_not_stop_can_be_abandoned(
    driver: Driver, fake: FakeHost, over: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ui.common.bridge, "OVERDUE_MS", 50)
    plan_first_recipe(driver)
    hold(fake, over)
    driver.click("experiment-start")
    # Before Stop is pressed, the request is not overdue.
    driver.wait(lambda: bool(fake.asked("experiment.run")))
    driver.click("experiment-stop")
    driver.wait(lambda: button(driver, "experiment-stop").text() == "A&bandon")
    driver.click("experiment-stop")
    driver.wait(lambda: not driver.sees("experiment-stop"))
    over.set()

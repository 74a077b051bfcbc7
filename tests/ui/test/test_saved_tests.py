"""Speed tests and the rest of the window: private mounts, other mounts, and the history."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import msgspec
from fake_host import LINK, FakeHost, mounted
from PySide6.QtWidgets import QPushButton
from speed_test_steps import events, show
from waiting import DEADLINE_S

import ui.test.panel
from advisor.facts import ClientFacts, Facts, LinkFacts, ServerFacts
from app.history.model import Run
from app.history.store import HistoryStore
from app.speedtest.model import Figure, TestEvent, TestResult
from ui.common.message_list import MessageList

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from driver import Driver

    from app.service.protocol import FactsArgs
    from app.service.server import Context


def test_what_is_not_mounted_is_mounted_for_the_test_alone(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.window._mounts.choose("nas01:/media", "/media")
    driver.tab("Test")
    driver.wait(lambda: "1 Gbit/s" in driver.text_of("facts"))
    assert "uses a private mount with these settings" in driver.text_of("plan")
    assert "about 15 s" in driver.text_of("plan")
    assert fake.asked("test.plan") == []  # planning would mount the share and ask for a password
    driver.click("start")
    driver.wait(lambda: driver.sees("test-result"))
    (planned,), (spec,) = fake.asked("test.plan"), fake.asked("test.run")
    assert planned.spec.share == "nas01:/media"
    assert (spec.path, spec.share, spec.options, spec.repeats) == ("", "nas01:/media", "vers=4.2", 6)


def test_mounting_for_the_test_can_be_given_up(driver: Driver, fake: FakeHost) -> None:
    fake.hold_plan.clear()
    driver.open()
    driver.window._mounts.choose("nas01:/media", "/media")
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: driver.text_of("progress") == "Mounting nas01:/media privately for the test…")
    fake.set_mounts([*fake.mounts, mounted("nas02:/other", "/other")])  # must not cancel the pending start
    driver.wait(lambda: len(driver.window._table.mounts) == 3)  # type: ignore[union-attr]
    assert not driver.sees("start")
    driver.click("stop-test")
    assert driver.sees("start")
    fake.hold_plan.set()
    driver.wait(lambda: "is not mounted" in driver.text_of("plan"))
    assert fake.asked("test.run") == []
    assert driver.message() == ""


def test_a_draft_can_be_tested_once_it_names_a_share(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.window._on_new()
    driver.tab("Test")
    assert not driver.find(QPushButton, "start").isEnabled()
    assert "Enter a share" in driver.text_of("plan")
    driver.window._detail.settings.load_entry("nas02:/data", "", "vers=3")
    driver.wait(lambda: driver.find(QPushButton, "start").isEnabled())
    driver.click("start")
    driver.wait(lambda: driver.sees("test-result"))
    (spec,) = fake.asked("test.run")
    assert (spec.share, spec.options) == ("nas02:/data", "vers=3")


def test_the_best_of_the_history_is_drawn(driver: Driver, fake: FakeHost) -> None:
    figure = Figure(values=[77e6] * 6, median=77e6, low=77e6, high=77e6, confidence=0.97, wide=False)
    fake.free = 4 * 64 * 2**20  # a test uses a quarter of it, the size of the earlier test
    earlier = msgspec.structs.replace(fake.result, link=None, figures={"write": figure})
    with HistoryStore.open() as store:
        store.add(Run(result=earlier))
    fake.link = LinkFacts(name="eth1", rate_bps=1e9, rtt_s=0.0004)
    fake.events = events()
    fake.hold.clear()
    driver.open()
    driver.tab("Test")
    driver.wait(lambda: "Link: eth1" in driver.text_of("facts"))
    driver.click("start")
    show(driver, "best")
    driver.wait(lambda: "the best before: to the server 77 MB/s" in driver.text_of("expected"))
    assert driver.window._detail.quick_test._plot.plot._references.best["write"] == 77e6
    fake.hold.set()
    driver.wait(lambda: driver.sees("test-result"))


def test_a_test_is_kept_and_slower_than_the_baseline_is_said(driver: Driver, fake: FakeHost) -> None:
    def repeats(speed: float) -> dict[str, Figure]:
        values = [speed + step for step in range(6)]
        return {
            "write": Figure(values=values, median=speed, low=speed, high=speed, confidence=0.97, wide=False)
        }

    earlier = msgspec.structs.replace(fake.result, figures=repeats(100e6))
    with HistoryStore.open() as store:
        store.set_baseline(store.add(Run(result=earlier)))
    fake.result = msgspec.structs.replace(fake.result, figures=repeats(60e6))
    driver.open()
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: driver.sees("slower-warning"))
    (text,) = driver.find(MessageList, "slower-warning").sentences()  # type: ignore[attr-defined]
    assert "to the server 40 % slower (100 MB/s before and 60 MB/s after" in text
    assert not driver.sees("baseline")
    with HistoryStore.open() as store:
        assert store.count() == 2
    driver.tab("History")
    driver.wait(lambda: "2 tests" in driver.text_of("history-count"))


def test_a_test_that_cannot_be_kept_says_where_it_is(driver: Driver, fake: FakeHost, own_home: Path) -> None:
    history = own_home / ".local/share/mountwright/history.sqlite"
    history.mkdir(parents=True)
    driver.open()
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: "The measurement is not lost" in driver.message())
    driver.wait(lambda: driver.sees("test-result"))
    assert len(list(history.parent.glob("mountwright-unsaved-*.json"))) == 1


def test_a_running_test_stays_with_its_mount(driver: Driver, fake: FakeHost) -> None:
    fake.events = events()
    fake.hold.clear()
    driver.open()
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: driver.window._detail.quick_test.running)
    driver.window._mounts.choose("nas01:/media", "/media")
    assert not driver.find(QPushButton, "start").isEnabled()
    assert "/home" in driver.text_of("plan")
    driver.window._mounts.choose("nas01:/export/home", "/home")
    fake.hold.set()
    driver.wait(lambda: driver.sees("test-result"))


def test_another_host_is_refused_while_a_test_runs(driver: Driver, fake: FakeHost) -> None:
    fake.hold.clear()
    driver.open()
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: driver.window._detail.quick_test.running)
    driver.window._on_host_chosen("gigabit")
    assert "still running" in driver.message()
    assert driver.window.session.key == ""


def test_a_test_is_compared_with_tests_over_its_own_link(
    driver: Driver, fake: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []

    def best(_spec: object, share: str, link: str) -> dict[str, float]:
        asked.append((share, link))
        return {}

    def facts(args: FactsArgs, _context: Context) -> Facts:
        known.wait(DEADLINE_S)
        real = LinkFacts(name="eth0", rate_bps=1e9)
        link = LINK if args.share == "nas01:/export/home" else real
        return Facts(client=ClientFacts(), link=link, server=ServerFacts())

    def test(args: Any, context: Context) -> TestResult:
        fake.calls.append(("test.run", args))
        smaller.wait(DEADLINE_S)
        context.emit(TestEvent(direction="write", phase="write", round=1, total=2**20))
        return fake.result

    known, smaller = threading.Event(), threading.Event()
    monkeypatch.setattr(ui.test.panel, "best_speeds", best)
    fake.facts = facts  # type: ignore[method-assign]
    fake.test = test  # type: ignore[method-assign]
    driver.open()
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: fake.asked("test.run") != [])
    known.set()
    driver.wait(lambda: asked == [("nas01:/export/home", "gigabit")])
    driver.window._mounts.choose("nas01:/media", "/media")
    driver.wait(lambda: "eth0" in driver.text_of("facts"))
    smaller.set()
    driver.wait(lambda: not driver.window._detail.busy)
    driver.wait(lambda: asked == [("nas01:/export/home", "gigabit")] * 2)

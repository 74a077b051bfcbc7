"""Change of host or link: no data of the previous host appears as data of the next one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from fake_host import LINK, configured, mounted
from PySide6.QtWidgets import QComboBox
from waiting import DEADLINE_S

import ui.common.session
from advisor.facts import ClientFacts, Facts, ServerFacts
from app.errors import AppError, ErrorKind
from app.mounts.model import MountTable
from app.stats.model import MountSpeed, SpeedsSample
from ui.common import theme
from ui.common.session import OpenHost
from ui.mounts.list_model import MountRole, SpeedHistoryRole
from ui.settings.paste import PasteDialog

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest
    from driver import Driver
    from fake_host import FakeHost

    from app.service.protocol import Empty
    from app.service.server import Context

LAB = mounted("10.9.0.1:/", "/mnt/lab")


def wrap(fake: FakeHost, verb: str, answer: Callable[[Any, Context], Any]) -> None:
    handlers = fake.handlers
    fake.handlers = lambda: {**handlers(), verb: answer}  # type: ignore[method-assign]


def choose(driver: Driver, key: str) -> None:
    driver.window._on_host_chosen(key)
    driver.wait(lambda: driver.window.session.hello is not None and driver.window._table is not None)


def lose(driver: Driver) -> None:
    """Close the connection of the agent."""
    host = driver.window.session._host
    assert host is not None
    host.client._transport.close()  # type: ignore[attr-defined]
    driver.wait(lambda: driver.sees("starting-retry"))


def leave_slowly(driver: Driver) -> threading.Event:
    """Let a closed host answer until the returned event is set, as the lab does while it powers off."""
    off = threading.Event()
    good = driver.window.session._opener

    def opener(key: str, token: Any) -> OpenHost:
        host = good(key, token)

        def close() -> None:
            off.wait(DEADLINE_S)
            host.close()

        return OpenHost(host.client, close)

    driver.window.session._opener = opener
    return off


def shares(driver: Driver) -> list[str]:
    return [mount.share for mount in driver.window._mounts.model.mounts()]


def test_a_filter_ends_with_its_host(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [LAB]
    driver.open("gigabit")
    driver.window._mounts.filter_by("lab")
    fake.mounts = [mounted(), configured()]
    choose(driver, "")
    driver.wait(lambda: driver.sees("mounts"))
    assert driver.text_of("filter") == ""
    assert driver.window._detail._mount is not None
    assert shares(driver) == ["nas01:/export/home", "nas01:/media"]


def test_a_filter_that_hides_all_does_not_keep_the_window_from_coming_back(driver: Driver) -> None:
    driver.open()
    driver.window._mounts.filter_by("zzz")
    lose(driver)
    driver.click("starting-retry")
    driver.wait(lambda: driver.sees("mounts") and driver.sees("share") is False)
    assert driver.window._detail._mount is not None


def test_a_late_answer_of_the_lab_is_not_shown_on_this_computer(driver: Driver, fake: FakeHost) -> None:
    off, answer = leave_slowly(driver), threading.Event()

    def switch(args: Any, context: Context) -> Any:
        link = fake.switch(args, context)
        answer.wait(DEADLINE_S)
        return link

    def mounts(args: Any, context: Context) -> MountTable:
        if args.watch:
            return fake.list(args, context)
        fake.calls.append(("mounts.list", args))
        answer.wait(DEADLINE_S)
        return MountTable(mounts=[LAB])

    wrap(fake, "lab.link", switch)
    wrap(fake, "mounts.list", mounts)
    fake.mounts = [LAB]
    driver.open("gigabit")
    driver.window._on_refresh()
    driver.window._on_host_chosen("fast-ethernet")
    driver.wait(lambda: fake.asked("lab.link") != [] and fake.asked("mounts.list") != [])
    fake.mounts = [mounted()]
    choose(driver, "")
    answer.set()
    driver.qtbot.wait(200)
    assert driver.window.session.key == ""
    assert shares(driver) == ["nas01:/export/home"]
    combo = driver.find(QComboBox, "host")
    assert isinstance(combo, QComboBox)
    assert combo.currentIndex() == 0
    off.set()


def test_a_late_failure_of_a_host_that_was_left_is_not_told(driver: Driver, fake: FakeHost) -> None:
    answer = threading.Event()

    def refuse(args: Any, _context: Context) -> Any:
        fake.calls.append(("lab.link", args))
        answer.wait(DEADLINE_S)
        return LINK

    wrap(fake, "lab.link", refuse)
    driver.open("gigabit")
    driver.window._on_host_chosen("fast-ethernet")
    driver.wait(lambda: fake.asked("lab.link") != [])
    choose(driver, "")  # closes the connection and thus ends the request
    driver.qtbot.wait(200)
    assert driver.message() == ""
    answer.set()


def test_facts_of_another_mount_judge_no_new_one(driver: Driver, fake: FakeHost) -> None:
    answer = threading.Event()

    def facts(args: Any, context: Context) -> Facts:
        found = fake.facts(args, context)
        answer.wait(DEADLINE_S)
        return found

    wrap(fake, "facts.get", facts)
    driver.open()
    driver.wait(lambda: fake.asked("facts.get") != [])
    driver.window._on_new()
    answer.set()
    driver.qtbot.wait(200)
    detail = driver.window._detail
    driver.wait(lambda: detail.settings._facts is not None)  # facts of this computer
    assert (detail.settings._facts.link, detail.settings._facts.server) == (None, None)
    assert detail.quick_test._facts is None
    driver.window._mounts.choose("nas01:/export/home", "/home")
    driver.wait(lambda: detail.settings._facts is not None and detail.settings._facts.server is not None)
    driver.window._on_new()
    assert detail.settings._facts is None


def test_facts_of_another_host_are_forgotten(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.wait(lambda: driver.window._detail.settings._facts is not None)
    fake.mounts = []
    choose(driver, "gigabit")
    settings = driver.window._detail.settings
    assert settings.request().share == "10.9.0.1:/"
    assert settings._facts is None or settings._facts.server is None


def test_escape_does_not_take_the_retry_away(driver: Driver) -> None:
    driver.open()
    driver.window._on_new()
    lose(driver)
    for _ in range(3):
        driver.window._on_dismiss()
    assert driver.sees("starting-retry")


def test_a_paste_ends_with_its_host(driver: Driver) -> None:
    driver.open()
    driver.window._on_paste()
    driver.wait(lambda: driver.window.findChild(PasteDialog) is not None)
    lose(driver)
    driver.wait(lambda: driver.window.findChild(PasteDialog) is None)
    assert driver.sees("starting-retry")


def test_the_plan_of_a_test_follows_the_link(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [LAB]
    driver.open("gigabit")
    driver.tab("Test")
    driver.wait(lambda: "1 Gbit/s" in driver.text_of("plan"))
    driver.window._on_host_chosen("fast-ethernet")  # the fake host reports 10 Mbit/s for it
    driver.wait(lambda: driver.window.session.key == "fast-ethernet")
    assert "1 Gbit/s" not in driver.text_of("plan")
    driver.wait(lambda: "10 Mbit/s" in driver.text_of("plan"))


def test_advice_follows_the_link(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [mounted("10.9.0.1:/", "/mnt/lab", "rsize=8192,hard")]
    fake.gather = lambda _share: Facts(client=ClientFacts(), link=fake.link, server=ServerFacts())
    driver.open("gigabit")
    driver.tab("Overview")
    advice = driver.window._detail.overview
    driver.wait(lambda: advice._result is not None)
    driver.window._on_host_chosen("fast-ethernet")
    driver.wait(lambda: driver.window.session.key == "fast-ethernet")

    def rests_on() -> str | None:
        link = advice._result.facts.link if advice._result is not None else None
        return link.name if link is not None else None

    assert rests_on() != "gigabit"
    driver.wait(lambda: rests_on() == "fast-ethernet")


def test_speeds_that_cannot_be_told_are_not_shown_and_asked_for_again(
    driver: Driver, fake: FakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ui.common.session, "_SPEEDS_RETRY_MS", 50)
    go, asked = threading.Event(), 0

    def speeds(args: Any, context: Context) -> Empty:
        nonlocal asked
        asked += 1
        if asked > 1:
            return fake.speeds(args, context)
        busy = MountSpeed(
            read_bytes_per_s=5e6, write_bytes_per_s=0.0, transfers_per_s=9.0, rtt_s=0.001, timeouts=0
        )
        context.emit(SpeedsSample(t_s=0.0, mounts={"/home": busy}))
        go.wait(DEADLINE_S)
        raise AppError(ErrorKind.INTERNAL, "The kernel's figures cannot be read.")

    wrap(fake, "stats.speeds", speeds)
    fake.mounts = [mounted()]
    driver.open()
    model = driver.window._mounts.model

    def trend() -> Any:
        index = model.find("nas01:/export/home", "/home")
        assert index.data(MountRole) is not None
        return index.data(SpeedHistoryRole)

    driver.wait(lambda: trend() is not None)
    go.set()
    driver.wait(lambda: asked == 2)
    assert trend() is None


def test_the_lab_is_marked_and_called_by_its_title(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    bar = driver.window._host_bar
    assert not bar._chip.isVisible()
    assert driver.window.windowTitle() == "Mountwright"
    combo = driver.find(QComboBox, "host")
    assert isinstance(combo, QComboBox)
    assert combo.currentText() == "This computer"
    driver.window.open_host("gigabit")
    driver.wait(lambda: combo.currentText() == "Lab · 1 Gbit/s Ethernet")
    assert bar._chip.isVisible()
    assert bar._chip.word() == "Lab"
    assert driver.window.windowTitle() == "Lab · 1 Gbit/s Ethernet"
    image = bar.grab().toImage()
    assert image.pixelColor(image.width() // 2, image.height() - 1).name() == theme.colors().lab
    driver.window.open_host("")
    driver.wait(lambda: not bar._chip.isVisible())

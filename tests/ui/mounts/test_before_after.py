"""The before-and-after test changes and compares only the mount for which it was started."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from apply_steps import choose, do, shown
from before_after_steps import HOME, begin, make_the_change, offered
from fake_host import mounted
from waiting import wait_for

from ui.apply.dialog import ApplyDialog

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost

MEDIA = mounted("nas02:/media", "/media", "vers=4.2,timeo=100")


class _LastTest:
    """Blocks the last of the four tests before the change until :meth:`end` is called."""

    def __init__(self, driver: Driver, fake: FakeHost) -> None:
        self.go = threading.Event()
        self._driver, self._fake = driver, fake
        handlers = fake.handlers
        fake.handlers = lambda: {**handlers(), "test.run": self._run}  # type: ignore[method-assign]

    def _run(self, args: object, context: object) -> object:
        answer = self._fake.test(args, context)  # type: ignore[arg-type]
        if len(self._fake.asked("test.run")) == 4:
            wait_for(self.go, "the last test to be let go")
        return answer

    def begin(self) -> None:
        driver = self._driver
        offered(driver)
        begin(driver)
        driver.wait(lambda: len(self._fake.asked("test.run")) == 4)

    def end(self) -> None:
        self.go.set()
        self._driver.wait(lambda: not self._driver.window._detail.quick_test.running)
        self._driver.wait(lambda: self._driver.text_of("trial-stop") == "&Close")


def test_another_mount_shown_meanwhile_is_not_changed(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME, MEDIA]
    last = _LastTest(driver, fake)
    last.begin()
    assert driver.window._mounts.choose("nas02:/media", "/media")
    form = driver.window._detail.settings.request()
    last.end()
    assert "no longer shown" in driver.text_of("trial-text")
    assert driver.window.findChild(ApplyDialog) is None
    assert driver.window._detail.settings.request() == form


def test_a_draft_shown_meanwhile_is_not_mounted(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    last = _LastTest(driver, fake)
    last.begin()
    driver.window._on_new()
    last.end()
    assert driver.window.findChild(ApplyDialog) is None
    assert driver.window._detail.settings.request().share == ""


def test_an_invalid_form_ends_the_test(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    last = _LastTest(driver, fake)
    last.begin()
    driver.window._detail.settings._rows["timeo"].show_problem("“abc” is no time.")
    last.end()
    assert driver.window.findChild(ApplyDialog) is None
    assert "no time" in driver.message()
    assert "nothing to compare" in driver.text_of("trial-text")


def test_the_result_names_the_tested_mount(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME, MEDIA]
    last = _LastTest(driver, fake)
    last.go.set()
    last.begin()
    driver.wait(lambda: driver.window.findChild(ApplyDialog) is not None)
    make_the_change(driver, fake, 20e6)
    driver.wait(lambda: "slower" in driver.text_of("trial-text"))
    assert driver.text_of("trial-title") == "Test before and after: /home"
    assert driver.sees("trial-back")
    assert driver.window._mounts.choose("nas02:/media", "/media")
    assert driver.sees("trial")
    assert not driver.sees("trial-back")
    assert driver.window._mounts.choose("nas01:/export/home", "/home")
    assert driver.sees("trial-back")


def test_a_change_that_is_only_written_is_reported_as_such(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    offered(driver)
    begin(driver)
    dialog = shown(driver, ApplyDialog)
    choose(driver, dialog, "keeper-fstab")
    choose(driver, dialog, "mount-later")
    do(dialog, "apply-do")
    driver.wait(lambda: driver.text_of("trial-stop") == "&Close")
    (args,) = fake.asked("mounts.apply")
    assert (args.keeper, args.mount) == ("fstab", False)
    assert "Nothing was changed" not in driver.text_of("trial-text")
    assert "nothing to compare" in driver.text_of("trial-text")

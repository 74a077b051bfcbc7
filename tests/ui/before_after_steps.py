"""Steps of a test before and after a recommended change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from fake_host import mounted, result, transfer

from ui.apply.dialog import ApplyDialog

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost

#: Mount for which the advisor recommends a single change.
HOME = mounted(requested="rsize=8192,hard")


def offered(driver: Driver) -> None:
    """Open the tab, and wait until it offers a test before and after the change."""
    driver.open()
    driver.tab("Overview")
    driver.wait(lambda: driver.sees("try-recommended"))


def begin(driver: Driver) -> None:
    """Start a test before and after the change, and confirm it."""
    driver.click("try-recommended")
    driver.agree()


def make_the_change(driver: Driver, fake: FakeHost, speed: float) -> None:
    """Apply the shown change; later tests of the fake host report this speed (bytes/s)."""
    fake.result = msgspec.structs.replace(result(), write=transfer(speed), read=transfer(speed))
    dialog = driver.window.findChild(ApplyDialog)
    assert dialog is not None
    driver.wait(lambda: dialog._do.isEnabled() and dialog._plan is not None)
    fake.kept.set()
    driver.click("apply-do")

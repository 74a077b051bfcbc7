"""Tests the advisor's values before and after, as a person would."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from fake_host import mounted, result, transfer

from ui.apply.dialog import ApplyDialog

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost

#: A mount on which the advisor would change one thing.
HOME = mounted(requested="rsize=8192,hard")


def offered(driver: Driver) -> None:
    """Open the tab, and wait until a test before and after is offered."""
    driver.open()
    driver.tab("Advice")
    driver.wait(lambda: driver.sees("try-recommended"))


def begin(driver: Driver) -> None:
    """Ask for a test before and after, and agree."""
    driver.click("try-recommended")
    driver.agree()


def make_the_change(driver: Driver, fake: FakeHost, speed: float) -> None:
    """Apply what is shown; from now on tests measure this speed."""
    fake.result = msgspec.structs.replace(result(), write=transfer(speed), read=transfer(speed))
    dialog = driver.window.findChild(ApplyDialog)
    assert dialog is not None
    driver.wait(lambda: dialog._do.isEnabled() and dialog._plan is not None)
    fake.kept.set()
    driver.click("apply-do")

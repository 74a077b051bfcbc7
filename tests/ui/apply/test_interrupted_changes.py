"""Warnings about interrupted changes of an earlier run, shown at each start until they are dismissed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from fake_host import mounted
from PySide6.QtWidgets import QPlainTextEdit

from app.mounts.change_model import DismissArgs
from app.mounts.model import InterruptedChange, MountTable
from app.service.protocol import Empty

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost

    from app.service.server import Context

CHANGES = [
    InterruptedChange(id=name, message=f"{name} was interrupted.", hint="Apply it.", detail=f"mount {name}")
    for name in ("one", "two")
]


def interrupt(fake: FakeHost) -> list[InterruptedChange]:
    """Install an agent that reports both changes; return the list of those not dismissed."""
    left = list(CHANGES)
    real = fake.handlers

    def listed(args: Any, context: Context) -> MountTable:
        emit = context.emit
        context.emit = lambda table: emit(msgspec.structs.replace(table, interrupted=list(left)))
        return msgspec.structs.replace(fake.list(args, context), interrupted=list(left))

    def dismiss(args: DismissArgs, _context: Context) -> Empty:
        fake.calls.append(("mounts.dismiss", args))
        left[:] = [change for change in left if change.id != args.id]
        return Empty()

    fake.handlers = lambda: {  # type: ignore[method-assign]
        **real(), "mounts.list": listed, "mounts.dismiss": dismiss,
    }  # fmt: skip
    return left


def test_each_change_is_shown_until_it_is_dismissed(driver: Driver, fake: FakeHost) -> None:
    left = interrupt(fake)
    driver.open()
    driver.wait(lambda: driver.message() == "one was interrupted.")
    detail = driver.window._banner.findChild(QPlainTextEdit)
    assert detail is not None
    assert detail.toPlainText() == "mount one"
    driver.click("banner-action")
    driver.wait(lambda: [change.id for change in left] == ["two"])
    driver.wait(lambda: driver.message() == "two was interrupted.")
    driver.click("banner-close")
    assert driver.message() == ""
    # A new mount table does not show a closed warning again.
    fake.set_mounts([mounted(), mounted(mount_point="/mnt/new")])
    driver.wait(lambda: len(driver.window._table.mounts) == 2)  # type: ignore[union-attr]
    assert driver.message() == ""
    # The next start shows it again.
    driver.window.session.open("")
    driver.wait(lambda: driver.message() == "two was interrupted.")
    assert fake.asked("mounts.dismiss") == [DismissArgs(id="one")]


def test_a_warning_waits_for_the_current_message(driver: Driver, fake: FakeHost) -> None:
    interrupt(fake)
    driver.window._banner.show_warning("Something else.")
    driver.window.session.starting.disconnect(driver.window._on_starting)  # this slot would close the message
    driver.open()
    driver.wait(lambda: driver.window._table is not None)
    assert driver.message() == "Something else."
    driver.click("banner-close")
    assert driver.message() == "one was interrupted."

"""Selected mount when mounts appear and disappear, and while a change unmounts one for a moment."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from apply_steps import shown
from fake_host import configured, mounted
from PySide6.QtWidgets import QPushButton
from waiting import DEADLINE_S

from app.errors import AppError, ErrorKind
from app.mounts.change_model import ApplyReport
from app.mounts.model import MountReport
from ui.apply.dialog import ApplyDialog

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost

    from app.service.server import Context

HOME, ALPHA = mounted(requested="vers=4.2"), mounted("nas02:/media", "/alpha", "vers=4.2")


def _point(driver: Driver) -> str:
    mount = driver.window._detail._mount
    return mount.mount_point if mount is not None else ""


def _apply(driver: Driver) -> ApplyDialog:
    driver.preview()
    dialog = shown(driver, ApplyDialog)
    driver.wait(dialog._do.isEnabled)
    driver.click("apply-do")
    return dialog


def test_a_filter_that_hides_all_mounts_ends(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.window._mounts.choose("nas01:/export/home", "/home")
    driver.window._mounts.filter_by("/home")
    fake.set_mounts([configured()])
    driver.wait(lambda: _point(driver) == "/media")
    assert driver.sees("mounts")
    assert driver.text_of("filter") == ""


def test_a_new_mount_is_selected_by_the_kernels_spelling(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [mounted(), mounted("zeus:/z", "/z")]

    def apply(args: Any, context: Context) -> ApplyReport:
        plan = fake.plan(args, context)
        row = mounted(args.share.rstrip("/"), args.mount_point, args.options)
        fake.set_mounts([*fake.mounts, row])
        report = MountReport(mount=row, values=[], command="mount")
        return ApplyReport(plan=plan, report=report, diff="", backup="")

    fake.apply = apply  # type: ignore[method-assign]
    driver.open()
    driver.window._on_new()
    driver.window._detail.settings.load_entry("nas07:/x/", "/mnt/x", "vers=4.2")
    _apply(driver)
    driver.wait(lambda: _point(driver) == "/mnt/x")
    driver.wait(lambda: driver.window._wanted is None)
    driver.window._mounts.filter_by("zeus")
    fake.set_mounts([*fake.mounts, mounted("a:/b", "/b")])
    driver.wait(lambda: len(driver.window._mounts._table.mounts) == 4)
    assert driver.text_of("filter") == "zeus"


def test_a_mount_that_never_appears_is_not_awaited(driver: Driver) -> None:
    driver.open()
    driver.window._select_when_listed("nas09:/gone", "/gone")
    driver.wait(lambda: driver.window._wanted is None)


def test_a_mount_stays_selected_while_a_change_unmounts_it(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME, ALPHA]
    back, end = threading.Event(), threading.Event()

    def apply(_args: Any, _context: Context) -> ApplyReport:
        fake.set_mounts([ALPHA])
        back.wait(DEADLINE_S)
        fake.set_mounts([HOME, ALPHA])
        end.wait(DEADLINE_S)
        raise AppError(ErrorKind.SERVER_REFUSED, "The server refused it.")

    fake.apply = apply  # type: ignore[method-assign]
    driver.open()
    driver.window._mounts.choose("nas01:/export/home", "/home")
    driver.window._detail.settings.load_entry("", "", "timeo=123")
    dialog = _apply(driver)
    driver.wait(lambda: len(driver.window._mounts._table.mounts) == 1)
    assert _point(driver) == "/home"
    back.set()
    driver.wait(lambda: driver.window._mounts.current() == HOME)
    end.set()
    driver.wait(dialog._back_button.isVisible)
    dialog.reject()
    assert _point(driver) == "/home"
    assert driver.window._detail.settings.request().options == "timeo=123"


def test_a_mount_lost_by_a_change_is_deselected(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME, ALPHA]

    def apply(_args: Any, _context: Context) -> ApplyReport:
        fake.set_mounts([ALPHA])
        raise AppError(ErrorKind.SERVER_REFUSED, "The server refused it, and what was before, too.")

    fake.apply = apply  # type: ignore[method-assign]
    driver.open()
    driver.window._mounts.choose("nas01:/export/home", "/home")
    dialog = _apply(driver)
    driver.wait(dialog._back_button.isVisible)
    dialog.reject()
    driver.wait(lambda: _point(driver) == "/alpha")
    assert driver.find(QPushButton, "unmount").isEnabled()

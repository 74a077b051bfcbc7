"""Readahead bar: the lifetime of the readahead, and saving it in a udev rule after a preview."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from apply_steps import choose, do, gone, legible, open_apply, part, shown
from fake_host import mounted
from PySide6.QtWidgets import QCheckBox, QPlainTextEdit, QPushButton

from app.errors import AppError, ErrorKind
from app.mounts.model import ReadaheadReport, SavedEntryReport
from ui.mounts.actions import RemoveDialog
from ui.mounts.readahead import SaveReadaheadDialog

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost

    from app.mounts.model import Mount


def tuned(kb: int = 1024, state: Any = "until-unmounted", saved: int | None = None) -> Mount:
    mount = mounted()
    assert mount.active is not None
    active = msgspec.structs.replace(mount.active, read_ahead_kb=kb, read_ahead_state=state)
    return msgspec.structs.replace(mount, active=active, saved_read_ahead_kb=saved)


def opened(driver: Driver, fake: FakeHost, mount: Mount) -> None:
    fake.mounts = [mount]
    driver.open()


def asked(fake: FakeHost) -> list[tuple[int | None, bool, str | None]]:
    return [
        (args.read_ahead_kb, args.preview, args.expected_sha256) for args in fake.asked("mounts.readahead")
    ]


def test_a_readahead_is_saved_after_its_rule_was_shown(driver: Driver, fake: FakeHost) -> None:
    opened(driver, fake, tuned())
    driver.wait(lambda: driver.text_of("read-ahead-lasts") == "Readahead 1 MiB: until unmounted.")
    driver.click("read-ahead-keep")
    dialog = shown(driver, SaveReadaheadDialog)
    assert dialog.windowTitle() == "Keep the Readahead for Good?"
    assert "+the rule of 1024" in part(dialog, QPlainTextEdit, "save-readahead-diff").toPlainText()
    assert part(dialog, QPushButton, "save-readahead-do").isDefault()
    legible(dialog)
    dialog.reject()
    gone(driver, SaveReadaheadDialog)
    assert asked(fake) == [(1024, True, None)]
    driver.click("read-ahead-keep")
    do(shown(driver, SaveReadaheadDialog), "save-readahead-do")
    driver.wait(lambda: driver.text_of("read-ahead-lasts").startswith("Readahead 1 MiB: saved"))
    assert asked(fake)[-1] == (1024, False, "of None")
    assert not driver.sees("read-ahead-keep")
    driver.wait(lambda: driver.sees("read-ahead-undo"))
    driver.click("read-ahead-undo")
    driver.wait(lambda: driver.text_of("read-ahead-lasts") == "Readahead 1 MiB: until unmounted.")
    assert asked(fake)[-1] == (None, False, "of 1024")
    assert not driver.sees("read-ahead-undo")


def test_a_saved_readahead_is_removed_after_a_preview(driver: Driver, fake: FakeHost) -> None:
    opened(driver, fake, tuned(state="saved", saved=1024))
    driver.wait(lambda: driver.text_of("read-ahead-lasts").startswith("Readahead 1 MiB: saved"))
    driver.click("read-ahead-remove")
    dialog = shown(driver, SaveReadaheadDialog)
    assert dialog.windowTitle() == "Remove the Saved Readahead?"
    assert part(dialog, QPushButton, "save-readahead-dialog-close").isDefault()
    do(dialog, "save-readahead-do")
    driver.wait(lambda: driver.sees("read-ahead-keep"))
    assert asked(fake) == [(None, True, None), (None, False, "of 1024")]


def test_a_value_that_differs_from_the_saved_one_shows_both(driver: Driver, fake: FakeHost) -> None:
    opened(driver, fake, tuned(kb=4096, saved=1024))
    text = "Readahead 4 MiB: until unmounted, then 1 MiB, which is saved."
    driver.wait(lambda: driver.text_of("read-ahead-lasts") == text)


def test_the_bar_is_hidden_for_the_kernels_default(driver: Driver, fake: FakeHost) -> None:
    opened(driver, fake, tuned(kb=128, state="default"))
    driver.wait(lambda: driver.sees("unmount"))
    assert not driver.sees("read-ahead-bar")


def test_a_failure_is_shown_and_offers_no_undo(driver: Driver, fake: FakeHost) -> None:
    fake.readahead_error = AppError(ErrorKind.FSTAB_REFUSED, "It is not ours.", hint="Look.")
    opened(driver, fake, tuned())
    driver.wait(lambda: driver.sees("read-ahead-keep"))
    driver.click("read-ahead-keep")
    do(shown(driver, SaveReadaheadDialog), "save-readahead-do")
    driver.wait(lambda: "It is not ours." in driver.message())
    assert not driver.sees("read-ahead-undo")
    assert driver.sees("read-ahead-keep")


def test_apply_offers_to_save_the_readahead(driver: Driver, fake: FakeHost) -> None:
    fake.volatile_kb = 1024
    dialog = open_apply(driver)
    box = part(dialog, QCheckBox, "apply-save-readahead")
    assert not box.isVisible()
    choose(driver, dialog, "keeper-fstab")
    driver.wait(box.isVisible)
    assert box.text().replace("&", "") == (
        "Save the readahead in a udev rule too, because fstab cannot contain it"
    )
    assert box.isChecked()
    diff = part(dialog, QPlainTextEdit, "plan-diff")
    driver.wait(lambda: "+the rule" in diff.toPlainText())
    assert dialog.choices.args().save_read_ahead
    choose(driver, dialog, "keeper-systemd")
    assert "a unit cannot" in box.text()
    box.click()
    driver.wait(lambda: "+the rule" not in diff.toPlainText())
    assert not dialog.choices.args().save_read_ahead
    choose(driver, dialog, "keeper-nowhere")
    assert not box.isVisible()
    dialog.reject()


def test_the_removal_of_an_entry_removes_its_readahead(driver: Driver, fake: FakeHost) -> None:
    ahead = ReadaheadReport(mount_point="/media", file="/etc/udev/x", diff="-the rule\n", sha256="1")
    report = SavedEntryReport(diff="-nas01:/media\n", line="", sha256="2", readahead=ahead)
    driver.open()
    dialog = RemoveDialog(driver.window, "/media", report, active=True, in_fstab=True)
    dialog.open()
    text = part(dialog, QPlainTextEdit, "forget-diff").toPlainText()
    assert "-nas01:/media" in text
    assert "-the rule" in text
    legible(dialog)
    dialog.reject()

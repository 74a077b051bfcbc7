"""Apply: plan, preview, progress, programs that block the unmount, and confirmation of the new settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from apply_steps import action, changes, choose, do, gone, legible, open_apply, part, shown
from fake_host import BASH, MYSQL, FakeHost, configured, mounted
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QWidget,
)
from settings_steps import row as option_row

from advisor.message import message
from app.errors import AppError, ErrorKind
from app.mounts.model import OptionValue
from app.mounts.option_comparison import OptionNote
from app.mounts.requested_options import with_requested_options
from ui.apply.dialog import ApplyDialog
from ui.apply.questions import BusyDialog, KeepDialog
from ui.common.message_list import MessageList
from ui.mounts.actions import RemoveDialog

if TYPE_CHECKING:
    from typing import TypeVar

    from driver import Driver

    D = TypeVar("D", bound=QWidget)


def test_the_preview_is_complete_and_changes_nothing(driver: Driver, fake: FakeHost) -> None:
    dialog = open_apply(driver)
    assert action(dialog) == "Apply Changes"
    diff = part(dialog, QPlainTextEdit, "plan-diff")
    assert not diff.isVisible()
    warnings = part(dialog, MessageList, "plan-warnings").sentences()
    assert "/media" in warnings[0]
    label = part(dialog, QLabel, "plan-interruption")
    assert label.isVisible()
    assert label.text().replace("\u200b", "") == "Interrupts /home for about 1 s. It takes 35 s at most."
    (change,) = part(dialog, MessageList, "plan-changes").sentences()
    assert "(timeo): not set → 10 s (timeo=100)" in change
    choose(driver, dialog, "keeper-fstab")
    driver.wait(lambda: bool(diff.toPlainText()))
    assert "+nas01:/export/home /home nfs timeo=100 0 0" in diff.toPlainText()
    assert not diff.isVisible()
    part(dialog, QPushButton, "plan-commands").click()
    assert diff.isVisible()
    legible(dialog)
    part(dialog, QPushButton, "plan-commands").click()
    assert not diff.isVisible()
    assert action(dialog) == "Apply Changes"
    choose(driver, dialog, "mount-later")
    assert action(dialog) == "Save in fstab"
    choose(driver, dialog, "keeper-systemd")
    assert action(dialog) == "Save as Units"
    choose(driver, dialog, "keeper-nowhere")
    assert action(dialog) == "Apply Changes"
    assert not part(dialog, QRadioButton, "mount-later").isVisible()
    dialog.reject()
    gone(driver, ApplyDialog)
    assert changes(fake) == []


def test_a_change_without_a_mount_has_no_mount_time(driver: Driver, fake: FakeHost) -> None:
    fake.can_wait = False
    dialog = open_apply(driver)
    choose(driver, dialog, "keeper-fstab")
    for name in ("mount-now", "mount-later"):
        assert not part(dialog, QRadioButton, name).isVisible()
    fake.can_wait = True
    choose(driver, dialog, "keeper-systemd")
    choose(driver, dialog, "mount-later")
    fake.can_wait = False
    choose(driver, dialog, "keeper-fstab")
    driver.wait(lambda: fake.asked("mounts.plan")[-1].mount)
    assert not part(dialog, QRadioButton, "mount-later").isVisible()
    dialog.reject()
    gone(driver, ApplyDialog)


def test_a_failed_plan_shows_its_reason(driver: Driver, fake: FakeHost) -> None:
    fake.plan_error = AppError(ErrorKind.FSTAB_REFUSED, "fstab is a link.", hint="Edit it by hand.")
    driver.open()
    driver.window._detail.settings.load_entry("", "", "timeo=100")
    driver.preview()
    dialog = shown(driver, ApplyDialog)
    driver.wait(lambda: dialog.view.problem() == "fstab is a link.\nEdit it by hand.")
    assert not part(dialog, QPushButton, "apply-do").isEnabled()
    fake.plan_error = None
    choose(driver, dialog, "keeper-fstab")
    assert dialog.view.problem() == ""
    dialog.reject()
    gone(driver, ApplyDialog)


def test_an_invalid_value_opens_no_dialog(driver: Driver) -> None:
    driver.open()
    option_row(driver.window._detail.settings, "rsize").editor.set_value("many")
    driver.preview()
    assert "many" in driver.message()
    assert driver.window.findChild(ApplyDialog) is None


# New mounts and changes without a mount


def test_a_new_mount_is_saved_and_mounted(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.window._on_new()
    for name, text in (("share", "nas01:/new"), ("mount-point", "/mnt/new")):
        driver.qtbot.keyClicks(part(driver.window, QLineEdit, name), text)
    driver.preview()
    dialog = shown(driver, ApplyDialog)
    driver.wait(part(dialog, QPushButton, "apply-do").isEnabled)
    assert action(dialog) == "Mount and Save in fstab"
    do(dialog, "apply-do")
    gone(driver, ApplyDialog)
    (args,) = fake.asked("mounts.apply")
    assert (args.keeper, args.mount, args.keep_s, args.expected_sha256) == ("fstab", True, 0.0, "f00d")
    assert args.options.split(",") == ["_netdev", "nofail"]
    driver.wait(lambda: "/mnt/new is mounted with these settings" in driver.message())
    driver.wait(
        lambda: driver.window._mounts.current() is not None
    )  # the mount table is read again in the meantime
    current = driver.window._mounts.current()
    assert current is not None
    assert current.mount_point == "/mnt/new"


def test_boot_options_are_added_only_to_new_entries(driver: Driver, fake: FakeHost) -> None:
    dialog = open_apply(driver, "nofail,timeo=100")
    gentle = part(dialog, QCheckBox, "apply-nofail")
    assert not gentle.isVisible()
    choose(driver, dialog, "keeper-fstab")
    assert gentle.isVisible()
    assert dialog.choices.args().options == "nofail,timeo=100,_netdev"
    gentle.click()
    driver.wait(part(dialog, QPushButton, "apply-do").isEnabled)
    assert fake.asked("mounts.plan")[-1].options == "nofail,timeo=100"
    dialog.reject()
    gone(driver, ApplyDialog)
    driver.window._mounts.choose("nas01:/media", "/media")
    driver.preview()
    dialog = shown(driver, ApplyDialog)
    assert not part(dialog, QCheckBox, "apply-nofail").isVisible()
    dialog.reject()
    gone(driver, ApplyDialog)


def test_a_saved_entry_is_changed_without_mounting(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.window._mounts.choose("nas01:/media", "/media")
    driver.window._detail.settings.load_entry("", "", "vers=3")
    driver.preview()
    dialog = shown(driver, ApplyDialog)
    choose(driver, dialog, "mount-later")
    assert part(dialog, QRadioButton, "keeper-fstab").isChecked()
    do(dialog, "apply-do")
    gone(driver, ApplyDialog)
    (args,) = fake.asked("mounts.apply")
    assert (args.mount, args.options) == (False, "vers=3")
    driver.wait(lambda: "are saved in /etc/fstab" in driver.message())


def test_fstab_only_options_stay_in_the_form_of_an_active_mount(driver: Driver, fake: FakeHost) -> None:
    """_netdev and nofail are not passed to the mount command; applying the form must keep them."""
    row = mounted(requested="timeo=300,nosuid,nodev")
    entry = configured(row.share, row.mount_point, "timeo=600,_netdev,nofail").configured
    fake.mounts = [with_requested_options(msgspec.structs.replace(row, configured=entry))]
    driver.open()
    assert driver.window._detail.settings.request().options == "timeo=300,_netdev,nofail"


# Confirmation of the new settings


def test_the_new_settings_are_kept(driver: Driver, fake: FakeHost) -> None:
    dialog = open_apply(driver)
    choose(driver, dialog, "keeper-fstab")
    do(dialog, "apply-do")
    question = shown(driver, KeepDialog)
    assert 13 <= int(part(question, QLabel, "keep-seconds").text()) <= 15
    do(question, "keep-keep")
    gone(driver, ApplyDialog)
    (keep,) = fake.asked("mounts.keep")
    assert isinstance(keep.id, int)
    assert fake.asked("mounts.apply")[0].keep_s == 15
    driver.wait(lambda: "is mounted with these settings" in driver.message())
    assert "saved in /etc/fstab" in driver.message()
    assert not driver.window._detail.busy
    assert not driver.window._detail.settings.dirty


@pytest.mark.parametrize("user_action", ["button", "escape"])
def test_the_change_is_reverted_now(driver: Driver, fake: FakeHost, user_action: str) -> None:
    dialog = open_apply(driver)
    do(dialog, "apply-do")
    question = shown(driver, KeepDialog)
    if user_action == "button":
        assert part(question, QPushButton, "keep-close").isDefault()
        do(question, "keep-close")
    else:
        driver.qtbot.keyClick(question, Qt.Key.Key_Escape)
    gone(driver, ApplyDialog)
    driver.wait(lambda: "The old ones are in use" in driver.message())
    assert fake.asked("mounts.keep") == []
    # The form keeps the edits.
    assert driver.window._detail.settings.dirty


def test_a_failed_rollback_stays_visible(driver: Driver, fake: FakeHost) -> None:
    fake.revert_state = "failed"
    dialog = open_apply(driver)
    do(dialog, "apply-do")
    do(shown(driver, KeepDialog), "keep-close")
    driver.wait(lambda: dialog.view.problem() == "The settings were taken back.")
    dialog.reject()
    gone(driver, ApplyDialog)


def test_a_missing_answer_rolls_the_change_back(driver: Driver, fake: FakeHost) -> None:
    dialog = open_apply(driver)
    do(dialog, "apply-do")
    question = shown(driver, KeepDialog)
    question.set_remaining(0)
    driver.wait(lambda: part(question, QLabel, "keep-seconds").text() == "0")
    assert not part(question, QPushButton, "keep-keep").isEnabled()
    # The agent rolls the change back by itself.
    driver.window._detail._apply_controller._call.cancel()
    gone(driver, ApplyDialog)
    driver.wait(lambda: driver.message() == "The settings were taken back.")
    # The message stays until it is closed, as the user may have been away.
    assert driver.window._banner.accessibleName().startswith("Warning")


def test_the_connection_is_lost_during_the_confirmation(driver: Driver) -> None:
    dialog = open_apply(driver)
    do(dialog, "apply-do")
    shown(driver, KeepDialog)
    host = driver.window.session._host
    assert host is not None
    host.client._transport.close()
    driver.wait(lambda: driver.sees("starting-retry"))
    gone(driver, KeepDialog)
    gone(driver, ApplyDialog)


# Failures


def test_a_failed_step_is_shown_and_can_be_repeated(driver: Driver, fake: FakeHost) -> None:
    fake.apply_error = AppError(ErrorKind.OPTION_REJECTED, "No such value.", hint="The mount is as it was.")
    dialog = open_apply(driver)
    do(dialog, "apply-do")
    driver.wait(lambda: dialog.view.problem() == "No such value.\nThe mount is as it was.")
    assert [dialog.view.steps.state(n) for n in range(3)] == ["done", "failed", None]
    fake.apply_error = None
    do(dialog, "apply-back")
    driver.wait(part(dialog, QPushButton, "apply-do").isEnabled)
    assert dialog.view.problem() == ""
    dialog.reject()
    gone(driver, ApplyDialog)


def test_cancel_while_applying(driver: Driver, fake: FakeHost) -> None:
    dialog = open_apply(driver)
    fake.hold.clear()
    do(dialog, "apply-do")
    driver.wait(lambda: driver.window._detail.busy)
    assert not part(driver.window, QPushButton, "unmount").isEnabled()
    do(dialog, "apply-dialog-close")
    driver.wait(lambda: dialog.view.problem() == "Cancelled.")
    dialog.reject()
    gone(driver, ApplyDialog)
    assert not driver.window._detail.busy


# Values that are not in use


def test_values_not_in_use_are_reported(driver: Driver, fake: FakeHost) -> None:
    fake.kept.set()
    fake.values = [
        OptionValue(
            name="rsize",
            requested="1000",
            effective="4096",
            note=message(OptionNote.KERNEL_ROUNDED, used=4096),
        ),
        OptionValue(name="timeo", requested="100", effective="100"),
        OptionValue(name="intr", requested="", effective=None, note=message(OptionNote.NO_EFFECT)),
    ]
    dialog = open_apply(driver)
    do(dialog, "apply-do")
    gone(driver, ApplyDialog)
    driver.wait(lambda: driver.message() != "")
    text = driver.window._banner.accessibleName()
    assert text.startswith("Warning")
    assert "rsize: 1000 was requested, 4096 (4 KiB) is in use. The kernel rounded it to 4096." in text
    assert "intr" in text
    assert "timeo" not in text


# Removal from fstab


def test_the_removal_shows_a_preview_first(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    assert not driver.offers("forget")
    driver.window._mounts.choose("nas01:/media", "/media")
    driver.trigger("forget")
    dialog = shown(driver, RemoveDialog)
    assert "-nas01:/media /media nfs" in part(dialog, QPlainTextEdit, "forget-diff").toPlainText()
    assert part(dialog, QPushButton, "forget-dialog-close").isDefault()
    dialog.reject()
    gone(driver, RemoveDialog)
    driver.trigger("forget")
    do(shown(driver, RemoveDialog), "forget-do")
    gone(driver, RemoveDialog)
    driver.wait(lambda: driver.message() == "/media is not saved any more.")
    assert [(args.preview, args.expected_sha256) for args in fake.asked("mounts.forget")] == [
        (True, ""), (True, ""), (False, "beef")]  # fmt: skip


def test_an_active_mount_can_be_removed_from_fstab(driver: Driver, fake: FakeHost) -> None:
    row = mounted()
    entry = configured(row.share, row.mount_point).configured
    fake.mounts = [type(row)(mount_point=row.mount_point, share=row.share, state="mounted", active=row.active,
                             configured=entry)]  # fmt: skip
    driver.open()
    driver.trigger("forget")
    dialog = shown(driver, RemoveDialog)
    assert any("stays mounted" in label.text() for label in dialog.findChildren(QLabel))
    dialog.reject()
    gone(driver, RemoveDialog)


# Layout and legibility


def test_every_dialog_fits_and_is_legible(driver: Driver, fake: FakeHost) -> None:
    fake.holders = [BASH, MYSQL] * 6
    driver.window.resize(1000, 680)
    dialog = open_apply(driver, "timeo=100,rsize=1048576,wsize=1048576,nconnect=16,noatime,lookupcache=none")
    choose(driver, dialog, "keeper-fstab")
    legible(dialog)
    do(dialog, "apply-do")
    question = shown(driver, BusyDialog)
    legible(question)
    do(question, "busy-go-on")
    keep = shown(driver, KeepDialog)
    legible(keep)
    keep.set_remaining(0)
    driver.wait(lambda: part(keep, QLabel, "keep-seconds").text() == "0")
    legible(keep)
    legible(dialog)
    fake.kept.set()
    gone(driver, ApplyDialog)
    driver.window._mounts.choose("nas01:/media", "/media")
    driver.trigger("forget")
    forget = shown(driver, RemoveDialog)
    legible(forget)
    forget.reject()
    gone(driver, RemoveDialog)

"""Actions that need an administrator's approval: their notes in dialogs, and the confirmation before them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from apply_steps import choose, do, gone, legible, open_apply, part, shown
from PySide6.QtWidgets import QCheckBox, QLineEdit, QMessageBox, QPushButton

from app.errors import AppError, ErrorKind
from app.mounts.model import Approval, Holder
from ui.apply.dialog import ApplyDialog
from ui.apply.plan_view import PlanView
from ui.mounts.actions import RemoveDialog

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost

NEEDED = Approval(
    reasons=["“/data” is outside the directories for mounts: /mnt, /media, /srv."],
    mounts=True,
    keeps=True,
    hides=["photos", "letters"],
    hidden=2,
    holders=[Holder(pid=4711, command="bash", user="ann", use="working directory")],
)
RESTRICTED = AppError(ErrorKind.MOUNT_POINT_RESTRICTED, "It is restricted.")


def question(driver: Driver) -> QMessageBox:
    driver.wait(lambda: driver.window.findChild(QMessageBox, "confirm") is not None)
    box = driver.window.findChild(QMessageBox, "confirm")
    assert box is not None
    return box


def fill_in(driver: Driver, share: str, point: str) -> None:
    driver.open()
    driver.window._on_new()
    for name, text in (("share", share), ("mount-point", point)):
        driver.qtbot.keyClicks(part(driver.window, QLineEdit, name), text)


def test_a_change_shows_what_needs_approval(driver: Driver, fake: FakeHost) -> None:
    fake.approval = NEEDED
    driver.window.resize(1000, 680)
    dialog = open_apply(driver)
    view = dialog.findChild(PlanView)
    assert view is not None
    shown_sentences = view._approval.sentences()
    assert shown_sentences[0].startswith("An administrator has to approve this by itself. “/data” is outside")
    assert "photos, letters." in shown_sentences[1]
    assert "bash (process 4711, ann) uses the directory" in shown_sentences[2]
    legible(dialog)
    do(dialog, "apply-do")
    driver.wait(lambda: bool(fake.asked("mounts.apply")))
    assert fake.asked("mounts.apply")[-1].approved
    fake.kept.set()
    gone(driver, ApplyDialog)


def test_a_change_without_approval_requests_none(driver: Driver, fake: FakeHost) -> None:
    dialog = open_apply(driver)
    view = dialog.findChild(PlanView)
    assert view is not None
    assert not view._approval.isVisible()
    do(dialog, "apply-do")
    driver.wait(lambda: bool(fake.asked("mounts.apply")))
    assert not fake.asked("mounts.apply")[-1].approved
    fake.kept.set()
    gone(driver, ApplyDialog)


def test_a_restricted_mount_point_asks_about_nofail(driver: Driver, fake: FakeHost) -> None:
    fake.restricted = True
    fill_in(driver, "nas01:/new", "/data")
    driver.preview()
    dialog = shown(driver, ApplyDialog)
    driver.wait(part(dialog, QPushButton, "apply-do").isEnabled)
    box = part(dialog, QCheckBox, "apply-nofail")
    assert box.isVisible()
    assert not box.isChecked()
    assert "without this mount" in box.text().replace("&", "")
    assert dialog.choices.args().options == "_netdev"
    legible(dialog)
    box.click()
    driver.wait(part(dialog, QPushButton, "apply-do").isEnabled)
    assert dialog.choices.args().options == "_netdev,nofail"
    choose(driver, dialog, "keeper-nowhere")
    assert not box.isVisible()
    dialog.reject()
    gone(driver, ApplyDialog)


def test_a_restricted_mount_is_made_after_confirmation(driver: Driver, fake: FakeHost) -> None:
    fake.mount_error, fake.approval = RESTRICTED, NEEDED
    fill_in(driver, "nas01:/new", "/data")
    driver.click("mount")
    box = question(driver)
    assert box.text() == "Mount nas01:/new at /data?"
    assert "photos, letters." in box.informativeText()
    driver.agree()
    driver.wait(lambda: len(fake.asked("mounts.mount")) == 2)
    assert [args.approved for args in fake.asked("mounts.mount")] == [False, True]
    driver.wait(lambda: any(row.mount_point == "/data" for row in fake.mounts))


def test_a_rejected_confirmation_changes_nothing(driver: Driver, fake: FakeHost) -> None:
    fake.mount_error, fake.approval = RESTRICTED, NEEDED
    fill_in(driver, "nas01:/new", "/data")
    driver.click("mount")
    question(driver).reject()
    driver.wait(lambda: driver.window.findChild(QMessageBox, "confirm") is None)
    assert len(fake.asked("mounts.mount")) == 1


def test_a_refused_approval_is_shown_and_not_requested_again(driver: Driver, fake: FakeHost) -> None:
    fake.mount_error, fake.approval = RESTRICTED, NEEDED
    fill_in(driver, "nas01:/new", "/data")
    driver.click("mount")
    question(driver)
    fake.mount_error = RESTRICTED
    driver.agree()
    driver.wait(lambda: driver.message() == "It is restricted.")
    assert driver.window.findChild(QMessageBox, "confirm") is None


@pytest.mark.parametrize("fails", [False, True])
def test_a_mount_in_a_home_directory_creates_a_link(driver: Driver, fake: FakeHost, fails: bool) -> None:
    fake.mount_error, fake.instead = RESTRICTED, "/mnt/nas"
    if fails:
        fake.link_error = AppError(ErrorKind.PATH_MISSING, "There is no room.")
    fill_in(driver, "nas01:/new", "/home/ann/nas")
    driver.click("mount")
    assert question(driver).text() == "Mount nas01:/new at /mnt/nas, with a link?"
    driver.agree()
    driver.wait(lambda: bool(fake.asked("mounts.link")))
    assert fake.asked("mounts.mount")[-1].mount_point == "/mnt/nas"
    (link,) = fake.asked("mounts.link")
    assert (link.path, link.target) == ("/home/ann/nas", "/mnt/nas")
    if fails:
        driver.wait(lambda: driver.message() == "There is no room.")
    driver.wait(lambda: not driver.window._detail.busy)


def test_a_mount_of_another_user_is_unmounted_after_confirmation(driver: Driver, fake: FakeHost) -> None:
    fake.approval = NEEDED
    fake.unmount_error = AppError(ErrorKind.MOUNT_NOT_YOURS, "It is the system's.")
    driver.open()
    driver.click("unmount")
    part(question(driver), QPushButton, "confirm-action").click()
    driver.wait(lambda: "approve this by itself" in question(driver).informativeText())
    driver.agree()
    driver.wait(lambda: len(fake.asked("mounts.unmount")) == 2)
    assert [args.approved for args in fake.asked("mounts.unmount")] == [False, True]


def test_a_saved_mount_is_removed_after_its_preview(driver: Driver, fake: FakeHost) -> None:
    fake.approval = NEEDED
    driver.open()
    driver.window._mounts.choose("nas01:/media", "/media")
    driver.trigger("forget")
    dialog = shown(driver, RemoveDialog)
    driver.wait(dialog.isVisible)
    legible(dialog)
    do(dialog, "forget-do")
    gone(driver, RemoveDialog)
    driver.wait(lambda: len(fake.asked("mounts.forget")) == 2)
    assert [args.approved for args in fake.asked("mounts.forget")] == [False, True]

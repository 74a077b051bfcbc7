"""Paste and Copy As: conversion of dialects into the form and from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QComboBox, QLineEdit, QListWidget, QMessageBox, QPlainTextEdit, QPushButton

from app.mounts.model import Configured, Mount
from app.mounts.requested_options import with_requested_options
from ui.common.message_list import MessageList
from ui.settings.copy_as import CopyAsDialog
from ui.settings.paste import PasteDialog

if TYPE_CHECKING:
    from pathlib import Path

    from driver import Driver

FSTAB = (
    "nas01:/export/home /home nfs rsize=65536 0 0\nUUID=1 / ext4 defaults 0 1\nzeus:/z /mnt/z nfs ro 0 0\n"
)


def paste_dialog(driver: Driver) -> PasteDialog:
    driver.wait(lambda: driver.window.findChild(PasteDialog) is not None)
    found = driver.window.findChild(PasteDialog)
    assert found is not None
    return found


def part(parent, kind, name):
    found = parent.findChild(kind, name)
    assert found is not None, name
    return found


def gone(driver: Driver, kind: type) -> None:
    driver.wait(lambda: driver.window.findChild(kind) is None)


def test_a_command_in_the_clipboard_fills_a_new_form(driver: Driver) -> None:
    driver.open()
    QGuiApplication.clipboard().setText("mount -t nfs -o soft,rsize=8192 zeus:/new /mnt/new")
    driver.qtbot.keySequence(driver.window, QKeySequence("Ctrl+Shift+V"))
    dialog = paste_dialog(driver)
    assert "a mount command" in part(dialog, object, "paste-said").text()
    assert not part(dialog, QListWidget, "paste-entries").isVisible()
    driver.qtbot.mouseClick(part(dialog, QPushButton, "paste-use"), Qt.MouseButton.LeftButton)
    gone(driver, PasteDialog)
    assert driver.text_of("share") == "zeus:/new"
    assert driver.text_of("mount-point") == "/mnt/new"
    assert driver.window._detail.settings.request().options == "soft,rsize=8192"
    assert driver.fake.asked("mounts.mount") == []


def test_other_clipboard_text_is_ignored_and_typed_text_is_read(driver: Driver) -> None:
    driver.open()
    QGuiApplication.clipboard().setText("Dear all, the server is down.")
    driver.window._on_paste()
    dialog = paste_dialog(driver)
    edit = part(dialog, QPlainTextEdit, "paste-text")
    use = part(dialog, QPushButton, "paste-use")
    assert edit.toPlainText() == ""
    assert not use.isEnabled()
    edit.setPlainText("Dear all")
    driver.wait(lambda: "nothing that says" in part(dialog, object, "paste-said").text())
    edit.setPlainText("mount nas01:/a /a && df")
    driver.wait(use.isEnabled)
    assert part(dialog, MessageList, "paste-untranslated").sentences() == [
        "What stands behind the command was left out: && df"
    ]
    driver.qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    gone(driver, PasteDialog)


def test_one_of_several_pasted_mounts_fills_the_form_of_a_mount(driver: Driver) -> None:
    driver.open()
    QGuiApplication.clipboard().setText(FSTAB)
    driver.window._mounts.choose("nas01:/media", "/media")
    driver.window._on_paste()
    dialog = paste_dialog(driver)
    entries = part(dialog, QListWidget, "paste-entries")
    assert entries.count() == 2
    entries.setCurrentRow(1)
    assert "zeus:/z" in entries.currentItem().text()
    entries.setCurrentRow(0)
    part(dialog, QPushButton, "paste-use").click()
    gone(driver, PasteDialog)
    current = driver.window._mounts.current()
    assert current is not None
    assert current.mount_point == "/home"
    assert driver.window._detail.settings.request().options == "rsize=65536"
    assert driver.window._detail.settings.dirty


def test_a_line_pasted_into_the_share_opens_the_dialog(driver: Driver) -> None:
    driver.open()
    driver.window._on_new()
    field = part(driver.window, QLineEdit, "share")
    driver.qtbot.keyClicks(field, "na")
    for text in (FSTAB, "[Mount]\nWhat=nas01:/a\nWhere=/a\n"):
        QGuiApplication.clipboard().setText(text)
        field.selectAll()
        field.paste()
        dialog = paste_dialog(driver)
        assert part(dialog, QPlainTextEdit, "paste-text").toPlainText() == text
        assert field.text() == "na"
        dialog.reject()
        gone(driver, PasteDialog)
    QGuiApplication.clipboard().setText("nas01:/path with spaces")
    field.selectAll()
    field.paste()
    assert field.text() == "nas01:/path with spaces"
    assert driver.window.findChild(PasteDialog) is None


def test_copy_as_shows_and_saves_dialects(driver: Driver, tmp_path: Path) -> None:
    driver.open()
    driver.window._detail.settings.load_entry("", "", "rsize=1048576,nconnect=4")
    part(driver.window, QAction, "copy-as-openbsd").trigger()
    dialog = part(driver.window, CopyAsDialog, "copy-as-dialog")
    text = part(dialog, QPlainTextEdit, "copy-as-text")
    assert text.toPlainText().startswith("mount_nfs ")
    assert any("nconnect" in s for s in part(dialog, MessageList, "copy-as-untranslated").sentences())
    assert any("65536" in s for s in part(dialog, MessageList, "copy-as-problems").sentences())
    part(dialog, QPushButton, "copy-as-copy").click()
    assert QGuiApplication.clipboard().text() == text.toPlainText()
    dialects = part(dialog, QComboBox, "copy-as-dialect")
    dialects.setCurrentIndex(dialects.findData("systemd-mount"))
    assert "[Mount]" in text.toPlainText()
    path = part(dialog, QLineEdit, "copy-as-path")
    assert path.text().endswith("/home.mount")
    path.setText(str(tmp_path / "home.mount"))
    part(dialog, QPushButton, "copy-as-save").click()
    status = part(dialog, object, "copy-as-told")
    driver.wait(lambda: status.text().startswith("Saved as "))
    assert (tmp_path / "home.mount").read_text() == text.toPlainText()
    part(dialog, QPushButton, "copy-as-save").click()
    driver.wait(lambda: "could not be written" in status.text())
    dialog.reject()
    gone(driver, CopyAsDialog)


def test_a_mount_that_a_dialect_cannot_express_is_reported(driver: Driver) -> None:
    driver.open()
    driver.window._on_new()
    driver.window._on_copy_as("fstab")
    dialog = part(driver.window, CopyAsDialog, "copy-as-dialog")
    assert dialog._refused.sentences() != []
    assert not part(dialog, QPushButton, "copy-as-copy").isEnabled()
    dialog.reject()
    gone(driver, CopyAsDialog)


def test_a_foreign_unit_is_read_only_and_is_imported_into_a_draft(driver: Driver) -> None:
    unit = Configured(
        origin="/etc/systemd/system/mnt-u.mount", line=0, share="nas01:/u", fstype="nfs", options="ro,nofail",
        keeper="unit", ours=False,
    )  # fmt: skip
    row = Mount(mount_point="/mnt/u", share="nas01:/u", state="not-mounted", configured=unit)
    driver.fake.mounts = [with_requested_options(row)]
    driver.open()
    status = driver.window._detail._header.state_text(driver.fake.mounts[0])
    assert status == "Not mounted · Read only: /etc/systemd/system/mnt-u.mount · At boot"
    assert not driver.offers("forget")
    driver.trigger("import")
    driver.wait(lambda: not driver.offers("import"))
    assert driver.text_of("share") == "nas01:/u"
    assert driver.text_of("mount-point") == "/mnt/u"
    assert driver.window._detail.settings.request().options == "ro,nofail"
    assert not driver.offers("import")
    assert driver.fake.asked("mounts.apply") == []


def test_an_autofs_map_is_read_only_and_is_imported_into_a_draft(driver: Driver) -> None:
    entry = Configured(
        origin="/etc/auto.home", line=3, share="nas01:/u", fstype="nfs", options="ro,x-systemd.automount",
        keeper="autofs", automount=True, ours=False,
    )  # fmt: skip
    row = Mount(mount_point="/home/u", share="nas01:/u", state="not-mounted", configured=entry)
    driver.fake.mounts = [with_requested_options(row)]
    driver.open()
    status = driver.window._detail._header.state_text(driver.fake.mounts[0])
    assert status == "Not mounted · Read only: /etc/auto.home · On demand"
    assert not driver.offers("forget")
    assert not driver.sees("mount")  # autofs mounts it on access
    driver.trigger("import")
    driver.wait(lambda: not driver.offers("import"))
    assert driver.text_of("share") == "nas01:/u"
    assert driver.window._detail.settings.request().options == "ro,x-systemd.automount"
    assert driver.fake.asked("mounts.apply") == []


@pytest.mark.parametrize(
    ("choice", "options"),
    [("leave-out", "ro"), ("keep", "ro,futureopt=7"), ("cancel", None)],
)
def test_reserved_options_are_confirmed_before_an_import(
    driver: Driver, choice: str, options: str | None
) -> None:
    unit = Configured(
        origin="/etc/systemd/system/mnt-u.mount", line=0, share="nas01:/u", fstype="nfs",
        options="ro,futureopt=7,users", keeper="unit", ours=False, lost=("DirectoryMode=0700 has no word.",),
    )  # fmt: skip
    row = Mount(mount_point="/mnt/u", share="nas01:/u", state="not-mounted", configured=unit)
    driver.fake.mounts = [with_requested_options(row)]
    driver.open()
    driver.trigger("import")
    driver.wait(lambda: driver.window.findChild(QMessageBox, "foreign-import") is not None)
    box = part(driver.window, QMessageBox, "foreign-import")
    for word in ("“futureopt”", "“users”", "DirectoryMode=0700", "administrator"):
        assert word in box.informativeText()
    part(box, QPushButton, f"foreign-import-{choice}").click()
    gone(driver, QMessageBox)
    if options is None:
        assert driver.offers("import")
    else:
        driver.wait(lambda: not driver.offers("import"))
        assert driver.window._detail.settings.request().options == options

"""Banner: shows message, hint and details as plain text."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton
from waiting import DEADLINE_MS

from app.errors import AppError, ErrorKind
from app.helper_client.polkit import helper_command, install_command
from ui.common.banner import Banner

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost
    from pytestqt.qtbot import QtBot


@pytest.fixture
def banner(qtbot: QtBot) -> Banner:
    made = Banner()
    qtbot.addWidget(made)
    return made


def button(banner: Banner, text: str) -> QPushButton:
    return next(b for b in banner.findChildren(QPushButton) if b.text().replace("&", "") == text)


def test_error_with_details(qtbot: QtBot, banner: Banner) -> None:
    assert banner.message() == ""
    banner.show_error(
        AppError(ErrorKind.SERVER_SILENT, "It is silent.", hint="Wake it.", detail="mount.nfs: <b>no</b>")
    )
    banner.show()
    assert banner.message() == "It is silent."
    assert "Wake it." in banner.accessibleName()
    detail = banner.findChild(QPlainTextEdit)
    assert detail is not None
    assert not detail.isVisible()
    qtbot.mouseClick(button(banner, "Details"), Qt.MouseButton.LeftButton)
    assert detail.isVisible()
    assert detail.toPlainText() == "mount.nfs: <b>no</b>"
    qtbot.mouseClick(button(banner, "Copy Details"), Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == "It is silent.\nWake it.\nmount.nfs: <b>no</b>"


def test_without_details_there_is_no_disclosure(banner: Banner) -> None:
    banner.show_error(AppError(ErrorKind.IO, "It failed."))
    banner.show()
    assert not button(banner, "Details").isVisible()


def test_plain_text_only(banner: Banner) -> None:
    banner.show_error(AppError(ErrorKind.IO, "<h1>Hello</h1>", hint="<a href='x'>y</a>"))
    for label in banner.findChildren(QLabel):
        assert label.textFormat() == Qt.TextFormat.PlainText


def test_dismiss(qtbot: QtBot, banner: Banner) -> None:
    banner.show_information("Done.")
    with qtbot.waitSignal(banner.closed, timeout=DEADLINE_MS):
        qtbot.mouseClick(button(banner, "Close"), Qt.MouseButton.LeftButton)
    assert banner.message() == ""
    with qtbot.assertNotEmitted(banner.closed):
        banner.dismiss()


def test_a_cancellation_is_no_error(banner: Banner) -> None:
    banner.show_error(AppError(ErrorKind.CANCELLED, "Cancelled."))
    assert banner.accessibleName().startswith("Cancelled")


def test_a_stopped_test_names_the_files_that_remain_until_the_person_closes_it(banner: Banner) -> None:
    error = AppError(ErrorKind.CANCELLED, "Cancelled.")
    error.remains = ("/mnt/nas/.mountwright-1",)
    banner.show_error(error)
    assert "/mnt/nas/.mountwright-1" in banner.accessibleName()
    assert not banner._hide_timer.isActive()
    error.remains = ()
    banner.show_error(error)
    assert banner._hide_timer.isActive()


def test_a_missing_helper_offers_the_command_that_installs_it(banner: Banner) -> None:
    with pytest.raises(AppError) as caught:
        helper_command("mount", euid=1000, helper=Path("/usr/libexec/mountwright-no-such/helper"))
    banner.show_error(caught.value)
    banner.show()
    assert install_command() in banner.accessibleName()
    button(banner, "Copy Command").click()
    program, word = shlex.split(QGuiApplication.clipboard().text())
    assert Path(program).is_file()
    assert word == "install-helper"


def test_an_error_of_a_page_does_not_follow_to_another(driver: Driver, fake: FakeHost) -> None:
    fake.mount_error = AppError(ErrorKind.SERVER_UNKNOWN, "The server nas99 is unknown.")
    driver.open()
    driver.window._on_new()
    driver.window._detail.settings.load_entry("nas99:/a", "/mnt/a", "vers=4.2")
    driver.click("mount")
    driver.wait(lambda: driver.message() == "The server nas99 is unknown.")
    driver.tab("Overview")
    assert driver.message() == ""
    assert not driver.sees("banner")


def test_an_error_stays_on_the_page_that_it_belongs_to(driver: Driver) -> None:
    driver.open()
    driver.tab("Settings")
    driver.window._detail.experiment.failed.emit(AppError(ErrorKind.IO, "The experiment failed."))
    driver.tab("Experiments")
    assert driver.message() == "The experiment failed."
    driver.tab("History")
    assert driver.message() == ""


def test_a_message_that_offers_a_way_on_stays(driver: Driver) -> None:
    driver.open()
    driver.window._detail.experiment.failed.emit(AppError(ErrorKind.IO, "The experiment failed."))
    driver.window._on_stuck("/home", AppError(ErrorKind.BUSY, "It is in use."))
    driver.tab("History")
    assert driver.message() == "It is in use."

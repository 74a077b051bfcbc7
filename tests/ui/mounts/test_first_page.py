"""First page: servers that were found, the slow link of the lab, paste, and the missing helper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QDialog

from app.discovery.model import KnownServer
from ui.common.session import lab_links
from ui.main_window import MainWindow
from ui.settings.paste import PasteDialog

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost
    from pytestqt.qtbot import QtBot


def test_servers_of_the_network_are_offered(driver: Driver, fake: FakeHost) -> None:
    fake.mounts, fake.known_servers = [], []
    fake.announced = [
        KnownServer(name="nas01", sources=["mdns"], exports=["/a", "/b", "/c"]),
        KnownServer(name="fe80::1", sources=["mdns"], exports=[], calls_itself="backup"),
    ]
    driver.open(page="Overview")
    driver.wait(lambda: driver.sees("empty-server-nas01"))
    assert driver.text_of("empty-server-nas01") == "nas01 (3 exports)"
    assert driver.text_of("empty-server-fe80::1") == "backup"
    assert "Servers that were found" in driver.text_of("empty-found")
    driver.click("empty-server-fe80::1")
    driver.wait(lambda: driver.sees("mount-share"))
    assert driver.text_of("share-server-text") == "fe80::1"
    driver.find(QDialog, "mount-share").close()


def test_servers_appear_while_the_search_goes_on(driver: Driver, fake: FakeHost) -> None:
    fake.mounts, fake.known_servers = [], []
    fake.hold.clear()
    fake.announced_at_once = [KnownServer(name="nas01", sources=["mdns"], exports=["/a"])]
    driver.open(page="Overview")
    driver.wait(lambda: driver.sees("empty-server-nas01"))
    assert driver.text_of("empty-found") == "Looking for servers on this network…"
    assert driver.text_of("empty-server-nas01") == "nas01 (1 export)"
    fake.hold.set()
    driver.wait(lambda: "Servers that were found" in driver.text_of("empty-found"))


def test_without_a_server_the_page_says_what_to_do(driver: Driver, fake: FakeHost) -> None:
    fake.mounts, fake.known_servers = [], []
    driver.open(page="Overview")
    driver.wait(lambda: "No server announces itself" in driver.text_of("empty-found"))


def test_the_lab_begins_with_a_link_where_something_is_to_gain(qtbot: QtBot, fake: FakeHost) -> None:
    window = MainWindow(fake.opener, lab_links())
    qtbot.addWidget(window)
    combo = window.findChild(QComboBox, "empty-link")
    assert combo is not None
    assert combo.currentText() == "Leased line between two towns"
    promise = window._welcome_page._promise
    assert "twice as fast" in promise.text()
    combo.setCurrentIndex(combo.findData("gigabit"))
    assert "twice as fast" not in promise.text()
    window.close()


def test_a_mount_command_can_be_pasted(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = []
    driver.open(page="Overview")
    driver.click("empty-paste")
    driver.wait(lambda: driver.window.findChild(PasteDialog) is not None)
    dialog = driver.window.findChild(PasteDialog)
    assert dialog is not None
    dialog.reject()


def test_a_missing_helper_is_said_at_once_with_its_command(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = []
    fake.helper_command = "/src/run install-helper"
    driver.open(page="Overview")
    assert driver.sees("helper-card")
    assert driver.text_of("helper-command") == "/src/run install-helper"
    driver.click("helper-copy")
    assert QGuiApplication.clipboard().text() == "/src/run install-helper"


def test_the_helper_is_not_mentioned_when_it_is_there(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = []
    driver.open(page="Overview")
    assert driver.sees("empty-mount")
    assert not driver.sees("helper-card")

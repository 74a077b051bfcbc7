"""The share field and the server probe dialog in the window, with a scripted agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QFocusEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QLineEdit, QMessageBox, QPushButton, QToolButton, QTreeWidget

from app.discovery.model import KnownServer, Problem
from app.errors import AppError, ErrorKind
from ui.settings.server_probe import ServerProbeDialog
from ui.settings.share_field import ShareField

if TYPE_CHECKING:
    from driver import Driver
    from pytestqt.qtbot import QtBot


SCAN = "Scan the Subnet…"
NO_SERVERS = "No servers found on this network. Enter a name or an address."


class Person:
    """Types into the share field of a new mount."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.fake = driver.fake
        self.qtbot: QtBot = driver.qtbot
        driver.open()
        driver.window._on_new()
        driver.wait(lambda: driver.sees("share"))
        field = driver.window.findChild(ShareField)
        assert field is not None
        self.field = field
        line = driver.find(QLineEdit, "share")
        assert isinstance(line, QLineEdit)
        self.line = line
        line.setFocus()
        driver.wait(line.hasFocus)

    def type(self, text: str) -> None:
        self.qtbot.keyClicks(self.line, text)

    def rows(self) -> list[tuple[str, str]]:
        """Return the suggestions without the last row of each list of servers, which starts a scan."""
        rows = self.field._list.rows() if self.field._list.isVisible() else []
        return [row for row in rows if row[0] != SCAN]

    def list_status(self) -> str:
        return self.field._list.status() if self.field._list.isVisible() else ""

    def open(self) -> None:
        self.qtbot.mouseClick(self.driver.find(QToolButton, "share-open"), Qt.MouseButton.LeftButton)

    def key(self, key: Qt.Key) -> None:
        self.qtbot.keyClick(self.line, key)

    def status(self) -> str:
        return self.driver.text_of("share-status")

    def wait_for(self, *labels: str) -> None:
        self.driver.wait(lambda: [label for label, _ in self.rows()] == list(labels))


@pytest.fixture
def person(driver: Driver) -> Person:
    return Person(driver)


def test_a_share_can_be_chosen_by_keyboard(person: Person) -> None:
    person.key(Qt.Key.Key_Down)
    person.wait_for("nas01", "zeus")
    assert person.rows()[0][1] == "in fstab, mounted"
    assert person.fake.asked("discover.exports") == []
    person.key(Qt.Key.Key_Down)
    person.key(Qt.Key.Key_Return)
    assert person.line.text() == "nas01:"
    person.wait_for("/export/home", "/export/with space", "/export")
    assert [note for _, note in person.rows()] == [
        "10.0.0.0/8, ada.example", "for everyone", "directory of NFS 4",
    ]  # fmt: skip
    person.key(Qt.Key.Key_Down)
    person.key(Qt.Key.Key_Down)
    person.key(Qt.Key.Key_Return)
    assert person.line.text() == "nas01:/export/with space"
    assert person.rows() == []
    assert "nas01:/export/with space" in person.driver.text_of("command")
    assert [args.server for args in person.fake.asked("discover.exports")] == ["nas01"]


def test_a_server_with_an_incomplete_name_is_not_queried(person: Person) -> None:
    person.type("nas01")
    person.wait_for("nas01")
    person.qtbot.wait(400)
    assert person.fake.asked("discover.exports") == []
    person.type(":")
    person.wait_for("/export/home", "/export/with space", "/export")
    person.type("/export/w")
    person.wait_for("/export/with space")
    assert len(person.fake.asked("discover.exports")) == 1


def test_any_text_is_accepted_and_enter_submits(person: Person) -> None:
    person.type("nas01:/exp")
    person.driver.wait(lambda: person.rows() != [])
    with person.qtbot.waitSignal(person.field.returnPressed):
        person.key(Qt.Key.Key_Return)
    assert person.line.text() == "nas01:/exp"
    person.type("[fd00::2]")
    assert person.line.text() == "nas01:/exp[fd00::2]"


def test_a_slow_query_has_a_countdown_and_can_be_stopped(person: Person) -> None:
    person.fake.hold.clear()
    person.type("slow:")
    person.driver.wait(lambda: person.status().startswith("Asking slow… "))
    assert person.status().endswith(" s")
    began = person.status()
    person.driver.wait(lambda: person.status() != began)
    person.driver.click("share-cancel")
    assert not person.driver.sees("share-cancel")
    assert not person.status().startswith("Asking")
    person.driver.wait(lambda: person.fake.cancelled == ["slow"])


def test_an_outdated_answer_is_not_shown(person: Person) -> None:
    person.fake.hold.clear()
    person.type("old:")
    person.driver.wait(lambda: len(person.fake.asked("discover.exports")) == 1)
    person.line.selectAll()
    person.type("new:")
    person.driver.wait(lambda: person.fake.cancelled == ["old"])
    person.fake.hold.set()
    person.driver.wait(lambda: person.status().startswith("new answers"))
    assert [args.server for args in person.fake.asked("discover.exports")] == ["old", "new"]


def test_a_failure_is_one_sentence_with_a_hint_in_its_tool_tip(person: Person) -> None:
    person.fake.discover_error = AppError(
        ErrorKind.SERVER_UNKNOWN, "The name “gone” is not known.", hint="Check its <spelling>."
    )
    person.type("gone:")
    person.driver.wait(lambda: person.status() == "The name “gone” is not known.")
    assert "Check its &lt;spelling&gt;." in person.field._status.toolTip()
    assert QApplication.activeModalWidget() is None
    assert person.driver.message() == ""


def test_a_problem_of_one_source_keeps_the_results_of_the_other(person: Person) -> None:
    problem = Problem(kind="server-refused", message="It runs no rpcbind.", hint="Version 4 only.")
    person.fake.exports = {"exports": None, "exports_problem": problem}
    person.type("nas01:")
    person.wait_for("/export", "/export/home")
    assert person.status() == "nas01 answers. Directories to choose from: 2."
    assert "It runs no rpcbind." in person.field._status.toolTip()


def test_a_test_mount_lists_a_root_restricted_to_privileged_ports(person: Person) -> None:
    problem = Problem(kind="access-denied", message="It wants a privileged port.")
    person.fake.exports = {"exports": None, "root": None, "root_problem": problem}
    person.type("v4:")
    person.driver.wait(lambda: person.status() == "It wants a privileged port.")
    assert not person.driver.sees("share-cancel")
    person.fake.exports = {"exports": None, "root_by_mount": True}
    person.driver.click("share-try")
    person.driver.wait(lambda: person.status() == "v4 answers. Directories to choose from: 2.")
    assert not person.driver.sees("share-try")
    assert [args.test_mount for args in person.fake.asked("discover.exports")] == [False, True]


def test_switching_the_host_cancels_the_query(person: Person) -> None:
    person.fake.hold.clear()
    person.type("slow:")
    person.driver.wait(lambda: len(person.fake.asked("discover.exports")) == 1)
    person.driver.window.open_host("gigabit")
    person.driver.wait(lambda: not person.status().startswith("Asking"))
    person.fake.hold.set()
    assert person.field._exports.state == "idle"
    assert person.field._servers.result is None


def test_announced_servers_follow_known_ones(person: Person) -> None:
    person.fake.announced = [KnownServer(name="attic.local", sources=["mdns"], exports=["/music"])]
    person.fake.hold.clear()
    person.key(Qt.Key.Key_Down)
    person.wait_for("nas01", "zeus")
    person.key(Qt.Key.Key_Down)
    person.fake.hold.set()
    person.wait_for("nas01", "zeus", "attic.local")
    person.key(Qt.Key.Key_Return)
    assert person.line.text() == "nas01:"


def test_recent_servers_are_suggested_and_can_be_cleared(person: Person) -> None:
    person.fake.recent = [KnownServer(name="old", sources=["recent"], exports=["/x"])]
    person.key(Qt.Key.Key_Down)
    person.wait_for("nas01", "zeus", "old", "Clear recent servers")
    assert person.rows()[2][1] == "used recently"
    for _ in range(5):
        person.key(Qt.Key.Key_Down)
    person.key(Qt.Key.Key_Return)
    person.wait_for("nas01", "zeus")
    assert person.fake.asked("discover.forget") != []
    assert person.line.text() == ""


def test_the_button_opens_the_list(person: Person) -> None:
    person.driver.wait(lambda: person.status() != "")
    person.qtbot.mouseClick(person.driver.find(QToolButton, "share-open"), Qt.MouseButton.LeftButton)
    person.wait_for("nas01", "zeus")
    person.key(Qt.Key.Key_Escape)
    assert person.rows() == []
    assert person.driver.sees("share")


# Texts of the list


def test_the_list_opens_without_servers_and_shows_the_search(person: Person) -> None:
    person.fake.known_servers = []
    person.fake.hold.clear()
    person.open()
    assert person.list_status() == "Looking for servers…"
    assert person.rows() == []
    person.fake.hold.set()
    person.driver.wait(lambda: person.list_status() == NO_SERVERS)
    person.key(Qt.Key.Key_Escape)
    assert person.list_status() == ""
    person.key(Qt.Key.Key_Down)  # reopening the list searches again
    person.driver.wait(lambda: len(person.fake.asked("discover.servers")) >= 3)
    person.driver.wait(lambda: person.list_status() == NO_SERVERS)


def test_the_list_fills_during_the_search_and_shows_its_result(person: Person) -> None:
    attic = KnownServer(name="attic.local", sources=["mdns"], exports=["/music"], address="10.9.0.7")
    far = KnownServer(
        name="10.9.0.8", sources=["mdns"], exports=[], address="10.9.0.8", calls_itself="far.local"
    )
    person.fake.announced_at_once, person.fake.announced = [attic], [far]
    person.fake.hold.clear()
    person.open()
    person.wait_for("nas01", "zeus", "attic.local")
    assert person.list_status() == "Looking for servers…"
    assert person.rows()[2][1] == "10.9.0.7 · announced on the network"
    person.fake.hold.set()
    person.driver.wait(lambda: person.list_status() == "Servers found on this network: 2")
    assert person.rows()[2] == ("10.9.0.8", "far.local · announced on the network")
    person.key(Qt.Key.Key_Escape)
    person.type("far")  # matches the name that the server announces
    person.wait_for("10.9.0.8")


def test_an_empty_search_and_a_missing_network_are_reported(person: Person) -> None:
    person.open()
    person.driver.wait(lambda: person.list_status() == "No other servers found on this network.")
    person.fake.network_error = AppError(ErrorKind.UNAVAILABLE, "There is no network.")
    person.open()
    person.driver.wait(lambda: person.list_status() == "There is no network.")
    person.wait_for("nas01", "zeus")


def test_a_server_without_exports_is_reported_in_the_list(person: Person) -> None:
    person.fake.exports = {"exports": [], "root": []}
    person.type("void:")
    person.driver.wait(lambda: person.status() == "void answers, and exports nothing.")
    assert person.rows() == []
    person.open()
    assert person.list_status() == "void answers, and exports nothing."


def begin_scan(person: Person) -> None:
    """Choose the last row of the list by keyboard, and confirm the scan."""
    person.key(Qt.Key.Key_Down)
    person.driver.wait(lambda: person.list_status() != "" and not person.list_status().startswith("Looking"))
    while person.field._list.currentIndex().data() != SCAN:
        person.key(Qt.Key.Key_Down)
    assert person.fake.asked("discover.scan") == []
    person.key(Qt.Key.Key_Return)
    person.driver.wait(lambda: QApplication.activeModalWidget() is not None)


def test_the_subnet_is_scanned_after_confirmation_of_its_addresses(person: Person) -> None:
    person.fake.answering = [
        KnownServer(name="nas02", sources=["scan"], exports=[], address="10.9.0.2"),
        KnownServer(name="10.9.0.9", sources=["scan"], exports=[], address="10.9.0.9"),
    ]
    begin_scan(person)
    box = QApplication.activeModalWidget()
    assert isinstance(box, QMessageBox)
    assert "254 addresses: 10.9.0.1 to 10.9.0.254 (eth0)" in box.informativeText()
    assert person.fake.asked("discover.scan") == []
    person.fake.hold.clear()
    person.driver.click("confirm-action")
    person.wait_for("nas01", "zeus", "nas02")
    assert person.list_status() == "Scanning the subnet… 100 of 254 addresses asked"
    assert person.driver.sees("share-cancel")
    assert [args.networks for args in person.fake.asked("discover.scan")] == [["10.9.0.0/24"]]
    person.fake.hold.set()
    person.wait_for("nas01", "zeus", "10.9.0.9", "nas02")
    person.driver.wait(lambda: person.list_status() == "Servers found on this network: 2")
    assert not person.driver.sees("share-cancel")


@pytest.mark.parametrize("reason", [Qt.FocusReason.ActiveWindowFocusReason, Qt.FocusReason.OtherFocusReason])
def test_the_list_reopens_when_the_window_is_active_again(person: Person, reason: Qt.FocusReason) -> None:
    """On a slow computer the window gets the focus event of a dialog only after the dialog closed."""
    person.open()
    person.wait_for("nas01", "zeus")
    for kind in (QEvent.Type.FocusOut, QEvent.Type.FocusIn):
        QApplication.sendEvent(person.line, QFocusEvent(kind, reason))
        assert bool(person.rows()) == (kind == QEvent.Type.FocusIn)
    QApplication.sendEvent(person.line, QFocusEvent(QEvent.Type.FocusOut, Qt.FocusReason.TabFocusReason))
    QApplication.sendEvent(person.line, QFocusEvent(QEvent.Type.FocusIn, Qt.FocusReason.TabFocusReason))
    assert person.rows() == []


def test_a_scan_needs_confirmation_and_can_be_stopped(person: Person) -> None:
    begin_scan(person)
    box = QApplication.activeModalWidget()
    assert isinstance(box, QMessageBox)
    box.reject()
    person.driver.wait(lambda: QApplication.activeModalWidget() is None)
    assert person.fake.asked("discover.scan") == []
    person.driver.window.activateWindow()
    person.line.setFocus()
    person.driver.wait(person.line.hasFocus)
    begin_scan(person)
    person.fake.hold.clear()
    person.driver.click("confirm-action")
    person.driver.wait(lambda: person.list_status().startswith("Scanning"))
    person.driver.click("share-cancel")
    person.driver.wait(lambda: "scan" in person.fake.cancelled)
    assert not person.driver.sees("share-cancel")
    person.fake.hold.set()


# “Check server…”


def check(person: Person, share: str = "nas01:/export") -> ServerProbeDialog:
    assert not person.driver.find(QPushButton, "share-check").isEnabled()
    person.type(share)
    person.driver.click("share-check")
    dialog = person.driver.window.findChild(ServerProbeDialog)
    assert dialog is not None
    return dialog


def test_the_probe_dialog_is_not_modal(person: Person) -> None:
    dialog = check(person)
    assert not dialog.isModal()
    person.driver.wait(lambda: person.driver.sees("probe-services"))
    assert [args.server for args in person.fake.asked("discover.probe")] == ["nas01"]
    assert person.driver.text_of("probe-tcp-4.2") == "✓ offered"
    assert person.driver.text_of("probe-udp-3") == "✗ not offered"
    assert person.driver.text_of("probe-udp-4.0") == "? unknown"
    tree = dialog.findChild(QTreeWidget, "probe-services")
    assert tree is not None
    assert tree.topLevelItemCount() == 2
    person.driver.click("probe-copy")
    text = QGuiApplication.clipboard().text()
    assert "  4.2 TCP: ✓ offered" in text
    assert "mountd 3 TCP 20048: ? not asked" in text
    dialog.close()
    person.driver.wait(lambda: person.driver.window.findChild(ServerProbeDialog) is None)


def test_a_probe_can_be_stopped_and_repeated_and_shows_its_failure(person: Person) -> None:
    person.fake.hold.clear()
    check(person)
    person.driver.wait(lambda: person.driver.text_of("probe-status").startswith("Asking nas01… "))
    person.driver.click("probe-cancel")
    person.driver.wait(lambda: "nas01" in person.fake.cancelled)
    person.fake.hold.set()
    person.fake.discover_error = AppError(ErrorKind.SERVER_SILENT, "No answer.", hint="Is it on?")
    person.driver.click("probe-retry")
    person.driver.wait(lambda: person.driver.text_of("probe-status") == "No answer.")
    assert person.driver.text_of("probe-hint") == "Is it on?"
    assert person.driver.message() == ""


def test_the_probe_dialog_closes_with_its_window(person: Person) -> None:
    person.fake.hold.clear()
    check(person)
    person.driver.window.open_host("gigabit")
    person.driver.wait(lambda: person.driver.window.findChild(ServerProbeDialog) is None)
    person.fake.hold.set()

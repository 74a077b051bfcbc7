"""The dialog Mount a Share: checked while it is filled in, one click to a mount that lasts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fake_host import mounted
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtWidgets import QCheckBox, QDialog, QLineEdit, QPushButton, QWidget

from app.discovery.model import ExportedPath, KnownServer
from app.errors import AppError, ErrorKind
from app.mounts.change_model import ApplyReport
from ui.actions import Command
from ui.mounts.mount_share import ChoiceField, MountShareDialog

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost

#: Typing may open the list of completions.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")
ONE = {"exports": [ExportedPath(path="/export/home")], "root": []}


def opened(driver: Driver) -> MountShareDialog:
    driver.open()
    driver.qtbot.keySequence(driver.window, QKeySequence("Ctrl+N"))
    driver.wait(lambda: driver.window.findChild(MountShareDialog) is not None)
    dialog = driver.window.findChild(MountShareDialog)
    assert dialog is not None
    return dialog


def field(dialog: QWidget, name: str) -> QLineEdit:
    found = dialog.findChild(QLineEdit, name)
    assert found is not None, name
    return found


def text_of(dialog: QWidget, name: str) -> str:
    found = dialog.findChild(QWidget, name)
    assert found is not None, name
    return found.text()  # type: ignore[attr-defined, no-any-return]


def type_into(driver: Driver, widget: QWidget, text: str) -> None:
    driver.qtbot.keyClicks(widget, text)


def button(dialog: QWidget, name: str) -> QPushButton:
    found = dialog.findChild(QPushButton, name)
    assert found is not None, name
    return found


def closed(driver: Driver) -> bool:
    return driver.window.findChild(MountShareDialog) is None or driver.window._mount_share is None


def fill(driver: Driver, dialog: MountShareDialog) -> None:
    type_into(driver, field(dialog, "share-server-text"), "nas01")
    driver.qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_Return)
    driver.wait(lambda: field(dialog, "share-directory-text").text() == "/export/home")


def test_three_keys_after_the_server_lead_to_a_saved_mount(driver: Driver, fake: FakeHost) -> None:
    fake.exports = ONE
    dialog = opened(driver)
    assert dialog.focusWidget() is not None
    fill(driver, dialog)
    assert field(dialog, "share-mount-point").text() == "/mnt/home"
    assert text_of(dialog, "share-server-status") == "Answers. NFS 3, 4.2."
    assert text_of(dialog, "share-directory-status") == "Offered by the server (for everyone)"
    driver.wait(lambda: text_of(dialog, "share-point-status") == "Free. A missing directory is created.")
    driver.qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_Return)
    assert dialog.focusWidget() is field(dialog, "share-mount-point")
    driver.qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_Return)
    driver.wait(lambda: closed(driver))
    (args,) = fake.asked("mounts.apply")
    assert (args.share, args.mount_point, args.options) == (
        "nas01:/export/home",
        "/mnt/home",
        "_netdev,nofail",
    )
    assert (args.keeper, args.mount, args.expected_sha256) == ("fstab", True, "f00d")
    driver.wait(lambda: "/mnt/home" in driver.message())
    assert not driver.window._mounts.findChild(QPushButton, "draft").isVisible()


def test_a_mount_that_is_not_saved(driver: Driver, fake: FakeHost) -> None:
    fake.exports = ONE
    dialog = opened(driver)
    boot = dialog.findChild(QCheckBox, "share-boot")
    assert boot is not None
    boot.click()
    fill(driver, dialog)
    driver.qtbot.mouseClick(button(dialog, "share-mount"), Qt.MouseButton.LeftButton)
    driver.wait(lambda: closed(driver))
    (args,) = fake.asked("mounts.apply")
    assert args.keeper == "nowhere"


def test_servers_and_directories_are_offered(driver: Driver, fake: FakeHost) -> None:
    fake.known_servers = [
        KnownServer(name="nas01", sources=["fstab"], exports=[]),
        KnownServer(name="nas02", sources=["recent"], exports=[]),
    ]
    dialog = opened(driver)
    server, directory = (dialog.findChild(ChoiceField, name) for name in ("share-server", "share-directory"))
    assert server is not None
    assert directory is not None
    driver.wait(lambda: server.count() == 2)
    assert text_of(dialog, "share-server-status").startswith("Found: nas01, nas02")
    server.setCurrentIndex(0)
    server.activated.emit(0)
    driver.wait(lambda: directory.count() == 3)
    assert text_of(dialog, "share-directory-status") == "3 directories offered"
    directory.setCurrentIndex(0)
    directory.activated.emit(0)
    assert field(dialog, "share-mount-point").text() == "/mnt/" + directory.text().rsplit("/", 1)[1].replace(
        " ", "-"
    )


def test_a_whole_share_in_the_first_field_is_split(driver: Driver, fake: FakeHost) -> None:
    dialog = opened(driver)
    type_into(driver, field(dialog, "share-server-text"), "nas01:")
    assert field(dialog, "share-server-text").text() == "nas01"
    type_into(driver, field(dialog, "share-directory-text"), "/export/music")
    assert field(dialog, "share-mount-point").text() == "/mnt/music"
    driver.wait(
        lambda: text_of(dialog, "share-directory-status") == "The server does not list this directory."
    )


def test_a_mount_command_in_the_first_field_fills_all(driver: Driver, fake: FakeHost) -> None:
    dialog = opened(driver)
    line = field(dialog, "share-server-text")
    QGuiApplication.clipboard().setText("mount -t nfs -o vers=4.2,ro nas01:/export/home /mnt/x")
    line.paste()
    state = dialog.state()
    assert (state.share, state.mount_point, state.options) == ("nas01:/export/home", "/mnt/x", "vers=4.2,ro")
    assert field(dialog, "share-options").isVisible()
    type_into(driver, line, " and more")
    assert dialog.state().mount_point == "/mnt/x"


def test_a_server_that_does_not_exist_is_said_at_its_field(driver: Driver, fake: FakeHost) -> None:
    fake.discover_error = AppError(ErrorKind.SERVER_UNKNOWN, "nosuch has no address.", hint="Check the name.")
    dialog = opened(driver)
    type_into(driver, field(dialog, "share-server-text"), "nosuch")
    driver.qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_Return)
    driver.wait(lambda: text_of(dialog, "share-server-status") == "nosuch has no address.")


def test_escape_keeps_the_draft_and_the_dialog_shows_it_again(driver: Driver, fake: FakeHost) -> None:
    fake.exports = ONE
    dialog = opened(driver)
    fill(driver, dialog)
    driver.qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    driver.wait(lambda: closed(driver))
    draft = driver.window._mounts.findChild(QPushButton, "draft")
    assert draft is not None
    assert draft.isVisible()
    driver.window._actions[Command.NEW].trigger()
    driver.wait(lambda: not closed(driver))
    again = driver.window._mount_share
    assert again is not None
    assert again.state().share == "nas01:/export/home"
    assert again.state().mount_point == "/mnt/home"


def test_all_options_open_the_form_with_the_draft(driver: Driver, fake: FakeHost) -> None:
    fake.exports = ONE
    dialog = opened(driver)
    fill(driver, dialog)
    button(dialog, "share-more").click()
    button(dialog, "share-all-options").click()
    driver.wait(lambda: driver.sees("share"))
    assert driver.window._mount_share is None
    assert driver.window._detail.settings.request().share == "nas01:/export/home"
    assert driver.window._detail.settings.request().mount_point == "/mnt/home"
    assert driver.sees("more-transfer")


def test_a_taken_mount_point_is_not_proposed_and_refused(driver: Driver, fake: FakeHost) -> None:
    fake.exports = ONE
    fake.mounts = [mounted(mount_point="/mnt/home")]
    dialog = opened(driver)
    fill(driver, dialog)
    point = field(dialog, "share-mount-point")
    assert point.text() == "/mnt/home-2"
    point.setFocus()
    driver.qtbot.keyClick(point, Qt.Key.Key_Backspace)
    driver.qtbot.keyClick(point, Qt.Key.Key_Backspace)
    assert text_of(dialog, "share-point-status") == "Another share is mounted or saved there."
    assert not button(dialog, "share-mount").isEnabled()


@pytest.mark.parametrize("at_plan", [True, False])
def test_an_error_stays_in_the_dialog(driver: Driver, fake: FakeHost, at_plan: bool) -> None:
    fake.exports = ONE
    error = AppError(ErrorKind.HELPER_MISSING, "The privileged helper is missing.", hint="Install it.")
    if at_plan:
        fake.plan_error = error
    else:
        fake.apply_error, fake.fails_at = error, "mount"
    dialog = opened(driver)
    fill(driver, dialog)
    if not at_plan:
        button(dialog, "share-mount").click()
    problem = dialog._problem
    driver.wait(lambda: problem.sentences() == ["The privileged helper is missing.\nInstall it."])
    assert field(dialog, "share-mount-point").isEnabled()
    assert button(dialog, "share-mount").isEnabled() is not at_plan


def test_what_will_be_done_is_shown_on_request(driver: Driver, fake: FakeHost) -> None:
    fake.exports = ONE
    dialog = opened(driver)
    fill(driver, dialog)
    driver.wait(lambda: dialog._plan is not None)
    assert not dialog._view.isVisible()
    button(dialog, "share-what").click()
    assert dialog._view.isVisible()
    assert isinstance(dialog, QDialog)


def test_the_share_of_the_lab_is_there_at_once(driver: Driver, fake: FakeHost) -> None:
    driver.open("gigabit")
    driver.window._on_mount_share()
    dialog = driver.window._mount_share
    assert dialog is not None
    assert dialog.state().share == "10.9.0.1:/"
    assert dialog.state().mount_point == "/mnt/10.9.0.1"
    driver.wait(lambda: dialog._plan is not None)
    assert fake.asked("mounts.apply") == []
    dialog.reject()


def test_a_mount_does_not_wait_for_the_search_of_servers(driver: Driver, fake: FakeHost) -> None:
    fake.exports = ONE
    dialog = opened(driver)
    fill(driver, dialog)
    driver.wait(lambda: dialog._plan is not None)
    fake.hold.clear()
    dialog._browse_query.reset()
    dialog._browse_query.ask("local")
    driver.wait(lambda: dialog._browse_query.is_asking)
    dialog._on_mounted(ApplyReport(plan=dialog._plan))
    driver.wait(lambda: closed(driver))
    fake.hold.set()
    driver.qtbot.wait(50)  # the answer comes to a dialog that is gone

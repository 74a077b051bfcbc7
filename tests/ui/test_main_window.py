"""Main window with a fake host: visible widgets, clicks, and the requests that they send."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from fake_host import FakeHost, configured, mounted
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialog,
    QHeaderView,
    QLabel,
    QLineEdit,
    QListView,
    QMessageBox,
    QPushButton,
    QScrollArea,
    QTableView,
    QWidget,
)
from settings_steps import raw as option_string
from settings_steps import row as option_row

from app.errors import AppError, ErrorKind

if TYPE_CHECKING:
    from driver import Driver
    from pytestqt.qtbot import QtBot

# Hosts and the empty state


def test_without_mounts_the_lab_is_offered(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = []
    driver.open()
    assert driver.sees("empty-mount")
    assert not driver.sees("mounts")
    combo = driver.find(QComboBox, "empty-link")
    assert isinstance(combo, QComboBox)
    combo.setCurrentIndex(combo.findData("gigabit"))
    driver.click("empty-lab")
    driver.wait(lambda: driver.sees("share"))
    assert driver.window.session.key == "gigabit"
    assert driver.text_of("share") == "10.9.0.1:/"
    assert driver.text_of("mount-point") == "/mnt/lab"
    driver.click("mount")
    driver.wait(lambda: fake.asked("mounts.mount") != [])


def test_mount_a_share_from_the_empty_state_and_escape(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = []
    driver.open()
    driver.click("empty-mount")
    dialog = driver.find(QDialog, "mount-share")
    assert dialog.isVisible()
    assert not driver.find(QPushButton, "share-mount").isEnabled()
    driver.qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    driver.wait(lambda: driver.window.findChild(QDialog, "mount-share") is None)
    assert driver.sees("empty-mount")


def test_a_host_that_cannot_be_opened(qtbot: QtBot, driver: Driver) -> None:
    good = driver.window.session._opener

    def fail(_key: str, _token: object) -> object:
        raise AppError(ErrorKind.LAB_MISSING, "The lab needs user-mode-linux.", hint="Install it.")

    driver.window.session._opener = fail  # type: ignore[assignment]
    driver.window.open_host("gigabit")
    driver.wait(lambda: driver.message() == "The lab needs user-mode-linux.")
    assert driver.sees("starting-retry")
    driver.window.session._opener = good
    driver.click("starting-back")
    driver.wait(lambda: driver.sees("mounts"))
    assert driver.message() == ""


def test_an_agent_that_dies_is_told(driver: Driver) -> None:
    driver.open()
    host = driver.window.session._host
    assert host is not None
    host.client._transport.close()  # type: ignore[attr-defined]
    driver.wait(lambda: driver.message() != "")
    assert driver.sees("starting-retry")
    driver.click("starting-retry")
    driver.wait(lambda: driver.sees("mounts"))


def test_the_labs_link_is_switched_while_it_runs(driver: Driver, fake: FakeHost) -> None:
    driver.open("gigabit")
    combo = driver.find(QComboBox, "host")
    assert isinstance(combo, QComboBox)
    index = combo.findData("fast-ethernet")
    combo.setCurrentIndex(index)
    combo.activated.emit(index)
    driver.wait(lambda: driver.window.session.key == "fast-ethernet")
    assert [args.link for args in fake.asked("lab.link")] == ["fast-ethernet"]
    driver.wait(lambda: "10 Mbit/s" in driver.text_of("about-host"))


# The list


def test_the_list_follows_changes_by_itself(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    model = driver.window._mounts.model
    assert len(model.mounts()) == 2
    fake.set_mounts([mounted(), configured(), mounted("zeus:/z", "/z")])
    driver.wait(lambda: len(model.mounts()) == 3)
    current = driver.window._mounts.current()
    assert current is not None
    assert current.mount_point == "/home"
    fake.set_mounts([configured()])
    driver.wait(lambda: len(model.mounts()) == 1)
    driver.wait(lambda: (driver.window._mounts.current() or mounted()).mount_point == "/media")
    fake.set_mounts([])
    driver.wait(lambda: driver.sees("empty-mount"))


def test_f5_asks_again(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.wait(lambda: len(fake.asked("facts.get")) == 1)
    driver.qtbot.keySequence(driver.window, QKeySequence("F5"))
    driver.wait(lambda: len(fake.asked("facts.get")) == 2)


# Mounting


def fill(driver: Driver, share: str = "nas01:/new", point: str = "/mnt/new") -> None:
    for name, text in (("share", share), ("mount-point", point)):
        field = driver.find(QLineEdit, name)
        assert isinstance(field, QLineEdit)
        field.selectAll()
        driver.qtbot.keyClicks(field, text)


def test_new_mount_with_typed_options(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.window._on_new()
    driver.wait(lambda: driver.sees("share"))
    fill(driver)
    settings = driver.window._detail.settings
    option_row(settings, "rsize").editor.set_value("65536")
    option_row(settings, "timeo").editor.set_value("70")
    option_row(settings, "hard").editor.set_value("soft")
    raw = option_string(settings)
    assert driver.text_of("options") == "_netdev,nofail,rsize=65536,timeo=70,soft"
    driver.qtbot.keyClicks(raw, ",nconnect=4")
    # Options that only fstab knows are not part of a mount command.
    assert (
        driver.text_of("command")
        == "mount -t nfs -o rsize=65536,timeo=70,soft,nconnect=4 nas01:/new /mnt/new"
    )
    driver.click("mount")
    driver.wait(lambda: driver.window._mounts.current() is not None)
    (args,) = fake.asked("mounts.mount")
    assert (args.share, args.mount_point, args.options) == (
        "nas01:/new", "/mnt/new", "_netdev,nofail,rsize=65536,timeo=70,soft,nconnect=4")  # fmt: skip
    assert not driver.sees("share")
    assert option_row(settings, "rsize").cells.note().startswith("≠ In use: 262144 (256 KiB).")
    assert not driver.sees("mount")
    assert driver.sees("unmount")


def test_a_failed_mount_says_why_and_keeps_the_form(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    fake.mount_error = AppError(
        ErrorKind.ACCESS_DENIED, "Refused.", hint="Ask.", detail="mount.nfs: access denied"
    )
    driver.window._on_new()
    fill(driver)
    driver.click("mount")
    driver.wait(lambda: driver.message() == "Refused.")
    assert driver.text_of("share") == "nas01:/new"
    assert driver.find(QPushButton, "mount").isEnabled()
    driver.qtbot.keyClick(driver.window, Qt.Key.Key_Escape)
    driver.wait(lambda: driver.message() == "")


def test_a_wrong_value_is_said_before_anything_is_asked(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.window._on_new()
    fill(driver)
    option_row(driver.window._detail.settings, "rsize").editor.set_value("many")
    driver.click("mount")
    assert "many" in driver.message()
    assert fake.asked("mounts.mount") == []


def test_mounting_can_be_cancelled_and_the_window_stays_alive(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    fake.hold.clear()
    driver.window._on_new()
    fill(driver)
    driver.click("mount")
    driver.wait(lambda: driver.sees("cancel"))
    assert not driver.find(QPushButton, "mount").isEnabled()
    driver.click("cancel")
    driver.wait(lambda: not driver.sees("cancel"))
    assert driver.message() == "Cancelled."


def test_a_configured_mount_is_mounted_with_its_options(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.window._mounts.choose("nas01:/media", "/media")
    driver.click("mount")
    driver.wait(lambda: fake.asked("mounts.mount") != [])
    assert fake.asked("mounts.mount")[0].options == "vers=4.2"


def test_unmount_asks_first(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    view = driver.find(QListView, "mounts")
    view.setFocus()
    driver.qtbot.keyClick(view, Qt.Key.Key_Delete)
    driver.wait(lambda: driver.window.findChild(QMessageBox, "confirm") is not None)
    assert fake.asked("mounts.unmount") == []
    driver.agree()
    driver.wait(lambda: fake.asked("mounts.unmount") != [])
    driver.wait(lambda: "unmounted" in driver.message())


@pytest.mark.parametrize(("kind", "flag"), [(ErrorKind.BUSY, "lazy"), (ErrorKind.NOT_RESPONDING, "force")])
def test_an_unmount_that_is_stuck_offers_a_way_on_and_asks(
    driver: Driver, fake: FakeHost, kind: ErrorKind, flag: str
) -> None:
    driver.open()
    fake.unmount_error = AppError(kind, "It does not go.", hint="Close it.")
    driver.click("unmount")
    driver.agree()
    driver.wait(lambda: driver.message() == "It does not go.")
    driver.click("banner-action")
    assert len(fake.asked("mounts.unmount")) == 1
    driver.wait(lambda: driver.window.findChild(QMessageBox, "confirm") is not None)
    # After a failed forced unmount, the banner offers no further action.
    driver.agree()
    driver.wait(lambda: len(fake.asked("mounts.unmount")) == 2)
    assert getattr(fake.asked("mounts.unmount")[1], flag)
    driver.wait(lambda: driver.message() == "It does not go.")
    assert not driver.sees("banner-action")


def test_another_failure_offers_nothing(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    fake.unmount_error = AppError(ErrorKind.NOT_AUTHORIZED, "Refused.")
    driver.click("unmount")
    driver.agree()
    driver.wait(lambda: driver.message() == "Refused.")
    assert not driver.sees("banner-action")


def test_unfinished_edits_survive_a_snapshot(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    editor = option_row(driver.window._detail.settings, "wsize").editor
    editor.set_value("65536")
    fake.set_mounts([msgspec.structs.replace(mounted(), state="not-responding"), configured()])
    driver.wait(lambda: (driver.window._mounts.current() or mounted()).state == "not-responding")
    assert editor.value() == "65536"


# Keyboard and readability


def test_everything_that_takes_the_focus_has_a_name(driver: Driver) -> None:
    driver.open()
    for name in ("Overview", "Settings", "Test", "Live"):
        driver.tab(name)
        for widget in driver.window.findChildren(QWidget):
            if not widget.isVisible() or widget.focusPolicy() == Qt.FocusPolicy.NoFocus:
                continue
            if widget.objectName().startswith("qt_") or isinstance(
                widget.parent(), QComboBox | QAbstractSpinBox
            ):
                continue
            if not isinstance(widget, QAbstractButton | QComboBox | QLineEdit | QAbstractSpinBox | QListView):
                continue
            text = widget.text() if isinstance(widget, QAbstractButton) else ""
            assert widget.accessibleName() or text or _buddy(driver.window, widget), widget.objectName()


def test_titles_and_corners_of_tables_have_names(driver: Driver) -> None:
    driver.open()
    for name in ("Test", "Experiments", "Live", "History"):
        driver.tab(name)
    tables = driver.window.findChildren(QTableView)
    assert len(tables) >= 5
    for table in tables:
        for part in (*table.findChildren(QHeaderView), *table.findChildren(QAbstractButton)):
            assert part.accessibleName(), table.accessibleName()


def _buddy(window: QWidget, widget: QWidget) -> bool:
    return any(label.buddy() in (widget, widget.parent()) for label in window.findChildren(QLabel))


def test_no_label_is_clipped(driver: Driver) -> None:
    driver.open()
    for name in ("Overview", "Settings", "Test", "Live"):
        driver.tab(name)
        # An answer that arrives meanwhile changes texts, and the layout follows a moment later.
        driver.wait(lambda: _clipped(driver.window) == [])


def _clipped(window: QWidget) -> list[str]:
    """Return the texts of visible labels and buttons that are narrower than their text."""
    labels = [each for each in window.findChildren(QLabel) if each.text() and not each.wordWrap()]
    return [
        *(each.text() for each in labels if each.isVisible() and each.width() < each.sizeHint().width() - 1),
        *(
            each.text()
            for each in window.findChildren(QPushButton)
            if each.isVisible() and each.width() < each.minimumSizeHint().width() - 1
        ),
    ]


def test_the_settings_fit_a_small_screen(driver: Driver) -> None:
    driver.window.resize(1000, 700)
    driver.open()
    QApplication.processEvents()
    area = driver.window._detail.settings.findChild(QScrollArea)
    assert area is not None
    assert not area.horizontalScrollBar().isVisible()
    minimum = driver.window.minimumSizeHint()
    assert minimum.width() <= 1000
    assert minimum.height() <= 650


def test_an_old_message_goes_when_something_new_begins(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.window.show_error(AppError(ErrorKind.IO, "Old."))
    driver.tab("Test")
    driver.click("start")
    driver.wait(lambda: driver.sees("test-result"))
    assert driver.message() == ""


def test_a_share_is_shown_as_it_is(driver: Driver, fake: FakeHost) -> None:
    """Labels show a server name with markup characters literally."""
    fake.mounts = [mounted("<b>x</b>:/<i>y</i>", "/<u>z</u>")]
    driver.open()
    for label in driver.window.findChildren(QLabel):
        if "<" in label.text():
            assert label.textFormat() == Qt.TextFormat.PlainText
    tip = driver.window._mounts.model.first().data(Qt.ItemDataRole.ToolTipRole)
    assert "<b>" not in tip
    assert "&lt;b&gt;" in tip


def test_the_keys_of_the_commands(driver: Driver) -> None:
    keys = {action.objectName(): action.shortcut().toString() for action in driver.window.actions()}
    assert keys["action-new"] == "Ctrl+N"
    assert keys["action-refresh"] == "F5"
    assert keys["action-dismiss"] == "Esc"
    assert keys["action-help"] == "F1"
    assert keys["action-preferences"] == "Ctrl+,"
    assert keys["action-shortcuts"] == "Ctrl+?"
    assert keys["action-palette"] == "Ctrl+K"


def test_the_list_is_filtered_and_the_choice_stays(driver: Driver) -> None:
    driver.open()
    panel = driver.window._mounts
    chosen = panel.current()
    driver.qtbot.keySequence(driver.window, QKeySequence("Ctrl+L"))
    field = driver.window.findChild(QLineEdit, "filter")
    assert field is not None
    driver.wait(field.hasFocus)
    driver.qtbot.keyClicks(field, "MEDIA not")
    assert [mount.mount_point for mount in panel.model.mounts()] == ["/media"]
    assert driver.text_of("filter-count") == "1 of 2"
    assert panel.current() == chosen
    driver.qtbot.keyClicks(field, " zzz")
    assert panel.model.mounts() == []
    assert driver.text_of("filter-count") == "None of the 2 mounts has this."
    driver.fake.set_mounts([*driver.fake.mounts, mounted("zzz:/media", "/not", "")])
    driver.wait(lambda: [mount.share for mount in panel.model.mounts()] == ["zzz:/media"])
    assert panel.current() == chosen
    driver.qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert len(panel.model.mounts()) == 3
    assert panel.current() == chosen
    assert not driver.sees("filter-count")

"""Drafts survive Esc, other selections and other hosts, and end when they are mounted or discarded."""

from __future__ import annotations

import stat
import threading
from typing import TYPE_CHECKING

import pytest
from driver import Driver
from fake_host import FakeHost, mounted
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QPushButton
from settings_steps import row as option_row

from app.errors import AppError, ErrorKind
from app.files.user_directories import state_directory
from app.mounts.drafts import DraftFile
from ui.settings.form_state import FormState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytestqt.qtbot import QtBot


def type_share(driver: Driver, share: str = "nosuchserver:/a") -> None:
    field = driver.find(QLineEdit, "share")
    assert isinstance(field, QLineEdit)
    field.setFocus()
    field.selectAll()
    driver.qtbot.keyClicks(field, share)


def row(driver: Driver) -> QPushButton:
    found = driver.find(QPushButton, "draft")
    assert isinstance(found, QPushButton)
    return found


@pytest.fixture
def draft(driver: Driver) -> Driver:
    driver.open()
    driver.window._on_new()
    type_share(driver)
    return driver


def test_esc_keeps_the_input(draft: Driver) -> None:
    for _ in range(3):
        draft.qtbot.keyClick(draft.window, Qt.Key.Key_Escape)
    assert draft.text_of("share") == "nosuchserver:/a"
    assert row(draft).isVisible()
    assert row(draft).accessibleName() == "Draft: nosuchserver:/a"
    assert row(draft).isChecked()


def test_esc_leaves_an_unedited_form_without_a_draft(driver: Driver) -> None:
    driver.open()
    driver.window._on_new()
    assert not row(driver).isVisible()
    assert not driver.find(QPushButton, "discard").isVisible()
    driver.qtbot.keyClick(driver.window, Qt.Key.Key_Escape)
    driver.wait(lambda: driver.window._mounts.current() is not None)


def test_a_draft_survives_another_selection(draft: Driver) -> None:
    option_row(draft.window._detail.settings, "rsize").editor.set_value("65536")
    draft.window._mounts.choose_first()
    assert not row(draft).isChecked()
    row(draft).click()
    assert draft.text_of("share") == "nosuchserver:/a"
    assert "rsize=65536" in draft.window._detail.settings.request().options
    draft.window._mounts.choose_first()
    draft.window._on_new()  # the row of the draft shows the form
    assert draft.text_of("share") == "nosuchserver:/a"


def test_a_draft_survives_another_host(draft: Driver, fake: FakeHost) -> None:
    draft.window._on_host_chosen("gigabit")
    draft.wait(lambda: draft.window.session.key == "gigabit" and draft.window._table is not None)
    assert not row(draft).isVisible()
    draft.window._on_host_chosen("")
    draft.wait(lambda: draft.window.session.key == "" and draft.window._table is not None)
    draft.wait(row(draft).isVisible)
    row(draft).click()
    assert draft.text_of("share") == "nosuchserver:/a"


def test_edits_of_a_mount_survive_another_selection(driver: Driver) -> None:
    driver.open()
    settings = driver.window._detail.settings
    first, second = (row.mount_point for row in driver.window._table.mounts)  # type: ignore[union-attr]
    shares = {row.mount_point: row.share for row in driver.window._table.mounts}  # type: ignore[union-attr]
    driver.window._mounts.choose(shares[first], first)
    option_row(settings, "wsize").editor.set_value("65536")
    driver.window._mounts.choose(shares[second], second)
    assert not settings.dirty
    driver.window._mounts.choose(shares[first], first)
    assert settings.dirty
    assert "wsize=65536" in settings.request().options


def test_a_button_discards_the_draft(draft: Driver) -> None:
    button = draft.find(QPushButton, "discard")
    assert isinstance(button, QPushButton)
    assert button.isVisible()
    button.click()
    assert not row(draft).isVisible()
    assert draft.window._mounts.current() is not None
    draft.window._on_new()
    assert draft.text_of("share") == ""


def test_mounting_ends_the_draft(draft: Driver, fake: FakeHost) -> None:
    draft.window._detail.settings.load_entry("nas01:/export/home", "/new", "vers=4.2")
    draft.click("mount")
    draft.wait(lambda: fake.asked("mounts.mount") != [])
    draft.wait(lambda: not row(draft).isVisible())


def test_a_draft_is_listed_without_any_mounts(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = []
    driver.open()
    driver.click("empty-mount")
    type_share(driver)
    assert row(driver).isVisible()
    driver.find(QPushButton, "discard").click()  # type: ignore[attr-defined]
    driver.wait(lambda: driver.sees("empty-mount"))
    assert not row(driver).isVisible()


def test_a_paste_over_a_draft_can_be_undone(draft: Driver) -> None:
    draft.window._draft("other:/b", "/mnt/b")
    draft.window._detail.settings.load_entry("other:/b", "/mnt/b", "vers=3")
    assert draft.text_of("share") == "other:/b"
    draft.window._detail.settings._history.undo()
    assert draft.text_of("share") == "nosuchserver:/a"


def test_a_new_mount_table_keeps_the_draft(draft: Driver, fake: FakeHost) -> None:
    fake.set_mounts([mounted()])
    draft.wait(lambda: len(draft.window._table.mounts) == 1)  # type: ignore[union-attr]
    assert draft.text_of("share") == "nosuchserver:/a"
    assert row(draft).isChecked()


def test_no_test_is_offered_for_an_unknown_server(driver: Driver, fake: FakeHost) -> None:
    fake.discover_error = AppError(ErrorKind.SERVER_UNKNOWN, "The server nosuchserver is unknown.")
    driver.open()
    driver.window._on_new()
    type_share(driver)
    driver.wait(lambda: driver.window._detail.settings.unknown_server != "")
    driver.tab("Test")
    assert driver.text_of("plan") == "The server nosuchserver is unknown."
    start = driver.find(QPushButton, "start")
    assert not start.isEnabled()
    fake.discover_error = None
    driver.tab("Settings")
    type_share(driver, "nas01:/export/home")
    driver.tab("Test")
    driver.wait(start.isEnabled)


@pytest.fixture
def start_again(qtbot: QtBot, fake: FakeHost) -> Iterator[Callable[[Driver], Driver]]:
    """Return a function that closes a window and opens another one."""
    made: list[Driver] = []

    def start(before: Driver) -> Driver:
        before.window.close()
        made.append(Driver(qtbot, fake))
        made[-1].open()
        return made[-1]

    yield start
    for driver in made:
        driver.window.close()
        driver.window.deleteLater()


def test_a_draft_is_restored_at_the_next_start(
    draft: Driver, fake: FakeHost, start_again: Callable[[Driver], Driver]
) -> None:
    draft.window._detail.settings.load_entry("nosuchserver:/a", "/mnt/a", "vers=4.2,ro", 1024)
    again = start_again(draft)
    again.wait(row(again).isVisible)
    assert not row(again).isChecked()  # the draft is listed, but not shown
    assert row(again).accessibleName() == "Draft: nosuchserver:/a"
    row(again).click()
    assert again.window._detail.settings.unfinished == FormState(
        "nosuchserver:/a", "/mnt/a", "vers=4.2,ro", 1024
    )
    path = DraftFile.path()
    assert path.is_relative_to(state_directory())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again.find(QPushButton, "discard").click()  # type: ignore[attr-defined]
    third = start_again(again)
    third.wait(lambda: third.window._drafts._loaded)
    assert not row(third).isVisible()
    assert not path.exists()


def test_a_mounted_draft_is_not_restored(
    draft: Driver, fake: FakeHost, start_again: Callable[[Driver], Driver]
) -> None:
    draft.window._detail.settings.load_entry("nas01:/export/home", "/new", "vers=4.2")
    draft.wait(DraftFile.path().exists)  # it is saved while the window is open, too
    draft.click("mount")
    draft.wait(lambda: not row(draft).isVisible())
    again = start_again(draft)
    again.wait(lambda: again.window._drafts._loaded)
    assert not row(again).isVisible()


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Return an event that lets the blocked read of the draft file continue."""
    read, may = DraftFile.read, threading.Event()

    def slow(file: DraftFile) -> object:
        may.wait()
        return read(file)

    monkeypatch.setattr(DraftFile, "read", slow)
    return may


def test_saved_drafts_are_loaded_into_an_open_form(
    draft: Driver, answer: threading.Event, start_again: Callable[[Driver], Driver]
) -> None:
    again = start_again(draft)
    again.window._on_new()
    assert again.text_of("share") == ""
    answer.set()
    again.wait(lambda: again.text_of("share") == "nosuchserver:/a")
    assert row(again).isChecked()


def test_input_before_the_drafts_are_read_wins(
    draft: Driver, answer: threading.Event, start_again: Callable[[Driver], Driver]
) -> None:
    again = start_again(draft)
    again.window._on_new()
    type_share(again, "other:/b")
    answer.set()
    again.wait(lambda: again.window._drafts._loaded)
    assert again.text_of("share") == "other:/b"
    third = start_again(again)
    third.wait(row(third).isVisible)
    assert row(third).accessibleName() == "Draft: other:/b"


def test_a_directory_that_cannot_be_written_is_reported_once(draft: Driver) -> None:
    state_directory().parent.mkdir(parents=True, exist_ok=True)
    state_directory().write_text("in the way")
    draft.wait(lambda: draft.message() == "The file of drafts could not be written.")
    draft.window._banner.dismiss()
    type_share(draft, "other:/b")
    draft.wait(lambda: not draft.window._drafts._pause.isActive())
    draft.qtbot.wait(100)
    assert draft.message() == ""


def test_edits_of_a_mount_are_not_saved(driver: Driver, start_again: Callable[[Driver], Driver]) -> None:
    driver.open()
    option_row(driver.window._detail.settings, "wsize").editor.set_value("65536")
    assert driver.window._detail.settings.dirty
    again = start_again(driver)
    again.wait(lambda: again.window._drafts._loaded)
    assert not again.window._detail.settings.dirty
    assert not DraftFile.path().exists()

"""Bar of unapplied changes: on every page, only with changes, with what was changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from apply_steps import shown
from settings_steps import row as option_row

from ui.apply.dialog import ApplyDialog

if TYPE_CHECKING:
    from driver import Driver


@pytest.mark.parametrize("page", ["Overview", "Settings", "Test", "Experiments", "Live", "History"])
def test_changes_are_shown_on_every_page(driver: Driver, page: str) -> None:
    driver.open()
    assert not driver.sees("pending-bar")
    driver.window._detail.settings.load_entry("", "", "rsize=65536,nconnect=4")
    driver.tab(page)
    assert driver.sees("pending-bar")
    assert driver.text_of("pending-text") == "2 changes not applied: Read size, Connections"


def test_one_change_is_said_in_the_singular(driver: Driver) -> None:
    driver.open()
    option_row(driver.window._detail.settings, "wsize").editor.set_value("65536")
    driver.wait(lambda: driver.sees("pending-bar"))
    assert driver.text_of("pending-text") == "1 change not applied: Write size"


def test_readahead_counts_as_a_change(driver: Driver) -> None:
    driver.open()
    settings = driver.window._detail.settings
    settings.load_entry("", "", settings.request().options, 1024)
    assert driver.text_of("pending-text") == "1 change not applied: Readahead"


def test_undo_all_takes_back_every_change(driver: Driver) -> None:
    driver.open()
    settings = driver.window._detail.settings
    before = settings.request()
    settings.load_entry("", "", "rsize=65536", 1024)
    driver.click("undo-all")
    assert settings.request() == before
    assert not driver.sees("pending-bar")


def test_apply_opens_the_preview(driver: Driver) -> None:
    driver.open(page="History")
    driver.window._detail.settings.load_entry("", "", "timeo=100")
    driver.click("apply")
    shown(driver, ApplyDialog).reject()


def test_the_form_of_a_new_mount_has_no_bar(driver: Driver) -> None:
    driver.open()
    driver.window._on_new()
    driver.window._detail.settings.load_entry("nas01:/a", "/mnt/a", "rsize=65536")
    assert not driver.sees("pending-bar")
    assert driver.sees("mount-and-save")


def test_a_mount_that_is_not_saved_offers_it(driver: Driver) -> None:
    driver.open()
    assert driver.sees("save")
    driver.click("save")
    shown(driver, ApplyDialog).reject()
    driver.window._mounts.choose("nas01:/media", "/media")
    assert not driver.sees("save")

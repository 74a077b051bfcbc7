"""Dialog about programs that block an unmount: the list of programs and the choices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from apply_steps import choose, do, gone, legible, open_apply, part, shown
from fake_host import BASH, MYSQL, FakeHost
from PySide6.QtWidgets import (
    QLabel,
    QRadioButton,
    QTableWidget,
    QWidget,
)
from waiting import DEADLINE_MS

from app.errors import AppError, ErrorKind
from ui.apply.dialog import ApplyDialog
from ui.apply.questions import BusyDialog, KeepDialog
from ui.common.message_list import MessageList

if TYPE_CHECKING:
    from typing import TypeVar

    from driver import Driver

    D = TypeVar("D", bound=QWidget)


def test_blocking_programs_are_listed_with_the_choices(driver: Driver, fake: FakeHost) -> None:
    fake.holders = [BASH, MYSQL]
    dialog = open_apply(driver)
    assert part(dialog, MessageList, "plan-holders").sentences()[0] == "bash (4242, ada): working directory"
    do(dialog, "apply-do")
    question = shown(driver, BusyDialog)
    table = part(question, QTableWidget, "busy-holders")
    assert [table.item(1, column).text() for column in range(4)] == [
        "mysqld", "17", "mysql", "open file /home/db/ibdata1"]  # fmt: skip
    assert fake.asked("mounts.apply") == []
    # One process belongs to another user, and the change is not saved.
    assert not part(question, QRadioButton, "busy-stop").isEnabled()
    assert not part(question, QRadioButton, "busy-next-boot").isEnabled()
    do(question, "busy-close")
    gone(driver, BusyDialog)
    assert fake.asked("mounts.apply") == []
    dialog.reject()
    gone(driver, ApplyDialog)


@pytest.mark.parametrize("choice", ["wait", "next-boot", "stop", "lazy"])
def test_the_chosen_action_is_applied(driver: Driver, fake: FakeHost, choice: str) -> None:
    fake.holders = [BASH]
    fake.hold.clear()
    dialog = open_apply(driver)
    choose(driver, dialog, "keeper-fstab")
    do(dialog, "apply-do")
    question = shown(driver, BusyDialog)
    choose(driver, question, f"busy-{choice}")
    do(question, "busy-go-on")
    gone(driver, BusyDialog)
    driver.wait(lambda: fake.asked("mounts.apply") != [])
    assert fake.asked("mounts.apply")[0].busy == choice
    if choice == "wait":
        driver.wait(lambda: part(dialog, MessageList, "plan-holders").sentences() != [])
        assert "Waiting" in part(dialog, QLabel, "apply-status").text()
    fake.hold.set()
    do(shown(driver, KeepDialog), "keep-keep")
    gone(driver, ApplyDialog)


def test_a_mount_that_is_busy_only_at_the_unmount(driver: Driver, fake: FakeHost) -> None:
    """A program can open a file after the plan was made, or the plan may lack the permission to see it."""
    dialog = open_apply(driver)
    fake.apply_error = AppError(ErrorKind.BUSY, "/home is in use.")
    fake.fails_at = "unmount"
    fake.holders = [MYSQL]
    do(dialog, "apply-do")
    question = shown(driver, BusyDialog)
    table = part(question, QTableWidget, "busy-holders")
    assert table.item(0, 0).text() == "mysqld"
    fake.apply_error = None
    choose(driver, question, "busy-lazy")
    do(question, "busy-go-on")
    do(shown(driver, KeepDialog), "keep-keep")
    gone(driver, ApplyDialog)
    assert [args.busy for args in fake.asked("mounts.apply")] == ["ask", "lazy"]


def test_another_busy_error_is_only_shown(driver: Driver, fake: FakeHost) -> None:
    dialog = open_apply(driver)
    fake.apply_error = AppError(ErrorKind.BUSY, "Another change is being made at this moment.")
    do(dialog, "apply-do")
    driver.wait(lambda: dialog.view.problem() != "")
    assert driver.window.findChild(BusyDialog) is None
    dialog.reject()
    gone(driver, ApplyDialog)


# Unknown programs


def test_without_known_programs_stopping_them_is_disabled(driver: Driver) -> None:
    driver.open()
    question = BusyDialog(driver.window, "/home", [], can_wait_for_start=True, wait_s=60)
    question.open()
    legible(question)
    assert question.findChild(QTableWidget) is None
    assert not part(question, QRadioButton, "busy-stop").isEnabled()
    assert part(question, QRadioButton, "busy-next-boot").isEnabled()
    with driver.qtbot.waitSignal(question.chosen, timeout=DEADLINE_MS) as waited:
        do(question, "busy-go-on")
    assert waited.args == ["wait"]

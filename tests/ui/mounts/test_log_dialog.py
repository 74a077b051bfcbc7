"""Log dialog: opened by a button of the mount's header."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fake_host import mounted
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QLabel, QPushButton

from app.errors import AppError, ErrorKind
from app.mounts.model import LogLine, MountLog
from ui.common.text_view import TextView
from ui.mounts.log_dialog import LogDialog

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost

    from app.service.server import Context

LINES = [
    LogLine(time_s=1790000000.0 + number, program="kernel", priority=4, text=text)
    for number, text in enumerate(("nfs: server nas01 not responding", "nfs: server nas01 OK"))
]


class Logs:
    """Agent's answers with log lines."""

    def __init__(self, fake: FakeHost) -> None:
        self.answer: MountLog | AppError = MountLog(lines=LINES, source="journal")
        self.asked: list[Any] = []
        real = fake.handlers
        fake.handlers = lambda: {**real(), "mounts.log": self.log}  # type: ignore[method-assign]

    def log(self, args: Any, _context: Context) -> MountLog:
        self.asked.append(args)
        if isinstance(self.answer, AppError):
            raise self.answer
        return self.answer


@pytest.fixture
def logs(fake: FakeHost) -> Logs:
    return Logs(fake)


def opened(driver: Driver, fake: FakeHost) -> LogDialog:
    fake.set_mounts([mounted()])
    driver.open()
    driver.wait(lambda: driver.offers("log"))
    driver.trigger("log")
    dialog = driver.window.findChild(LogDialog)
    assert dialog is not None
    return dialog


def lines_of(dialog: LogDialog) -> TextView:
    found = dialog.findChild(TextView, "log-lines")
    assert found is not None
    return found


def test_the_lines_are_shown_and_copied(driver: Driver, fake: FakeHost, logs: Logs) -> None:
    dialog = opened(driver, fake)
    driver.wait(lambda: "nas01 OK" in lines_of(dialog).toPlainText())
    assert lines_of(dialog).toPlainText().count("\n") == 1
    assert logs.asked[0].mount_point == "/home"
    copy = dialog.findChild(QPushButton, "log-copy")
    assert copy is not None
    copy.click()
    assert QGuiApplication.clipboard().text() == lines_of(dialog).toPlainText() + "\n"
    dialog.reject()


def test_another_period_is_requested(driver: Driver, fake: FakeHost, logs: Logs) -> None:
    dialog = opened(driver, fake)
    driver.wait(lambda: "nas01 OK" in lines_of(dialog).toPlainText())
    since = dialog.findChild(QComboBox, "log-since")
    assert since is not None
    since.setCurrentIndex(2)
    driver.wait(lambda: [args.since_s for args in logs.asked] == [86400.0, 7 * 86400.0])
    dialog.reject()


def test_a_missing_permission_is_explained(driver: Driver, fake: FakeHost, logs: Logs) -> None:
    logs.answer = MountLog(lines=[], source="forbidden", group="systemd-journal")
    dialog = opened(driver, fake)
    status = dialog.findChild(QLabel, "log-told")
    assert status is not None
    driver.wait(lambda: "usermod -aG systemd-journal" in status.text())
    copy = dialog.findChild(QPushButton, "log-copy")
    assert copy is not None
    assert not copy.isEnabled()
    dialog.reject()


def test_a_failure_is_shown_in_the_dialog(driver: Driver, fake: FakeHost, logs: Logs) -> None:
    logs.answer = AppError(ErrorKind.NOT_MOUNTED, "There is no such mount.", hint="Look again.")
    dialog = opened(driver, fake)
    driver.wait(lambda: dialog._problem.text() == "There is no such mount. Look again.")
    dialog.reject()

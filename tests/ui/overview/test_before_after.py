"""Try It and Measure: one question, three stages, bars, then keep for good or undo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from before_after_steps import HOME, begin, offered, question
from fake_host import BASH, mounted, result
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton, QWidget

from app.errors import AppError, ErrorKind
from app.history.last_test import find_last_tests
from app.mounts.model import Approval
from app.speedtest.model import Sample, TestEvent
from ui.common.cards import BarComparison
from ui.common.style import PRIMARY
from ui.overview.before_after import BeforeAfterCard, BeforeAfterDialog
from ui.overview.stages import StageBar

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost

MEDIA = mounted("nas02:/media", "/media", "vers=4.2,timeo=100")
SAMPLES = [
    TestEvent(direction="write", phase="write", total=2**23),
    *[
        TestEvent(direction="write", phase="write", sample=Sample(i * 0.05, i * 2**17, i * 2**17))
        for i in range(1, 9)
    ],
]


def title(driver: Driver) -> str:
    card = driver.window.findChild(BeforeAfterCard)
    assert card is not None
    return card._headline.title()


def words(dialog: QWidget) -> str:
    return "\n".join(label.text() for label in dialog.findChildren(QLabel) if not label.isHidden())


def primary_buttons(driver: Driver) -> list[str]:
    page = driver.window._detail.overview
    buttons = page.findChildren(QPushButton)
    return [button.objectName() for button in buttons if button.isVisible() and button.property(PRIMARY)]


def proven(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME, MEDIA]
    offered(driver, fake)
    begin(driver)
    driver.wait(lambda: driver.sees("before-after-keep"))


def test_one_question_names_the_change_and_what_is_written(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    fake.holders = [BASH]
    offered(driver, fake)
    dialog = question(driver)
    text = words(dialog)
    assert "Try It on /home?" in text
    assert "Interrupts /home for about 1 s." in text
    assert "Read size 8 KiB → default" in text
    assert "64 MiB are written there and removed again. It takes about " in text
    assert "The old values return by themselves unless a gain is proven." in text
    assert "bash (4242)" in text
    assert "/media" in text
    steps = dialog.findChild(QPlainTextEdit, "before-after-steps")
    assert steps is not None
    assert "umount /home" in steps.toPlainText()
    driver.qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    driver.wait(lambda: driver.window.findChild(BeforeAfterDialog) is None)
    assert fake.asked("before-after.run") == []


def test_edits_that_were_not_applied_are_not_tried(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    offered(driver, fake)
    driver.window._detail.settings.load_entry("", "", "rsize=8192,hard,timeo=300")
    driver.wait(lambda: "timeo=300" in (fake.asked("advice.get")[-1].options or ""))
    question(driver).reject()
    assert fake.asked("before-after.plan")[0].options is None
    assert fake.asked("mounts.plan")[-1].options == "hard"


def test_enter_starts_the_test_and_the_stages_follow(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    fake.events = SAMPLES
    offered(driver, fake)
    fake.hold.clear()
    dialog = question(driver)
    driver.qtbot.keyClick(dialog, Qt.Key.Key_Return)
    driver.wait(lambda: driver.sees("before-after-stop"))
    assert title(driver) == "Measuring /home"
    assert not driver.sees("overview-headline-card")
    stages = driver.find(StageBar, "before-after-stages")
    assert isinstance(stages, StageBar)
    assert stages.accessibleName() == "Stage: Before"
    driver.wait(lambda: driver.text_of("before-after-left") == "about 20 s left")
    card = driver.window.findChild(BeforeAfterCard)
    assert card is not None
    driver.wait(lambda: card._plot is not None and card._plot.top() > 0)
    assert driver.window._detail.busy
    fake.hold.set()
    driver.wait(lambda: driver.sees("before-after-keep"))
    assert not driver.window._detail.busy
    asked = fake.asked("before-after.run")[0]
    assert (asked.change.mount_point, asked.change.options) == ("/home", "hard")


def test_a_proven_gain_has_bars_and_two_buttons(driver: Driver, fake: FakeHost) -> None:
    fake.trial_speeds = (4e6, 8.8e6)
    proven(driver, fake)
    assert title(driver) == "Writing is 2.2 times as fast"
    driver.wait(lambda: primary_buttons(driver) == ["before-after-keep"])
    bars = driver.window.findChild(BeforeAfterCard).findChildren(BarComparison)  # type: ignore[union-attr]
    assert [bar.accessibleDescription() for bar in bars] == ["Before: 4 MB/s\nAfter: 8.8 MB/s"] * 2
    driver.wait(lambda: "saves this in /etc/fstab" in driver.text_of("before-after-note"))
    driver.wait(lambda: bool(fake.asked("advice.get")[-1].measured))
    (finding,) = fake.asked("advice.get")[-1].measured
    assert (finding.option, finding.value, finding.status) == ("rsize", None, "confirmed")


def test_a_gain_is_kept_for_good(driver: Driver, fake: FakeHost) -> None:
    proven(driver, fake)
    driver.wait(lambda: driver.sees("before-after-show-files"))
    driver.click("before-after-keep")
    driver.wait(lambda: title(driver) == "Kept for good")
    (asked,) = fake.asked("mounts.apply")
    assert (asked.keeper, asked.options, asked.exact) == ("fstab", "hard", False)
    assert asked.expected_sha256 == "f00d"
    assert not driver.sees("before-after-keep")
    driver.click("before-after-undo")
    driver.wait(lambda: title(driver) == "The old settings are back")
    (restored,) = fake.asked("mounts.restore")
    assert restored.settings.options == "rsize=8192,hard"
    driver.click("before-after-close")
    driver.wait(lambda: driver.sees("overview-headline-card"))
    assert not driver.sees("before-after")


def test_a_gain_is_undone_without_saving_it(driver: Driver, fake: FakeHost) -> None:
    proven(driver, fake)
    driver.click("before-after-undo")
    driver.wait(lambda: title(driver) == "The old settings are back")
    assert fake.asked("mounts.apply") == []


@pytest.mark.parametrize(
    ("speeds", "text"), [((4e6, 4e6), "No difference"), ((4e6, 2e6), "Slower with the new settings")]
)
def test_without_a_proven_gain_nothing_stays(
    driver: Driver, fake: FakeHost, speeds: tuple[float, float], text: str
) -> None:
    fake.mounts = [HOME]
    fake.trial_speeds = speeds
    offered(driver, fake)
    begin(driver)
    driver.wait(lambda: driver.sees("before-after-close"))
    assert title(driver) == text
    assert not driver.sees("before-after-keep")
    assert not driver.sees("before-after-undo")
    # The change is not offered once more.
    driver.click("before-after-close")
    driver.wait(lambda: driver.sees("overview-headline-card") and not driver.sees("overview-try"))


def test_a_test_can_be_stopped(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    offered(driver, fake)
    fake.hold.clear()
    begin(driver)
    driver.wait(lambda: driver.sees("before-after-stop"))
    driver.click("before-after-stop")
    driver.wait(lambda: title(driver) == "Stopped")
    assert not driver.window._detail.busy
    driver.click("before-after-close")
    driver.wait(lambda: driver.sees("overview-try"))


@pytest.mark.parametrize(("step", "shown"), [("plan", ""), ("run", "The test failed")])
def test_an_error_is_shown(driver: Driver, fake: FakeHost, step: str, shown: str) -> None:
    fake.mounts = [HOME]
    fake.trial_errors[step] = AppError(ErrorKind.IO, "The copy failed.")
    offered(driver, fake)
    if step == "plan":
        driver.click("overview-try")
    else:
        begin(driver)
        driver.wait(lambda: title(driver) == shown)
    driver.wait(lambda: "The copy failed." in driver.message())
    assert not driver.window._detail.busy


def test_a_failed_undo_leaves_the_buttons(driver: Driver, fake: FakeHost) -> None:
    proven(driver, fake)
    fake.trial_errors["restore"] = AppError(ErrorKind.BUSY, "It is in use.")
    driver.click("before-after-undo")
    driver.wait(lambda: "It is in use." in driver.message())
    driver.wait(lambda: driver.find(QPushButton, "before-after-undo").isEnabled())


def test_the_result_stays_with_the_tested_mount(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME, MEDIA]
    offered(driver, fake)
    fake.hold.clear()
    begin(driver)
    driver.wait(lambda: driver.sees("before-after-stop"))
    assert driver.window._mounts.choose("nas02:/media", "/media")
    driver.wait(lambda: not driver.sees("before-after") and driver.sees("overview-headline-card"))
    fake.hold.set()
    driver.wait(lambda: not driver.window._detail.busy)
    assert not driver.sees("before-after")
    assert driver.window._mounts.choose("nas01:/export/home", "/home")
    driver.wait(lambda: driver.sees("before-after-keep"))


def test_an_administrator_s_approval_is_read_before_it_is_given(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    fake.approval = Approval(reasons=["The place belongs to the system."], mounts=True)
    offered(driver, fake)
    assert "The place belongs to the system." in words(question(driver))
    dialog = driver.window.findChild(BeforeAfterDialog)
    assert dialog is not None
    driver.qtbot.keyClick(dialog, Qt.Key.Key_Return)
    driver.wait(lambda: driver.sees("before-after-keep"))
    assert fake.asked("before-after.run")[0].change.approved
    driver.wait(lambda: "The place belongs to the system." in driver.text_of("before-after-note"))
    driver.click("before-after-keep")
    driver.wait(lambda: title(driver) == "Kept for good")
    assert fake.asked("mounts.apply")[0].approved


def test_another_host_forgets_the_test(driver: Driver, fake: FakeHost) -> None:
    proven(driver, fake)
    driver.window.open_host("fast-ethernet")
    driver.wait(lambda: driver.window.session.key == "fast-ethernet" and driver.window._table is not None)
    driver.wait(lambda: not driver.sees("before-after"))


def test_the_tests_are_saved_in_the_history(driver: Driver, fake: FakeHost) -> None:
    fake.result = msgspec.structs.replace(result(), as_copy=True)
    proven(driver, fake)
    saved: list[Any] = []

    def are_saved() -> bool:
        saved[:] = find_last_tests("nas01:/export/home", "gigabit")
        return len(saved) == 8

    driver.wait(are_saved)

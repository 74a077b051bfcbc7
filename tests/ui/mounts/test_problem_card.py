"""Problem card: a server that does not respond, a stale mount, the waiting processes, and the remedies."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from fake_host import BASH, mounted
from PySide6.QtWidgets import QLabel, QPushButton

from app.errors import AppError, ErrorKind
from app.mounts.change_model import ApplyArgs
from app.mounts.model import WaitingProcesses
from app.service.protocol import UnmountArgs
from ui.mounts.header import MountHeader, ProblemCard
from ui.mounts.list_model import StateRole

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost

    from app.mounts.model import Mount


def silent(since: float | None = None) -> Mount:
    when = time.time() - 40 if since is None else since
    return msgspec.structs.replace(mounted(), state="not-responding", since=when, reason="silent")


def stale() -> Mount:
    return msgspec.structs.replace(mounted(), state="stale", since=time.time() - 180)


@pytest.fixture
def waiting(fake: FakeHost) -> list[str]:
    """Install an agent's answer with waiting processes; return the list of queried mount points."""
    asked: list[str] = []
    real = fake.handlers

    def answer(args: Any, _context: Any) -> WaitingProcesses:
        asked.append(args.mount_point)
        return WaitingProcesses(own=[BASH], others=2)

    fake.handlers = lambda: {**real(), "mounts.waiting": answer}  # type: ignore[method-assign]
    return asked


def card_of(driver: Driver) -> ProblemCard:
    card = driver.window.findChild(ProblemCard)
    assert card is not None
    return card


def message(driver: Driver) -> str:
    label = card_of(driver).findChild(QLabel, "trouble-message")
    assert label is not None
    return label.text()


def list_word(driver: Driver) -> str:
    model = driver.window._mounts.model
    return str(model.first().data(StateRole))


def test_list_and_header_show_the_silence_and_the_waiting_processes(
    driver: Driver, fake: FakeHost, waiting: list[str]
) -> None:
    fake.set_mounts([silent()])
    driver.open()
    driver.wait(lambda: list_word(driver).startswith("Not responding for 4"))
    header = driver.window.findChild(MountHeader)
    assert header is not None
    assert header._state.word().startswith("Not responding for 4")
    assert card_of(driver).isVisible()
    driver.wait(lambda: "bash (4242) and 2 blocked processes of other users wait" in message(driver))
    assert "nas01 has not answered for 4" in message(driver)
    assert waiting == ["/home"]
    texts = " ".join(label.text() for label in card_of(driver).findChildren(QLabel))
    assert "No data is lost" in texts
    assert "permanently lost" in texts


def test_the_duration_is_updated_without_a_new_mount_table(
    driver: Driver, fake: FakeHost, waiting: list[str]
) -> None:
    fake.set_mounts([silent()])
    driver.open()
    driver.wait(lambda: list_word(driver).startswith("Not responding"))
    before, shown = list_word(driver), message(driver)
    driver.wait(lambda: list_word(driver) != before and message(driver) != shown)


def test_the_card_is_hidden_when_the_server_responds(
    driver: Driver, fake: FakeHost, waiting: list[str]
) -> None:
    fake.set_mounts([silent()])
    driver.open()
    driver.wait(lambda: card_of(driver).isVisible())
    fake.set_mounts([mounted()])
    driver.wait(lambda: not card_of(driver).isVisible())
    assert list_word(driver) == "Mounted"


def test_a_silent_mount_can_be_forced_and_then_detached(
    driver: Driver, fake: FakeHost, waiting: list[str]
) -> None:
    fake.set_mounts([silent()])
    driver.open()
    driver.wait(lambda: card_of(driver).isVisible())
    fake.unmount_error = AppError(ErrorKind.BUSY, "It is in use.")
    driver.click("trouble-force")
    driver.agree()
    # Programs still use the mount, so detaching it is offered.
    driver.wait(lambda: driver.window._banner.message() == "It is in use.")
    fake.unmount_error = None
    driver.click("banner-action")
    driver.agree()
    driver.wait(lambda: len([verb for verb, _ in fake.calls if verb == "mounts.unmount"]) == 2)
    asked = [args for verb, args in fake.calls if verb == "mounts.unmount"]
    assert asked == [
        UnmountArgs(mount_point="/home", force=True),
        UnmountArgs(mount_point="/home", lazy=True),
    ]


def test_a_stale_mount_is_remounted_by_the_apply_dialog(driver: Driver, fake: FakeHost) -> None:
    fake.set_mounts([stale()])
    driver.open()
    driver.wait(lambda: list_word(driver) == "Stale for 3 min")
    assert [verb for verb, _ in fake.calls if verb in {"mounts.plan", "mounts.apply"}] == []
    button = card_of(driver).findChild(QPushButton, "trouble-remount")
    assert button is not None
    driver.click("trouble-remount")
    driver.wait(lambda: any(verb == "mounts.plan" for verb, _ in fake.calls))
    (asked,) = [args for verb, args in fake.calls if verb == "mounts.plan"]
    assert isinstance(asked, ApplyArgs)
    assert (asked.again, asked.mount, asked.keep_s) == (True, True, 0.0)
    assert (asked.share, asked.mount_point, asked.keeper) == ("nas01:/export/home", "/home", "nowhere")

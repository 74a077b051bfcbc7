"""Free space in the header: queried only for the mount shown."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from fake_host import configured, mounted
from waiting import DEADLINE_S

from app.mounts.model import Space
from ui.mounts.header import MountHeader

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost

    from app.service.server import Context
    from ui.mounts.header import FreeSpaceLabel

GIB = 2**30
ROOMY = Space(mount_point="/home", state="known", total_bytes=100 * GIB, free_bytes=50 * GIB,
              available_bytes=50 * GIB)  # fmt: skip
LOW = msgspec.structs.replace(ROOMY, available_bytes=GIB, short=["bytes"])
SILENT = Space(mount_point="/home", state="no-answer")


class Server:
    """Agent's answers about the free space of a mount."""

    def __init__(self, fake: FakeHost) -> None:
        self.answer = ROOMY
        self.asked: list[str] = []
        self.held = threading.Event()
        self.held.set()
        real = fake.handlers
        fake.handlers = lambda: {**real(), "mounts.space": self.space}  # type: ignore[method-assign]

    def space(self, args: Any, context: Context) -> Space:
        self.asked.append(args.mount_point)
        with context.token.on_cancel(self.held.set):
            self.held.wait(DEADLINE_S)
        context.token.check()
        return msgspec.structs.replace(self.answer, mount_point=args.mount_point)


@pytest.fixture
def server(fake: FakeHost) -> Server:
    return Server(fake)


def label_of(driver: Driver) -> FreeSpaceLabel:
    header = driver.window.findChild(MountHeader)
    assert header is not None
    return header._space


def test_the_free_space_is_shown(driver: Driver, fake: FakeHost, server: Server) -> None:
    fake.set_mounts([mounted()])
    driver.open()
    driver.wait(lambda: label_of(driver).text() == "50 GiB of 100 GiB free (50%)")
    assert label_of(driver).isVisible()
    assert server.asked == ["/home"]
    fake.set_mounts([mounted(), mounted("zz:/b", "/zz")])  # the table changes, the mount shown does not
    driver.wait(lambda: len(driver.window._table.mounts) == 2)  # type: ignore[union-attr]
    assert server.asked == ["/home"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [(LOW, ("⚠ Nearly full: 1 GiB of 100 GiB free (1%)", "No space left on device")),
     (SILENT, ("⚠ Free space unknown: the server does not answer", "does not answer"))],
)  # fmt: skip
def test_low_space_and_silent_servers_have_a_sign_and_a_reason(
    driver: Driver, fake: FakeHost, server: Server, answer: Space, words: tuple[str, str]
) -> None:
    (text, reason), server.answer = words, answer
    fake.set_mounts([mounted()])
    driver.open()
    driver.wait(lambda: label_of(driver).text() == text)
    assert reason in label_of(driver).toolTip()
    assert reason in label_of(driver).accessibleName()


def test_only_the_mount_shown_is_queried(driver: Driver, fake: FakeHost, server: Server) -> None:
    server.held.clear()
    fake.set_mounts([mounted(), mounted("zz:/b", "/zz")])
    driver.open()
    driver.wait(lambda: server.asked == ["/home"])
    assert not label_of(driver).isVisible()
    # The first server does not respond; the second is queried nevertheless, and the window is not blocked.
    driver.window._mounts.choose("zz:/b", "/zz")
    driver.wait(lambda: server.asked == ["/home", "/zz"])
    driver.wait(lambda: label_of(driver).isVisible())
    fake.set_mounts([configured()])
    driver.wait(lambda: not label_of(driver).isVisible())
    assert server.asked == ["/home", "/zz"]


def test_a_server_that_responds_again_is_queried_at_once(
    driver: Driver, fake: FakeHost, server: Server
) -> None:
    server.answer = SILENT
    dead = msgspec.structs.replace(mounted(), state="not-responding")
    fake.set_mounts([dead])
    driver.open()
    driver.wait(lambda: "does not answer" in label_of(driver).text())
    server.answer = ROOMY
    fake.set_mounts([mounted()])
    driver.wait(lambda: "50 GiB" in label_of(driver).text())

"""Bridge: results and events arrive on the main thread, in order, and each call ends exactly once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
import shiboken6
from fake_host import FakeHost, mounted
from PySide6.QtCore import QCoreApplication
from waiting import DEADLINE_MS, wait_for

from app.errors import AppError, ErrorKind
from app.service.protocol import ListArgs, MountArgs
from ui.common.bridge import Bridge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytestqt.qtbot import QtBot

    from ui.common.session import OpenHost


@pytest.fixture
def fake() -> FakeHost:
    return FakeHost([mounted()])


@pytest.fixture
def host(fake: FakeHost) -> Iterator[OpenHost]:
    opened = fake.opener("")
    yield opened
    opened.close()


@pytest.fixture
def bridge(qapp: object) -> Iterator[Bridge]:
    bridge = Bridge()
    yield bridge
    bridge.close()
    bridge.deleteLater()


def test_result_then_finished_on_the_main_thread(qtbot: QtBot, bridge: Bridge, host: OpenHost) -> None:
    call = bridge.submit(host.client, "hello")
    threads: list[threading.Thread] = []
    call.succeeded.connect(lambda _result: threads.append(threading.current_thread()))
    hosts: list[str] = []
    call.succeeded.connect(lambda hello: hosts.append(hello.host))
    with qtbot.waitSignals([call.succeeded, call.finished], order="strict", timeout=DEADLINE_MS):
        pass
    assert hosts == ["testhost"]
    assert threads == [threading.main_thread()]


def test_finished_exactly_once(qtbot: QtBot, bridge: Bridge, host: OpenHost) -> None:
    call = bridge.submit(host.client, "hello")
    ends: list[int] = []
    call.finished.connect(lambda: ends.append(1))
    with qtbot.waitSignal(call.finished, timeout=DEADLINE_MS):
        pass
    host.close()
    qtbot.waitUntil(lambda: not host.client._thread.is_alive(), timeout=DEADLINE_MS)
    assert ends == [1]


def test_failure_is_an_app_error(qtbot: QtBot, bridge: Bridge, host: OpenHost, fake: FakeHost) -> None:
    fake.mount_error = AppError(ErrorKind.ACCESS_DENIED, "No.", hint="Ask.", detail="raw")
    call = bridge.submit(host.client, "mounts.mount", MountArgs(share="a:/b", mount_point="/m"))
    errors: list[AppError] = []
    call.failed.connect(errors.append)
    with qtbot.waitSignals([call.failed, call.finished], order="strict", timeout=DEADLINE_MS):
        pass
    (error,) = errors
    assert (error.kind, error.message, error.hint, error.detail) == (
        ErrorKind.ACCESS_DENIED,
        "No.",
        "Ask.",
        "raw",
    )


def test_events_come_before_the_end_and_cancel_ends(
    qtbot: QtBot, bridge: Bridge, host: OpenHost, fake: FakeHost
) -> None:
    call = bridge.submit(host.client, "mounts.list", ListArgs(watch=True))
    tables: list[int] = []
    call.progressed.connect(lambda table: tables.append(len(table.mounts)))
    qtbot.waitUntil(lambda: tables == [1], timeout=DEADLINE_MS)
    fake.set_mounts([])
    qtbot.waitUntil(lambda: tables == [1, 0], timeout=DEADLINE_MS)
    with qtbot.waitSignal(call.failed, timeout=DEADLINE_MS) as blocker:
        call.cancel()
    assert blocker.args[0].kind is ErrorKind.CANCELLED


def test_a_deleted_receiver_hurts_nobody(
    qtbot: QtBot, bridge: Bridge, host: OpenHost, fake: FakeHost
) -> None:
    call = bridge.submit(host.client, "mounts.list", ListArgs(watch=True))
    with qtbot.waitSignal(call.progressed, timeout=DEADLINE_MS):
        pass
    call.deleteLater()
    qtbot.wait(1)
    fake.set_mounts([])
    other = bridge.submit(host.client, "hello")
    with qtbot.waitSignal(other.succeeded, timeout=DEADLINE_MS):
        pass


def test_work_on_a_thread_and_a_bug_in_it(qtbot: QtBot, bridge: Bridge) -> None:
    good = bridge.run("work", lambda: 5_000_000_000)
    with qtbot.waitSignal(good.succeeded, timeout=DEADLINE_MS) as blocker:
        pass
    assert blocker.args == [5_000_000_000]

    def fail() -> None:
        raise KeyError("x")

    bad = bridge.run("work", fail)
    with qtbot.waitSignal(bad.failed, timeout=DEADLINE_MS) as blocker:
        pass
    assert blocker.args[0].kind is ErrorKind.INTERNAL


def test_a_dead_agent_fails_the_call(qtbot: QtBot, bridge: Bridge, host: OpenHost) -> None:
    call = bridge.submit(host.client, "mounts.list", ListArgs(watch=True))
    with qtbot.waitSignal(call.failed, timeout=DEADLINE_MS) as blocker:
        host.close()
    assert blocker.args[0].kind is ErrorKind.PROTOCOL


def test_threads_may_post_while_a_bridge_is_deleted(qapp: object) -> None:
    """Regression: a thread signaled a Qt object that the main thread deleted at the same time."""
    for _ in range(30):
        bridge = Bridge()
        begun = threading.Event()

        def post(bridge: Bridge = bridge, begun: threading.Event = begun) -> None:
            for _ in range(300):
                bridge.post(lambda: None)
                begun.set()

        threads = [threading.Thread(target=post) for _ in range(3)]
        for thread in threads:
            thread.start()
        wait_for(begun, "the work to begin")
        shiboken6.delete(bridge)
        for thread in threads:
            thread.join()


def test_nothing_is_delivered_after_the_end(qtbot: QtBot, bridge: Bridge) -> None:
    ran: list[int] = []
    bridge.post(lambda: ran.append(1))
    qtbot.waitUntil(lambda: ran == [1], timeout=DEADLINE_MS)
    bridge.post(lambda: ran.append(2))
    bridge.close()
    bridge.post(lambda: ran.append(3))
    bridge.close()
    QCoreApplication.processEvents()
    assert ran == [1]

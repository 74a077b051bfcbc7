"""Unmount after a cancelled test: it waits while data moves, and reports why the mount is in use."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from waiting import DEADLINE_S

from app.errors import AppError, CancelledError, ErrorKind
from app.speedtest import unmount_wait
from app.speedtest.cleanup import has_pending_cleanup, run_in_background, wait_for_cleanups
from app.speedtest.sampler import TransferCounters
from app.speedtest.unmount_wait import flushed_before_unmount
from app.tasks import CancelToken

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def work() -> Iterator[threading.Event]:
    """Clean-up work below /mnt/a, which ends when the event is set."""
    over = threading.Event()
    run_in_background("work", lambda: over.wait(DEADLINE_S) and None, "/mnt/a/deep")
    yield over
    over.set()
    assert wait_for_cleanups(10)


@pytest.fixture
def moving(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Increase of the connection's byte counter at each reading; the time limits are short."""
    step, sums = [0], [0]

    class Moving(unmount_wait.CounterReader):
        def look(self) -> TransferCounters:
            sums[0] += step[0]
            return TransferCounters(tcp_bytes=sums[0])

    monkeypatch.setattr(unmount_wait, "CounterReader", Moving)
    monkeypatch.setattr(unmount_wait, "NO_PROGRESS_S", 0.3)
    monkeypatch.setattr(unmount_wait, "MAX_WAIT_S", 0.8)
    return step


def unmount(error: AppError | None = None, point: str = "/mnt/a") -> None:
    with flushed_before_unmount(point, CancelToken()):
        if error is not None:
            raise error


BUSY = AppError(ErrorKind.BUSY, "In use.", detail="python (process 792): open file")


def test_only_work_below_the_mount_counts(work: threading.Event) -> None:
    assert has_pending_cleanup("/mnt/a")
    assert has_pending_cleanup("/mnt/a/deep/")
    assert has_pending_cleanup("/")
    for other in ("/mnt/b", "/mnt/a/de", "/mnt/a/deep/er"):
        assert not has_pending_cleanup(other)
    with pytest.raises(AppError, match=r"In use\."):
        unmount(BUSY, "/mnt/b")


def test_waits_until_the_work_is_done(work: threading.Event, moving: list[int]) -> None:
    moving[0] = 1000
    threading.Timer(0.4, work.set).start()
    with pytest.raises(AppError, match=r"In use\."):
        unmount(BUSY)  # another process uses the mount
    assert not has_pending_cleanup("/mnt/a")


def test_busy_error_reports_data_still_being_sent(work: threading.Event, moving: list[int]) -> None:
    moving[0] = 1000
    with pytest.raises(AppError) as caught:
        unmount(BUSY)
    assert caught.value.kind is ErrorKind.BUSY
    assert "last data of a cancelled test is still being sent" in caught.value.message
    assert "kB/s" in caught.value.message
    assert caught.value.detail == BUSY.detail
    unmount()  # no error if the mount can be unmounted all the same
    with pytest.raises(AppError, match="Not that"):
        unmount(AppError(ErrorKind.NOT_MOUNTED, "Not that."))


def test_no_wait_for_a_server_without_progress(work: threading.Event, moving: list[int]) -> None:
    with pytest.raises(AppError, match="does not accept it"):
        unmount(BUSY)


def test_the_wait_can_be_cancelled(work: threading.Event, moving: list[int]) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError), flushed_before_unmount("/mnt/a", token):
        raise AssertionError("not reached")


def test_mount_at_a_mount_point() -> None:
    found = unmount_wait._mount_at("/proc")
    assert found is not None
    assert found.fstype == "proc"
    assert unmount_wait._mount_at("/nothing/is/here") is None

"""Guest monitor: after which silence a guest counts as slow or dead.

Tests with a real guest are in tests/lab/test_guest_monitor.py.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.errors import AppError, ErrorKind
from app.lab import guest_monitor
from app.lab.guest_monitor import GuestMonitor, GuestState


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Time that the guest has waited for a processor, s, settable by its key "s"."""
    wait = {"s": 100.0}
    monkeypatch.setattr(guest_monitor, "_processor_wait_s", lambda _pid: wait["s"])
    return wait


@pytest.fixture
def monitor(waited: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> Iterator[GuestMonitor]:
    def write(*_args: object, **_options: object) -> Path:
        return Path("/state/lab.txt")

    monkeypatch.setattr(guest_monitor.guest_report, "write_report", write)
    with tempfile.TemporaryFile() as console:
        monitor = GuestMonitor(1, "gigabit", console)  # type: ignore[arg-type]
        monitor.start()
        yield monitor


def report_silence(monitor: GuestMonitor, first_s: int, last_s: int) -> AppError | None:
    """Report silences from ``first_s`` to ``last_s`` seconds; return the first error, or None."""
    for silent_s in range(first_s, last_s + 1):
        error = monitor.note_silence(float(silent_s))
        if error is not None:
            return error
    return None


def test_an_idle_guest_is_slow_after_five_seconds_and_dead_after_fifteen(monitor: GuestMonitor) -> None:
    wait: list[GuestState] = []
    monitor.listen(wait.append)
    assert report_silence(monitor, 1, 4) is None
    assert wait == []
    assert report_silence(monitor, 5, 14) is None
    assert wait == [GuestState.SLOW]
    error = report_silence(monitor, 15, 15)
    assert error is not None
    assert error.kind is ErrorKind.LAB_STOPPED
    assert "/state/lab.txt" in error.hint
    assert wait == [GuestState.SLOW, GuestState.DEAD]


def test_a_guest_without_a_processor_is_dead_after_thirty_seconds(
    monitor: GuestMonitor, waited: dict[str, float]
) -> None:
    assert report_silence(monitor, 1, 5) is None
    waited["s"] += 20
    assert report_silence(monitor, 6, 29) is None
    assert monitor.state is GuestState.SLOW
    assert report_silence(monitor, 30, 30) is not None


def test_a_guest_that_sends_again_counts_as_answering(monitor: GuestMonitor) -> None:
    wait: list[GuestState] = []
    monitor.listen(wait.append)
    report_silence(monitor, 1, 7)
    assert monitor.note_silence(0.0) is None
    assert wait == [GuestState.SLOW, GuestState.ANSWERING]


def test_a_new_listener_gets_a_state_other_than_answering_at_once(monitor: GuestMonitor) -> None:
    report_silence(monitor, 1, 7)
    wait: list[GuestState] = []
    monitor.listen(wait.append)
    assert wait == [GuestState.SLOW]


def test_silence_does_not_count_before_start_and_after_stop(
    monitor: GuestMonitor,
) -> None:
    monitor.stop()
    assert report_silence(monitor, 1, 100) is None
    assert monitor.explain_end() is None
    monitor.start()
    error = monitor.explain_end()
    assert error is not None
    assert "ended" in error.message

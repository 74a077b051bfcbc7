"""When silence makes a guest slow and when dead; its lab tests are in tests/lab/test_guest_monitor.py."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.errors import AppError, ErrorKind
from app.lab import guest_monitor
from app.lab.guest_monitor import GuestMonitor, GuestState


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """How long the guest has waited for a processor, seconds."""
    told = {"s": 100.0}
    monkeypatch.setattr(guest_monitor, "_processor_wait_s", lambda _pid: told["s"])
    return told


@pytest.fixture
def monitor(waited: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> Iterator[GuestMonitor]:
    def write(*_args: object, **_options: object) -> Path:
        return Path("/state/lab.txt")

    monkeypatch.setattr(guest_monitor.guest_report, "write_report", write)
    with tempfile.TemporaryFile() as console:
        made = GuestMonitor(1, "gigabit", console)  # type: ignore[arg-type]
        made.start()
        yield made


def hear(monitor: GuestMonitor, first_s: int, last_s: int) -> AppError | None:
    """Let a silence grow from the first second to the last; return why the line is to end."""
    for silent_s in range(first_s, last_s + 1):
        error = monitor.note_silence(float(silent_s))
        if error is not None:
            return error
    return None


def test_an_idle_guest_is_slow_after_five_seconds_and_dead_after_fifteen(monitor: GuestMonitor) -> None:
    told: list[GuestState] = []
    monitor.listen(told.append)
    assert hear(monitor, 1, 4) is None
    assert told == []
    assert hear(monitor, 5, 14) is None
    assert told == [GuestState.SLOW]
    error = hear(monitor, 15, 15)
    assert error is not None
    assert error.kind is ErrorKind.LAB_STOPPED
    assert "/state/lab.txt" in error.hint
    assert told == [GuestState.SLOW, GuestState.DEAD]


def test_a_guest_that_gets_no_processor_has_thirty_seconds(
    monitor: GuestMonitor, waited: dict[str, float]
) -> None:
    assert hear(monitor, 1, 5) is None
    waited["s"] += 20
    assert hear(monitor, 6, 29) is None
    assert monitor.state is GuestState.SLOW
    assert hear(monitor, 30, 30) is not None


def test_a_guest_that_is_heard_again_answers(monitor: GuestMonitor) -> None:
    told: list[GuestState] = []
    monitor.listen(told.append)
    hear(monitor, 1, 7)
    assert monitor.note_silence(0.0) is None
    assert told == [GuestState.SLOW, GuestState.ANSWERING]


def test_a_late_listener_is_told_at_once_what_is_wrong(monitor: GuestMonitor) -> None:
    hear(monitor, 1, 7)
    told: list[GuestState] = []
    monitor.listen(told.append)
    assert told == [GuestState.SLOW]


def test_silence_and_end_are_expected_before_and_after_it_is_watched(
    monitor: GuestMonitor,
) -> None:
    monitor.stop()
    assert hear(monitor, 1, 100) is None
    assert monitor.explain_end() is None
    monitor.start()
    error = monitor.explain_end()
    assert error is not None
    assert "ended" in error.message

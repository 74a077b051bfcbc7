"""A guest that stops answering is shown as slow, then declared dead, and its report is written."""

import os
import queue
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lab_guest import DEADLINE_S
from lab_verbs import EchoArgs

from app.errors import AppError, ErrorKind
from app.lab import guest_monitor
from app.lab.guest import Guest
from app.lab.guest_monitor import GuestState
from app.lab.guest_report import guest_processes
from app.links import parse_link

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def guest(lab_installed: None, own_home: Path) -> "Iterator[Guest]":
    with Guest.boot(parse_link("gigabit"), timeout_s=DEADLINE_S) as booted:
        yield booted


@pytest.fixture
def states(guest: Guest) -> "queue.Queue[GuestState]":
    told: queue.Queue[GuestState] = queue.Queue()
    guest.listen(told.put)
    return told


def send_signal(guest: Guest, number: signal.Signals) -> None:
    """Send a signal to the guest's kernel: the supervisor's child, which traces the guest's processes."""
    os.kill(guest_processes(guest.pid)[1], number)


def report(error: AppError, home: Path) -> str:
    """The report that the error names."""
    files = list((home / ".local/state/mountwright/lab-reports").iterdir())
    assert len(files) == 1
    assert str(files[0]) in error.hint
    return files[0].read_text()


def test_a_guest_that_pauses_is_slow_and_then_answers(
    guest: Guest, states: "queue.Queue[GuestState]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest_monitor, "SLOW_S", 2.0)
    send_signal(guest, signal.SIGSTOP)
    call = guest.client.submit("lab.echo", EchoArgs(text="x" * 100_000))
    assert states.get(timeout=DEADLINE_S) is GuestState.SLOW
    send_signal(guest, signal.SIGCONT)
    assert states.get(timeout=DEADLINE_S) is GuestState.ANSWERING
    assert len(call.result(DEADLINE_S).text) == 100_000


def test_a_guest_that_stays_silent_is_dead_and_leaves_a_report(
    guest: Guest, states: "queue.Queue[GuestState]", own_home: Path
) -> None:
    call = guest.client.submit("lab.echo", EchoArgs(text="x" * 100_000))
    call.result(DEADLINE_S)
    send_signal(guest, signal.SIGSTOP)
    call = guest.client.submit("lab.echo", EchoArgs(text="x" * 100_000))
    assert [states.get(timeout=DEADLINE_S), states.get(timeout=DEADLINE_S)] == [
        GuestState.SLOW,
        GuestState.DEAD,
    ]
    with pytest.raises(AppError) as stopped:
        call.result(DEADLINE_S)
    assert stopped.value.kind is ErrorKind.LAB_STOPPED
    text = report(stopped.value, own_home)
    assert "linux.uml" in text
    assert "Linux version 6." in text
    assert "Link: gigabit" in text
    with pytest.raises(AppError) as again:
        guest.client.submit("hello").result(DEADLINE_S)
    assert again.value.kind is ErrorKind.LAB_STOPPED


def test_a_guest_that_was_killed_is_dead_at_once_and_leaves_a_report(
    guest: Guest, states: "queue.Queue[GuestState]", own_home: Path
) -> None:
    send_signal(guest, signal.SIGKILL)
    assert states.get(timeout=DEADLINE_S) is GuestState.DEAD
    with pytest.raises(AppError) as stopped:
        guest.client.submit("hello").result(DEADLINE_S)
    assert stopped.value.kind is ErrorKind.LAB_STOPPED
    assert "Linux version 6." in report(stopped.value, own_home)


def test_a_report_can_be_written_of_a_living_guest(guest: Guest) -> None:
    path = guest.write_report("The person asked for it.")
    text = path.read_text()
    assert "The person asked for it." in text
    assert "Mem-Info" in text
    assert guest.client.submit("hello").result(DEADLINE_S).lab
    assert guest.state is GuestState.ANSWERING

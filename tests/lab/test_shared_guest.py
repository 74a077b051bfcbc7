"""Shared guest of the tests: a dead guest fails only one test, and faults left by a test are undone."""

import os
import subprocess
import sys
import threading
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import lab_guest
import pytest
from lab_guest import DEADLINE_S, LINK, LabGuest, NoAnswerError, SharedGuest

from app.errors import AppError, ErrorKind
from app.service.client import Call

HERE = Path(__file__).parent


def test_a_guest_that_dies_fails_one_test_and_the_others_run(tmp_path: Path, lab_installed: None) -> None:
    report = tmp_path / "report.xml"
    command = [sys.executable, "-P", "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", "-q",
               f"--junitxml={report}", str(HERE / "dying_guest.py")]  # fmt: skip
    done = subprocess.run(
        command, cwd=HERE.parents[1], capture_output=True, text=True, timeout=3 * DEADLINE_S, check=False,
        env={**os.environ, "HOME": str(tmp_path)},
    )  # fmt: skip
    bad: dict[str, str] = {}
    for case in ET.parse(report).getroot().iter("testcase"):
        for found in [*case.iter("failure"), *case.iter("error")]:
            bad[case.get("name", "")] = found.text or ""
    assert sorted(bad) == ["test_b_kills_its_guest", "test_e_fails"], done.stdout
    assert "The guest does not answer any more." in bad["test_b_kills_its_guest"]
    assert "The guest (" in bad["test_b_kills_its_guest"]
    assert "The guest (" in done.stdout.partition("test_e_fails")[2]


class FakeClient:
    """Answers hello, or nothing at all."""

    def __init__(self, guest: "FakeGuest") -> None:
        self.guest = guest

    def submit(self, verb: str, args: Any = None, on_event: Any = None) -> Call:
        call = Call(1, verb, on_event)
        if self.guest.dead:
            return call
        self.guest.asked.append(getattr(args, "fault", getattr(args, "link", verb)))
        if verb == "refused":
            call.fail(AppError(ErrorKind.IO, "No."))
        elif verb != "never":
            call.tell("an event")
            call.succeed("an answer")
        return call


class FakeGuest:
    """Stands in for app.lab.guest.Guest."""

    booted: "list[FakeGuest]"

    def __init__(self) -> None:
        self.client = FakeClient(self)
        self.dead = self.closed = False
        self.asked: list[str] = []
        self.log = "the kernel said goodbye"
        self.state = "answering"
        self.pid = 2**22  # above the kernel's largest process id

    def write_report(self, _reason: str) -> Path:
        raise OSError

    @classmethod
    def boot(cls, _link: object, **_more: object) -> "FakeGuest":
        cls.booted.append(cls())
        return cls.booted[-1]

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab_guest, "HELLO_S", 0.05)
    monkeypatch.setattr(lab_guest, "DEADLINE_S", 0.1)
    monkeypatch.setattr(lab_guest, "Guest", FakeGuest)
    FakeGuest.booted = []


def test_a_guest_that_does_not_answer_is_replaced_before_the_next_test() -> None:
    shared = SharedGuest()
    first = shared.live()
    assert shared.live() is first
    first.dead = True  # type: ignore[attr-defined]
    second = shared.live()
    assert second is not first
    assert first.closed  # type: ignore[attr-defined]
    assert FakeGuest.booted == [first, second]
    shared.discard()
    assert second.closed  # type: ignore[attr-defined]


def test_a_wait_in_vain_says_what_it_waited_for_and_what_it_saw() -> None:
    guest = FakeGuest()
    lab = LabGuest(guest)  # type: ignore[arg-type]
    lab.ask("first", "one")
    with pytest.raises(NoAnswerError) as waited:
        lab.ask("never", "two", deadline_s=0.05)
    told = str(waited.value)
    assert "for the answer to never 'two'. The guest answers." in told
    assert "first: 'an event'" in told
    assert "the kernel said goodbye" in told
    with pytest.raises(NoAnswerError, match="for the third trial"):
        lab.wait(threading.Event(), "the third trial")
    call = lab.submit("refused")
    with pytest.raises(NoAnswerError, match="the third trial, but refused None ended before"):
        lab.wait(threading.Event(), "the third trial", call)
    with pytest.raises(NoAnswerError, match="to be free; last seen: 0"):
        lab.until(lambda: 0, "/mnt to be free")


def test_nothing_waits_for_a_guest_that_was_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    guest = FakeGuest()
    lab = LabGuest(guest)  # type: ignore[arg-type]
    guest.dead = True
    with pytest.raises(NoAnswerError, match="does not say hello"):
        lab.ask("never", deadline_s=0.05)
    assert lab.given_up
    with pytest.raises(NoAnswerError):
        lab.ask("never", deadline_s=3600)


def test_what_is_left_of_faults_and_link_is_set_back() -> None:
    guest = FakeGuest()
    lab = LabGuest(guest)  # type: ignore[arg-type]
    lab.fault("link-down")
    lab.fault("export-ro")
    lab.fault("export-none")
    lab.fault("fill", 5)
    lab.fault("unfill")
    lab.link("wan")
    guest.asked.clear()
    lab.set_back()
    assert guest.asked == ["export-rw", "link-up", LINK]
    guest.asked.clear()
    lab.set_back()
    assert guest.asked == []

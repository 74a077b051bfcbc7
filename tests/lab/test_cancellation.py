"""Cancelled tests: control returns although server or link accept the written data slowly."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from copy_tests import MIB, POINT, copy, fault

from app.errors import AppError, ErrorKind
from app.service.protocol import UnmountArgs
from app.speedtest.model import TestEvent, TestSpec
from app.speedtest.testdir import PREFIX

if TYPE_CHECKING:
    from lab_guest import LabGuest

#: Over 10base-t this takes more than 50 s to send. An answer that waited for that would come later than this.
UNSENT = 60 * MIB
LIMIT_S = 40

versions = pytest.mark.parametrize("version", ["3", "4.2"])


@pytest.fixture(autouse=True)
def links(lab: "LabGuest", lab_link: Callable[[str], None]) -> Iterator[None]:
    """Sends what is left quickly afterwards, before the mount of the test goes."""
    yield
    lab_link("gigabit")


def unsent(event: TestEvent) -> bool:
    sample = event.sample
    return sample is not None and sample.bytes - sample.server_bytes > UNSENT


def stopped(
    lab: "LabGuest",
    moment: Callable[[TestEvent], bool],
    before: Callable[[], object] = lambda: None,
    size: int = 96 * MIB,
    **spec: Any,
) -> AppError:
    """Return the answer to a test that was stopped at a moment; before that, something is done."""
    reached = threading.Event()
    call = lab.submit(
        "test.run", TestSpec(size=size, **spec), lambda event: reached.set() if moment(event) else None
    )
    lab.wait(reached, "the moment at which the test is stopped", call)
    before()
    call.cancel()
    with pytest.raises(AppError) as caught:
        call.result(LIMIT_S)
    assert caught.value.kind == ErrorKind.CANCELLED
    return caught.value


@versions
def test_a_private_mount_gives_up_what_is_not_sent(
    lab: "LabGuest", lab_link: Callable[[str], None], version: str
) -> None:
    lab_link("10base-t")
    spec = {"path": "", "share": lab.share, "options": f"vers={version}"}
    stopped(lab, unsent, **spec)
    # The next test waits for the files of the last one to be removed, and not for long: it would find them.
    after = lab.ask("test.run", TestSpec(size=MIB, **spec), deadline_s=LIMIT_S)
    assert after.notes == []


@versions
def test_a_mount_of_others_sends_it_after_the_answer(
    lab: "LabGuest", lab_link: Callable[[str], None], lab_mount: Callable[[str], None], version: str
) -> None:
    lab_link("10base-t")
    lab_mount(version)
    error = stopped(lab, unsent, path=POINT)
    (name,) = error.remains
    assert name.startswith(f"{POINT}/{PREFIX}")
    lab_link("gigabit")
    lab.ask("mounts.unmount", UnmountArgs(mount_point=POINT))
    lab_mount(version)
    assert copy(lab, size=MIB).notes == []


@pytest.mark.parametrize("private", [False, True])
def test_files_on_a_dead_server_are_named_and_removed_when_it_answers(
    lab: "LabGuest", lab_link: Callable[[str], None], lab_mount: Callable[[str], None], *, private: bool
) -> None:
    lab_link("10base-t")
    lab_mount("4.2")
    spec, place = ({"path": "", "share": lab.share}, lab.share) if private else ({"path": POINT}, POINT)
    with contextlib.ExitStack() as undo:
        cut = partial(undo.enter_context, fault(lab, "link-down", "link-up"))
        error = stopped(lab, lambda event: event.phase == "read", cut, size=4 * MIB, **spec)
    (name,) = error.remains
    assert name.startswith(f"{place}/{PREFIX}")
    lab_link("gigabit")
    if private:
        copy(lab, size=MIB, **spec)  # it may find them, and says so
    else:
        lab.ask("mounts.unmount", UnmountArgs(mount_point=POINT))
        lab_mount("4.2")
    assert copy(lab, size=MIB).notes == []


@pytest.fixture(scope="module")
def found(guest_job: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """What programs that were ended in a guest of their own left, and what the next start removed."""
    return guest_job({"stopping": True})


@pytest.mark.parametrize("how", ["closed", "once", "twice", "killed"])
def test_a_program_ends_although_the_server_is_away(found: dict[str, Any], how: str) -> None:
    told = found[how]
    assert "failed" not in told, told["failed"]
    (run,) = told["recorded"]
    assert told["before"] == [run]
    assert told["left"] == []
    if how in {"closed", "killed"}:
        return
    assert told["status"] == 130
    assert "Cancelled" in told["told"]
    assert "Traceback" not in told["told"]
    if how == "once":
        assert PREFIX + run in told["told"]

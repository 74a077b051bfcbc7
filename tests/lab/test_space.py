"""How full a real export is: the numbers are the server's, and a silent server is said to be silent."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from copy_tests import POINT

from app.errors import AppError
from app.mounts.model import Space, SpaceArgs
from app.mounts.space import space_text
from app.service.protocol import UnmountArgs

if TYPE_CHECKING:
    from lab_guest import LabGuest

pytestmark = pytest.mark.lab
versions = pytest.mark.parametrize("version", ["3", "4.2"])
#: Where waiting takes long and both are the same code: the older one in the long version.
slow = pytest.mark.parametrize("version", [pytest.param("3", marks=pytest.mark.long), "4.2"])
FREE = 2 << 20


def space(lab: "LabGuest") -> Space:
    found: Space = lab.ask("mounts.space", SpaceArgs(mount_point=POINT))
    return found


@versions
def test_the_numbers_are_the_server_s(
    lab: "LabGuest", lab_mount: Callable[[str], None], lab_fault: Callable[..., None], version: str
) -> None:
    lab_fault("fill", FREE)
    lab_mount(version)
    found = space(lab)
    assert found.state == "known"
    assert found.available_bytes == FREE
    assert found.total_bytes >= found.free_bytes >= found.available_bytes


@slow
def test_a_mount_that_is_asked_is_unmounted_all_the_same(
    lab: "LabGuest", lab_mount: Callable[[str], None], lab_link: Callable[[str], object], version: str
) -> None:
    """The question uses the mount as a program does, for as long as its answer takes."""
    lab_mount(version)
    lab_link("rate=10mbit,delay=300ms")
    busy = []
    for _ in range(2):
        asked = lab.submit("mounts.space", SpaceArgs(mount_point=POINT))
        assert asked.still_runs_after(0.4)
        try:
            lab.ask("mounts.unmount", UnmountArgs(mount_point=POINT))
            lab_mount(version)
        except AppError as error:
            busy.append(error.kind)
        asked.result()
    assert busy == []


@versions
def test_asked_twice_in_a_minute_the_second_answer_is_the_first(
    lab: "LabGuest", lab_mount: Callable[[str], None], version: str
) -> None:
    lab_mount(version)
    lab.until(lambda: space(lab).age_s > 2, "the mount to be older than the answer")
    first = space(lab)
    assert first.state == "known"
    again = space(lab)
    assert again.age_s > first.age_s
    assert (again.total_bytes, again.available_bytes) == (first.total_bytes, first.available_bytes)


@slow
def test_a_silent_server_is_no_answer(
    lab: "LabGuest", lab_mount: Callable[[str], None], lab_fault: Callable[..., None], version: str
) -> None:
    lab_mount(version)
    lab_fault("server-stop")
    call = lab.submit("mounts.space", SpaceArgs(mount_point=POINT))
    found = call.result()
    assert found.state == "no-answer"
    assert space_text(found).line == "Free space unknown: the server does not answer"
    lab.fault("server-start")


@versions
def test_a_mount_made_anew_is_asked_anew(
    lab: "LabGuest", lab_mount: Callable[[str], None], lab_fault: Callable[..., None], version: str
) -> None:
    lab_mount(version)
    lab_fault("fill", FREE)
    assert space(lab).available_bytes == FREE
    lab.unmount_when_free(POINT)
    lab_fault("fill", 2 * FREE)
    lab_mount(version)
    assert space(lab).available_bytes == 2 * FREE


@versions
def test_what_is_not_mounted_is_said_to_be_so(lab: "LabGuest", version: str) -> None:
    assert space(lab).state == "not-mounted"

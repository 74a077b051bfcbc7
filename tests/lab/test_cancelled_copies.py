"""Copies that are cancelled or refused: each reports its reason, and leaves no file."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

import pytest
from copy_tests import MIB, POINT, SMALL, copy, fault, refused

from app.errors import AppError, ErrorKind
from app.service.protocol import UnmountArgs
from app.speedtest.model import TestEvent, TestSpec

if TYPE_CHECKING:
    from lab_guest import LabGuest

versions = pytest.mark.parametrize("version", ["3", "4.2"])


def test_a_fresh_mount_that_is_refused_leaves_no_file(lab: "LabGuest") -> None:
    # /run of the guest is a memory file system.
    assert refused(lab, path="/run", cache="fresh-mount", size=MIB).kind == ErrorKind.UNAVAILABLE
    notes = copy(lab, path="/run", size=MIB).notes
    assert len(notes) == 1
    assert "not an NFS mount" in notes[0]


def cancelled(
    lab: "LabGuest", mount: Callable[[], None], spec: TestSpec, moment: Callable[[TestEvent], bool],
    meanwhile: AbstractContextManager[None],
) -> None:  # fmt: skip
    """Cancel a copy at a moment of it, in a context, and see that nothing of it is left."""
    mount()
    reached = threading.Event()

    def seen(event: TestEvent) -> None:
        if moment(event):
            reached.set()

    call = lab.submit("test.run", spec, seen)
    lab.wait(reached, f"the moment of {spec.workload} {spec.size} to cancel at", call)
    with meanwhile:
        call.cancel()
        with pytest.raises(AppError) as caught:
            call.result()
    assert caught.value.kind == ErrorKind.CANCELLED
    lab.link("gigabit")  # what the kernel was sending must arrive before the mount can go
    # Unmounting waits for the files to be removed; what were left would be found, and mentioned, now.
    lab.ask("mounts.unmount", UnmountArgs(mount_point=POINT))
    mount()
    assert copy(lab, size=MIB).notes == []


@versions
@pytest.mark.parametrize("phase", ["fsync", "read"])
def test_cancel_leaves_no_file(
    lab: "LabGuest",
    lab_link: Callable[[str], None],
    lab_mount: Callable[[str], None],
    version: str,
    phase: str,
) -> None:
    # What is to be cancelled takes 16 s, so that the cancel comes first however busy this machine is.
    lab_link("rate=100mbit,up=16mbit" if phase == "fsync" else "rate=16mbit,up=100mbit")
    spec = TestSpec(path=POINT, size=32 * MIB)
    cancelled(lab, partial(lab_mount, version), spec, lambda event: event.phase == phase, nullcontext())


def test_a_full_server(lab: "LabGuest", lab_mount: Callable[[str], None]) -> None:
    lab_mount("4.2")
    with fault(lab, "fill", "unfill", 8 * MIB):
        assert refused(lab).kind == ErrorKind.NO_SPACE


def test_a_read_only_export(lab: "LabGuest", lab_mount: Callable[[str], None]) -> None:
    lab_mount("4.2")
    with fault(lab, "export-ro", "export-rw"):
        assert refused(lab).kind == ErrorKind.READ_ONLY


@versions
@pytest.mark.parametrize("size", ["one large file", "small files"])
def test_cancel_with_a_dead_server(
    lab: "LabGuest",
    lab_link: Callable[[str], None],
    lab_mount: Callable[[str], None],
    version: str,
    size: str,
) -> None:
    lab_link("rate=100mbit,up=25mbit")
    if size == "small files":
        spec = TestSpec(path=POINT, **{**SMALL, "count": 5000})
    else:
        spec = TestSpec(path=POINT, size=32 * MIB)

    def in_the_middle(event: TestEvent) -> bool:
        if size == "small files":
            return event.sample is not None and event.sample.bytes > 20 * 4096
        return event.phase == "fsync"

    cancelled(lab, partial(lab_mount, version), spec, in_the_middle, fault(lab, "link-down", "link-up"))

"""A dead server and a stale handle are told, since when, and their end: on real mounts of the lab."""

from __future__ import annotations

import queue
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from copying import MIB, POINT

from app.agent.protocol import ListArgs
from app.bench.result import TestSpec
from app.errors import AppError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lab_guest import LabGuest

    from app.mounts.model import Mount, MountTable

VERSIONS = ["3", "4.2"]
#: What the design promises, and what a machine beside load may take longer.
PROMISED_S = 10.0
ROOM_S = 5.0
UNDO = {"link-down": "link-up", "server-stop": "server-start"}


class Watch:
    """What the list of mounts says of the mount, as it comes.

    Attributes:
        states: each state that it had, with its reason.
    """

    def __init__(self, lab: LabGuest) -> None:
        self._lab = lab
        self._tables: queue.Queue[MountTable] = queue.Queue()
        self._call = lab.submit("mounts.list", ListArgs(watch=True), self._tables.put)
        self.states: list[tuple[str, str]] = []

    def until(self, state: str) -> Mount:
        """Return the mount when it is in this state."""
        while True:
            mount = self._take(self._lab.next(self._tables, f"the state {state}"))
            if mount is not None and mount.state == state:
                return mount

    def rest(self) -> list[tuple[str, str]]:
        """Return the states until now."""
        while not self._tables.empty():
            self._take(self._tables.get())
        return self.states

    def end(self) -> None:
        self._call.cancel()
        with pytest.raises(AppError):
            self._call.result()

    def _take(self, table: MountTable) -> Mount | None:
        found = [mount for mount in table.mounts if mount.mount_point == POINT]
        for mount in found:
            if mount.since is not None:
                assert mount.since <= table.now
            if not self.states or self.states[-1] != (mount.state, mount.reason):
                self.states.append((mount.state, mount.reason))
        return found[0] if found else None


@pytest.fixture
def watching(
    lab: LabGuest, lab_mount: Callable[[str], None], lab_fault: Callable[[str], None]
) -> Iterator[Callable[[str], Watch]]:
    """Mounts with a version and follows the list; faults are undone, and it is unmounted, after the test."""
    open_ones: list[Watch] = []

    def begin(version: str) -> Watch:
        lab_mount(version)
        open_ones.append(Watch(lab))
        open_ones[-1].until("mounted")
        return open_ones[-1]

    yield begin
    for watch in open_ones:
        watch.end()


@contextmanager
def told_in_time() -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < PROMISED_S + ROOM_S


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("fault", "reasons"), [("link-down", {"silent", "unreachable"}), ("server-stop", {"refused"})]
)
def test_a_server_that_does_not_answer_is_told_and_that_it_answers_again(
    lab: LabGuest, watching: Callable[[str], Watch], version: str, fault: str, reasons: set[str]
) -> None:
    watch = watching(version)
    cut = time.time()
    with told_in_time():
        lab.fault(fault)
        mount = watch.until("not-responding")
    assert mount.reason in reasons
    assert mount.since is not None
    assert cut - 1 <= mount.since <= time.time()
    once = lab.ask("mounts.list")
    assert [each.state for each in once.mounts if each.mount_point == POINT] == ["not-responding"]
    lab.fault(UNDO[fault])
    with told_in_time():
        assert watch.until("mounted").since is None
    assert watch.rest()[-1] == ("mounted", "")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_share_that_is_not_exported_any_more_is_stale_and_mends_when_it_is_exported_again(
    lab: LabGuest, watching: Callable[[str], Watch], version: str
) -> None:
    watch = watching(version)
    lab.fault("export-none")
    with told_in_time():
        mount = watch.until("stale")
    assert mount.since is not None
    assert mount.reason in {"", "withdrawn"}
    once = lab.ask("mounts.list")
    assert [each.state for each in once.mounts if each.mount_point == POINT] == ["stale"]
    lab.fault("export-rw")
    with told_in_time():
        watch.until("mounted")
    assert ("not-responding", "silent") not in watch.rest()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_full_write_with_fsync_over_the_slowest_link_is_no_silence(
    lab: LabGuest, lab_link: Callable[[str], object], watching: Callable[[str], Watch], version: str
) -> None:
    lab_link("10base-t")
    watch = watching(version)
    lab.ask("test.run", TestSpec(path=POINT, size=24 * MIB, direction="write"))
    assert {state for state, _ in watch.rest()} == {"mounted"}

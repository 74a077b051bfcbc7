"""Health of real mounts: a dead server and a stale file handle are reported, with begin and end."""

from __future__ import annotations

import json
import queue
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from copy_tests import MIB, POINT

from app.errors import AppError
from app.mounts.change_model import ApplyArgs
from app.service.protocol import ListArgs, MountArgs, UnmountArgs
from app.speedtest.model import TestSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from lab_guest import LabGuest

    from app.mounts.model import Mount, MountTable

VERSIONS = ["3", "4.2"]
REASONS = {"link-down": {"silent", "unreachable"}, "server-stop": {"refused"}}
#: Where both are the same code of the monitor, and take long: the older one in the long version.
LAST = [pytest.param("3", marks=pytest.mark.long), "4.2"]
#: What the design promises, and what a machine beside load may take longer.
PROMISED_S = 10.0
ROOM_S = 5.0
READERS = (
    "(setsid dd if={0}/file of=/dev/null iflag=direct & setsid cat {0}/none &) >/dev/null 2>&1 </dev/null"
    "; sleep 3"
)
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


@pytest.fixture
def told_in_time(request: pytest.FixtureRequest) -> Callable[[], AbstractContextManager[None]]:
    """Says how long something takes to be told; in the long version, on a quiet machine, that is limited."""

    @contextmanager
    def watched() -> Iterator[None]:
        began = time.monotonic()
        yield
        took_s = time.monotonic() - began
        print(f"told after {took_s:.1f} s")  # for those who look (-rP)
        assert took_s < PROMISED_S + ROOM_S or not request.config.getoption("--long")

    return watched


@pytest.mark.parametrize(
    ("fault", "version"),
    [
        # Each fault and each version once; the other pairs in the long version.
        pytest.param(fault, version, marks=[] if number % 2 == place % 2 else pytest.mark.long)
        for number, fault in enumerate(REASONS)
        for place, version in enumerate(VERSIONS)
    ],
)
def test_a_server_that_does_not_answer_is_told_and_that_it_answers_again(
    told_in_time: Callable[[], AbstractContextManager[None]],
    lab: LabGuest,
    watching: Callable[[str], Watch],
    version: str,
    fault: str,
) -> None:
    watch = watching(version)
    cut = time.time()
    with told_in_time():
        lab.fault(fault)
        mount = watch.until("not-responding")
    assert mount.reason in REASONS[fault]
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
    told_in_time: Callable[[], AbstractContextManager[None]],
    lab: LabGuest,
    watching: Callable[[str], Watch],
    version: str,
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
def test_a_directory_that_was_replaced_is_stale_until_it_is_mounted_again(
    told_in_time: Callable[[], AbstractContextManager[None]],
    lab: LabGuest,
    watching: Callable[[str], Watch],
    version: str,
) -> None:
    watch = watching(version)
    lab.fault("export-replaced")
    with told_in_time():
        assert watch.until("stale").reason == ""
    lab.ask(
        "mounts.apply",
        ApplyArgs(share=lab.share, mount_point=POINT, options=f"vers={version}", again=True),
    )
    watch.until("mounted")
    # The new mount is of the new directory: the old one would be stale to it.
    lab.ask("mounts.unmount", UnmountArgs(mount_point=POINT))
    lab.fault("export-rw")
    lab.ask("mounts.mount", MountArgs(share=lab.share, mount_point=POINT, options=f"vers={version}"))


@pytest.mark.parametrize("version", LAST)
def test_a_full_write_with_fsync_over_the_slowest_link_is_no_silence(
    lab: LabGuest, lab_link: Callable[[str], object], watching: Callable[[str], Watch], version: str
) -> None:
    lab_link("10base-t")
    watch = watching(version)
    lab.ask("test.run", TestSpec(path=POINT, size=24 * MIB, direction="write"))
    assert {state for state, _ in watch.rest()} == {"mounted"}


@pytest.mark.long
@pytest.mark.parametrize("version", VERSIONS)
def test_a_slow_disk_is_no_silence(lab: LabGuest, watching: Callable[[str], Watch], version: str) -> None:
    """Each write takes the disk a third of a second, and fsync waits for all of them."""
    lab.fault("disk-slow")
    watch = watching(version)
    lab.ask("test.run", TestSpec(path=POINT, size=MIB, direction="write", block_size=65536))
    assert {state for state, _ in watch.rest()} == {"mounted"}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_single_list_tells_since_when_from_what_waits_on_the_mount_s_connection(
    request: pytest.FixtureRequest, guest_job: Callable[..., dict[str, Any]], version: str
) -> None:
    """The kernel's log has no line yet: the first major timeout of a hard mount comes after minutes."""
    point = "/mnt/silent"
    commands = [
        f"mw mount -o vers={version} $S {point}",
        "date +%s.%N",
        f"dd if=/dev/zero of={point}/file bs=64k count=4 conv=fsync",
        "ip link set eth0 down; date +%s.%N",
        f"(setsid cat {point}/none &) >/dev/null 2>&1 </dev/null; mw list --json",
        "mw list",
    ]
    _, mounted, _, cut, row, table = guest_job({"commands": commands})["commands"]
    (mount,) = json.loads(row["out"])["mounts"]
    assert mount["state"] == "not-responding"
    # The kernel gives up a connection of version 4 after the lease, 15 s in the lab, of version 3 later.
    if version == "3" or request.config.getoption("--long"):
        assert mount["since"] is not None
        assert "Not responding for " in table["out"]
    if mount["since"] is not None:
        # A tick of the guest's clock is 10 ms.
        assert float(mounted["out"]) - 0.1 <= mount["since"] <= float(cut["out"]) + 0.1


@pytest.mark.parametrize("version", LAST)
def test_a_list_an_unmount_and_a_remount_on_the_command_line_say_what_is_wrong_and_what_helps(
    guest_job: Callable[..., dict[str, Any]], version: str
) -> None:
    """The link is cut with readers in the mount."""
    point = "/mnt/silent"
    commands = [
        f"mw mount -o vers={version} $S {point}",
        f"dd if=/dev/zero of={point}/file bs=64k count=4 conv=fsync",
        "ip link set eth0 down",
        READERS.format(point),
        "mw list",
        f"mw list --json {point}",
        f"mw umount {point}",
        f"mw umount -f {point}",
        f"mw umount -l {point}; mw list",
    ]
    table, row, plain, force, lazy = guest_job({"commands": commands})["commands"][4:]
    assert "Not responding" in table["out"], table
    assert "\n10.9.0.1 " in table["out"]
    assert f"Detach (umount -l {point})" in table["out"]
    assert json.loads(row["out"])["mounts"][0]["state"] == "not-responding"
    for answer in (plain, force):
        assert not answer["ok"]
        assert f"{point} could not be unmounted. 10.9.0.1 " in answer["err"], answer
        assert f"Detach (umount -l {point}): {point} disappears immediately." in answer["err"]
    assert "dd (process " in plain["err"], plain
    assert "cat (process " in plain["err"], plain
    assert lazy["ok"], lazy
    assert f"Unmounted {point}." in lazy["out"]
    assert "Not responding" not in lazy["out"]

"""Bottlenecks over several links: the measured bottleneck of a copy, and figures of the link."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from copy_tests import check_the_line_is_filled, held_back_by

from advisor.facts import payload_rate_bps
from app.errors import AppError, ErrorKind
from app.service.protocol import MountArgs, UnmountArgs
from app.speedtest.model import Grid, TestEvent, TestResult, TestSpec
from app.text.message import message_text

if TYPE_CHECKING:
    from lab_guest import LabGuest

    from advisor.bottleneck import Bottleneck
    from advisor.facts import LinkFacts

POINT = "/mnt/speeds"
MIB = 2**20


@contextmanager
def mounted(lab: "LabGuest", options: str) -> Iterator[None]:
    args = MountArgs(share=lab.share, mount_point=POINT, options=options)
    lab.ask("mounts.mount", args)
    try:
        yield
    finally:
        lab.ask("mounts.unmount", UnmountArgs(mount_point=POINT))


def copy(lab: "LabGuest", **spec: Any) -> TestResult:
    result = lab.ask("test.run", TestSpec(**{"path": POINT, **spec}))
    assert isinstance(result, TestResult)
    return result


def verdict(lab: "LabGuest", options: str, kind: str, **spec: Any) -> "Bottleneck":
    """Copy and return what held the copy back."""
    with mounted(lab, options):
        found = held_back_by(kind, lambda: copy(lab, **spec).bottleneck)
    assert found.evidence
    return found


SMALL: dict[str, Any] = {"workload": "files", "count": 10, "size": 4096}


#: What each link carries in little more than a second; slow enough for any machine, gigabits are not.
LINKS = {
    "rate=4mbit,delay=30ms": MIB * 3 // 4,
    "rate=10mbit,delay=25ms": MIB * 3 // 2,
    "rate=16mbit,delay=15ms": MIB * 5 // 2,
    "rate=25mbit,delay=10ms": MIB * 4,
}


def line_of(emulated: "LinkFacts") -> float:
    """What the link carries of a file, in bytes a second."""
    assert emulated.rate_bps is not None
    return payload_rate_bps(emulated.rate_bps) / 8


def test_no_figure_is_better_than_the_link(lab: "LabGuest", lab_link: Callable[[str], Any]) -> None:
    name = "rate=16mbit,delay=15ms"
    emulated: LinkFacts = lab_link(name)
    assert emulated.rtt_s is not None
    with mounted(lab, "vers=4.2"):
        result = copy(lab, size=LINKS[name])
    for transfer in (result.write, result.read):
        assert transfer is not None
        assert 0 < transfer.bytes_per_s <= line_of(emulated)
        assert transfer.load is not None
        assert transfer.load.network_s >= emulated.rtt_s * 0.95
    assert result.link is not None
    assert result.link.rtt_s >= emulated.rtt_s * 0.95
    assert result.bottleneck is not None
    assert result.bottleneck.evidence


def test_losses_on_a_short_link_are_the_networks(lab: "LabGuest", lab_link: Callable[[str], Any]) -> None:
    lab_link("rate=100mbit,delay=0.1ms,loss=2%")
    verdict(lab, "vers=4.2", "network", size=8 * MIB, direction="write")


@pytest.mark.long
@pytest.mark.parametrize("name", list(LINKS))
def test_the_figures_are_those_of_the_link(
    lab: "LabGuest", lab_link: Callable[[str], Any], name: str
) -> None:
    emulated: LinkFacts = lab_link(name)
    assert emulated.rtt_s is not None
    with mounted(lab, "vers=4.2"):
        result = check_the_line_is_filled(lambda: copy(lab, size=LINKS[name]), line_of(emulated), 0.8)
    for transfer in (result.write, result.read):
        assert transfer is not None
        assert transfer.load is not None
        assert transfer.load.network_s == pytest.approx(emulated.rtt_s, rel=0.2)
    assert result.link is not None
    assert result.link.rtt_s == pytest.approx(emulated.rtt_s, rel=0.2)
    assert result.bottleneck is not None
    assert (result.bottleneck.kind, result.bottleneck.confidence) == ("network", "high")


def test_a_server_that_comes_back_lets_the_test_end_well(
    lab: "LabGuest", lab_link: Callable[[str], Any], lab_fault: Callable[..., None]
) -> None:
    # The write takes so long that a server which is slow to stop, stops in it.
    lab_link("rate=100mbit,up=4mbit")
    waiting = threading.Event()

    def seen(event: TestEvent) -> None:
        if event.phase == "fsync" and event.sample is not None:
            waiting.set()

    # Version 3: a restarted server of version 4 has clients wait 15 s for those that had files open.
    with mounted(lab, "vers=3"):
        call = lab.submit("test.run", TestSpec(path=POINT, size=3 * MIB), seen)
        lab.wait(waiting, "fsync to wait for the server", call)
        lab_fault("server-stop")
        assert call.still_runs_after(1.5)  # it waits, and says nothing wrong
        lab_fault("server-start")
        result = call.result()
    assert result.write.server_bytes >= result.write.bytes == 3 * MIB
    assert result.write.fsync_s > 1.5
    assert result.read.bytes_per_s > result.write.bytes_per_s
    assert result.notes == []


HELD_BACK: dict[str, tuple[str, str, dict[str, Any]]] = {
    # Each takes some seconds by its round trips, beside which a stall of the machine is little.
    "network, lossy": ("rate=100mbit,delay=5ms,loss=1%", "vers=4.2", {"size": 6 * MIB}),
    "round-trips": ("rate=1gbit,delay=50ms", "vers=4.2", SMALL),
    # Of less, TCP has hardly opened its window: a request takes two round trips, which is at the edge.
    "round-trips, tiny requests": (
        "rate=1gbit,delay=100ms", "vers=3,wsize=4096", {"size": 6 * MIB, "direction": "write", "sync": True},
    ),
    "client": ("10-gigabit", "vers=4.2", {"size": 160 * MIB}),
}  # fmt: skip


#: Where a busy machine may hold a copy back more than its link does.
ON_A_QUIET_MACHINE = {"network, lossy", "round-trips, tiny requests"}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.long] if kind in ON_A_QUIET_MACHINE else [])
             for kind in HELD_BACK],
)  # fmt: skip
def test_what_held_a_copy_back(lab: "LabGuest", lab_link: Callable[[str], Any], kind: str) -> None:
    link, options, spec = HELD_BACK[kind]
    lab_link(link)
    verdict(lab, options, kind.partition(",")[0], **spec)


def test_a_grid_shows_the_round_trip(lab: "LabGuest", lab_link: Callable[[str], Any]) -> None:
    lab_link("rate=100mbit,delay=5ms")
    cells = Grid(patterns=("randread",), records=(4096,), depths=(1, 8), cell_s=0.4)
    stream = Grid(patterns=("seqwrite",), records=(MIB // 16,), depths=(4,), cell_s=0.8)
    with mounted(lab, "vers=4.2"):
        result = copy(lab, workload="grid", size=MIB, grid=cells, repeats=2)
        lab_link("rate=20mbit,delay=5ms")
        full = copy(lab, workload="grid", size=MIB, grid=stream)
    assert result.notes == []
    one, eight = (cell.median_run for cell in result.grid)
    assert one is not None
    assert eight is not None
    # One request at a time waits for the way there and back. Eight wait for it together, and are eight times
    # as many at most.
    assert one.latency_s > 0.0095
    assert 0 < one.iops < 105
    assert 0 < eight.iops < 8 * 105
    assert eight.bytes_per_s < 12.5e6
    # What held them back is known as it is of a copy: the link's own round trip beside that of the requests.
    assert one.load is not None
    assert one.load.network_s > 0.0095
    assert one.load.speed == pytest.approx(one.bytes_per_s, rel=0.01)
    assert result.bottleneck is not None
    assert result.bottleneck.way == "read"
    assert result.grid[0].bottleneck is not None
    (cell,) = full.grid
    assert cell.bottleneck is not None
    assert cell.median_run is not None
    # The bytes that fio counts have those of the requests under way at its end, its requests a second not.
    assert 0 < cell.median_run.iops * (MIB // 16) <= payload_rate_bps(20e6) / 8


@pytest.mark.long
def test_a_grid_s_cells_are_held_back_by_what_they_meet(
    lab: "LabGuest", lab_link: Callable[[str], Any]
) -> None:
    lab_link("rate=100mbit,delay=5ms")
    cells = Grid(patterns=("randread",), records=(4096,), depths=(1, 8), cell_s=0.4)
    stream = Grid(patterns=("seqwrite",), records=(MIB // 16,), depths=(4,), cell_s=0.8)
    with mounted(lab, "vers=4.2"):
        # Of three runs the one in the middle counts: a stall of the machine spoils one of them.
        result = copy(lab, workload="grid", size=MIB, grid=cells, repeats=3)
        lab_link("rate=20mbit,delay=5ms")  # slow enough for any machine to fill
        full = copy(lab, workload="grid", size=MIB, grid=stream, repeats=3)
    one, eight = (cell.median_run for cell in result.grid)
    assert one is not None
    assert eight is not None
    assert 0.0095 < one.latency_s < 0.02
    assert eight.iops > 4 * one.iops
    assert result.bottleneck is not None
    lines = [message_text(one) for one in result.bottleneck.evidence]
    assert any("one at a time" in line and "8 at once" in line for line in lines)
    assert one.load is not None
    assert one.load.network_s == pytest.approx(0.01, rel=0.2)
    alone = result.grid[0].bottleneck
    assert alone is not None
    assert alone.kind == "round-trips", alone.evidence
    (cell,) = full.grid
    assert cell.bottleneck is not None
    assert cell.bottleneck.kind == "network", cell.bottleneck.evidence


def test_a_folder_of_ones_own_is_copied_there_and_back(
    lab: "LabGuest", lab_link: Callable[[str], Any], tmp_path: Path
) -> None:
    # Some seconds of round trips, beside which reading a few small files takes no part worth a note.
    lab_link("rate=100mbit,delay=20ms")
    sizes = [1, 4096, 70_000, 0, 12_345, 300_000, *range(1000, 1004)]
    for number, size in enumerate(sizes):
        file = tmp_path / f"folder {number % 3}" / f"file-{number}"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(os.urandom(size))
    with mounted(lab, "vers=4.2"):
        result = copy(lab, workload="own", source=str(tmp_path))
        with pytest.raises(AppError) as caught:
            copy(lab, workload="own", source=POINT)
        assert caught.value.kind is ErrorKind.USAGE
        with pytest.raises(AppError) as caught:
            copy(lab, workload="own", source=str(tmp_path / "nothing"))
        assert caught.value.kind is ErrorKind.PATH_MISSING
    assert result.count == len(sizes)
    # A busy machine may read them so slowly that a note says so.
    assert [note for note in result.notes if not note.startswith("Reading your own files took")] == []
    for transfer in (result.write, result.read):
        assert transfer is not None
        assert transfer.bytes == transfer.server_bytes == sum(sizes)


def test_a_server_that_is_long_about_its_disk_is_named(
    lab: "LabGuest", lab_link: Callable[[str], Any], lab_fault: Callable[..., None]
) -> None:
    lab_link("gigabit")
    lab_fault("disk-slow")
    found = verdict(lab, "vers=4.2", "server", size=8 * MIB)
    assert found.way == "write"
    assert "COMMIT" in message_text(found.evidence[0])
    assert any(message_text(line).startswith("From the server: ") for line in found.evidence)

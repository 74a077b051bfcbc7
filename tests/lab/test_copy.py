"""Copy engine over the emulated link: throughput, losses, and reads that bypass the cache."""

import queue
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from copy_tests import MIB, POINT, SMALL, check_the_line_is_filled, copy, fault, refused

from advisor.facts import payload_rate_bps
from app.errors import ErrorKind
from app.service.protocol import MountArgs, UnmountArgs
from app.speedtest.model import TestPlan, TestPlanArgs, TestResult, TestSpec, Transfer
from app.stats.model import StatsSample, WatchArgs

if TYPE_CHECKING:
    from lab_guest import LabGuest

LINKS = {"fast-ethernet": 100e6, "gigabit": 1e9}

versions = pytest.mark.parametrize("version", ["3", "4.2"])


def transfers(result: TestResult) -> tuple[Transfer, Transfer]:
    assert result.write is not None
    assert result.read is not None
    return result.write, result.read


@versions
@pytest.mark.parametrize("name", list(LINKS))
def test_no_copy_is_quicker_than_the_wire(
    lab: "LabGuest",
    lab_link: Callable[[str], None],
    lab_mount: Callable[[str], None],
    name: str,
    version: str,
) -> None:
    lab_link(name)
    lab_mount(version)
    result = copy(lab)
    assert result.nfs
    assert result.share == lab.share
    assert result.effective["vers"] == version
    assert result.requested["vers"] == version
    assert result.link is not None
    assert result.link.rate_bps == LINKS[name]
    assert result.notes == []
    for transfer in transfers(result):
        assert 0 < transfer.bytes_per_s <= payload_rate_bps(LINKS[name]) / 8
        assert transfer.bytes == transfer.server_bytes == 16 * MIB
        assert not transfer.cached
        assert transfer.mean_rtt_s is not None
        last = transfer.samples[-1]
        assert (last.bytes, last.server_bytes) == (16 * MIB, 16 * MIB)
        sent = [sample.server_bytes for sample in transfer.samples]
        assert sent == sorted(sent)
    assert result.cache is not None
    assert result.cache.checked
    assert not result.cache.cached


@pytest.mark.long
@versions
def test_a_copy_fills_the_wire(
    lab: "LabGuest", lab_link: Callable[[str], None], lab_mount: Callable[[str], None], version: str
) -> None:
    """A hundred megabits are slow enough for any machine that has time, a gigabit may not be."""
    lab_link("fast-ethernet")
    lab_mount(version)
    check_the_line_is_filled(lambda: copy(lab), payload_rate_bps(LINKS["fast-ethernet"]) / 8, 0.8)


@versions
def test_the_wire_shows_while_fsync_waits(
    lab: "LabGuest", lab_link: Callable[[str], None], lab_mount: Callable[[str], None], version: str
) -> None:
    lab_link("10base-t")  # what is sent takes seconds, what is written into memory takes none
    lab_mount(version)
    write = copy(lab, direction="write", size=4 * MIB).write
    assert write is not None
    assert write.transfer_s + write.fsync_s + write.close_s >= write.bytes * 8 / payload_rate_bps(10e6)
    assert write.fsync_s > 0
    on_the_way = [sample for sample in write.samples if sample.bytes == write.bytes > 2 * sample.server_bytes]
    assert on_the_way


@versions
def test_losses_show_as_retransmissions(
    lab: "LabGuest", lab_link: Callable[[str], None], lab_mount: Callable[[str], None], version: str
) -> None:
    lab_link("lossy")
    lab_mount(version)
    looks: queue.Queue[StatsSample] = queue.Queue()
    watching = lab.submit("stats.watch", WatchArgs(mount_point=POINT, interval_s=0.5), looks.put)
    lab.next(looks, "a first sample of the rates")
    write, read = transfers(copy(lab))
    again = disordered = 0
    while again < write.retransmissions or not disordered:
        look = lab.next(looks, "a sample with what was sent again")
        again, disordered = again + (look.segments or 0), disordered + (look.disordered or 0)
        assert look.retransmissions == 0
    watching.cancel()
    assert write.retransmissions_from == read.retransmissions_from == "tcp_info"
    # Each of the segments that the link lost was sent again; the requests were not.
    assert write.load is not None
    assert write.load.segments / 1000 < write.retransmissions < write.load.segments / 10
    assert write.retransmissions == write.tcp_retransmissions == write.samples[-1].retransmissions
    assert write.rpc_retransmissions == 0
    # What the server sent again is not counted here; it shows as disorder.
    assert read.load is not None
    assert read.load.disordered > read.retransmissions


@versions
def test_a_fresh_mount_keeps_the_cache_out(
    lab: "LabGuest", lab_link: Callable[[str], None], lab_mount: Callable[[str], None], version: str
) -> None:
    lab_link("fast-ethernet")
    lab_mount(version)
    result = copy(lab, cache="fresh-mount", size=4 * MIB)
    write, read = transfers(result)
    assert result.cache is not None
    assert (result.cache.method, result.cache.cached) == ("fresh-mount", False)
    assert write.server_bytes == read.server_bytes == 4 * MIB
    assert result.requested == {"vers": version}
    assert result.notes == []


@versions
def test_a_read_from_the_clients_cache_is_flagged(
    lab: "LabGuest", lab_link: Callable[[str], None], lab_mount: Callable[[str], None], version: str
) -> None:
    lab_link("fast-ethernet")
    lab_mount(version)
    # A second mount shares the superblock and keeps its cache: the fresh mount is none.
    other = MountArgs(share=lab.share, mount_point=POINT + "-too", options=f"vers={version}")
    lab.ask("mounts.mount", other)
    try:
        result = copy(lab, cache="fresh-mount", size=4 * MIB)
    finally:
        lab.ask("mounts.unmount", UnmountArgs(mount_point=other.mount_point))
    read = transfers(result)[1]
    assert result.cache is not None
    assert result.cache.method == "fresh-mount"
    assert read.server_bytes is not None
    # It nearly always is. A client whose writes were answered out of their order has dropped what it kept: it
    # takes the file for one that somebody else has changed (fs/nfs/inode.c, nfs_update_inode).
    cached = read.server_bytes < read.bytes
    assert result.cache.cached is cached
    assert read.cached is cached
    assert any("cache" in note for note in result.notes) is cached


def test_direct_reads_come_from_the_server(
    lab: "LabGuest", lab_link: Callable[[str], None], lab_mount: Callable[[str], None]
) -> None:
    lab_link("fast-ethernet")
    lab_mount("4.2")
    result = copy(lab, cache="direct", size=4 * MIB)
    assert result.cache is not None
    assert (result.cache.method, result.cache.cached) == ("direct", False)
    assert transfers(result)[1].server_bytes == 4 * MIB


def test_random_records_are_asked_of_the_server_one_by_one(
    lab: "LabGuest", lab_link: Callable[[str], None], lab_mount: Callable[[str], None]
) -> None:
    lab_link("fast-ethernet")
    lab_mount("3")
    read = transfers(copy(lab, workload="random", size=2 * MIB, block_size=16 * 1024))[1]
    assert read.server_bytes == 2 * MIB
    assert read.load is not None
    # What the kernel reads ahead would bring many with one request.
    assert read.load.calls >= 128


@versions
def test_small_files_and_their_repeats_are_what_the_server_counted(
    lab: "LabGuest", lab_link: Callable[[str], None], lab_mount: Callable[[str], None], version: str
) -> None:
    lab_link("rate=100mbit,delay=5ms")
    lab_mount(version)
    result = copy(lab, repeats=2, **{**SMALL, "count": 20})
    assert result.notes == []  # not even that the server was asked fewer times than there are files
    assert result.cache is not None
    assert result.cache.checked
    for transfer in transfers(result):
        assert transfer.bytes == transfer.server_bytes == 20 * 4096
    assert set(result.figures) == {"write", "read", "create", "stat", "delete"}
    for figure in result.figures.values():
        assert len(figure.values) == 2
    for name in ("create", "stat", "delete"):
        # Each needs a round trip at least, of 10 ms; what is faster came from the client's memory.
        assert result.figures[name].median < 105


def test_what_small_files_meet_is_told_as_for_one(
    lab: "LabGuest", lab_link: Callable[[str], None], lab_mount: Callable[[str], None]
) -> None:
    lab_link("fast-ethernet")
    lab_mount("4.2")
    with fault(lab, "fill", "unfill", 2 * MIB):
        assert refused(lab, **{**SMALL, "count": 1000}).kind == ErrorKind.NO_SPACE
    with fault(lab, "export-ro", "export-rw"):
        assert refused(lab, **SMALL).kind == ErrorKind.READ_ONLY
    assert copy(lab, cache="direct", **SMALL).notes == []
    fresh = copy(lab, cache="fresh-mount", repeats=2, **SMALL)
    assert fresh.notes == []
    assert transfers(fresh)[1].server_bytes == 60 * 4096
    assert len(fresh.figures["create"].values) == 2


def test_a_preset_fits_the_link_and_the_free_space(
    lab: "LabGuest", lab_link: Callable[[str], None], lab_mount: Callable[[str], None]
) -> None:
    lab_mount("4.2")

    def plan(**spec: Any) -> TestPlan:
        args = TestPlanArgs(spec=TestSpec(path=POINT, **spec), preset="quick")
        found = lab.ask("test.plan", args)
        assert isinstance(found, TestPlan)
        return found

    lab_link("fast-ethernet")
    fast = plan()
    assert fast.free
    assert fast.seconds is not None
    assert 10 < fast.seconds <= 15
    assert plan(**SMALL).spec.count > 20
    lab_link("10base-t")
    assert 7 < fast.spec.size / plan().spec.size < 13
    lab_link("dsl")
    lopsided = plan().spec
    assert lopsided.passes == 5
    read = transfers(copy(lab, size=MIB // 2, passes=lopsided.passes))[1]
    assert read.bytes == read.server_bytes == 5 * MIB // 2
    assert not read.cached
    lab_link("gigabit")
    with fault(lab, "fill", "unfill", 8 * MIB):
        small = plan()
        assert small.free is not None
        assert small.spec.size <= small.free / 4
        assert "free space" in small.note
    lab_link("fast-ethernet")
    call = lab.submit("test.run", msgspec.structs.replace(fast.spec, size=MIB, seconds=1.5))
    result = call.result()
    assert 0 < len(result.figures["write"].values) <= 6

"""The copy engine over the emulated link: the wire's speed, its losses, honest reads, nothing left behind."""

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from advisor.facts import payload_rate_bps
from app.agent.protocol import FaultArgs, LinkArgs, MountArgs, StatsSample, UnmountArgs, WatchArgs
from app.bench.result import TestEvent, TestPlan, TestPlanArgs, TestResult, TestSpec, Transfer
from app.errors import AppError, ErrorKind

if TYPE_CHECKING:
    from app.lab.guest import Guest

POINT = "/mnt/copy"
MIB = 2**20
LINKS = {"fast-ethernet": 100e6, "gigabit": 1e9}

versions = pytest.mark.parametrize("version", ["3", "4.2"])


@pytest.fixture
def link(lab: "Guest") -> Iterator[Callable[[str], None]]:
    """Switch the link; as it was before after the test."""
    before = lab.client.submit("hello").result(30).link.name

    def switch(name: str) -> None:
        lab.client.submit("lab.link", LinkArgs(link=name)).result(30)

    yield switch
    switch(before)


@pytest.fixture
def mount(lab: "Guest") -> Iterator[Callable[[str], None]]:
    """Mount the export with a version; unmounted after the test."""

    def do(version: str) -> None:
        args = MountArgs(share=lab.share, mount_point=POINT, options=f"vers={version}")
        lab.client.submit("mounts.mount", args).result(60)

    yield do
    lab.client.submit("mounts.unmount", UnmountArgs(mount_point=POINT)).result(90)


@contextmanager
def fault(lab: "Guest", name: str, undo: str, size: int = 0) -> Iterator[None]:
    lab.client.submit("lab.fault", FaultArgs(fault=name, bytes=size)).result(30)
    try:
        yield
    finally:
        lab.client.submit("lab.fault", FaultArgs(fault=undo)).result(30)


def copy(lab: "Guest", **spec: Any) -> TestResult:
    args = TestSpec(**{"path": POINT, "size": 16 * MIB, **spec})
    result = lab.client.submit("test.run", args).result(100)
    assert isinstance(result, TestResult)
    return result


def refused(lab: "Guest", **spec: Any) -> AppError:
    with pytest.raises(AppError) as caught:
        copy(lab, **spec)
    return caught.value


def transfers(result: TestResult) -> tuple[Transfer, Transfer]:
    assert result.write is not None
    assert result.read is not None
    return result.write, result.read


@versions
@pytest.mark.parametrize("name", list(LINKS))
def test_speed_is_that_of_the_wire(
    lab: "Guest", link: Callable[[str], None], mount: Callable[[str], None], name: str, version: str
) -> None:
    link(name)
    mount(version)
    result = copy(lab)
    assert result.nfs
    assert result.share == lab.share
    assert result.effective["vers"] == version
    assert result.requested["vers"] == version
    assert result.link is not None
    assert result.link.rate_bps == LINKS[name]
    assert result.notes == []
    for transfer in transfers(result):
        share = transfer.bytes_per_s * 8 / payload_rate_bps(LINKS[name])
        assert share <= 1
        # Emulated physics: a hundred megabits are slow enough for any machine, a gigabit may not be.
        assert name == "gigabit" or share >= 0.8
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


@versions
def test_the_wire_shows_while_fsync_waits(
    lab: "Guest", link: Callable[[str], None], mount: Callable[[str], None], version: str
) -> None:
    link("fast-ethernet")
    mount(version)
    write = copy(lab, direction="write").write
    assert write is not None
    assert write.fsync_s > write.transfer_s
    on_the_way = [sample for sample in write.samples if sample.bytes == write.bytes > 2 * sample.server_bytes]
    assert len(on_the_way) > 3


@versions
def test_losses_show_as_retransmissions(
    lab: "Guest", link: Callable[[str], None], mount: Callable[[str], None], version: str
) -> None:
    link("lossy")
    mount(version)
    looks: queue.Queue[StatsSample] = queue.Queue()
    watching = lab.client.submit("stats.watch", WatchArgs(mount_point=POINT, interval_s=0.5), looks.put)
    looks.get(timeout=30)
    write, read = transfers(copy(lab))
    again = disordered = 0
    while again < write.retransmissions or not disordered:
        look = looks.get(timeout=30)
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
    lab: "Guest", link: Callable[[str], None], mount: Callable[[str], None], version: str
) -> None:
    link("fast-ethernet")
    mount(version)
    result = copy(lab, cache="fresh-mount", size=4 * MIB)
    write, read = transfers(result)
    assert result.cache is not None
    assert (result.cache.method, result.cache.cached) == ("fresh-mount", False)
    assert write.server_bytes == read.server_bytes == 4 * MIB
    assert result.requested == {"vers": version}
    assert result.notes == []


@versions
def test_a_read_from_the_clients_cache_is_flagged(
    lab: "Guest", link: Callable[[str], None], mount: Callable[[str], None], version: str
) -> None:
    link("fast-ethernet")
    mount(version)
    # A second mount shares the superblock and keeps its cache: the fresh mount is none.
    other = MountArgs(share=lab.share, mount_point=POINT + "-too", options=f"vers={version}")
    lab.client.submit("mounts.mount", other).result(60)
    try:
        result = copy(lab, cache="fresh-mount", size=4 * MIB)
    finally:
        lab.client.submit("mounts.unmount", UnmountArgs(mount_point=other.mount_point)).result(60)
    read = transfers(result)[1]
    assert result.cache is not None
    assert result.cache.method == "fresh-mount"
    assert result.cache.cached
    assert read.cached
    assert read.server_bytes is not None
    assert read.server_bytes < read.bytes
    assert any("cache" in note for note in result.notes)


def test_a_fresh_mount_that_is_refused_leaves_no_file(lab: "Guest") -> None:
    # /run of the guest is a memory file system.
    assert refused(lab, path="/run", cache="fresh-mount", size=MIB).kind == ErrorKind.UNAVAILABLE
    notes = copy(lab, path="/run", size=MIB).notes
    assert len(notes) == 1
    assert "not an NFS mount" in notes[0]


def test_direct_reads_come_from_the_server(
    lab: "Guest", link: Callable[[str], None], mount: Callable[[str], None]
) -> None:
    link("fast-ethernet")
    mount("4.2")
    result = copy(lab, cache="direct", size=4 * MIB)
    assert result.cache is not None
    assert (result.cache.method, result.cache.cached) == ("direct", False)
    assert transfers(result)[1].server_bytes == 4 * MIB


def test_random_records_are_asked_of_the_server_one_by_one(
    lab: "Guest", link: Callable[[str], None], mount: Callable[[str], None]
) -> None:
    link("fast-ethernet")
    mount("3")
    read = transfers(copy(lab, workload="random", size=2 * MIB, block_size=16 * 1024))[1]
    assert read.server_bytes == 2 * MIB
    assert read.load is not None
    # What the kernel reads ahead would bring many with one request.
    assert read.load.calls >= 128


@versions
@pytest.mark.parametrize("phase", ["fsync", "read"])
def test_cancel_leaves_no_file(
    lab: "Guest", link: Callable[[str], None], mount: Callable[[str], None], version: str, phase: str
) -> None:
    link("fast-ethernet")
    mount(version)
    reached = threading.Event()

    def seen(event: TestEvent) -> None:
        if event.phase == phase:
            reached.set()

    call = lab.client.submit("test.run", TestSpec(path=POINT, size=32 * MIB), seen)
    assert reached.wait(60)
    call.cancel()
    with pytest.raises(AppError) as caught:
        call.result(30)
    assert caught.value.kind == ErrorKind.CANCELLED
    # Unmounting waits for the files to be removed; what were left would be found, and mentioned, now.
    lab.client.submit("mounts.unmount", UnmountArgs(mount_point=POINT)).result(60)
    mount(version)
    assert copy(lab, size=MIB).notes == []


@versions
def test_cancel_with_a_dead_server(
    lab: "Guest", link: Callable[[str], None], mount: Callable[[str], None], version: str
) -> None:
    link("fast-ethernet")
    mount(version)
    reached = threading.Event()

    def seen(event: TestEvent) -> None:
        if event.phase == "fsync":
            reached.set()

    call = lab.client.submit("test.run", TestSpec(path=POINT, size=32 * MIB), seen)
    assert reached.wait(60)
    with fault(lab, "link-down", "link-up"):
        call.cancel()
        with pytest.raises(AppError) as caught:
            call.result(30)
    assert caught.value.kind == ErrorKind.CANCELLED
    lab.client.submit("mounts.unmount", UnmountArgs(mount_point=POINT)).result(90)
    mount(version)
    assert copy(lab, size=MIB).notes == []


def test_a_full_server(lab: "Guest", mount: Callable[[str], None]) -> None:
    mount("4.2")
    with fault(lab, "fill", "unfill", 8 * MIB):
        assert refused(lab).kind == ErrorKind.NO_SPACE


def test_a_read_only_export(lab: "Guest", mount: Callable[[str], None]) -> None:
    mount("4.2")
    with fault(lab, "export-ro", "export-rw"):
        assert refused(lab).kind == ErrorKind.READ_ONLY


SMALL: dict[str, Any] = {"workload": "files", "count": 60, "size": 4096}


@versions
def test_small_files_and_their_repeats_are_what_the_server_counted(
    lab: "Guest", link: Callable[[str], None], mount: Callable[[str], None], version: str
) -> None:
    link("rate=100mbit,delay=5ms")
    mount(version)
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
    lab: "Guest", link: Callable[[str], None], mount: Callable[[str], None]
) -> None:
    link("fast-ethernet")
    mount("4.2")
    with fault(lab, "fill", "unfill", 2 * MIB):
        assert refused(lab, **{**SMALL, "count": 1000}).kind == ErrorKind.NO_SPACE
    with fault(lab, "export-ro", "export-rw"):
        assert refused(lab, **SMALL).kind == ErrorKind.READ_ONLY
    assert copy(lab, cache="direct", **SMALL).notes == []
    fresh = copy(lab, cache="fresh-mount", repeats=2, **SMALL)
    assert fresh.notes == []
    assert transfers(fresh)[1].server_bytes == 60 * 4096
    assert len(fresh.figures["create"].values) == 2


@versions
def test_cancel_of_small_files_with_a_dead_server(
    lab: "Guest", link: Callable[[str], None], mount: Callable[[str], None], version: str
) -> None:
    link("fast-ethernet")
    mount(version)
    reached = threading.Event()

    def seen(event: TestEvent) -> None:
        if event.sample is not None and event.sample.bytes > 20 * 4096:
            reached.set()

    call = lab.client.submit("test.run", TestSpec(path=POINT, **{**SMALL, "count": 5000}), seen)
    assert reached.wait(60)
    with fault(lab, "link-down", "link-up"):
        call.cancel()
        with pytest.raises(AppError) as caught:
            call.result(30)
    assert caught.value.kind == ErrorKind.CANCELLED
    lab.client.submit("mounts.unmount", UnmountArgs(mount_point=POINT)).result(90)
    mount(version)
    assert copy(lab, size=MIB).notes == []


def test_a_preset_fits_the_link_and_the_free_space(
    lab: "Guest", link: Callable[[str], None], mount: Callable[[str], None]
) -> None:
    mount("4.2")

    def plan(**spec: Any) -> TestPlan:
        args = TestPlanArgs(spec=TestSpec(path=POINT, **spec), preset="quick")
        found = lab.client.submit("test.plan", args).result(30)
        assert isinstance(found, TestPlan)
        return found

    link("fast-ethernet")
    fast = plan()
    assert fast.free
    assert fast.seconds is not None
    assert 10 < fast.seconds <= 15
    assert plan(**SMALL).spec.count > 20
    link("10base-t")
    assert 7 < fast.spec.size / plan().spec.size < 13
    link("dsl")
    lopsided = plan().spec
    assert lopsided.passes == 5
    read = transfers(copy(lab, size=MIB // 2, passes=lopsided.passes))[1]
    assert read.bytes == read.server_bytes == 5 * MIB // 2
    assert not read.cached
    link("gigabit")
    with fault(lab, "fill", "unfill", 8 * MIB):
        small = plan()
        assert small.free is not None
        assert small.spec.size <= small.free / 4
        assert "free space" in small.note
    link("fast-ethernet")
    call = lab.client.submit("test.run", msgspec.structs.replace(fast.spec, size=MIB, seconds=1.5))
    result = call.result(60)
    assert 0 < len(result.figures["write"].values) <= 6

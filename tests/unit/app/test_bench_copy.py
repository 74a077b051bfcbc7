"""The copy engine's parts: data, loops, sampler, verdicts; real files, recorded counters."""

from __future__ import annotations

import errno
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import history_world
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.facts import LinkFacts
from app.bench import probe as probe_module
from app.bench.copy import Copier, read_blocks, write_blocks
from app.bench.data import DataPool
from app.bench.files import TestDirectory
from app.bench.grid_model import GridCell
from app.bench.meter import Meter, Progress
from app.bench.probe import Look, Probe
from app.bench.problems import explain
from app.bench.result import TestSpec, Transfer
from app.bench.verdict import beyond_the_figures, cache_report, flag_cached
from app.bench.where import Where, find_mount, find_row
from app.bench.workload import StoppedError
from app.errors import AppError, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from app.bench.messages import WorkerMessage

BLOCK = 4096


@pytest.fixture
def pool() -> Iterator[DataPool]:
    made = DataPool(BLOCK, "r1")
    yield made
    made.close()


def test_data_does_not_compress_and_blocks_differ(pool: DataPool) -> None:
    blocks = [bytes(pool.block(index)) for index in range(300)]
    assert len(set(blocks)) == 300
    whole = b"".join(blocks)
    assert len(zlib.compress(whole, 6)) > 0.99 * len(whole)


def test_blocks_are_not_copied(pool: DataPool) -> None:
    block = pool.block(3)
    assert block.nbytes == BLOCK
    assert pool.block(3, 100).nbytes == 100
    assert pool.matches(3, 10, bytes(block[10:74]))
    assert not pool.matches(3, 10, bytes(block[11:75]))


@pytest.mark.parametrize("size", [1, BLOCK - 1, BLOCK, BLOCK + 1, 40 * BLOCK + 7])
def test_writes_and_reads_back(tmp_path: Path, pool: DataPool, size: int) -> None:
    path = tmp_path / "file"
    progress = Progress()
    with path.open("wb", buffering=0) as file:
        write_blocks(file.fileno(), pool, size, progress)
    assert path.stat().st_size == progress.bytes == size
    with path.open("rb", buffering=0) as file, memoryview(bytearray(BLOCK)) as view:
        read_blocks(file.fileno(), pool, size, view, progress)
    assert progress.bytes == size


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: os.truncate(path, 10 * BLOCK),
        lambda path: path.write_bytes(path.read_bytes() + b"more" * BLOCK),
        lambda path: path.write_bytes(bytes(20 * BLOCK)),
    ],
    ids=["shorter", "longer", "other"],
)
def test_another_file_is_noticed(tmp_path: Path, pool: DataPool, damage: object) -> None:
    path = tmp_path / "file"
    with path.open("wb", buffering=0) as file:
        write_blocks(file.fileno(), pool, 20 * BLOCK, Progress())
    assert callable(damage)
    damage(path)
    size = 20 * BLOCK - 1 if path.stat().st_size > 20 * BLOCK else 20 * BLOCK
    with (
        path.open("rb", buffering=0) as file,
        memoryview(bytearray(BLOCK)) as view,
        pytest.raises(AppError) as caught,
    ):
        read_blocks(file.fileno(), pool, size, view, Progress())
    assert caught.value.kind == ErrorKind.IO


def test_stopping_takes_one_block(tmp_path: Path, pool: DataPool) -> None:
    progress = Progress()
    progress.stopped = True
    with (tmp_path / "file").open("wb", buffering=0) as file, pytest.raises(StoppedError):
        write_blocks(file.fileno(), pool, 100 * BLOCK, progress)
    assert progress.bytes == BLOCK


def test_a_pipe_takes_parts_of_blocks() -> None:
    big = DataPool(256 * 1024, "r1")
    reading, writing = os.pipe()
    progress = Progress()
    received = bytearray()
    os.set_blocking(reading, False)
    real = os.write

    def write(fd: int, data: memoryview) -> int:
        done = real(fd, data[:10_000])
        received.extend(os.read(reading, 1 << 20))
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", write)
        write_blocks(writing, big, 300_000, progress)
    os.close(reading)
    os.close(writing)
    assert bytes(received) == bytes(big.block(0)) + bytes(big.block(1, 300_000 - 256 * 1024))
    big.close()


class FakeProbe(Probe):
    """Counters that a test sets."""

    def __init__(self, *, tcp: bool) -> None:
        super().__init__(None)
        self.nfs = True
        self._has_tcp = tcp
        self.now = Look()

    @property
    def tcp(self) -> bool:
        return self._has_tcp

    def look(self) -> Look:
        return self.now


def copy_with(
    probe: Probe, path: Path, **changes: object
) -> tuple[Copier, list[WorkerMessage], TestDirectory]:
    spec = msgspec.structs.replace(TestSpec(path=str(path), size=10 * BLOCK, block_size=BLOCK), **changes)
    sent: list[WorkerMessage] = []
    directory = TestDirectory(str(path), "run")
    return (
        Copier(spec, directory, DataPool(BLOCK, "r1"), Meter(probe, Progress(), sent.append)),
        sent,
        directory,
    )


@pytest.mark.parametrize(("tcp", "source", "count"), [(True, "tcp_info", 7), (False, "mountstats", 3)])
def test_retransmissions_come_from_where_they_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, tcp: bool, source: str, count: int
) -> None:
    probe = FakeProbe(tcp=tcp)
    probe.now = Look(server_written=500, rpc_retransmissions=10, tcp_retransmissions=20)
    copier, sent, directory = copy_with(probe, tmp_path)
    real = os.fsync

    def fsync(fd: int) -> None:
        real(fd)
        probe.now = Look(
            server_written=500 + 10 * BLOCK, rpc_retransmissions=13, tcp_retransmissions=27,
            write_ops=10, write_rtt_ms=50, timeouts=2,
        )  # fmt: skip

    with directory:
        monkeypatch.setattr(os, "fsync", fsync)
        transfer = copier.write()
    assert transfer.retransmissions_from == source
    assert transfer.retransmissions == count
    assert transfer.rpc_retransmissions == 3
    assert transfer.tcp_retransmissions == (7 if tcp else None)
    assert transfer.server_bytes == 10 * BLOCK
    assert transfer.mean_rtt_s == pytest.approx(0.005)
    assert transfer.timeouts == 2
    last = transfer.samples[-1]
    assert (last.bytes, last.server_bytes, last.retransmissions) == (10 * BLOCK, 10 * BLOCK, count)
    assert transfer.samples[0].t_s == 0
    phases = [item.event.phase for item in sent if item.event and item.event.sample is None]
    assert phases == ["write", "fsync", "close"]


def test_headline_counts_every_step(tmp_path: Path) -> None:
    copier, _, directory = copy_with(Probe(None), tmp_path)
    with directory:
        wrote = copier.write()
        read, method = copier.read()
    assert method == "fadvise"
    for transfer in (wrote, read):
        total = transfer.transfer_s + transfer.fsync_s + transfer.close_s
        assert transfer.bytes_per_s == pytest.approx(10 * BLOCK / total)
        assert transfer.retransmissions_from == "none"
        assert transfer.server_bytes is None
    assert read.fsync_s == 0


def test_direct_falls_back_where_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copier, _, directory = copy_with(Probe(None), tmp_path, cache="direct")
    real = TestDirectory.open

    def refuse(self: TestDirectory, flags: int = 0) -> int:
        if flags & os.O_DIRECT:
            raise OSError(errno.EINVAL, "Invalid argument")
        return real(self, flags)

    with directory:
        copier.write()
        monkeypatch.setattr(TestDirectory, "open", refuse)
        _, method = copier.read()
    assert method == "fadvise"
    assert "O_DIRECT" in copier.notes[0]


def test_direct_reads_where_it_is_taken(tmp_path: Path) -> None:
    copier, _, directory = copy_with(Probe(None), tmp_path, cache="direct", size=10 * BLOCK + 100)
    with directory:
        copier.prepare()
        read, method = copier.read()
    assert read.bytes == 10 * BLOCK + 100
    assert method == "direct" or copier.notes


def test_sampler_thread_samples_and_stops(tmp_path: Path) -> None:
    probe = FakeProbe(tcp=True)
    sent: list[WorkerMessage] = []
    meter = Meter(probe, Progress(), sent.append)
    meter.start()
    meter.begin("read", "read")
    while len([item for item in sent if item.event and item.event.sample]) < 4:
        pass
    probe.now = Look(server_read=100, read_ops=2, read_rtt_ms=30)
    added, samples = meter.finish()
    meter.stop()
    assert added.server_read == 100
    assert samples[-1].rtt_s is None or samples[-1].rtt_s == pytest.approx(0.015)
    assert any(sample.rtt_s == pytest.approx(0.015) for sample in samples)
    assert [sample.t_s for sample in samples] == sorted(sample.t_s for sample in samples)
    assert any(item.alive for item in sent)


def test_only_what_grows_is_a_sign_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.bench.meter._ALIVE_INTERVAL_S", 0.0)
    sent: list[WorkerMessage] = []
    meter = Meter(FakeProbe(tcp=True), Progress(), sent.append)

    def alive(**counters: int) -> bool:
        sent.clear()
        meter._tell_alive(Look(**counters))
        return bool(sent)

    assert alive(tcp_bytes=100)
    assert not alive(tcp_bytes=100, timeouts=3, tcp_retransmissions=9)
    assert not alive(), "its connection was given up: nothing came"
    assert alive(tcp_bytes=10)
    meter.progress.steps += 1
    assert alive(tcp_bytes=10)
    assert not alive(tcp_bytes=10)


def test_a_part_of_a_transfer_is_watched_alone() -> None:
    probe = FakeProbe(tcp=True)
    meter = Meter(probe, Progress(), lambda _message: None)
    meter.start()
    meter.begin("read", "read", asleep=True)
    assert not meter.asked
    probe.now = Look(server_read=100, server_written=7, calls=3, segments=1)
    while not meter.asked:
        pass
    meter.watch()
    probe.now = Look(server_read=500, server_written=7, calls=5, rtt_ms=30)
    load = meter.watched()
    added, samples = meter.finish()
    meter.stop()
    assert (load.bytes, load.calls, load.rtt_s) == (400, 2, 0.03)
    assert (added.calls, samples[-1].server_bytes) == (5, 500)
    assert load.seconds > 0


looks = st.builds(Look, *[st.integers(0, 2**64)] * len(Look._fields))


@given(looks, looks)
def test_differences_are_never_negative(before: Look, after: Look) -> None:
    assert min(after.since(before)) >= 0


def transfer(server_bytes: int | None, bytes_per_s: float = 10e6) -> Transfer:
    return Transfer(
        bytes=1000, bytes_per_s=bytes_per_s, transfer_s=1, fsync_s=0, close_s=0, timeouts=0,
        retransmissions=0, retransmissions_from="none", rpc_retransmissions=None, tcp_retransmissions=None,
        server_bytes=server_bytes, mean_rtt_s=None, cached=False, samples=[],
    )  # fmt: skip


FAST_ETHERNET = LinkFacts(rate_bps=100e6)


@pytest.mark.parametrize(
    ("read", "link", "cached", "words"),
    [
        (transfer(1000), FAST_ETHERNET, False, "byte counter of the mount"),
        (transfer(1000), None, False, "byte counter of the mount"),
        (transfer(400), FAST_ETHERNET, True, "only 40 %"),
        (transfer(0), None, True, "only 0 %"),
        (transfer(1000, 20e6), FAST_ETHERNET, True, "faster than the link"),
        (transfer(1000, 20e6), LinkFacts(), False, "byte counter of the mount"),
        (transfer(None, 20e6), FAST_ETHERNET, False, "not NFS"),
    ],
)
def test_verdict_on_a_read(read: Transfer, link: LinkFacts | None, cached: bool, words: str) -> None:
    report = cache_report(read, "fadvise", link)
    assert report.cached is cached is flag_cached(read, link)[0]
    assert words in report.note
    assert report.checked is (read.server_bytes is not None)


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, ErrorKind.NO_SPACE),
        (errno.EDQUOT, ErrorKind.NO_SPACE),
        (errno.EROFS, ErrorKind.READ_ONLY),
        (errno.EACCES, ErrorKind.PERMISSION),
        (errno.EPERM, ErrorKind.PERMISSION),
        (errno.ENOENT, ErrorKind.PATH_MISSING),
        (errno.ENOTDIR, ErrorKind.NOT_A_DIRECTORY),
        (errno.ETIMEDOUT, ErrorKind.NOT_RESPONDING),
        (errno.EIO, ErrorKind.IO),
        (errno.ESTALE, ErrorKind.IO),
        (512, ErrorKind.IO),
    ],
)
def test_each_errno_has_its_message(number: int, kind: ErrorKind) -> None:
    error = explain(OSError(number, os.strerror(number)), "writing", "/mnt/a")
    assert error.kind == kind
    assert "/mnt/a" in error.message
    assert error.hint
    assert "writing" in error.detail


def test_what_the_figures_do_not_say_of_the_servers_disk() -> None:
    result = history_world.result()
    flushed, from_memory = beyond_the_figures(result)
    assert "async" in flushed
    assert "memory" in from_memory
    assert beyond_the_figures(msgspec.structs.replace(result, read=None)) == [flushed]
    assert beyond_the_figures(history_world.result(cached=True)) == [flushed]
    assert beyond_the_figures(msgspec.structs.replace(result, nfs=False)) == []
    cell = GridCell(pattern="randread", record=4096, depth=1, jobs=1)
    grid = msgspec.structs.replace(result, write=None, read=None, grid=[cell])
    assert beyond_the_figures(grid) == [from_memory]


def test_root_is_told_of_root_squash(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = PermissionError(errno.EACCES, "Permission denied")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "root_squash" in explain(refused, "writing", "/mnt/a").hint
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "root_squash" not in explain(refused, "writing", "/mnt/a").hint


ROW = (
    "35 27 0:34 / /mnt/s\\040p rw,relatime shared:3 - nfs4 nas:/sp\\040ace "
    "rw,vers=4.2,rsize=262144,proto=tcp6,port=3049,addr=10.9.0.2"
)


def test_row_of_mountinfo() -> None:
    where = find_row("1 0 8:1 / / rw - ext4 /dev/vda rw\n" + ROW, "35")
    assert where is not None
    assert (where.mount_point, where.share) == ("/mnt/s p", "nas:/sp ace")
    assert where.nfs
    assert where.v4
    assert where.tcp
    assert where.server == ("10.9.0.2", 3049)
    for transport in ("udp", "rdma"):
        other = find_row(ROW.replace("tcp6", transport), "35")
        assert other is not None
        assert not other.tcp
    assert where.values["rsize"] == "262144"
    assert find_row(ROW, "3") is None
    assert find_row("35 27 torn", "35") is None


def test_mount_of_a_real_directory(tmp_path: Path) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    where = find_mount(fd)
    os.close(fd)
    assert where is not None
    assert str(tmp_path).startswith(where.mount_point.rstrip("/"))
    assert not where.nfs


def test_probe_reads_mountstats_and_survives_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[2] / "data/mountstats/lossy-7.2.txt").read_text()
    where = Where(
        mount_id=1, device="0:32", mount_point="/mnt/a", share="127.0.0.1:/srv/a", fstype="nfs4",
        options="rw,vers=4.2,addr=127.0.0.1",
    )  # fmt: skip
    monkeypatch.setattr(probe_module, "read_text", lambda: text)
    probe = Probe(where)
    look = probe.look()
    assert (look.read_ops, look.timeouts, look.server_written) == (14, 13, 2097152)
    text = ""
    assert probe.look() == Look()
    probe.close()
    assert not probe.tcp

"""Single file workload: test data, read and write loops, and resulting figures; real files."""

from __future__ import annotations

import errno
import os
import zlib
from typing import TYPE_CHECKING

import msgspec
import pytest
from fake_counters import FakeCounterReader

from app.errors import AppError, ErrorKind
from app.speedtest.model import TestSpec
from app.speedtest.sampler import CounterReader, TransferCounters, TransferProgress, TransferSampler
from app.speedtest.testdir import TestDirectory
from app.speedtest.worker.single_file import SingleFileWorkload, read_blocks, write_blocks
from app.speedtest.worker.workload import DataPool, StoppedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from app.speedtest.messages import WorkerMessage

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
    progress = TransferProgress()
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
def test_changed_contents_are_detected(tmp_path: Path, pool: DataPool, damage: object) -> None:
    path = tmp_path / "file"
    with path.open("wb", buffering=0) as file:
        write_blocks(file.fileno(), pool, 20 * BLOCK, TransferProgress())
    assert callable(damage)
    damage(path)
    size = 20 * BLOCK - 1 if path.stat().st_size > 20 * BLOCK else 20 * BLOCK
    with (
        path.open("rb", buffering=0) as file,
        memoryview(bytearray(BLOCK)) as view,
        pytest.raises(AppError) as caught,
    ):
        read_blocks(file.fileno(), pool, size, view, TransferProgress())
    assert caught.value.kind == ErrorKind.IO


def test_stopping_takes_one_block(tmp_path: Path, pool: DataPool) -> None:
    progress = TransferProgress()
    progress.stopped = True
    with (tmp_path / "file").open("wb", buffering=0) as file, pytest.raises(StoppedError):
        write_blocks(file.fileno(), pool, 100 * BLOCK, progress)
    assert progress.bytes == BLOCK


def test_partial_writes_are_completed() -> None:
    big = DataPool(256 * 1024, "r1")
    reading, writing = os.pipe()
    progress = TransferProgress()
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


def copy_with(
    probe: CounterReader, path: Path, **changes: object
) -> tuple[SingleFileWorkload, list[WorkerMessage], TestDirectory]:
    spec = msgspec.structs.replace(TestSpec(path=str(path), size=10 * BLOCK, block_size=BLOCK), **changes)
    sent: list[WorkerMessage] = []
    directory = TestDirectory(str(path), "run")
    return (
        SingleFileWorkload(
            spec, directory, DataPool(BLOCK, "r1"), TransferSampler(probe, TransferProgress(), sent.append)
        ),
        sent,
        directory,
    )


@pytest.mark.parametrize(("tcp", "source", "count"), [(True, "tcp_info", 7), (False, "mountstats", 3)])
def test_source_of_retransmission_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, tcp: bool, source: str, count: int
) -> None:
    probe = FakeCounterReader(tcp=tcp)
    probe.now = TransferCounters(server_written=500, rpc_retransmissions=10, tcp_retransmissions=20)
    copier, sent, directory = copy_with(probe, tmp_path)
    real = os.fsync

    def fsync(fd: int) -> None:
        real(fd)
        probe.now = TransferCounters(
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


def test_speed_includes_every_step(tmp_path: Path) -> None:
    copier, _, directory = copy_with(CounterReader(None), tmp_path)
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


def test_direct_falls_back_if_unsupported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copier, _, directory = copy_with(CounterReader(None), tmp_path, cache="direct")
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


def test_direct_reads_if_supported(tmp_path: Path) -> None:
    copier, _, directory = copy_with(CounterReader(None), tmp_path, cache="direct", size=10 * BLOCK + 100)
    with directory:
        copier.prepare()
        read, method = copier.read()
    assert read.bytes == 10 * BLOCK + 100
    assert method == "direct" or copier.notes

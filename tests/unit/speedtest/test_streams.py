"""Random records and parallel streams: real files, none of which remain."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from app.errors import AppError, CancelledError, ErrorKind
from app.speedtest.model import TestEvent, TestSpec
from app.speedtest.runner import run_test
from app.speedtest.sampler import CounterReader, TransferProgress, TransferSampler
from app.speedtest.testdir import TestDirectory
from app.speedtest.worker.single_file import RandomRecordsWorkload
from app.speedtest.worker.streams import StreamsWorkload
from app.speedtest.worker.workload import DataPool
from app.tasks import CancelToken

if TYPE_CHECKING:
    from pathlib import Path

    from app.speedtest.model import Direction, WorkloadKind

pytestmark = pytest.mark.usefixtures("nothing_left")
BLOCK = 4096


@pytest.mark.parametrize("direction", ["both", "write", "read"])
@pytest.mark.parametrize(("workload", "count"), [("random", 1), ("streams", 1), ("streams", 5)])
def test_transferred_bytes_match_the_specification(
    tmp_path: Path, direction: Direction, workload: WorkloadKind, count: int
) -> None:
    size = 40 * BLOCK + 7
    spec = TestSpec(
        path=str(tmp_path), direction=direction, size=size, block_size=BLOCK,
        workload=workload, count=count, repeats=2,
    )  # fmt: skip
    events: list[TestEvent] = []
    result = run_test(spec, CancelToken(), events.append)
    wanted = {"write", "read"} if direction == "both" else {direction}
    assert set(result.figures) == wanted
    for transfer in (result.write, result.read):
        if transfer is not None:
            assert transfer.bytes == size * count
            moved = [sample.bytes for sample in transfer.samples]
            assert moved == sorted(moved)
            assert moved[-1] == size * count


@pytest.mark.parametrize(("kind", "name"), [(RandomRecordsWorkload, "data"), (StreamsWorkload, "s01")])
def test_damage_is_detected(
    tmp_path: Path, kind: type[RandomRecordsWorkload | StreamsWorkload], name: str
) -> None:
    progress = TransferProgress()
    meter = TransferSampler(CounterReader(None), progress, lambda _message: None)
    meter.start()
    try:
        with TestDirectory(str(tmp_path), "r1") as directory:
            spec = TestSpec(
                path="", size=20 * BLOCK, block_size=BLOCK, count=1 if kind is RandomRecordsWorkload else 3
            )
            workload = kind(spec, directory, DataPool(BLOCK, "r1"), meter)
            workload.write()
            workload.read()
            file = tmp_path / ".mountwright-r1" / name
            file.write_bytes(bytes(20 * BLOCK))
            with pytest.raises(AppError) as caught:
                workload.read()
            assert caught.value.kind is ErrorKind.IO
    finally:
        meter.stop()


@pytest.mark.parametrize("workload", ["random", "streams"])
def test_cancel_leaves_nothing(tmp_path: Path, workload: WorkloadKind) -> None:
    token = CancelToken()
    reached = threading.Event()

    def on_event(event: TestEvent) -> None:
        if event.sample is not None and event.sample.bytes and not reached.is_set():
            reached.set()
            threading.Thread(target=token.cancel).start()

    spec = TestSpec(
        path=str(tmp_path), size=512 * 2**20, block_size=BLOCK, workload=workload,
        count=2 if workload == "streams" else 1,
    )  # fmt: skip
    with pytest.raises(CancelledError):
        run_test(spec, token, on_event)
    assert reached.is_set()


def test_too_many_streams_are_refused(tmp_path: Path) -> None:
    spec = TestSpec(path=str(tmp_path), size=BLOCK, workload="streams", count=65)
    with pytest.raises(AppError) as caught:
        run_test(spec, CancelToken(), lambda _event: None)
    assert caught.value.kind is ErrorKind.USAGE

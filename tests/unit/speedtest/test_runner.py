"""Whole tests in real worker processes: results, errors, and no files left behind."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from advisor.facts import LinkFacts
from advisor.transfer_sizes import CP_CALL_SIZE, SMALL_READ_SIZE, cp_call_size
from app.errors import AppError, ErrorKind
from app.kernel.mount_of_path import MountOfPath
from app.speedtest import runner
from app.speedtest.messages import WorkerJob, WorkerResult
from app.speedtest.model import SMALL_READS, TestEvent, TestResult, TestSpec
from app.speedtest.runner import run_test, wait_for_cleanups
from app.speedtest.sampler import TransferProgress
from app.speedtest.testdir import MARKER_FILE, PREFIX, marker_of_process
from app.speedtest.worker import worker_process
from app.tasks import CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("nothing_left")
MIB = 2**20


def run(directory: Path, **changes: object) -> tuple[TestResult, list[TestEvent]]:
    spec = msgspec.structs.replace(
        TestSpec(path=str(directory), size=4 * MIB, block_size=64 * 1024), **changes
    )
    events: list[TestEvent] = []
    return run_test(spec, CancelToken(), events.append), events


def test_both_directions(tmp_path: Path) -> None:
    result, events = run(tmp_path)
    assert result.path == str(tmp_path)
    assert not result.nfs
    assert result.share is None
    assert "not an NFS mount" in result.notes[0]
    assert result.write is not None
    assert result.read is not None
    assert result.cache is not None
    assert result.write.bytes == result.read.bytes == 4 * MIB
    assert result.write.samples[-1].bytes == 4 * MIB
    assert result.cache.method == "fadvise"
    phases = [(event.direction, event.phase) for event in events if event.sample is None]
    assert phases == [
        ("write", "prepare"), ("write", "write"), ("write", "fsync"), ("write", "close"),
        ("read", "drop-cache"), ("read", "read"), ("read", "close"), ("read", "clean-up"),
    ]  # fmt: skip
    assert [
        event.sample for event in events if event.sample and event.direction == "read"
    ] == result.read.samples


@pytest.mark.parametrize("direction", ["write", "read"])
@pytest.mark.parametrize("cache", ["fadvise", "direct", "fresh-mount"])
def test_one_direction(tmp_path: Path, direction: str, cache: str) -> None:
    result, _ = run(tmp_path, direction=direction, cache=cache, sync=True)
    assert (result.write is None) == (direction == "read")
    assert (result.read is None) == (result.cache is None) == (direction == "write")
    assert result.sync


def test_default_call_size_is_that_of_cp(tmp_path: Path) -> None:
    result, _ = run(tmp_path, block_size=CP_CALL_SIZE)
    local = os.statvfs(tmp_path).f_bsize
    assert (result.as_copy, result.block_size) == (True, cp_call_size(local))
    result, _ = run(tmp_path, block_size=4096)
    assert (result.as_copy, result.block_size) == (False, 4096)


@pytest.mark.parametrize("cache", ["fadvise", "direct", "fresh-mount"])
def test_small_reads_are_a_separate_figure(tmp_path: Path, cache: str) -> None:
    result, events = run(tmp_path, block_size=CP_CALL_SIZE, small_reads=True, cache=cache, repeats=2)
    assert result.small_read is not None
    assert result.small_read.bytes == 4 * MIB
    assert result.small_read.samples == []
    assert len(result.figures[SMALL_READS].values) == len(result.figures["read"].values) == 2
    told = {(event.direction, event.phase) for event in events}
    assert ("read", "small-read") in told


@pytest.mark.parametrize(
    "changes", [{"block_size": SMALL_READ_SIZE}, {"direction": "write"}, {"workload": "files", "count": 3}]
)
def test_small_reads_are_omitted_where_meaningless(tmp_path: Path, changes: dict[str, Any]) -> None:
    result, _ = run(tmp_path, **{"block_size": CP_CALL_SIZE, "size": MIB, "small_reads": True, **changes})
    assert result.small_read is None
    assert SMALL_READS not in result.figures


def test_odd_sizes(tmp_path: Path) -> None:
    result, _ = run(tmp_path, size=MIB + 1, block_size=4097)
    assert result.read is not None
    assert result.read.samples[-1].bytes == MIB + 1


def test_links_and_relative_paths_are_resolved_by_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    monkeypatch.chdir(tmp_path)
    result, _ = run(tmp_path, path="link")
    assert result.path == str(real)


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"path": "/nowhere/at/all"}, ErrorKind.PATH_MISSING),
        ({"path": "/etc/passwd"}, ErrorKind.NOT_A_DIRECTORY),
        ({"size": 2**62}, ErrorKind.NO_SPACE),
        ({"size": 0}, ErrorKind.USAGE),
        ({"block_size": 100}, ErrorKind.USAGE),
        ({"block_size": 2**40}, ErrorKind.USAGE),
        ({"path": "/proc"}, None),
    ],
)
def test_bad_input(tmp_path: Path, changes: dict[str, object], kind: ErrorKind | None) -> None:
    with pytest.raises(AppError) as caught:
        run(tmp_path, **changes)
    assert kind is None or caught.value.kind == kind
    assert caught.value.kind != ErrorKind.INTERNAL


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(AppError) as caught:
        run(tmp_path)
    tmp_path.chmod(0o755)
    assert caught.value.kind == ErrorKind.PERMISSION


@contextlib.contextmanager
def small_tmpfs(path: Path, options: str) -> Iterator[Path]:
    where = path / "small"
    where.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", where], check=True, timeout=30)
    try:
        yield where
    finally:
        assert wait_for_cleanups(30)
        subprocess.run(["umount", where], check=True, timeout=30)


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system to fill")


@pytest.mark.real_mounts
@needs_root
def test_a_full_file_system_is_detected_before_writing(tmp_path: Path) -> None:
    with small_tmpfs(tmp_path, "size=4m") as where, pytest.raises(AppError) as caught:
        run(where, size=4 * MIB)
    assert caught.value.kind == ErrorKind.NO_SPACE


@pytest.mark.real_mounts
@needs_root
def test_a_full_file_system_is_detected_while_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_process, "check_space", lambda *_: None)
    job = WorkerJob(spec=TestSpec(path=str(tmp_path / "small"), size=8 * MIB), run="full")
    with small_tmpfs(tmp_path, "size=4m") as where:
        with pytest.raises(AppError) as caught:
            worker_process.execute(job, TransferProgress(), lambda _: None)
        assert list(where.iterdir()) == []
    assert caught.value.kind == ErrorKind.NO_SPACE


@pytest.mark.real_mounts
@needs_root
def test_a_read_only_file_system(tmp_path: Path) -> None:
    with small_tmpfs(tmp_path, "ro") as where, pytest.raises(AppError) as caught:
        run(where)
    assert caught.value.kind == ErrorKind.READ_ONLY


def test_a_folder_whose_name_is_not_utf8_is_tested_through_a_link(tmp_path: Path) -> None:
    odd, link = tmp_path / "caf\udce9", tmp_path / "plain"
    odd.mkdir()
    link.symlink_to(odd)
    result = run_test(TestSpec(path=str(link), size=MIB), CancelToken(), lambda _: None)
    assert result.path == f"{tmp_path}/caf\\xe9"
    for spec in (TestSpec(path=str(odd)), TestSpec(path=str(link), workload="own", source=str(odd))):
        with pytest.raises(AppError, match="not UTF-8") as refused:
            run_test(spec, CancelToken(), lambda _: None)
        assert refused.value.kind is ErrorKind.USAGE
        assert "caf\\xe9" in refused.value.message


def test_a_mount_whose_name_is_not_utf8_can_be_encoded() -> None:
    where = MountOfPath(
        mount_id=1, device="0:1", mount_point="/m/\udce9", share="nas:/\udce9", fstype="nfs", options="\udce9"
    )
    told = worker_process._json_safe(WorkerResult(path="/m/\udce9", where=where, rounds=[], notes=[]))
    assert b"nas:/" in msgspec.json.encode(told)


def test_leftovers_of_a_killed_run_are_removed_and_mentioned(tmp_path: Path) -> None:
    old = tmp_path / (PREFIX + "old")
    old.mkdir()
    (old / "data").write_bytes(b"x")
    (old / MARKER_FILE).write_bytes(
        msgspec.json.encode(msgspec.structs.replace(marker_of_process("old"), pid=2**22 + 1))
    )
    result, _ = run(tmp_path)
    assert not old.exists()
    assert any("earlier test" in note for note in result.notes)


def in_two_stages(directory: Path, remount: Callable[[object], None]) -> TestResult:
    spec = TestSpec(path=str(directory), size=4 * MIB, cache="fresh-mount")
    return run_test(spec, CancelToken(), lambda _event: None, remount=remount)


def test_this_process_owns_the_file_between_write_and_read(tmp_path: Path) -> None:
    kept: list[dict[str, object]] = []

    def remount(_where: object) -> None:
        (directory,) = tmp_path.glob(PREFIX + "*")
        kept.append(json.loads((directory / MARKER_FILE).read_text()))
        # Another test in the same directory must not remove it as a leftover.
        assert len(run(tmp_path)[0].notes) == 1

    result = in_two_stages(tmp_path, remount)
    assert kept[0]["pid"] == os.getpid()
    assert result.write is not None
    assert result.read is not None
    assert result.read.bytes == 4 * MIB


def test_a_fresh_mount_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def remount(_where: object) -> None:
        raise AppError(ErrorKind.BUSY, "Busy.")

    with pytest.raises(AppError, match=r"Busy\."):
        in_two_stages(tmp_path, remount)


def test_a_file_changed_between_write_and_read_is_detected(tmp_path: Path) -> None:
    def remount(_where: object) -> None:
        (data,) = tmp_path.glob(PREFIX + "*/data")
        data.write_bytes(bytes(4 * MIB))

    with pytest.raises(AppError, match="not what was written"):
        in_two_stages(tmp_path, remount)


def test_a_read_faster_than_the_link_is_flagged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int, float]] = []

    def link_to(address: str, port: int, *, override: LinkFacts | None, seconds: float = 1.0) -> LinkFacts:
        assert override is None
        asked.append((address, port, seconds))
        return LinkFacts(name="eth0", rate_bps=1e6)

    def find_mount(_fd: int) -> MountOfPath:
        options = "rw,vers=4.2,addr=192.0.2.7,port=2050"
        return MountOfPath(
            mount_id=1, device="0:1", mount_point="/m", share="nas:/a", fstype="nfs4", options=options
        )

    monkeypatch.setattr(runner, "link_facts_of", link_to)
    real = runner._WorkerRun.result

    def on_nfs(self: runner._WorkerRun) -> WorkerResult:
        done = real(self)
        rounds = [
            msgspec.structs.replace(
                item, read=msgspec.structs.replace(item.read, server_bytes=item.read.bytes)
            )
            for item in done.rounds
            if item.read is not None
        ]
        return msgspec.structs.replace(done, where=find_mount(0), rounds=rounds)

    monkeypatch.setattr(runner._WorkerRun, "result", on_nfs)
    result, _ = run(tmp_path, direction="read")
    assert asked == [("192.0.2.7", 2050, 1.0)]
    assert result.link == LinkFacts(name="eth0", rate_bps=1e6)
    assert result.cache is not None
    assert result.cache.cached
    assert result.read is not None
    assert result.read.cached
    assert any("faster than the link" in note for note in result.notes)
    # Without a request for the round trip, the other facts on the link are still determined.
    spec = TestSpec(path=str(tmp_path), size=4096, direction="read")
    untimed = runner.run_test(spec, CancelToken(), lambda _event: None, round_trip=False)
    assert asked[1:] == [("192.0.2.7", 2050, 0.0)]
    assert untimed.link == result.link


def test_round_trip_is_measured_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = MountOfPath(mount_id=1, device="0:1", mount_point="/m", share="nas:/a", fstype="nfs4", options="rw")
    asked: list[MountOfPath] = []
    monkeypatch.setattr(worker_process, "mount_of_directory", lambda _fd: row)
    monkeypatch.setattr(worker_process, "null_rpc_round_trip", asked.append)
    for round_trip in (False, True):
        job = WorkerJob(spec=TestSpec(path=str(tmp_path), size=4096), run="a1", round_trip=round_trip)
        worker_process.execute(job, TransferProgress(), lambda _message: None)
        assert asked == [row] * round_trip

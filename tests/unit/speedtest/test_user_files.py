"""The person's own files: copied, compared to the last byte, never changed, and said what is left out."""

from __future__ import annotations

import os
import socket
from collections import Counter
from typing import TYPE_CHECKING

import msgspec
import pytest

from app.errors import AppError, ErrorKind
from app.kernel.mount_of_path import MountOfPath
from app.speedtest.model import TestEvent, TestPlanArgs, TestResult, TestSpec
from app.speedtest.planning import plan_test
from app.speedtest.runner import inspect_target, run_test, wait_for_cleanups
from app.speedtest.sampler import TransferProgress
from app.speedtest.testdir import PREFIX
from app.speedtest.worker import user_files
from app.speedtest.worker.user_files import UserFile, UserFiles, scan_user_files
from app.speedtest.worker.workload import StoppedError
from app.tasks import CancelledError, CancelToken

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MIB = 2**20


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files, one of them empty, and with what cannot be copied."""
    folder = tmp_path / "mine"
    (folder / "deep/er").mkdir(parents=True)
    (folder / "big").write_bytes(os.urandom(300_001))
    (folder / "empty").touch()
    (folder / "deep/er/small").write_bytes(b"small")
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "deep/up").symlink_to("..")
    os.mkfifo(folder / "pipe")
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")  # a long path would not fit
    return folder


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "target"
    folder.mkdir()
    yield folder
    assert wait_for_cleanups(30)
    assert list(folder.iterdir()) == []


def do(target: Path, path: Path, **changes: object) -> tuple[TestResult, list[TestEvent]]:
    spec = TestSpec(path=str(target), workload="own", source=str(path), block_size=65536)
    events: list[TestEvent] = []
    return run_test(msgspec.structs.replace(spec, **changes), CancelToken(), events.append), events


def state(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    found: dict[str, tuple[int, int, int, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        at = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path)] = (at.st_mtime_ns, at.st_ctime_ns, at.st_mode, content)
    return found


@pytest.mark.parametrize("cache", ["fadvise", "direct"])
def test_a_folder_there_and_back(mine: Path, target: Path, cache: str) -> None:
    before = state(mine)
    result, events = do(target, mine, cache=cache, repeats=2)
    assert state(mine) == before
    assert (result.workload, result.count, result.source) == ("own", 3, str(mine))
    for transfer in (result.write, result.read):
        assert transfer is not None
        assert transfer.bytes == transfer.samples[-1].bytes == 300_006
    assert any("2 symbolic links, 2 devices, sockets and pipes" in note for note in result.notes)
    assert set(result.figures) == {"write", "read"}  # three files give no rate
    assert Counter(event.phase for event in events if event.sample is None)["compare"] == 3


def test_one_file(mine: Path, target: Path) -> None:
    result, _ = do(target, mine / "big")
    assert result.count == 1
    assert result.write is not None
    assert result.write.bytes == 300_001
    assert not any("Left out" in note for note in result.notes)


@pytest.mark.parametrize("direction", ["write", "read"])
def test_one_way(mine: Path, target: Path, direction: str) -> None:
    result, _ = do(target, mine, direction=direction)
    assert (result.write is None) == (direction == "read")
    assert (result.read is None) == (direction == "write")


def test_many_files_have_rates(tmp_path: Path, target: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(12):
        (folder / str(number)).write_bytes(bytes(number * 100))
    assert set(do(target, folder)[0].figures) == {"write", "read", "create", "stat", "delete"}


def test_a_copy_that_differs_is_told(mine: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write

    def write(fd: int, data: memoryview) -> int:
        return real(fd, bytes(data[:-1]) + b"\0" if len(data) == 5 else data)

    monkeypatch.setattr(user_files.os, "write", write)
    with pytest.raises(AppError) as caught:
        work(target, mine)
    assert "not what was written" in caught.value.message
    assert "small" in caught.value.detail


def work(target: Path, path: Path) -> None:
    """Run the worker's part in this process, where it can be tampered with."""
    from app.speedtest.messages import WorkerJob
    from app.speedtest.worker import worker_process

    spec = TestSpec(path=str(target), workload="own", source=str(path), block_size=65536)
    worker_process.execute(WorkerJob(spec=spec, run="mine"), TransferProgress(), lambda _: None)


def test_a_source_that_changes_is_told(mine: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = user_files.UserFilesWorkload.read

    def read(self: user_files.UserFilesWorkload) -> object:
        (mine / "big").write_bytes(b"other")
        return real(self)

    monkeypatch.setattr(user_files.UserFilesWorkload, "read", read)
    with pytest.raises(AppError) as caught:
        work(target, mine)
    assert "has changed" in caught.value.message


def test_an_error_may_name_a_file_whose_name_is_not_utf8() -> None:
    from app.speedtest.worker import worker_process

    files = UserFiles([UserFile("/m/caf\udce9", 1, 0)], Counter())
    with pytest.raises(AppError) as caught:
        files.open(0)
    message = worker_process._error_message(caught.value)
    assert message.error is not None
    assert "caf\\xe9 cannot be read" in message.error.message
    assert b"cannot be read" in msgspec.json.encode(message)


def test_a_slow_source_is_told(mine: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_files, "_SLOW_SOURCE_SHARE", 0.0)
    from app.speedtest.messages import WorkerJob
    from app.speedtest.worker import worker_process

    spec = TestSpec(path=str(target), workload="own", source=str(mine))
    result = worker_process.execute(WorkerJob(spec=spec, run="mine"), TransferProgress(), lambda _: None)
    assert any("Reading your own files took" in note for note in result.notes)


@pytest.mark.parametrize(("source_s", "percent"), [(0.2, None), (0.3, "30 %")])
def test_a_source_is_slow_beside_the_whole_copy(
    mine: Path, target: Path, monkeypatch: pytest.MonkeyPatch, source_s: float, percent: str | None
) -> None:
    """What counts is the time that the speed is made of: of small files, most goes into flush and close."""
    from app.speedtest.messages import WorkerJob
    from app.speedtest.model import Transfer
    from app.speedtest.worker import worker_process

    real = user_files.ManyFilesWorkload.write

    def write(self: user_files.UserFilesWorkload) -> Transfer:
        done = real(self)
        self._source_s = source_s
        return msgspec.structs.replace(done, transfer_s=0.4, fsync_s=0.5, close_s=0.1)

    monkeypatch.setattr(user_files.ManyFilesWorkload, "write", write)
    spec = TestSpec(path=str(target), workload="own", source=str(mine / "big"))
    result = worker_process.execute(WorkerJob(spec=spec, run="mine"), TransferProgress(), lambda _: None)
    said = [note for note in result.notes if "Reading your own files took" in note]
    assert [f"took {percent} of" in note for note in said] == ([True] if percent else [])


def test_what_cannot_be_a_source(tmp_path: Path, target: Path, mine: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "link").symlink_to(mine)
    for path, kind, words in (
        (tmp_path / "nowhere", ErrorKind.PATH_MISSING, "does not exist"),
        (empty, ErrorKind.USAGE, "nothing to copy"),
        (mine / "empty", ErrorKind.USAGE, "nothing to copy"),
        (mine / "pipe", ErrorKind.USAGE, "nothing to copy"),
    ):
        with pytest.raises(AppError) as caught:
            do(target, path)
        assert (caught.value.kind, words in caught.value.message) == (kind, True)


def test_the_tested_mount_itself_is_refused(mine: Path) -> None:
    device = mine.stat().st_dev
    where = MountOfPath(
        mount_id=1, device=f"{os.major(device)}:{os.minor(device)}", mount_point="/m", share="a:/b",
        fstype="nfs4", options="",
    )  # fmt: skip
    with pytest.raises(AppError, match="mount that is tested"):
        scan_user_files(str(mine), where, TransferProgress())
    assert scan_user_files(str(mine), msgspec.structs.replace(where, fstype="ext4"), TransferProgress()).total


def test_looking_through_can_be_stopped_and_has_a_limit(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = TransferProgress()
    stopped.stopped = True
    with pytest.raises(StoppedError):
        scan_user_files(str(mine), None, stopped)
    monkeypatch.setattr(user_files, "MAX_FILES", 2)
    with pytest.raises(AppError, match="more than 2 files"):
        scan_user_files(str(mine), None, TransferProgress())


def test_the_files_of_a_test_are_no_source(mine: Path) -> None:
    (mine / (PREFIX + "run")).mkdir()
    (mine / (PREFIX + "run") / "data").write_bytes(b"x")
    assert [file.path for file in scan_user_files(str(mine), None, TransferProgress()).files] == [
        str(mine / name) for name in ("big", "deep/er/small", "empty")
    ]


def test_what_will_be_copied_is_planned(mine: Path, target: Path) -> None:
    spec = TestSpec(path=str(target), workload="own", source=str(mine))
    looked = inspect_target(spec, CancelToken())
    assert looked.own is not None
    assert (looked.own.files, looked.own.bytes) == (3, 300_006)
    plan = plan_test(TestPlanArgs(spec=spec, preset="quick"), looked.free, None, looked.own)
    assert (plan.spec.count, plan.spec.total, plan.spec.repeats) == (3, 300_006, 6)
    assert plan.bytes == 300_006 * 7 * 2
    assert run_test(plan.spec, CancelToken(), lambda _: None).count == 3
    assert plan.note.startswith("Left out: 2 symbolic links")
    assert "do not fit" in plan_test(TestPlanArgs(spec=spec), 1000, None, looked.own).note


def test_cancel_leaves_nothing(tmp_path: Path, target: Path) -> None:
    big = tmp_path / "big"
    with big.open("wb") as file:
        file.truncate(512 * MIB)
    token = CancelToken()

    def seen(event: TestEvent) -> None:
        if event.sample is not None and event.sample.bytes:
            token.cancel()

    spec = TestSpec(path=str(target), workload="own", source=str(big))
    with pytest.raises(CancelledError):
        run_test(spec, token, seen)
    assert big.stat().st_size == 512 * MIB

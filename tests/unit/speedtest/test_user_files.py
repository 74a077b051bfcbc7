"""User files workload: copied, compared byte for byte, never changed, with a note on skipped files."""

from __future__ import annotations

import os
import socket
from collections import Counter
from typing import TYPE_CHECKING

import msgspec
import pytest

from app.errors import AppError, CancelledError, ErrorKind
from app.kernel.mount_of_path import MountOfPath
from app.speedtest.model import TestEvent, TestPlanArgs, TestResult, TestSpec
from app.speedtest.planning import plan_test
from app.speedtest.runner import inspect_target, run_test, wait_for_cleanups
from app.speedtest.sampler import TransferProgress
from app.speedtest.testdir import PREFIX
from app.speedtest.worker import user_files
from app.speedtest.worker.user_files import UserFile, UserFiles, scan_user_files
from app.speedtest.worker.workload import StoppedError
from app.tasks import CancelToken

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MIB = 2**20


@pytest.fixture
def own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with files, one of them empty, and with entries that cannot be copied."""
    directory = tmp_path / "mine"
    (directory / "deep/er").mkdir(parents=True)
    (directory / "big").write_bytes(os.urandom(300_001))
    (directory / "empty").touch()
    (directory / "deep/er/small").write_bytes(b"small")
    (directory / "link").symlink_to("/etc/passwd")
    (directory / "deep/up").symlink_to("..")
    os.mkfifo(directory / "pipe")
    monkeypatch.chdir(directory)
    with socket.socket(socket.AF_UNIX) as server_socket:
        server_socket.bind("socket")  # the absolute path would exceed the limit of a socket's name
    return directory


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Path]:
    directory = tmp_path / "target"
    directory.mkdir()
    yield directory
    assert wait_for_cleanups(30)
    assert list(directory.iterdir()) == []


def run(target: Path, path: Path, **changes: object) -> tuple[TestResult, list[TestEvent]]:
    spec = TestSpec(path=str(target), workload="own", source=str(path), block_size=65536)
    events: list[TestEvent] = []
    return run_test(msgspec.structs.replace(spec, **changes), CancelToken(), events.append), events


def state(directory: Path) -> dict[str, tuple[int, int, int, bytes]]:
    found: dict[str, tuple[int, int, int, bytes]] = {}
    for path in sorted(directory.rglob("*")):
        at = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path)] = (at.st_mtime_ns, at.st_ctime_ns, at.st_mode, content)
    return found


@pytest.mark.parametrize("cache", ["fadvise", "direct"])
def test_a_directory_is_copied_and_read_back(own_files: Path, target: Path, cache: str) -> None:
    before = state(own_files)
    result, events = run(target, own_files, cache=cache, repeats=2)
    assert state(own_files) == before
    assert (result.workload, result.count, result.source) == ("own", 3, str(own_files))
    for transfer in (result.write, result.read):
        assert transfer is not None
        assert transfer.bytes == transfer.samples[-1].bytes == 300_006
    assert any("2 symbolic links, 2 devices, sockets and pipes" in note for note in result.notes)
    assert set(result.figures) == {"write", "read"}  # three files are too few for a rate
    assert Counter(event.phase for event in events if event.sample is None)["compare"] == 3


def test_one_file(own_files: Path, target: Path) -> None:
    result, _ = run(target, own_files / "big")
    assert result.count == 1
    assert result.write is not None
    assert result.write.bytes == 300_001
    assert not any("Left out" in note for note in result.notes)


@pytest.mark.parametrize("direction", ["write", "read"])
def test_one_direction(own_files: Path, target: Path, direction: str) -> None:
    result, _ = run(target, own_files, direction=direction)
    assert (result.write is None) == (direction == "read")
    assert (result.read is None) == (direction == "write")


def test_many_files_have_rates(tmp_path: Path, target: Path) -> None:
    directory = tmp_path / "many"
    directory.mkdir()
    for number in range(12):
        (directory / str(number)).write_bytes(bytes(number * 100))
    assert set(run(target, directory)[0].figures) == {"write", "read", "create", "stat", "delete"}


def test_a_differing_copy_is_an_error(own_files: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write

    def write(fd: int, data: memoryview) -> int:
        return real(fd, bytes(data[:-1]) + b"\0" if len(data) == 5 else data)

    monkeypatch.setattr(user_files.os, "write", write)
    with pytest.raises(AppError) as caught:
        run_in_process(target, own_files)
    assert "not what was written" in caught.value.message
    assert "small" in caught.value.detail


def run_in_process(target: Path, path: Path) -> None:
    """Run the worker's part in this process, where its functions can be patched."""
    from app.speedtest.messages import WorkerJob
    from app.speedtest.worker import worker_process

    spec = TestSpec(path=str(target), workload="own", source=str(path), block_size=65536)
    worker_process.execute(WorkerJob(spec=spec, run="mine"), TransferProgress(), lambda _: None)


def test_a_changing_source_is_an_error(
    own_files: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = user_files.UserFilesWorkload.read

    def read(self: user_files.UserFilesWorkload) -> object:
        (own_files / "big").write_bytes(b"other")
        return real(self)

    monkeypatch.setattr(user_files.UserFilesWorkload, "read", read)
    with pytest.raises(AppError) as caught:
        run_in_process(target, own_files)
    assert "changed while" in caught.value.message


def test_an_error_may_name_a_file_whose_name_is_not_utf8() -> None:
    from app.speedtest.worker import worker_process

    files = UserFiles([UserFile("/m/caf\udce9", 1, 0)], Counter())
    with pytest.raises(AppError) as caught:
        files.open(0)
    message = worker_process._error_message(caught.value)
    assert message.error is not None
    assert "caf\\xe9 cannot be read" in message.error.error.error().message
    assert b"source-not-read" in msgspec.json.encode(message)


def test_note_on_a_slow_source(own_files: Path, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_files, "_SLOW_SOURCE_SHARE", 0.0)
    from app.speedtest.messages import WorkerJob
    from app.speedtest.worker import worker_process

    spec = TestSpec(path=str(target), workload="own", source=str(own_files))
    result = worker_process.execute(WorkerJob(spec=spec, run="mine"), TransferProgress(), lambda _: None)
    assert any("Reading your own files took" in note for note in result.notes)


@pytest.mark.parametrize(("source_s", "percent"), [(0.2, None), (0.3, "30 %")])
def test_slow_source_is_relative_to_the_whole_copy(
    own_files: Path, target: Path, monkeypatch: pytest.MonkeyPatch, source_s: float, percent: str | None
) -> None:
    """The whole time of the copy counts: with small files, most of it is spent in flush and close."""
    from app.speedtest.messages import WorkerJob
    from app.speedtest.model import Transfer
    from app.speedtest.worker import worker_process

    real = user_files.ManyFilesWorkload.write

    def write(self: user_files.UserFilesWorkload) -> Transfer:
        done = real(self)
        self._source_s = source_s
        return msgspec.structs.replace(done, transfer_s=0.4, fsync_s=0.5, close_s=0.1)

    monkeypatch.setattr(user_files.ManyFilesWorkload, "write", write)
    spec = TestSpec(path=str(target), workload="own", source=str(own_files / "big"))
    result = worker_process.execute(WorkerJob(spec=spec, run="mine"), TransferProgress(), lambda _: None)
    said = [note for note in result.notes if "Reading your own files took" in note]
    assert [f"took {percent} of" in note for note in said] == ([True] if percent else [])


def test_unsuitable_sources(tmp_path: Path, target: Path, own_files: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "link").symlink_to(own_files)
    for path, kind, words in (
        (tmp_path / "nowhere", ErrorKind.PATH_MISSING, "does not exist"),
        (empty, ErrorKind.USAGE, "nothing to copy"),
        (own_files / "empty", ErrorKind.USAGE, "nothing to copy"),
        (own_files / "pipe", ErrorKind.USAGE, "nothing to copy"),
    ):
        with pytest.raises(AppError) as caught:
            run(target, path)
        assert (caught.value.kind, words in caught.value.message) == (kind, True)


def test_the_tested_mount_itself_is_refused(own_files: Path) -> None:
    device = own_files.stat().st_dev
    where = MountOfPath(
        mount_id=1, device=f"{os.major(device)}:{os.minor(device)}", mount_point="/m", share="a:/b",
        fstype="nfs4", options="",
    )  # fmt: skip
    with pytest.raises(AppError, match="mount that is tested"):
        scan_user_files(str(own_files), where, TransferProgress())
    assert scan_user_files(
        str(own_files), msgspec.structs.replace(where, fstype="ext4"), TransferProgress()
    ).total


def test_listing_can_be_cancelled_and_has_a_limit(own_files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = TransferProgress()
    stopped.stopped = True
    with pytest.raises(StoppedError):
        scan_user_files(str(own_files), None, stopped)
    monkeypatch.setattr(user_files, "MAX_FILES", 2)
    with pytest.raises(AppError, match="more than 2 files"):
        scan_user_files(str(own_files), None, TransferProgress())


def test_the_files_of_a_test_are_no_source(own_files: Path) -> None:
    (own_files / (PREFIX + "run")).mkdir()
    (own_files / (PREFIX + "run") / "data").write_bytes(b"x")
    assert [file.path for file in scan_user_files(str(own_files), None, TransferProgress()).files] == [
        str(own_files / name) for name in ("big", "deep/er/small", "empty")
    ]


def test_plan_of_user_files(own_files: Path, target: Path) -> None:
    spec = TestSpec(path=str(target), workload="own", source=str(own_files))
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

    def on_event(event: TestEvent) -> None:
        if event.sample is not None and event.sample.bytes:
            token.cancel()

    spec = TestSpec(path=str(target), workload="own", source=str(big))
    with pytest.raises(CancelledError):
        run_test(spec, token, on_event)
    assert big.stat().st_size == 512 * MIB

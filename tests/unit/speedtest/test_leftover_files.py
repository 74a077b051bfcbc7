"""Leftover test files: listed in the reply, recorded, and removed when their server answers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import pytest

from app import process
from app.cli.main import ask
from app.errors import AppError, CancelledError, ErrorKind, leftover_files_text
from app.files import state_files
from app.kernel import mountinfo
from app.process_identity import host_hash
from app.speedtest import cleanup, leftover_files, processes, runner
from app.speedtest.cleaner import DONE_LINE
from app.speedtest.cleanup import wait_for_cleanups
from app.speedtest.leftover_files import (
    LeftoverFiles,
    RemovalState,
    finish_removal,
    leftover_of_run,
    record_leftover,
    watch_mounts,
)
from app.speedtest.messages import CleanupJob
from app.speedtest.model import TestEvent, TestSpec
from app.speedtest.processes import PrivateMountHandle
from app.speedtest.runner import run_test
from app.speedtest.testdir import PREFIX, new_run_id
from app.tasks import CancelToken

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from app.service.client import Call

RUN = "0123456789abcdef"
MIB = 2**20
ROOT = b"21 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
NAS = b"31 21 0:50 / /mnt/nas rw - nfs4 nas:/export rw,vers=4.2\n"
ELSEWHERE = b"32 21 0:51 / /srv/other rw - nfs4 nas:/export rw,vers=4.2\n"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory of the records, separate for each test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(leftover_files, "_POLL_INTERVAL_S", 0.05)
    yield tmp_path / "state/mountwright/test-files"
    assert wait_for_cleanups(30)
    reset_process_state()
    wait_for(lambda: not leftover_files._watching)


def reset_process_state() -> None:
    """Reset the module's state, as in a new process."""
    with leftover_files._lock:
        leftover_files._leftovers.clear()
        leftover_files._in_removal.clear()
        leftover_files._recorded.clear()
        leftover_files._loaded = False


def wait_for(condition: Any) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def mounted(monkeypatch: pytest.MonkeyPatch, *rows: bytes) -> None:
    monkeypatch.setattr(mountinfo, "read", lambda: mountinfo.parse(ROOT + b"".join(rows)))


def files(path: Path) -> Path:
    """Create the files that a killed run leaves; return their directory."""
    left = path / "tested" / (PREFIX + RUN)
    left.mkdir(parents=True)
    (left / "data").write_bytes(b"x")
    return left


def under_way() -> RemovalState:
    return "running"


def test_the_next_program_removes_recorded_files(tmp_path: Path, state: Path) -> None:
    left = files(tmp_path)
    assert record_leftover(LeftoverFiles(run=RUN, host=host_hash(), path=str(left.parent)), under_way)
    assert [entry.name for entry in state.iterdir()] == [f"{RUN}.json"]
    assert oct(state.stat().st_mode)[-3:] == "700"
    reset_process_state()
    watch_mounts()
    wait_for(lambda: not left.exists() and not list(state.iterdir()))


def test_records_of_another_host_stay(tmp_path: Path, state: Path) -> None:
    left = files(tmp_path)
    state.mkdir(parents=True)
    foreign = LeftoverFiles(run=RUN, host="another", path=str(left.parent))
    (state / f"{RUN}.json").write_bytes(msgspec.json.encode(foreign) + b"\n")
    (state / "torn.json").write_bytes(b'{"run":')
    watch_mounts()
    wait_for(lambda: not leftover_files._watching)
    assert left.exists()
    assert len(list(state.iterdir())) == 2


def test_a_run_is_recorded_from_its_beginning_to_its_end(state: Path, tmp_path: Path) -> None:
    tested = tmp_path / "tested"
    tested.mkdir()
    during: list[list[str]] = []

    def look(event: TestEvent) -> None:
        if event.phase == "read":
            during.append([path.stem for path in state.iterdir()])

    run_test(TestSpec(path=str(tested), size=MIB), CancelToken(), look)
    assert during
    assert all(len(names) == 1 for names in during)
    assert list(state.iterdir()) == []


def test_files_of_another_running_program_stay(tmp_path: Path, state: Path) -> None:
    run_name = new_run_id()  # names this process, which is running
    left = tmp_path / "tested" / (PREFIX + run_name)
    left.mkdir(parents=True)
    leftover_files.record_run(LeftoverFiles(run=run_name, host=host_hash(), path=str(left.parent)))
    reset_process_state()
    watch_mounts()
    wait_for(lambda: not leftover_files._watching)
    assert left.exists()
    assert [path.stem for path in state.iterdir()] == [run_name]


def test_files_that_are_gone_are_not_recorded(state: Path) -> None:
    found = LeftoverFiles(run=RUN, host=host_hash(), path="/tmp")
    assert not record_leftover(found, lambda: "done")
    assert not state.exists()
    assert record_leftover(found, under_way)
    finish_removal(RUN, removed=True)
    assert list(state.iterdir()) == []
    assert not leftover_files.has_leftovers()


def test_a_hanging_state_directory_does_not_delay_the_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shell = tmp_path / "sh"
    shell.write_text("#!/bin/sh\nexec sleep 1000\n")
    shell.chmod(0o700)
    monkeypatch.setattr(state_files, "is_local", lambda _path: False)
    monkeypatch.setattr(state_files, "find_program", lambda _name: str(shell))
    monkeypatch.setattr(state_files, "TIMEOUT_S", 0.1)
    assert record_leftover(LeftoverFiles(run=RUN, host=host_hash(), path="/tmp"), under_way)
    assert "not recorded" in caplog.text
    caplog.clear()


def test_files_are_found_at_the_present_mount_point(monkeypatch: pytest.MonkeyPatch) -> None:
    mounted(monkeypatch, NAS)
    found = leftover_of_run("/mnt/nas/deep/er", RUN, None)
    assert (found.share, found.path, found.below) == ("nas:/export", "/mnt/nas/deep/er", "deep/er")
    assert found.name == f"/mnt/nas/deep/er/{PREFIX}{RUN}"
    assert leftover_files._current_path(found) == "/mnt/nas/deep/er"
    mounted(monkeypatch)
    # Another file system is mounted at the mount point now, which does not contain the files.
    assert leftover_files._current_path(found) == ""
    mounted(monkeypatch, ELSEWHERE)
    assert leftover_files._current_path(found) == "/srv/other/deep/er"
    assert leftover_of_run("/home/me", RUN, None).share == ""


def test_files_of_a_private_mount_are_named_by_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_args: object) -> Any:
        raise AssertionError

    handle = PrivateMountHandle(nothing, nothing, "nas:/export", "/run/mountwright", object())
    found = leftover_of_run("/run/mountwright/deep", RUN, handle)
    assert found.name == f"nas:/export/deep/{PREFIX}{RUN}"
    assert leftover_of_run("/run/mountwright", RUN, handle).name == f"nas:/export/{PREFIX}{RUN}"
    mounted(monkeypatch)
    assert leftover_files._current_path(found) == ""
    mounted(monkeypatch, NAS)
    assert leftover_files._current_path(found) == "/mnt/nas/deep"
    monkeypatch.setattr(leftover_files, "watch_mounts", lambda: None)
    assert record_leftover(found, under_way)
    assert leftover_files.leftovers_on_share("nas:/export") == []  # removal is in progress
    finish_removal(RUN, removed=False)
    assert leftover_files.leftovers_on_share("nas:/export") == [found]


def test_open_mount_is_used_after_a_failed_cleaner(tmp_path: Path) -> None:
    """The share was mounted again before the cleaner in the earlier mount failed."""
    left = files(tmp_path)
    root = left.parent
    handle = PrivateMountHandle(processes.start_program, lambda: None, "nas:/export", str(root), object())
    assert record_leftover(leftover_of_run(str(root), RUN, handle), under_way)
    leftover_files.register_mount(handle)
    assert left.exists()
    finish_removal(RUN, removed=False)
    wait_for(lambda: not left.exists() and not leftover_files.has_leftovers())
    leftover_files.unregister_mount(handle)
    assert leftover_files._open_mounts == []


def test_removal_when_the_first_attempt_failed_before_recording(tmp_path: Path) -> None:
    left = files(tmp_path)
    assert record_leftover(LeftoverFiles(run=RUN, host=host_hash(), path=str(left.parent)), lambda: "failed")
    wait_for(lambda: not left.exists() and not leftover_files.has_leftovers())


def test_cancelled_test_names_remaining_files(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real, held = process.start, [True]

    def start(argv: list[str], **options: Any) -> subprocess.Popen[bytes]:
        if held[0] and argv[-1] == "app.speedtest.cleaner":  # behaves like a server that does not answer
            return real(["/bin/sleep", "1000"], **options)
        return real(argv, **options)

    monkeypatch.setattr(processes, "start", start)
    monkeypatch.setattr(runner, "REMOVAL_WAIT_S", 0.5)
    token = CancelToken()
    stopped: list[int] = []

    def on_event(event: TestEvent) -> None:
        if event.sample is not None and not stopped:
            (marker,) = tmp_path.glob(f"{PREFIX}*/marker.json")
            stopped.append(msgspec.json.decode(marker.read_bytes())["pid"])
            os.kill(stopped[0], signal.SIGSTOP)  # behaves like a worker that hangs in the kernel
            token.cancel()

    spec = TestSpec(path=str(tmp_path), size=256 * MIB, sync=True, block_size=4096)
    with pytest.raises(CancelledError) as caught:
        run_test(spec, token, on_event)
    (left,) = tmp_path.glob(f"{PREFIX}*")
    assert caught.value.remains == (str(left),)
    assert caught.value.data().error().remains == (str(left),)
    assert str(left) in leftover_files_text(caught.value.remains)
    assert len(list(state.iterdir())) == 1
    held[0] = False
    wait_for(lambda: bool(cleanup._cleaners))
    cleanup.end_cleaners(str(tmp_path))
    wait_for(lambda: not left.exists() and not list(state.iterdir()))
    assert "could not be removed" in caplog.text
    caplog.clear()


def clean_in_process(job: CleanupJob) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "app.speedtest.cleaner"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    child.stdin.write(msgspec.json.encode(job) + b"\n")
    child.stdin.flush()
    return child


def test_a_cleaner_retries_until_it_succeeds(tmp_path: Path) -> None:
    left = files(tmp_path)
    (left / "busy").mkdir()  # a foreign entry: it is not removed, so the directory cannot be removed
    with clean_in_process(CleanupJob(path=str(left.parent), run=RUN, grace_s=1)) as child:
        wait_for(lambda: not (left / "data").exists())
        child.send_signal(signal.SIGTERM)
        (left / "busy").rmdir()
        assert child.stdout is not None
        assert child.stdout.read() == DONE_LINE
    assert not left.exists()


def test_a_cleaner_exits_after_its_grace_period(tmp_path: Path) -> None:
    left = files(tmp_path)
    (left / "busy").mkdir()
    with clean_in_process(CleanupJob(path=str(left.parent), run=RUN, grace_s=1)) as child:
        assert child.stdin is not None
        child.stdin.close()
        assert child.wait(60) == -signal.SIGALRM


def test_a_cleaner_leaves_another_file_system_alone(tmp_path: Path) -> None:
    left = files(tmp_path)
    job = CleanupJob(path=str(left.parent), run=RUN, grace_s=1, share="nas:/export")
    with clean_in_process(job) as child:
        assert child.wait(60) == 1
    assert left.exists()
    gone = CleanupJob(path=str(left.parent / "removed"), run=RUN, grace_s=1, share="nas:/export")
    with clean_in_process(gone) as child:
        assert child.wait(60) == 1


def test_ctrl_c_lists_remaining_files() -> None:
    remaining = CancelledError()
    remaining.remains = ("/mnt/nas/.mountwright-1",)

    class Interrupted:
        """A call whose first wait is interrupted by Ctrl-C, and whose second wait succeeds."""

        waited: ClassVar[list[float]] = []

        def result(self, timeout: float | None = None) -> None:
            if timeout is None:
                raise KeyboardInterrupt
            self.waited.append(timeout)
            if sum(self.waited) < cleanup.CANCEL_TIMEOUT_S:
                raise TimeoutError
            raise remaining

        def cancel(self) -> None:
            return

    class Host:
        def submit(self, _verb: str, _args: Any = None, _on_event: Any = None) -> Call:
            return Interrupted()  # type: ignore[return-value]

        def close(self) -> None:
            return

    with pytest.raises(AppError) as caught:
        ask(Host(), "test.run")
    assert caught.value.kind is ErrorKind.CANCELLED
    assert caught.value.remains == remaining.remains
    assert sum(Interrupted.waited) == cleanup.CANCEL_TIMEOUT_S


def test_cancel_timeout_includes_time_for_recording() -> None:
    killing_s = 3 * runner._TERM_GRACE_S
    recording_s = 2 * state_files.TIMEOUT_S  # a hanging writer is killed after one timeout
    assert killing_s + cleanup.REMOVAL_WAIT_S + recording_s <= cleanup.CANCEL_TIMEOUT_S


def test_cancelled_work_continues_in_the_background() -> None:
    token, over = CancelToken(), threading.Event()
    threading.Timer(0.1, token.cancel).start()
    with pytest.raises(CancelledError):
        cleanup.wait_unless_cancelled(lambda: over.wait(60), token)
    assert not wait_for_cleanups(0)
    over.set()
    assert wait_for_cleanups(30)
    assert cleanup.wait_unless_cancelled(lambda: 7, CancelToken()) == 7


def test_a_cleaner_without_an_agent_prints_no_error(tmp_path: Path) -> None:
    left = files(tmp_path)
    (left / "busy").mkdir()
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "app.speedtest.cleaner"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdin.write(msgspec.json.encode(CleanupJob(path=str(left.parent), run=RUN, grace_s=60)) + b"\n")
    child.stdin.flush()
    wait_for(lambda: not (left / "data").exists())
    child.stdout.close()
    child.stdin.close()
    (left / "busy").rmdir()
    with child.stderr:
        assert child.stderr.read() == b""
    assert child.wait(60) == 0
    assert not left.exists()

"""Test files that could not be removed: named in the answer, recorded, removed when their server answers."""

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
from app.errors import AppError, ErrorKind, leftover_files_text
from app.files import state_files
from app.kernel import mountinfo
from app.process_identity import host_hash
from app.service.protocol import from_body, to_body
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
from app.tasks import CancelledError, CancelToken

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
    """The directory of the records, of this test alone."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(leftover_files, "_POLL_INTERVAL_S", 0.05)
    yield tmp_path / "state/mountwright/test-files"
    assert wait_for_cleanups(30)
    begin_anew()
    ended(lambda: not leftover_files._watching)


def begin_anew() -> None:
    """Forget what this process knows, as the next one does not know it."""
    with leftover_files._lock:
        leftover_files._leftovers.clear()
        leftover_files._in_removal.clear()
        leftover_files._recorded.clear()
        leftover_files._loaded = False


def ended(condition: Any) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def mounted(monkeypatch: pytest.MonkeyPatch, *rows: bytes) -> None:
    monkeypatch.setattr(mountinfo, "read", lambda: mountinfo.parse(ROOT + b"".join(rows)))


def files(path: Path) -> Path:
    """Make what a killed run leaves."""
    left = path / "tested" / (PREFIX + RUN)
    left.mkdir(parents=True)
    (left / "data").write_bytes(b"x")
    return left


def under_way() -> RemovalState:
    return "under way"


def test_the_next_program_removes_what_is_recorded(tmp_path: Path, state: Path) -> None:
    left = files(tmp_path)
    assert record_leftover(LeftoverFiles(run=RUN, host=host_hash(), path=str(left.parent)), under_way)
    assert [entry.name for entry in state.iterdir()] == [f"{RUN}.json"]
    assert oct(state.stat().st_mode)[-3:] == "700"
    begin_anew()
    watch_mounts()
    ended(lambda: not left.exists() and not list(state.iterdir()))


def test_what_another_machine_recorded_stays(tmp_path: Path, state: Path) -> None:
    left = files(tmp_path)
    state.mkdir(parents=True)
    foreign = LeftoverFiles(run=RUN, host="another", path=str(left.parent))
    (state / f"{RUN}.json").write_bytes(msgspec.json.encode(foreign) + b"\n")
    (state / "torn.json").write_bytes(b'{"run":')
    watch_mounts()
    ended(lambda: not leftover_files._watching)
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


def test_a_test_of_another_program_that_still_runs_is_left_to_it(tmp_path: Path, state: Path) -> None:
    run_name = new_run_id()  # of this process, which lives
    left = tmp_path / "tested" / (PREFIX + run_name)
    left.mkdir(parents=True)
    leftover_files.record_run(LeftoverFiles(run=run_name, host=host_hash(), path=str(left.parent)))
    begin_anew()
    watch_mounts()
    ended(lambda: not leftover_files._watching)
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


def test_a_state_directory_that_hangs_does_not_hold_the_answer(
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


def test_a_share_is_looked_for_where_it_is_mounted_now(monkeypatch: pytest.MonkeyPatch) -> None:
    mounted(monkeypatch, NAS)
    found = leftover_of_run("/mnt/nas/deep/er", RUN, None)
    assert (found.share, found.path, found.below) == ("nas:/export", "/mnt/nas/deep/er", "deep/er")
    assert found.name == f"/mnt/nas/deep/er/{PREFIX}{RUN}"
    assert leftover_files._current_path(found) == "/mnt/nas/deep/er"
    mounted(monkeypatch)
    # What is at the mount point now is another file system, which does not have the files.
    assert leftover_files._current_path(found) == ""
    mounted(monkeypatch, ELSEWHERE)
    assert leftover_files._current_path(found) == "/srv/other/deep/er"
    assert leftover_of_run("/home/me", RUN, None).share == ""


def test_files_of_a_private_mount_are_named_by_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_args: object) -> Any:
        raise AssertionError

    place = PrivateMountHandle(nothing, nothing, "nas:/export", "/run/mountwright", object())
    found = leftover_of_run("/run/mountwright/deep", RUN, place)
    assert found.name == f"nas:/export/deep/{PREFIX}{RUN}"
    assert leftover_of_run("/run/mountwright", RUN, place).name == f"nas:/export/{PREFIX}{RUN}"
    mounted(monkeypatch)
    assert leftover_files._current_path(found) == ""
    mounted(monkeypatch, NAS)
    assert leftover_files._current_path(found) == "/mnt/nas/deep"
    monkeypatch.setattr(leftover_files, "watch_mounts", lambda: None)
    assert record_leftover(found, under_way)
    assert leftover_files.leftovers_on_share("nas:/export") == []  # they are being removed
    finish_removal(RUN, removed=False)
    assert leftover_files.leftovers_on_share("nas:/export") == [found]


def test_what_an_earlier_cleaner_could_not_remove_goes_in_the_mount_that_is_open(tmp_path: Path) -> None:
    """The share was mounted again before the cleaner in the mount that has gone gave up."""
    left = files(tmp_path)
    root = left.parent
    place = PrivateMountHandle(processes.start_program, lambda: None, "nas:/export", str(root), object())
    assert record_leftover(leftover_of_run(str(root), RUN, place), under_way)
    leftover_files.register_mount(place)
    assert left.exists()
    finish_removal(RUN, removed=False)
    ended(lambda: not left.exists() and not leftover_files.has_leftovers())
    leftover_files.unregister_mount(place)
    assert leftover_files._open_mounts == []


def test_files_are_removed_though_the_first_try_ended_before_they_were_recorded(tmp_path: Path) -> None:
    left = files(tmp_path)
    assert record_leftover(LeftoverFiles(run=RUN, host=host_hash(), path=str(left.parent)), lambda: "failed")
    ended(lambda: not left.exists() and not leftover_files.has_leftovers())


def test_a_cancelled_test_names_what_remains_until_it_is_removed(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real, held = process.start, [True]

    def start(argv: list[str], **options: Any) -> subprocess.Popen[bytes]:
        if held[0] and argv[-1] == "app.speedtest.cleaner":  # as with a server that does not answer
            return real(["/bin/sleep", "1000"], **options)
        return real(argv, **options)

    monkeypatch.setattr(processes, "start", start)
    monkeypatch.setattr(runner, "REMOVAL_WAIT_S", 0.5)
    token = CancelToken()
    stopped: list[int] = []

    def seen(event: TestEvent) -> None:
        if event.sample is not None and not stopped:
            (marker,) = tmp_path.glob(f"{PREFIX}*/marker.json")
            stopped.append(msgspec.json.decode(marker.read_bytes())["pid"])
            os.kill(stopped[0], signal.SIGSTOP)  # as good as hung in the kernel
            token.cancel()

    spec = TestSpec(path=str(tmp_path), size=256 * MIB, sync=True, block_size=4096)
    with pytest.raises(CancelledError) as caught:
        run_test(spec, token, seen)
    (left,) = tmp_path.glob(f"{PREFIX}*")
    assert caught.value.remains == (str(left),)
    assert from_body(to_body(caught.value)).remains == (str(left),)
    assert str(left) in leftover_files_text(caught.value.remains)
    assert len(list(state.iterdir())) == 1
    held[0] = False
    ended(lambda: bool(cleanup._cleaners))
    cleanup.end_cleaners(str(tmp_path))
    ended(lambda: not left.exists() and not list(state.iterdir()))
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


def test_a_cleaner_goes_on_until_it_can_remove_the_files(tmp_path: Path) -> None:
    left = files(tmp_path)
    (left / "busy").mkdir()  # not one of ours: it is not removed, and keeps the directory
    with clean_in_process(CleanupJob(path=str(left.parent), run=RUN, grace_s=1)) as child:
        ended(lambda: not (left / "data").exists())
        child.send_signal(signal.SIGTERM)
        (left / "busy").rmdir()
        assert child.stdout is not None
        assert child.stdout.read() == DONE_LINE
    assert not left.exists()


def test_a_cleaner_ends_some_time_after_its_agent(tmp_path: Path) -> None:
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


def test_ctrl_c_says_what_remains() -> None:
    remaining = CancelledError()
    remaining.remains = ("/mnt/nas/.mountwright-1",)

    class Interrupted:
        """A call that Ctrl-C interrupts, and that then answers."""

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


def test_the_answer_has_time_to_record_what_remains() -> None:
    killing_s = 3 * runner._TERM_GRACE_S
    recording_s = 2 * state_files.TIMEOUT_S  # one that hangs is killed, and waited for
    assert killing_s + cleanup.REMOVAL_WAIT_S + recording_s <= cleanup.CANCEL_TIMEOUT_S


def test_work_that_takes_long_is_left_to_the_background_when_cancelled() -> None:
    token, over = CancelToken(), threading.Event()
    threading.Timer(0.1, token.cancel).start()
    with pytest.raises(CancelledError):
        cleanup.wait_unless_cancelled(lambda: over.wait(60), token)
    assert not wait_for_cleanups(0)
    over.set()
    assert wait_for_cleanups(30)
    assert cleanup.wait_unless_cancelled(lambda: 7, CancelToken()) == 7


def test_a_cleaner_whose_agent_has_gone_says_nothing(tmp_path: Path) -> None:
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
    ended(lambda: not (left / "data").exists())
    child.stdout.close()
    child.stdin.close()
    (left / "busy").rmdir()
    with child.stderr:
        assert child.stderr.read() == b""
    assert child.wait(60) == 0
    assert not left.exists()

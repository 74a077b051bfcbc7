"""Whole tests in real worker processes: results, errors, cancelling, death, and nothing left behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from advisor.facts import LinkFacts
from app import process
from app.agent.client import AgentClient
from app.agent.server import AgentServer, Context
from app.bench import cleanup, programs, run, worker
from app.bench.files import MARKER, PREFIX, own_marker
from app.bench.messages import WorkerJob, WorkerResult
from app.bench.meter import Progress
from app.bench.result import TestEvent, TestResult, TestSpec
from app.bench.run import run_test, wait_for_cleanups
from app.bench.where import Where
from app.errors import AppError, ErrorKind
from app.tasks import CancelledError, CancelToken, run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MIB = 2**20
#: Long enough to be caught in the middle, whatever the machine.
ENDLESS = 2**36


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path) -> Iterator[None]:
    yield
    assert wait_for_cleanups(30)
    assert [entry for entry in tmp_path.rglob("*") if entry.name.startswith(PREFIX)] == []


@pytest.fixture
def roomy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A directory whose worker does not look at the free space, so that an endless test starts."""
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(
        "import app.bench.files as files\nfiles.check_space = lambda *_: None\n"
    )
    real = process.start
    with_hooks = {"PYTHONPATH": str(hooks)}
    monkeypatch.setattr(programs, "start", lambda argv, **kw: real(argv, env=with_hooks, **kw))
    directory = tmp_path / "tested"
    directory.mkdir()
    return directory


def do(directory: Path, **changes: object) -> tuple[TestResult, list[TestEvent]]:
    spec = msgspec.structs.replace(
        TestSpec(path=str(directory), size=4 * MIB, block_size=64 * 1024), **changes
    )
    events: list[TestEvent] = []
    return run_test(spec, CancelToken(), events.append), events


def test_both_ways(tmp_path: Path) -> None:
    result, events = do(tmp_path)
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
def test_one_way(tmp_path: Path, direction: str, cache: str) -> None:
    result, _ = do(tmp_path, direction=direction, cache=cache, sync=True)
    assert (result.write is None) == (direction == "read")
    assert (result.read is None) == (result.cache is None) == (direction == "write")
    assert result.sync


def test_odd_sizes(tmp_path: Path) -> None:
    result, _ = do(tmp_path, size=MIB + 1, block_size=4097)
    assert result.read is not None
    assert result.read.samples[-1].bytes == MIB + 1


def test_links_and_relative_paths_are_resolved_by_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    monkeypatch.chdir(tmp_path)
    result, _ = do(tmp_path, path="link")
    assert result.path == str(real)


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"path": "/nowhere/at/all"}, ErrorKind.PATH_MISSING),
        ({"path": "/etc/passwd"}, ErrorKind.NOT_A_DIRECTORY),
        ({"size": 2**62}, ErrorKind.NO_SPACE),
        ({"size": 0}, ErrorKind.USAGE),
        ({"block_size": 0}, ErrorKind.USAGE),
        ({"block_size": 2**40}, ErrorKind.USAGE),
        ({"path": "/proc"}, None),
    ],
)
def test_bad_input(tmp_path: Path, changes: dict[str, object], kind: ErrorKind | None) -> None:
    with pytest.raises(AppError) as caught:
        do(tmp_path, **changes)
    assert kind is None or caught.value.kind == kind
    assert caught.value.kind != ErrorKind.INTERNAL


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(AppError) as caught:
        do(tmp_path)
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
def test_a_full_file_system_is_seen_before(tmp_path: Path) -> None:
    with small_tmpfs(tmp_path, "size=4m") as where, pytest.raises(AppError) as caught:
        do(where, size=4 * MIB)
    assert caught.value.kind == ErrorKind.NO_SPACE


@pytest.mark.real_mounts
@needs_root
def test_a_full_file_system_is_seen_while_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "check_space", lambda *_: None)
    job = WorkerJob(spec=TestSpec(path=str(tmp_path / "small"), size=8 * MIB), run="full")
    with small_tmpfs(tmp_path, "size=4m") as where:
        with pytest.raises(AppError) as caught:
            worker.run(job, Progress(), lambda _: None)
        assert list(where.iterdir()) == []
    assert caught.value.kind == ErrorKind.NO_SPACE


@pytest.mark.real_mounts
@needs_root
def test_a_read_only_file_system(tmp_path: Path) -> None:
    with small_tmpfs(tmp_path, "ro") as where, pytest.raises(AppError) as caught:
        do(where)
    assert caught.value.kind == ErrorKind.READ_ONLY


def test_leftovers_of_a_killed_run_are_removed_and_mentioned(tmp_path: Path) -> None:
    old = tmp_path / (PREFIX + "old")
    old.mkdir()
    (old / "data").write_bytes(b"x")
    (old / MARKER).write_bytes(msgspec.json.encode(msgspec.structs.replace(own_marker("old"), pid=2**22 + 1)))
    result, _ = do(tmp_path)
    assert not old.exists()
    assert any("earlier test" in note for note in result.notes)


def start_endless(path: Path, token: CancelToken, seen: Callable[[TestEvent], None]) -> AppError:
    with pytest.raises(AppError) as caught:
        run_test(TestSpec(path=str(path), size=ENDLESS, direction="write"), token, seen)
    return caught.value


def files_of(path: Path) -> list[str]:
    return [entry.name for entry in path.glob(f"{PREFIX}*/*")]


def test_cancel_in_the_middle(roomy: Path) -> None:
    token = CancelToken()
    before: list[list[str]] = []

    def seen(event: TestEvent) -> None:
        if event.sample is not None and event.sample.bytes > MIB:
            before.append(files_of(roomy))
            token.cancel()

    assert isinstance(start_endless(roomy, token, seen), CancelledError)
    assert sorted(before[0]) == ["data", MARKER]


@pytest.mark.parametrize("phase", ["prepare", "write"])
def test_cancel_at_any_phase(roomy: Path, phase: str) -> None:
    token = CancelToken()
    error = start_endless(roomy, token, lambda event: token.cancel() if event.phase == phase else None)
    assert isinstance(error, CancelledError)


def test_cancelled_before_it_begins(tmp_path: Path) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        run_test(TestSpec(path=str(tmp_path)), token, lambda _: None)


def worker_of(path: Path) -> int:
    (marker,) = path.glob(f"{PREFIX}*/{MARKER}")
    return int(json.loads(marker.read_bytes())["pid"])


def test_cancel_of_a_worker_that_does_not_listen(roomy: Path) -> None:
    token = CancelToken()
    stopped: list[int] = []

    def seen(event: TestEvent) -> None:
        if event.sample is not None and event.sample.bytes > MIB and not stopped:
            stopped.append(worker_of(roomy))
            os.kill(stopped[0], signal.SIGSTOP)  # as good as hung in the kernel
            token.cancel()

    assert isinstance(start_endless(roomy, token, seen), CancelledError)
    assert wait_for_cleanups(30)
    with pytest.raises(ProcessLookupError):
        os.kill(stopped[0], 0)


def test_a_killed_worker_is_told_and_cleaned_up(roomy: Path) -> None:
    killed: list[int] = []

    def seen(event: TestEvent) -> None:
        if event.sample is not None and event.sample.bytes > MIB and not killed:
            killed.append(worker_of(roomy))
            os.kill(killed[0], signal.SIGKILL)

    error = start_endless(roomy, CancelToken(), seen)
    assert error.kind == ErrorKind.IO
    assert "signal 9" in error.message


def test_a_worker_that_hangs_is_given_up(roomy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "STALL_S", 1.0)
    hung: list[int] = []

    def seen(event: TestEvent) -> None:
        if event.sample is not None and event.sample.bytes > MIB and not hung:
            hung.append(worker_of(roomy))
            os.kill(hung[0], signal.SIGSTOP)

    assert start_endless(roomy, CancelToken(), seen).kind == ErrorKind.NOT_RESPONDING


def test_a_worker_that_breaks_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = process.start

    def start_other(argv: list[str], **options: Any) -> subprocess.Popen[bytes]:
        return real([word.replace("worker", "nothing") for word in argv], **options)

    monkeypatch.setattr(programs, "start", start_other)
    with pytest.raises(AppError) as caught:
        do(tmp_path)
    assert caught.value.kind == ErrorKind.IO
    assert "app.bench.nothing" in caught.value.detail


def test_clean_up_that_cannot_work_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = process.start

    def start_nothing(argv: list[str], **_options: object) -> subprocess.Popen[bytes]:
        return real([*argv[:3], "app.bench.nothing"], stderr=subprocess.DEVNULL)

    monkeypatch.setattr(programs, "start", start_nothing)
    cleanup.clean(str(tmp_path), "none")
    assert "could not be removed" in caplog.text
    caplog.clear()


@pytest.fixture
def client() -> Iterator[AgentClient]:
    """An agent with only test.run, over pipes."""
    to_agent, from_client = os.pipe()
    to_client, from_agent = os.pipe()

    def handler(args: TestSpec, context: Context) -> TestResult:
        return run_test(args, context.token, context.emit)

    agent_in, agent_out = os.fdopen(to_agent, "rb"), os.fdopen(from_agent, "wb")
    served = run_in_thread("served", AgentServer(agent_in, agent_out, {"test.run": handler}).serve)
    reader, writer = os.fdopen(to_client, "rb"), os.fdopen(from_client, "wb")
    connected = AgentClient(reader, writer)
    yield connected
    connected.close()
    served.result(30)
    agent_out.close()
    agent_in.close()
    assert connected.join(30)
    reader.close()


def test_through_the_protocol(client: AgentClient, tmp_path: Path) -> None:
    events: list[TestEvent] = []
    result = client.submit("test.run", TestSpec(path=str(tmp_path), size=MIB), events.append).result(60)
    assert isinstance(result, TestResult)
    assert result.write is not None
    assert [
        item.sample for item in events if item.sample and item.direction == "write"
    ] == result.write.samples


def test_cancel_through_the_protocol(client: AgentClient, roomy: Path) -> None:
    moving = threading.Event()
    call = client.submit("test.run", TestSpec(path=str(roomy), size=ENDLESS), lambda _: moving.set())
    assert moving.wait(60)
    began = time.monotonic()
    call.cancel()
    with pytest.raises(AppError) as caught:
        call.result(60)
    assert caught.value.kind == ErrorKind.CANCELLED
    print(f"cancelled in {(time.monotonic() - began) * 1000:.0f} ms")


def in_two_stages(directory: Path, remount: Callable[[object], None]) -> TestResult:
    spec = TestSpec(path=str(directory), size=4 * MIB, cache="fresh-mount")
    return run_test(spec, CancelToken(), lambda _event: None, remount=remount)


def test_between_write_and_read_the_file_is_kept_by_this_process(tmp_path: Path) -> None:
    kept: list[dict[str, object]] = []

    def remount(_where: object) -> None:
        (directory,) = tmp_path.glob(PREFIX + "*")
        kept.append(json.loads((directory / MARKER).read_text()))
        # Another test of the same place must not take it for a leftover.
        assert len(do(tmp_path)[0].notes) == 1

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


def test_a_file_that_was_changed_meanwhile_is_noticed(tmp_path: Path) -> None:
    def remount(_where: object) -> None:
        (data,) = tmp_path.glob(PREFIX + "*/data")
        data.write_bytes(bytes(4 * MIB))

    with pytest.raises(AppError, match="not what was written"):
        in_two_stages(tmp_path, remount)


def test_the_way_to_the_server_is_found_and_a_read_faster_than_it_flagged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, int, float]] = []

    def link_to(address: str, port: int, *, override: LinkFacts | None, seconds: float = 1.0) -> LinkFacts:
        assert override is None
        asked.append((address, port, seconds))
        return LinkFacts(name="eth0", rate_bps=1e6)

    def find_mount(_fd: int) -> Where:
        options = "rw,vers=4.2,addr=192.0.2.7,port=2050"
        return Where(
            mount_id=1, device="0:1", mount_point="/m", share="nas:/a", fstype="nfs4", options=options
        )

    monkeypatch.setattr(run, "link_to", link_to)
    real = run._Run.result

    def on_nfs(self: run._Run) -> WorkerResult:
        done = real(self)
        rounds = [
            msgspec.structs.replace(
                item, read=msgspec.structs.replace(item.read, server_bytes=item.read.bytes)
            )
            for item in done.rounds
            if item.read is not None
        ]
        return msgspec.structs.replace(done, where=find_mount(0), rounds=rounds)

    monkeypatch.setattr(run._Run, "result", on_nfs)
    result, _ = do(tmp_path, direction="read")
    assert asked == [("192.0.2.7", 2050, 1.0)]
    assert result.link == LinkFacts(name="eth0", rate_bps=1e6)
    assert result.cache is not None
    assert result.cache.cached
    assert result.read is not None
    assert result.read.cached
    assert any("faster than the link" in note for note in result.notes)
    # Where nobody asks for the round trip, the rest of the way is found all the same.
    spec = TestSpec(path=str(tmp_path), size=4096, direction="read")
    untimed = run.run_test(spec, CancelToken(), lambda _event: None, round_trip=False)
    assert asked[1:] == [("192.0.2.7", 2050, 0.0)]
    assert untimed.link == result.link

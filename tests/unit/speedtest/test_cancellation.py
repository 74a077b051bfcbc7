"""Tests that do not finish: cancelled, killed, hung or crashed; no files remain."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from waiting import DEADLINE_S, wait_for

from app import process
from app.errors import AppError, CancelledError, ErrorKind
from app.service.client import AgentClient
from app.service.server import AgentServer, Context
from app.service.transport import PipeTransport
from app.speedtest import cleanup, processes, runner
from app.speedtest.model import TestEvent, TestResult, TestSpec
from app.speedtest.runner import run_test, wait_for_cleanups
from app.speedtest.testdir import MARKER_FILE, PREFIX
from app.tasks import CancelToken, run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.usefixtures("nothing_left")
MIB = 2**20
#: File size in bytes that is not reached before the test is interrupted, on any machine.
ENDLESS = 2**36


@pytest.fixture
def unchecked_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A directory whose free space is not checked, so that an endless test starts.

    It is on a disk, because an endless file would fill the memory that tmp_path may be in.
    """
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(
        "import app.speedtest.testdir as files\nfiles.check_space = lambda *_: None\n"
    )
    real = process.start
    with_hooks = {"PYTHONPATH": str(hooks)}
    monkeypatch.setattr(processes, "start", lambda argv, **kw: real(argv, env=with_hooks, **kw))
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        yield Path(directory)


def start_endless(path: Path, token: CancelToken, on_event: Callable[[TestEvent], None]) -> AppError:
    with pytest.raises(AppError) as caught:
        run_test(TestSpec(path=str(path), size=ENDLESS, direction="write"), token, on_event)
    return caught.value


def files_of(path: Path) -> list[str]:
    return [entry.name for entry in path.glob(f"{PREFIX}*/*")]


def test_cancel_in_the_middle(unchecked_directory: Path) -> None:
    token = CancelToken()
    before: list[list[str]] = []

    def on_event(event: TestEvent) -> None:
        if event.sample is not None and event.sample.bytes > MIB:
            before.append(files_of(unchecked_directory))
            token.cancel()

    assert isinstance(start_endless(unchecked_directory, token, on_event), CancelledError)
    assert sorted(before[0]) == ["data", MARKER_FILE]


@pytest.mark.parametrize("phase", ["prepare", "write"])
def test_cancel_at_any_phase(unchecked_directory: Path, phase: str) -> None:
    token = CancelToken()
    error = start_endless(
        unchecked_directory, token, lambda event: token.cancel() if event.phase == phase else None
    )
    assert isinstance(error, CancelledError)


def test_cancelled_before_it_begins(tmp_path: Path) -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        run_test(TestSpec(path=str(tmp_path)), token, lambda _: None)


def worker_of(path: Path) -> int:
    (marker,) = path.glob(f"{PREFIX}*/{MARKER_FILE}")
    return int(json.loads(marker.read_bytes())["pid"])


def test_cancel_of_a_stopped_worker(unchecked_directory: Path) -> None:
    token = CancelToken()
    stopped: list[int] = []

    def on_event(event: TestEvent) -> None:
        if event.sample is not None and event.sample.bytes > MIB and not stopped:
            stopped.append(worker_of(unchecked_directory))
            os.kill(stopped[0], signal.SIGSTOP)  # behaves like a worker that hangs in the kernel
            token.cancel()

    assert isinstance(start_endless(unchecked_directory, token, on_event), CancelledError)
    assert wait_for_cleanups(30)
    with pytest.raises(ProcessLookupError):
        os.kill(stopped[0], 0)


def test_a_killed_worker_is_reported_and_cleaned_up(unchecked_directory: Path) -> None:
    killed: list[int] = []

    def on_event(event: TestEvent) -> None:
        if event.sample is not None and event.sample.bytes > MIB and not killed:
            killed.append(worker_of(unchecked_directory))
            os.kill(killed[0], signal.SIGKILL)

    error = start_endless(unchecked_directory, CancelToken(), on_event)
    assert error.kind == ErrorKind.IO
    assert "signal 9" in error.message


def test_a_worker_that_hangs_is_given_up(unchecked_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "STALL_TIMEOUT_S", 1.0)
    hung: list[int] = []

    def on_event(event: TestEvent) -> None:
        if event.sample is not None and event.sample.bytes > MIB and not hung:
            hung.append(worker_of(unchecked_directory))
            os.kill(hung[0], signal.SIGSTOP)

    assert start_endless(unchecked_directory, CancelToken(), on_event).kind == ErrorKind.NOT_RESPONDING


def test_error_of_a_crashing_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = process.start

    def start_other(argv: list[str], **options: Any) -> subprocess.Popen[bytes]:
        return real([word.replace("worker", "nothing") for word in argv], **options)

    monkeypatch.setattr(processes, "start", start_other)
    with pytest.raises(AppError) as caught:
        run_test(TestSpec(path=str(tmp_path), size=MIB), CancelToken(), lambda _: None)
    assert caught.value.kind == ErrorKind.IO
    assert "app.speedtest.nothing" in caught.value.detail


def test_failed_cleanup_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = process.start

    def start_failing(argv: list[str], **_options: object) -> subprocess.Popen[bytes]:
        return real([*argv[:3], "app.speedtest.nothing"], stderr=subprocess.DEVNULL)

    monkeypatch.setattr(processes, "start", start_failing)
    cleanup.remove_run_files(str(tmp_path), "none")
    assert "could not be removed" in caplog.text
    caplog.clear()


@pytest.fixture
def client() -> Iterator[AgentClient]:
    """A client of an agent that offers only test.run, over pipes."""
    to_agent, from_client = os.pipe()
    to_client, from_agent = os.pipe()

    def handler(args: TestSpec, context: Context) -> TestResult:
        return run_test(args, context.token, context.emit)

    agent_in, agent_out = os.fdopen(to_agent, "rb"), os.fdopen(from_agent, "wb")
    served = run_in_thread(
        "served", AgentServer(PipeTransport(agent_in, agent_out), {"test.run": handler}).serve
    )
    reader, writer = os.fdopen(to_client, "rb"), os.fdopen(from_client, "wb")
    connected = AgentClient(PipeTransport(reader, writer))
    yield connected
    connected.close()
    served.result(DEADLINE_S)
    agent_out.close()
    agent_in.close()
    assert connected.join(DEADLINE_S)
    reader.close()


def test_through_the_protocol(client: AgentClient, tmp_path: Path) -> None:
    events: list[TestEvent] = []
    result = client.submit("test.run", TestSpec(path=str(tmp_path), size=MIB), events.append).result(
        DEADLINE_S
    )
    assert isinstance(result, TestResult)
    assert result.write is not None
    assert [
        item.sample for item in events if item.sample and item.direction == "write"
    ] == result.write.samples


def test_cancel_through_the_protocol(client: AgentClient, unchecked_directory: Path) -> None:
    moving = threading.Event()
    call = client.submit(
        "test.run", TestSpec(path=str(unchecked_directory), size=ENDLESS), lambda _: moving.set()
    )
    wait_for(moving, "the first bytes of the copy")
    began = time.monotonic()
    call.cancel()
    with pytest.raises(AppError) as caught:
        call.result(DEADLINE_S)
    assert caught.value.kind == ErrorKind.CANCELLED
    print(f"cancelled in {(time.monotonic() - began) * 1000:.0f} ms")

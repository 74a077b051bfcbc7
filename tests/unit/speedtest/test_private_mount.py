"""Private mounts, with a fake helper that runs programs on this computer without mounting."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from helper_line import peer
from waiting import DEADLINE_S, wait_for

from app.errors import AppError, CancelledError, ErrorKind
from app.helper_client.client import HelperClient
from app.speedtest import mount_session as session_module
from app.speedtest import private_mount
from app.speedtest.cleanup import run_in_background
from app.speedtest.model import TestEvent, TestSpec
from app.speedtest.mount_session import MountSession, NamespaceProcess
from app.speedtest.private_mount import PrivateMount, UnmountTiming
from app.speedtest.runner import wait_for_cleanups
from app.speedtest.testdir import PREFIX, file_error
from app.tasks import CancelToken

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MIB = 2**20

#: Fake helper: opens, runs and closes without a mount. Arguments: a file to log requests to, and facts.
STAND_IN = """
import json, os, socket, sys
notes, facts = open(sys.argv[1], "a"), json.loads(sys.argv[2])
for line in sys.stdin:
    request = json.loads(line)
    print(request["verb"], json.dumps(request["args"]), file=notes, flush=True)
    answer = {}
    if request["verb"] == "open":
        answer, facts = facts, {**facts, "fresh": False}
    elif request["verb"] == "close":
        answer = {"sync_ms": 12.5, "unmount_ms": None, "gone": True}
    elif request["verb"] == "run" and os.fork() == 0:
        os.setsid()
        ends = [socket.socket(socket.AF_UNIX) for _ in range(2)]
        for end in ends:
            end.connect(request["args"]["socket"])
        for number, end in enumerate((ends[0], ends[0], ends[1])):
            os.dup2(end.fileno(), number)
        os.closerange(3, 64)
        os.execve(request["args"]["argv"][0], request["args"]["argv"], {})
    print(json.dumps({"id": request["id"], "ok": answer}), flush=True)
"""


class World:
    """Directory that replaces the mount, and the requests to the fake helper."""

    def __init__(self, directory: Path) -> None:
        self.place = directory / "place"
        self.place.mkdir()
        self._notes = directory / "notes"
        self._facts: dict[str, Any] = {
            "path": str(self.place), "mount_id": 7, "device": "0:1", "source": "nas:/a", "fstype": "nfs4",
            "options": "rw,vers=4.2,rsize=65536", "mount_options": "rw,nosuid,nodev", "nconnect": 1,
            "read_ahead_kb": 128, "version": "4.2", "shared": False, "joined": False, "mount_ms": 50.0,
            "fresh": True,
        }  # fmt: skip
        self.helpers: list[HelperClient] = []
        self.sessions: list[MountSession] = []

    def open(self, options: str = "vers=4.2", **facts: Any) -> PrivateMount:
        facts_json = json.dumps({**self._facts, **facts})
        command = [sys.executable, "-c", peer("bench", STAND_IN), str(self._notes), facts_json]
        helper = HelperClient("bench", command=command)
        session = MountSession(helper)
        self.helpers.append(helper)
        self.sessions.append(session)
        return self.open_in(session, options)

    def open_in(self, session: MountSession, options: str) -> PrivateMount:
        return PrivateMount.open("nas:/a", options, token=CancelToken(), read_ahead_kb=256, session=session)

    def requests(self) -> list[str]:
        return [line.split()[0] for line in self._notes.read_text().splitlines()]

    def last_request(self, verb: str) -> dict[str, Any]:
        lines = self._notes.read_text().splitlines()
        found: dict[str, Any] = next(
            json.loads(line.partition(" ")[2]) for line in lines if line.startswith(verb)
        )
        return found


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    assert wait_for_cleanups(30)
    for session in made.sessions:
        session.close()
    assert [path.name for path in made.place.iterdir() if path.name.startswith(PREFIX)] == []


def ignore(_event: TestEvent) -> None:
    return


@pytest.mark.parametrize(("options", "hint"), [("vers=4.2,ro", "Remove it"), ("vers=4.2", "exports it")])
def test_an_error_names_the_share(
    world: World, monkeypatch: pytest.MonkeyPatch, options: str, hint: str
) -> None:
    def refuse(spec: TestSpec, *_args: object, **_more: object) -> None:
        raise file_error(OSError(errno.EROFS, "Read-only file system"), "writing", spec.path)

    monkeypatch.setattr("app.speedtest.private_mount.run_test", refuse)
    monkeypatch.setattr("app.speedtest.private_mount.inspect_target", refuse)
    spec = TestSpec(path="below")
    with world.open(options) as mount:
        for do in (
            lambda: mount.run_test(spec, CancelToken(), ignore),
            lambda: mount.look_at(spec, CancelToken()),
        ):
            with pytest.raises(AppError) as caught:
                do()
            assert caught.value.kind is ErrorKind.READ_ONLY
            assert "The file system at nas:/a/below is read-only" in caught.value.message
            assert hint in caught.value.hint


def test_a_test_runs_where_the_mount_is(world: World) -> None:
    with world.open("vers=4.2,rsize=65536") as mount:
        assert (mount.version, mount.connections, mount.shared, mount.mount_s) == ("4.2", 1, False, 0.05)
        assert mount.effective["rsize"] == "65536"
        result = mount.run_test(TestSpec(path="", size=MIB), CancelToken(), ignore)
        closing = mount.close()
    assert result.path == ""
    assert result.write is not None
    assert result.write.bytes == MIB
    assert closing == UnmountTiming(0.0125, None, gone=True)
    assert mount.close() == UnmountTiming(None, None, gone=True)
    assert world.requests() == ["open", "run", "close"]
    asked = world.last_request("open")
    assert asked == {
        "share": "nas:/a", "options": ["vers=4.2", "rsize=65536"], "read_ahead_kb": 256, "timeout_ms": 15000,
    }  # fmt: skip


def test_fresh_mount_reopens_the_mount(world: World) -> None:
    with world.open() as mount:
        result = mount.run_test(TestSpec(path="", size=MIB, cache="fresh-mount"), CancelToken(), ignore)
    assert result.cache is not None
    assert result.cache.method == "fresh-mount"
    assert world.requests() == ["open", "run", "close", "open", "close"]


def test_note_on_existing_connections(world: World) -> None:
    with world.open("nconnect=4", joined=True) as mount:
        assert mount.shared
        notes = mount.run_test(TestSpec(path="", size=MIB, direction="write"), CancelToken(), ignore).notes
    assert any("nconnect=4 had no effect" in note for note in notes)


@pytest.mark.parametrize("path", ["..", "a/../../b", "/../etc"])
def test_a_path_stays_below_the_share(world: World, path: str) -> None:
    with world.open() as mount, pytest.raises(AppError) as caught:
        mount.run_test(TestSpec(path=path, size=MIB), CancelToken(), ignore)
    assert caught.value.kind is ErrorKind.USAGE
    assert "run" not in world.requests()


def test_a_cancelled_test_is_cleaned_up_before_unmounting(world: World) -> None:
    token = CancelToken()

    def cancel(event: TestEvent) -> None:
        if event.sample is not None and event.sample.bytes > MIB:
            token.cancel()

    with pytest.raises(CancelledError), world.open() as mount:
        mount.run_test(TestSpec(path="", size=2**30), token, cancel)
    assert wait_for_cleanups(30)
    assert world.requests()[-1] == "close"
    assert world.requests().count("run") <= 2  # the worker, and its cleaner if the worker was killed


def test_no_requests_to_a_helper_that_has_exited(world: World) -> None:
    mount = world.open()
    connection = world.helpers[0]._connection
    assert connection is not None
    os.killpg(connection._child.pid, signal.SIGKILL)
    with pytest.raises(AppError) as caught:
        mount.run_test(TestSpec(path="", size=MIB), CancelToken(), ignore)
    assert caught.value.kind is ErrorKind.HELPER_FAILED
    with pytest.raises(AppError) as caught:
        mount.run_test(TestSpec(path="", size=MIB), CancelToken(), ignore)
    assert caught.value.kind is ErrorKind.NOT_MOUNTED
    assert mount.close() == UnmountTiming(None, None, gone=True)
    assert world.requests() == ["open"]


def test_timeout_of_a_worker_that_does_not_connect(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "_CONNECT_TIMEOUT_S", 0.2)
    real = HelperClient.call

    def call_without_start(self: HelperClient, verb: str, *rest: Any) -> dict[str, Any]:
        return {} if verb == "run" else real(self, verb, *rest)

    monkeypatch.setattr(HelperClient, "call", call_without_start)
    with world.open() as mount, pytest.raises(AppError) as caught:
        mount.session.launch(["/bin/true"])
    assert caught.value.kind is ErrorKind.HELPER_FAILED
    assert "did not start" in caught.value.message


@pytest.mark.parametrize(
    ("share", "options", "kind"),
    [
        ("nas", "", ErrorKind.SHARE_INVALID),
        ("nas:x", "", ErrorKind.SHARE_INVALID),
        ("nas:/a", "rsize=lots", ErrorKind.OPTION_INVALID),
    ],
)
def test_invalid_arguments_reach_no_helper(share: str, options: str, kind: ErrorKind) -> None:
    with pytest.raises(AppError) as caught:
        PrivateMount.open(share, options, token=CancelToken())
    assert caught.value.kind is kind


def test_a_worker_is_reused_until_it_is_killed(world: World) -> None:
    """The prefork server starts once per session; a killed or cancelled worker is not reused."""
    pids: list[int] = []

    def record_worker(event: TestEvent) -> None:
        copy = world.sessions[0]._copy
        if event.phase == "clean-up" and copy is not None:
            pids.append(copy.pid)

    def run_again(mount: PrivateMount) -> None:
        for _ in range(2):
            mount.run_test(TestSpec(path="", size=MIB, direction="write"), CancelToken(), record_worker)

    with world.open() as mount:
        run_again(mount)
    with world.open_in(world.sessions[0], "vers=4.2") as mount:
        run_again(mount)
        os.kill(pids[-1], signal.SIGKILL)
        run_again(mount)
        with pytest.raises(AppError) as caught:
            mount.run_test(TestSpec(path="missing", size=MIB), CancelToken(), ignore)
        assert caught.value.kind is ErrorKind.PATH_MISSING
        run_again(mount)
    first, second, third = pids[0], pids[4], pids[6]
    assert pids == [first] * 4 + [second] * 2 + [third] * 2
    assert len({first, second, third}) == 3
    assert world.requests().count("run") == 1


def test_wait_returns_when_the_worker_is_released() -> None:
    """Its descriptors were closed while another thread waited on them; their numbers may be reused then."""
    failed: list[BaseException] = []

    def wait(worker: NamespaceProcess) -> None:
        try:
            worker.wait(DEADLINE_S)
        except BaseException as error:  # noqa: BLE001 - checked below
            failed.append(error)

    for _ in range(50):
        (talk, its_talk), (errors, its_errors), (more, its_more) = (socket.socketpair() for _ in range(3))
        worker = NamespaceProcess(os.getpid(), talk, errors, more)
        threads = [threading.Thread(target=wait, args=(worker,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        worker.close()
        for thread in threads:
            thread.join()
        for end in (its_talk, its_errors, its_more):
            end.close()
    assert failed == []


def test_a_mount_whose_helper_was_killed_is_gone(world: World) -> None:
    with world.open() as mount:
        mount.run_test(TestSpec(path="", size=MIB, direction="write"), CancelToken(), ignore)
        connection = world.helpers[0]._connection
        assert connection is not None
        os.killpg(connection._child.pid, signal.SIGKILL)
        connection._child.wait()
        assert mount.close() == UnmountTiming(None, None, gone=True)
    assert world.requests() == ["open", "run"]


def test_a_session_counts_as_busy_while_a_mount_of_it_closes() -> None:
    """Otherwise another session mounting the same server would share the connections of the old mount."""
    session, over = MountSession(), threading.Event()
    run_in_background("private-mount-close", lambda: wait_for(over, "the end of the test"), owner=session)
    assert private_mount._busy_sessions() == {session}
    over.set()
    assert wait_for_cleanups(DEADLINE_S)
    assert private_mount._busy_sessions() == set()
    session.close()

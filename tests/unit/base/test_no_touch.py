"""Neither the helper's loop nor the samplers access anything at or below a mount point.

The server of the mount may be dead, so any access could block forever.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import touches
from waiting import DEADLINE_S

from app.errors import CancelledError
from app.helper import main as helper
from app.helper import mountinfo
from app.helper.callers import Caller
from app.helper.errors import CODES
from app.helper.session import Session
from app.mounts.mount_users import find_waiting_processes
from app.mounts.table import read_table, watch_table
from app.stats.health_monitor import HealthMonitor
from app.stats.rates import watch_rates
from app.stats.speeds import watch_speeds
from app.tasks import CancelToken, run_in_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from touches import Touches

POINT = "/mnt/mountwright-not-to-be-touched"
OPTIONS = "rw,vers=4.2,rsize=262144,hard,proto=tcp,timeo=600,sec=sys,addr=127.0.0.1"
ROWS = [
    "27 1 254:1 / / rw - ext4 /dev/vda rw",
    f"37 27 0:33 / {POINT} rw,nosuid,nodev - nfs4 127.0.0.1:/srv/a {OPTIONS}",
    f"38 37 0:34 / {POINT}/below rw,nosuid,nodev - nfs 127.0.0.1:/srv/b {OPTIONS}",
]
STATS = Path(__file__).parents[2] / "data/mountstats/v42-and-v3-6.12.txt"


@pytest.fixture
def touched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Touches]:
    """Record every access to the mount point."""
    watched = touches.watch(POINT, monkeypatch)
    yield watched
    touches.unwatch(watched)


@pytest.fixture
def root(tmp_path: Path) -> str:
    """A temporary root directory whose tables contain the mounts."""
    for name, text in {
        "proc/self/mountinfo": "\n".join(ROWS) + "\n",
        "proc/self/mountstats": STATS.read_text()
        .replace("/mnt/a", POINT)
        .replace("/mnt/c", f"{POINT}/below"),
        "etc/fstab": f"127.0.0.1:/srv/a {POINT} nfs defaults 0 0\n",
        "run/mount/utab": f"ID=37 SRC=127.0.0.1:/srv/a TARGET={POINT} ROOT=/ OPTS=hard\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(tmp_path)


@pytest.mark.parametrize("name", [
    "stat", "lstat", "statvfs", "listdir", "scandir", "readlink", "chdir", "rmdir", "path.realpath",
    "path.exists", "path.ismount", "path.isdir",
])  # fmt: skip
def test_a_touch_is_seen(touched: Touches, name: str) -> None:
    with contextlib.suppress(OSError):
        attrgetter(name)(os)(POINT)
    assert touched.hits


def test_a_file_that_is_opened_is_seen(touched: Touches) -> None:
    assert not Path(POINT, "file").is_file()
    with pytest.raises(FileNotFoundError):
        Path(POINT, "file").read_bytes()
    assert len(touched.hits) == 2


def sampled(work: Any) -> None:
    """Run a sampler until its second sample."""
    token = CancelToken()
    seen: list[Any] = []

    def emit(sample: Any) -> None:
        seen.append(sample)
        if len(seen) == 2:
            token.cancel()

    with pytest.raises(CancelledError):
        work(emit, token)
    assert len(seen) == 2


def test_what_samples_and_lists_touches_nothing(touched: Touches, root: str) -> None:
    assert [mount.mount_point for mount in read_table(root).mounts] == [POINT, f"{POINT}/below"]
    sampled(lambda emit, token: watch_speeds(0.1, token, emit, root))
    sampled(lambda emit, token: watch_rates(POINT, 0.1, token, emit, root))

    def changing(table_now: Any) -> None:
        assert len(table_now.mounts) == 2
        token.cancel()

    token = CancelToken()
    with pytest.raises(CancelledError):
        watch_table(token, changing, root=root)
    assert touched.hits == []


def test_what_watches_servers_touches_nothing(touched: Touches, root: str) -> None:
    """Only its child process probes the mounts; it may block."""
    told = threading.Event()
    monitor = HealthMonitor(root)
    assert set(monitor.check_once()) == {POINT, f"{POINT}/below"}
    with monitor.watching(told.set):
        assert told.wait(DEADLINE_S)
        assert set(monitor.troubles()) == {POINT, f"{POINT}/below"}
    assert find_waiting_processes(POINT).own == []
    assert touched.hits == []


REQUESTS: list[tuple[str, str, dict[str, Any]]] = [
    *(("mount", "mount", {"share": "nas:/x", "target": target, "options": [], "create": True,
                          "timeout_ms": 1000})
      for target in (POINT, f"{POINT}/deeper", f"{POINT}/below/deeper", "/mnt")),
    *(("mount", "unmount", {"target": target, "force": force, "lazy": force, "timeout_ms": 1000})
      for target in (POINT, f"{POINT}/below", f"{POINT}/deeper") for force in (False, True)),
    *(("mount", "holders", {"target": target}) for target in (POINT, f"{POINT}/deeper")),
    ("mount", "remount", {"target": POINT, "options": ["ro"], "timeout_ms": 1000}),
    ("tune", "tune", {"target": POINT, "read_ahead_kb": 512}),
]  # fmt: skip


@pytest.mark.parametrize("system", [False, True])
def test_the_helper_s_loop_touches_nothing(
    touched: Touches, root: str, monkeypatch: pytest.MonkeyPatch, *, system: bool
) -> None:
    """Only its disposable child processes access mounts; they may block."""
    rows = mountinfo.parse(Path(root, "proc/self/mountinfo").read_bytes())
    monkeypatch.setattr(mountinfo, "read", lambda: rows)
    caller = Caller(os.geteuid(), os.getegid(), system=system)
    answers: list[dict[str, Any]] = []
    for role in ("mount", "tune"):
        ours, theirs = socket.socketpair()
        asked = [(verb, args) for wanted, verb, args in REQUESTS if wanted == role]
        handlers = helper.load_handlers(role, caller)
        with ours, theirs:
            served = run_in_thread(
                "asking", lambda ours=ours, asked=asked: [_asked(ours, verb, args) for verb, args in asked]
            )
            served.add_done_callback(lambda _done, ours=ours: ours.shutdown(socket.SHUT_WR))
            Session(theirs, role, handlers).run()
            answers += served.result(1)
    assert len(answers) == len(REQUESTS)
    assert all("ok" in answer or answer["error"]["code"] in CODES for answer in answers)
    assert touched.hits == []


def _asked(line: socket.socket, verb: str, args: dict[str, Any]) -> dict[str, Any]:
    request = {"id": os.urandom(16).hex(), "verb": verb, "args": args}
    line.sendall(json.dumps(request).encode() + b"\n")
    data = b""
    while not data.endswith(b"\n"):
        data += line.recv(65536)
    answer: dict[str, Any] = json.loads(data)
    return answer

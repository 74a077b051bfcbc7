"""What the state of mounts is read from: tables, calls to servers, the kernel's log, and a child that asks.

tests/lab/test_health.py has the same with a real server.
"""

from __future__ import annotations

import errno
import json
import os
import queue
import socket
import sys
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from waiting import DEADLINE_S

from app import process
from app.kernel import mountinfo
from app.kernel.kmsg import parse_records, unresponsive_servers
from app.kernel.mountstats import parse as parse_all
from app.kernel.mountstats import parse_xprts
from app.kernel.tcp_info import TcpConnection
from app.mounts.model import Active, Mount, MountTrouble
from app.stats import health_monitor, stale_check
from app.stats.health_monitor import HealthMonitor, ServerWatch, WatchedMount, with_trouble
from app.stats.null_call import null_call
from app.stats.stale_check import StaleCheck

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

DATA = Path(__file__).parents[2] / "data/mountstats"
POINT = "/mnt/mountwright-not-there"


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.glob("*.txt")))
def test_the_connections_alone_are_those_of_the_whole_block(name: str) -> None:
    text = (DATA / name).read_bytes().decode(errors="surrogateescape")
    assert parse_xprts(text) == {stats.mount_point: stats.xprts for stats in parse_all(text)}


def test_torn_text_has_no_connections() -> None:
    assert parse_xprts("") == {}
    assert parse_xprts("device nas:/a mounted on /a with fstype nfs statvers=1.1\n\txprt:\t") == {"/a": ()}


# Calls


@contextmanager
def listening(answer: Callable[[socket.socket], None]) -> Generator[int]:
    """A server whose connections are given to a function; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            try:
                while True:
                    link, _ = server.accept()
                    with link:
                        answer(link)
            except OSError:
                return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    thread.join(DEADLINE_S)


def reply(link: socket.socket, head: bytes = b"", state: int = 0) -> None:
    call = link.recv(4096)
    assert call[12:24] == bytes.fromhex("00000002000186a300000004"), "RPC 2, NFS, version 4"
    body = (head or call[4:8]) + bytes.fromhex("00000001") + state.to_bytes(4, "big") + bytes(12)
    link.sendall((0x8000_0000 | len(body)).to_bytes(4, "big") + body)


def test_any_reply_to_a_call_is_an_answer() -> None:
    ports: set[int] = set()
    seen: list[set[int]] = []

    def look(link: socket.socket) -> None:
        seen.append({link.getpeername()[1]} & ports)
        reply(link, state=1)

    with listening(look) as port:
        assert null_call("127.0.0.1", port, 4, 20.0, ports) == ""
    assert len(seen[0]) == 1, "its port is known while it lasts"
    assert ports == set()


def test_what_is_no_reply_is_none() -> None:
    with listening(lambda link: reply(link, b"othr")) as port:
        assert null_call("127.0.0.1", port, 4, 20.0, set()) == "silent"
    with listening(lambda link: link.close()) as port:
        assert null_call("127.0.0.1", port, 4, 20.0, set()) == "refused"
    assert null_call("127.0.0.1", port, 4, 20.0, set()) == "refused"
    assert null_call("not an address", 2049, 4, 1.0, set()) == "unreachable"


def test_a_server_that_accepts_and_says_nothing_is_silent() -> None:
    held = threading.Event()
    with listening(lambda _link: held.wait(DEADLINE_S) and None) as port:
        began = time.monotonic()
        assert null_call("127.0.0.1", port, 4, 0.5, set()) == "silent"
        assert time.monotonic() - began >= 0.4
        held.set()


# The kernel's log


def record(second: int, text: str) -> bytes:
    return f"5,{second},{second * 1_000_000},-;{text}".encode()


def test_the_log_tells_since_when_a_server_is_silent() -> None:
    lines = [
        record(1, "nfs: server nas01 not responding, still trying"),
        record(2, "nfs: server nas01 OK"),
        record(10, "nfs: server nas01 not responding, still trying"),
        b" SUBSYSTEM=net",
        record(11, "nfs: server nas02 not responding, timed out"),
        record(12, "nfs: server nas01 not responding, still trying"),
        record(13, "nfs: server nas02 OK"),
        record(14, "other: server nas03 not responding, still trying"),
        b"torn",
    ]
    assert parse_records(lines, 1000.0) == {"nas01": 1010.0}


def test_a_log_that_may_not_be_read_tells_nothing(tmp_path: Path) -> None:
    assert unresponsive_servers(str(tmp_path)) == {}
    log = tmp_path / "dev/kmsg"
    log.parent.mkdir()
    log.write_bytes(record(7, "nfs: server nas01 not responding, still trying") + b"\n")
    assert list(unresponsive_servers(str(tmp_path))) == ["nas01"]


# Whom to watch


def targets(*rows: str) -> dict[str, WatchedMount]:
    info = mountinfo.parse("\n".join(rows).encode())
    found = {row.mount_point: health_monitor._watched_mount(info, row) for row in info.nfs_rows()}
    return {point: target for point, target in found.items() if target is not None}


ROOT = "27 1 254:1 / / rw - ext4 /dev/vda rw"


def test_servers_are_told_apart_by_address_port_and_version() -> None:
    found = targets(
        ROOT,
        "37 27 0:33 / /a rw - nfs4 nas01:/srv/a rw,vers=4.2,proto=tcp,addr=10.0.0.7",
        "38 27 0:34 / /b rw - nfs nas01:/srv/b rw,vers=3,proto=tcp,port=2050,sec=krb5,addr=10.0.0.7",
        "39 27 0:35 / /c rw - nfs4 [2001:db8::7]:/srv/c rw,vers=4.1,proto=rdma,port=20049,addr=2001:db8::7",
        "40 27 0:36 / /d rw - nfs4 nas01:/srv/d rw,vers=4.2",
    )
    assert found["/a"] == WatchedMount(
        health_monitor.WatchedServer("10.0.0.7", 2049, 4, tcp=True), "nas01", 37, askable=True, by_user=True
    )
    assert found["/b"].server == health_monitor.WatchedServer("10.0.0.7", 2050, 3, tcp=True)
    # The port of RDMA is none of TCP: the server is called at the usual one.
    assert found["/c"].server == health_monitor.WatchedServer("2001:db8::7", 2049, 4, tcp=False)
    assert found["/c"].host == "2001:db8::7"
    # A missing ticket of Kerberos is refused as a withdrawn export is.
    assert [found["/a"].reason("refused"), found["/b"].reason("refused")] == ["withdrawn", None]
    assert [found["/a"].reason("stale"), found["/b"].reason("stale")] == ["", ""]
    assert found["/a"].reason("silent") is None
    assert "/d" not in found


def test_what_an_automount_mounted_is_never_asked() -> None:
    nfs = "- nfs4 nas01:/srv/a rw,vers=4.2,addr=10.0.0.7"
    found = targets(
        ROOT,
        "30 27 0:20 / /net rw - autofs systemd-1 rw,fd=30,direct",
        f"37 30 0:33 / /net rw {nfs}",
        "31 27 0:21 / /home rw - autofs auto.home rw,indirect",
        f"38 31 0:33 / /home/ann rw {nfs}",
        f"39 38 0:33 / /home/ann/deeper rw {nfs}",
        f"40 27 0:33 / /mnt rw {nfs}",
    )
    assert {point for point, target in found.items() if target.askable} == {"/mnt"}


# A host whose tables are files and whose server is a socket


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root folder without mounts."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text(ROOT + "\n")
    (tmp_path / "proc/self/mountstats").write_text("")
    return tmp_path


def mount_at(root: Path, port: int) -> None:
    options = f"rw,vers=4.2,proto=tcp,port={port},addr=127.0.0.1"
    (root / "proc/self/mountinfo").write_text(
        f"{ROOT}\n30 27 0:20 / {POINT} rw - autofs systemd-1 rw,direct\n"
        f"37 30 0:33 / {POINT} rw - nfs4 nas01:/a {options}\n"
    )
    (root / "proc/self/mountstats").write_text(
        f"device nas01:/a mounted on {POINT} with fstype nfs4 statvers=1.1\n"
        "\txprt:\ttcp 0 0 2 0 3 50 50 0 73 0 3 0 21\n\tper-op statistics\n"
    )


def test_a_single_look_is_quick_where_all_is_well_and_knows_no_since(root: Path) -> None:
    monitor = HealthMonitor(str(root))
    assert monitor.troubles() == {}
    with listening(reply) as port:
        mount_at(root, port)
        assert monitor.troubles() == {}
    found = monitor.troubles()
    assert found == {POINT: MountTrouble(state="not-responding", since=None, reason="refused")}


def test_a_single_look_has_from_the_log_since_when(root: Path) -> None:
    with listening(reply) as port:
        mount_at(root, port)
    (root / "dev").mkdir()
    (root / "dev/kmsg").write_bytes(record(1, "nfs: server nas01 not responding, still trying") + b"\n")
    since = HealthMonitor(str(root)).troubles()[POINT].since
    assert since == pytest.approx(time.time() - time.monotonic() + 1, abs=5)


class Connections:
    """What the kernel says of the connections of the mounts, in the place of SockDiag.

    Attributes:
        now: the connections.
    """

    now: tuple[TcpConnection, ...] = ()

    def connections(self, _address: str, _port: int) -> list[TcpConnection]:
        return list(self.now)

    def close(self) -> None:
        pass


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> Connections:
    """There are none until some are given."""
    found = Connections()
    monkeypatch.setattr(health_monitor, "SockDiag", lambda: found)
    return found


def connection(number: int = 1, *, data_s: float, ack_s: float, **waits: int) -> TcpConnection:
    ages = {"last_data_ms": round(data_s * 1000), "last_ack_ms": round(ack_s * 1000)}
    return TcpConnection(number, number, "127.0.0.1", **ages, **waits)


@pytest.fixture
def silent_root(root: Path) -> Path:
    """One with a mount of a server that has stopped."""
    with listening(reply) as port:
        mount_at(root, port)
    return root


@pytest.mark.parametrize("waits", [{"unacked": 2}, {"probes": 1}])
def test_a_single_look_knows_since_when_from_a_connection_on_which_something_waits(
    silent_root: Path, connections: Connections, waits: dict[str, int]
) -> None:
    # The last sign of life of all connections counts, an acknowledgement too.
    connections.now = (
        connection(1, data_s=5000, ack_s=4000, **waits),
        connection(2, data_s=5000, ack_s=3000),
    )
    since = HealthMonitor(str(silent_root)).troubles()[POINT].since
    assert since is not None
    assert time.time() - since == pytest.approx(3000, abs=DEADLINE_S)


def test_a_connection_on_which_nothing_waits_does_not_tell_since_when(
    silent_root: Path, connections: Connections
) -> None:
    connections.now = (connection(data_s=3000, ack_s=3000),)
    assert HealthMonitor(str(silent_root)).troubles()[POINT].since is None


def test_a_connection_that_is_given_up_has_told_since_when(
    silent_root: Path, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Watched(health_monitor.ServerWatch):
        def look(self) -> None:
            super().look()
            connections.now = ()

    monkeypatch.setattr(health_monitor, "ServerWatch", Watched)
    connections.now = (connection(data_s=3000, ack_s=3000, unacked=1),)
    since = HealthMonitor(str(silent_root)).troubles()[POINT].since
    assert since is not None
    assert time.time() - since == pytest.approx(3000, abs=DEADLINE_S)


def test_a_watch_that_begins_in_a_silence_knows_since_when_too(
    silent_root: Path, connections: Connections
) -> None:
    connections.now = (connection(data_s=3000, ack_s=3000, unacked=1),)
    monitor = HealthMonitor(str(silent_root))
    told: queue.Queue[dict[str, MountTrouble]] = queue.Queue()
    with monitor.watching(lambda: told.put(monitor.troubles())):
        since = told.get(timeout=DEADLINE_S)[POINT].since
    assert since is not None
    assert time.time() - since == pytest.approx(3000, abs=DEADLINE_S)


def test_the_log_of_an_earlier_silence_does_not_tell_since_when_this_one_is(
    silent_root: Path, connections: Connections
) -> None:
    """A mount that was detached in an earlier silence leaves a last word in the log."""
    (silent_root / "dev").mkdir()
    (silent_root / "dev/kmsg").write_bytes(
        record(1, "nfs: server nas01 not responding, still trying") + b"\n"
    )
    connections.now = (connection(data_s=0.5, ack_s=0.5),)
    assert HealthMonitor(str(silent_root)).troubles()[POINT].since is None


def test_a_watch_tells_the_silence_and_its_end(root: Path) -> None:
    monitor = HealthMonitor(str(root))
    told: queue.Queue[dict[str, MountTrouble]] = queue.Queue()
    with monitor.watching(lambda: told.put(monitor.troubles())):
        with listening(reply) as port:
            mount_at(root, port)
        trouble = told.get(timeout=DEADLINE_S)[POINT]
        assert (trouble.state, trouble.reason) == ("not-responding", "refused")
        assert trouble.since is not None
        text = (root / "proc/self/mountstats").read_text()
        (root / "proc/self/mountstats").write_text(text.replace("50 50", "51 51"))
        assert told.get(timeout=DEADLINE_S) == {}
    assert told.empty()


def test_a_host_without_the_client_s_module_has_no_troubles(root: Path) -> None:
    (root / "proc/self/mountstats").unlink()
    with ServerWatch(str(root)) as watched, pytest.raises(FileNotFoundError):
        watched.look()
    assert HealthMonitor(str(root)).troubles() == {}


def test_the_state_of_a_live_mount_alone_is_changed() -> None:
    live = Active(mount_id=1, device="0:1", share="nas:/a", fstype="nfs", options="rw")
    mount = Mount(mount_point="/a", share="nas:/a", state="mounted", active=live)
    trouble = MountTrouble(state="not-responding", since=5.0, reason="refused")
    changed = with_trouble(mount, {"/a": trouble})
    assert (changed.state, changed.since, changed.reason) == ("not-responding", 5.0, "refused")
    assert with_trouble(mount, {"/b": trouble}) is mount
    off = Mount(mount_point="/a", share="nas:/a", state="not-mounted")
    assert with_trouble(off, {"/a": trouble}) is off


# The child


def test_the_child_answers_for_what_is_there() -> None:
    with closing(StaleCheck()) as check:
        for row in mountinfo.read().rows:
            if row.mount_point in {"/", "/proc"}:
                assert check.ask(row.mount_point, row.mount_id, DEADLINE_S) == "fine"
        assert check.ask("/proc", -1, DEADLINE_S) == "fine"
        assert check.ask(POINT, 7, DEADLINE_S) == "fine"


def script(monkeypatch: pytest.MonkeyPatch, text: str) -> list[process.Child]:
    """Let this Python text be the child; return those that are started."""
    started: list[process.Child] = []
    real = process.start

    def start(_argv: object, **how: int) -> process.Child:
        started.append(real([sys.executable, "-c", text], **how))
        return started[-1]

    monkeypatch.setattr(stale_check.process, "start", start)
    return started


def test_a_child_that_says_stale_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, f"print(flush=True)\nwhile input(): print({errno.ESTALE}, flush=True)")
    with closing(StaleCheck()) as check:
        assert check.ask("/a", 7, DEADLINE_S) == "stale"


def test_a_child_that_waits_is_ended_and_the_next_question_has_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = script(monkeypatch, "import sys, time\nprint(flush=True)\nfor _ in sys.stdin: time.sleep(999)")
    with closing(StaleCheck()) as check:
        assert check.ask("/a", 7, 0.2) == "silent"
        assert check.ask("/a", 7, 0.2) == "silent"
    assert len(started) == 2
    for child in started:
        assert process.wait(child, DEADLINE_S) is not None


def test_names_that_are_no_text_reach_the_child() -> None:
    name = os.fsdecode(b"/\xff\n")
    assert os.fsencode(json.loads(json.dumps(name))) == b"/\xff\n"

"""Health monitor: kernel tables, NULL calls, the kernel log and the stale check.

Tests with a real server are in tests/lab/test_health.py.
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
def test_parse_xprts_agrees_with_the_full_parser(name: str) -> None:
    text = (DATA / name).read_bytes().decode(errors="surrogateescape")
    assert parse_xprts(text) == {stats.mount_point: stats.xprts for stats in parse_all(text)}


def test_torn_text_has_no_connections() -> None:
    assert parse_xprts("") == {}
    assert parse_xprts("device nas:/a mounted on /a with fstype nfs statvers=1.1\n\txprt:\t") == {"/a": ()}


# NULL calls


@contextmanager
def listening(answer: Callable[[socket.socket], None]) -> Generator[int]:
    """Run a server that passes each connection to ``answer``; yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            try:
                while True:
                    connection_socket, _ = server.accept()
                    with connection_socket:
                        answer(connection_socket)
            except OSError:
                return

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    thread.join(DEADLINE_S)


def reply(connection_socket: socket.socket, head: bytes = b"", state: int = 0) -> None:
    call = connection_socket.recv(4096)
    assert call[12:24] == bytes.fromhex("00000002000186a300000004"), "RPC 2, NFS, version 4"
    body = (head or call[4:8]) + bytes.fromhex("00000001") + state.to_bytes(4, "big") + bytes(12)
    connection_socket.sendall((0x8000_0000 | len(body)).to_bytes(4, "big") + body)


def test_any_reply_to_a_call_is_an_answer() -> None:
    ports: set[int] = set()
    seen: list[set[int]] = []

    def answer(connection_socket: socket.socket) -> None:
        seen.append({connection_socket.getpeername()[1]} & ports)
        reply(connection_socket, state=1)

    with listening(answer) as port:
        assert null_call("127.0.0.1", port, 4, 20.0, ports) == ""
    assert len(seen[0]) == 1, "its port is known while it lasts"
    assert ports == set()


def test_other_data_is_no_reply() -> None:
    with listening(lambda connection_socket: reply(connection_socket, b"othr")) as port:
        assert null_call("127.0.0.1", port, 4, 20.0, set()) == "silent"
    with listening(lambda connection_socket: connection_socket.close()) as port:
        assert null_call("127.0.0.1", port, 4, 20.0, set()) == "refused"
    assert null_call("127.0.0.1", port, 4, 20.0, set()) == "refused"
    assert null_call("not an address", 2049, 4, 1.0, set()) == "unreachable"


def test_a_server_that_accepts_but_does_not_reply_is_silent() -> None:
    held = threading.Event()
    with listening(lambda _link: held.wait(DEADLINE_S) and None) as port:
        began = time.monotonic()
        assert null_call("127.0.0.1", port, 4, 0.5, set()) == "silent"
        assert time.monotonic() - began >= 0.4
        held.set()


# Kernel log


def record(second: int, text: str) -> bytes:
    return f"5,{second},{second * 1_000_000},-;{text}".encode()


def test_the_log_gives_the_beginning_of_an_outage() -> None:
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


def test_an_unreadable_log_gives_no_times(tmp_path: Path) -> None:
    assert unresponsive_servers(str(tmp_path)) == {}
    log = tmp_path / "dev/kmsg"
    log.parent.mkdir()
    log.write_bytes(record(7, "nfs: server nas01 not responding, still trying") + b"\n")
    assert list(unresponsive_servers(str(tmp_path))) == ["nas01"]


# Monitored servers and mounts


def targets(*rows: str) -> dict[str, WatchedMount]:
    info = mountinfo.parse("\n".join(rows).encode())
    found = {row.mount_point: health_monitor._watched_mount(info, row) for row in info.nfs_rows()}
    return {point: target for point, target in found.items() if target is not None}


ROOT = "27 1 254:1 / / rw - ext4 /dev/vda rw"


def test_servers_are_distinguished_by_address_port_and_version() -> None:
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
    # The port of an RDMA mount is no TCP port, so NULL calls use the default port.
    assert found["/c"].server == health_monitor.WatchedServer("2001:db8::7", 2049, 4, tcp=False)
    assert found["/c"].host == "2001:db8::7"
    # With Kerberos, EACCES may mean a missing ticket instead of a withdrawn export.
    assert [found["/a"].reason("refused"), found["/b"].reason("refused")] == ["withdrawn", None]
    assert [found["/a"].reason("stale"), found["/b"].reason("stale")] == ["", ""]
    assert found["/a"].reason("silent") is None
    assert "/d" not in found


def test_mounts_below_an_automount_are_not_checked() -> None:
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


# Simulated host: its kernel tables are files, and its server is a socket


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Root directory with kernel tables without mounts."""
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


def test_a_single_check_is_quick_without_trouble(root: Path) -> None:
    monitor = HealthMonitor(str(root))
    assert monitor.troubles() == {}
    with listening(reply) as port:
        mount_at(root, port)
        assert monitor.troubles() == {}
    found = monitor.troubles()
    assert found == {POINT: MountTrouble(state="not-responding", since=None, reason="refused")}


def test_a_single_check_takes_the_beginning_from_the_log(root: Path) -> None:
    with listening(reply) as port:
        mount_at(root, port)
    (root / "dev").mkdir()
    (root / "dev/kmsg").write_bytes(record(1, "nfs: server nas01 not responding, still trying") + b"\n")
    since = HealthMonitor(str(root)).troubles()[POINT].since
    assert since == pytest.approx(time.time() - time.monotonic() + 1, abs=5)


class Connections:
    """Fake SockDiag that returns the given connections.

    Attributes:
        now: connections to return.
    """

    now: tuple[TcpConnection, ...] = ()

    def connections(self, _address: str, _port: int) -> list[TcpConnection]:
        return list(self.now)

    def close(self) -> None:
        pass


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> Connections:
    """Replace SockDiag by a fake without connections."""
    found = Connections()
    monkeypatch.setattr(health_monitor, "SockDiag", lambda: found)
    return found


def connection(number: int = 1, *, data_s: float, ack_s: float, **waits: int) -> TcpConnection:
    ages = {"last_data_ms": round(data_s * 1000), "last_ack_ms": round(ack_s * 1000)}
    return TcpConnection(number, number, "127.0.0.1", **ages, **waits)


@pytest.fixture
def silent_root(root: Path) -> Path:
    """Root directory with a mount of a server that is down."""
    with listening(reply) as port:
        mount_at(root, port)
    return root


@pytest.mark.parametrize("waits", [{"unacked": 2}, {"probes": 1}])
def test_a_single_check_takes_the_beginning_from_a_connection_with_waiting_data(
    silent_root: Path, connections: Connections, waits: dict[str, int]
) -> None:
    # The latest data or acknowledgement of all connections counts.
    connections.now = (
        connection(1, data_s=5000, ack_s=4000, **waits),
        connection(2, data_s=5000, ack_s=3000),
    )
    since = HealthMonitor(str(silent_root)).troubles()[POINT].since
    assert since is not None
    assert time.time() - since == pytest.approx(3000, abs=DEADLINE_S)


def test_an_idle_connection_does_not_give_the_beginning(silent_root: Path, connections: Connections) -> None:
    connections.now = (connection(data_s=3000, ack_s=3000),)
    assert HealthMonitor(str(silent_root)).troubles()[POINT].since is None


def test_the_beginning_is_remembered_after_the_connection_is_closed(
    silent_root: Path, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Watched(health_monitor.ServerWatch):
        def update(self) -> None:
            super().update()
            connections.now = ()

    monkeypatch.setattr(health_monitor, "ServerWatch", Watched)
    connections.now = (connection(data_s=3000, ack_s=3000, unacked=1),)
    since = HealthMonitor(str(silent_root)).troubles()[POINT].since
    assert since is not None
    assert time.time() - since == pytest.approx(3000, abs=DEADLINE_S)


def test_monitoring_that_starts_during_an_outage_knows_its_beginning(
    silent_root: Path, connections: Connections
) -> None:
    connections.now = (connection(data_s=3000, ack_s=3000, unacked=1),)
    monitor = HealthMonitor(str(silent_root))
    reports: queue.Queue[dict[str, MountTrouble]] = queue.Queue()
    with monitor.watching(lambda: reports.put(monitor.troubles())):
        since = reports.get(timeout=DEADLINE_S)[POINT].since
    assert since is not None
    assert time.time() - since == pytest.approx(3000, abs=DEADLINE_S)


def test_the_log_of_an_earlier_outage_is_ignored(silent_root: Path, connections: Connections) -> None:
    """The log may still contain the beginning of an earlier outage, whose mount was detached."""
    (silent_root / "dev").mkdir()
    (silent_root / "dev/kmsg").write_bytes(
        record(1, "nfs: server nas01 not responding, still trying") + b"\n"
    )
    connections.now = (connection(data_s=0.5, ack_s=0.5),)
    assert HealthMonitor(str(silent_root)).troubles()[POINT].since is None


def test_monitoring_reports_an_outage_and_its_end(root: Path) -> None:
    monitor = HealthMonitor(str(root))
    reports: queue.Queue[dict[str, MountTrouble]] = queue.Queue()
    with monitor.watching(lambda: reports.put(monitor.troubles())):
        with listening(reply) as port:
            mount_at(root, port)
        trouble = reports.get(timeout=DEADLINE_S)[POINT]
        assert (trouble.state, trouble.reason) == ("not-responding", "refused")
        assert trouble.since is not None
        text = (root / "proc/self/mountstats").read_text()
        (root / "proc/self/mountstats").write_text(text.replace("50 50", "51 51"))
        assert reports.get(timeout=DEADLINE_S) == {}
    assert reports.empty()


def test_a_host_without_the_client_s_module_has_no_troubles(root: Path) -> None:
    (root / "proc/self/mountstats").unlink()
    with ServerWatch(str(root)) as watched, pytest.raises(FileNotFoundError):
        watched.update()
    assert HealthMonitor(str(root)).troubles() == {}


def test_only_the_state_of_active_mounts_changes() -> None:
    live = Active(mount_id=1, device="0:1", share="nas:/a", fstype="nfs", options="rw")
    mount = Mount(mount_point="/a", share="nas:/a", state="mounted", active=live)
    trouble = MountTrouble(state="not-responding", since=5.0, reason="refused")
    changed = with_trouble(mount, {"/a": trouble})
    assert (changed.state, changed.since, changed.reason) == ("not-responding", 5.0, "refused")
    assert with_trouble(mount, {"/b": trouble}) is mount
    off = Mount(mount_point="/a", share="nas:/a", state="not-mounted")
    assert with_trouble(off, {"/a": trouble}) is off


# Stale check


def test_the_child_checks_existing_paths() -> None:
    with closing(StaleCheck()) as check:
        for row in mountinfo.read().rows:
            if row.mount_point in {"/", "/proc"}:
                assert check.ask(row.mount_point, row.mount_id, DEADLINE_S) == "fine"
        assert check.ask("/proc", -1, DEADLINE_S) == "fine"
        assert check.ask(POINT, 7, DEADLINE_S) == "fine"


def script(monkeypatch: pytest.MonkeyPatch, text: str) -> list[process.Child]:
    """Replace the stale check's child by a Python script; return the list of started children."""
    started: list[process.Child] = []
    real = process.start

    def start(_argv: object, **arguments: int) -> process.Child:
        started.append(real([sys.executable, "-c", text], **arguments))
        return started[-1]

    monkeypatch.setattr(stale_check.process, "start", start)
    return started


def test_estale_from_the_child_means_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, f"print(flush=True)\nwhile input(): print({errno.ESTALE}, flush=True)")
    with closing(StaleCheck()) as check:
        assert check.ask("/a", 7, DEADLINE_S) == "stale"


def test_a_blocked_child_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = script(monkeypatch, "import sys, time\nprint(flush=True)\nfor _ in sys.stdin: time.sleep(999)")
    with closing(StaleCheck()) as check:
        assert check.ask("/a", 7, 0.2) == "silent"
        assert check.ask("/a", 7, 0.2) == "silent"
    assert len(started) == 2
    for child in started:
        assert process.wait(child, DEADLINE_S) is not None


def test_mount_points_that_are_not_utf8_reach_the_child() -> None:
    name = os.fsdecode(b"/\xff\n")
    assert os.fsencode(json.loads(json.dumps(name))) == b"/\xff\n"

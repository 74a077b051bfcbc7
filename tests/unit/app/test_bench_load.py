"""What a transfer does to the computer, from the kernel's own texts; and the network measured alone."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

from app.bench import load
from app.bench.load import LoadWatch, look_at_machine
from app.bench.network import null_round_trip
from app.bench.probe import Look
from app.kernel.mount_of_path import Where

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

STAT = """cpu  {user} 0 {system} {idle} 10 0 {soft} 0 5 0
cpu0 {user} 0 {system} {idle} 10 0 {soft} 0 5 0
intr 1 2 3
"""
DEV = """Inter-|   Receive                             |  Transmit
 face |bytes    packets errs drop fifo frame    |bytes    packets errs drop fifo colls
    lo: {lo} 1 0 0 0 0 0 0 {lo} 1 0 0 0 0 0 0
  eth0: {got} 1 0 {drops} 0 0 0 0 {sent} 1 0 2 0 0 0 0
"""


def tree(root: Path, **values: int) -> str:
    (root / "proc/net").mkdir(parents=True, exist_ok=True)
    plain = {"user": 100, "system": 100, "idle": 100, "soft": 0, "lo": 0, "got": 0, "sent": 0, "drops": 0}
    (root / "proc/stat").write_text(STAT.format(**plain | values))
    (root / "proc/net/dev").write_text(DEV.format(**plain | values))
    return str(root)


def test_the_load_is_what_was_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = look_at_machine
    monkeypatch.setattr(load, "look_at_machine", lambda: real(str(tmp_path)))
    tree(tmp_path, got=1000, sent=5)
    watch = LoadWatch()
    watch.network_s = 0.002
    watch.begin()
    tree(tmp_path, user=110, system=140, soft=20, idle=130, got=3000, sent=1005, drops=3)
    added = Look(
        calls=10, rtt_ms=500, queue_ms=20, commit_ms=100, segments=7, tcp_retransmissions=1, window_us=9
    )
    found = watch.end(2.0, 4096, added)
    assert (found.cpu, found.core) == (0.7, 0.6)
    assert found.interfaces.keys() == {"eth0"}
    traffic = found.interfaces["eth0"]
    assert (traffic.received, traffic.sent, traffic.drops) == (2000, 1000, 3)
    assert (found.calls, found.rtt_s, found.queue_s, found.commit_s) == (10, 0.5, 0.02, 0.1)
    assert (found.segments, found.again, found.window_s) == (7, 1, 9e-6)
    assert (found.network_s, found.tcp_s, found.unsent) == (0.002, None, 0.0)
    assert (found.speed, found.trip_s, found.under_way) == (2048, 0.05, 0.25)


def test_too_little_to_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "look_at_machine", lambda: look_at_machine(tree(tmp_path)))
    watch = LoadWatch()
    found = watch.end(0.01, 1, Look())
    assert (found.cpu, found.core, found.interfaces) == (None, None, {})


def test_damaged_and_absent_texts_are_passed_over(tmp_path: Path) -> None:
    assert look_at_machine(str(tmp_path)).processors == {}
    tree(tmp_path)
    (tmp_path / "proc/stat").write_text("cpu  1 2\nnot cpu\n")
    (tmp_path / "proc/net/dev").write_text("eth0: 1 2 3\nno colon here\n")
    seen = look_at_machine(str(tmp_path))
    assert (seen.processors, seen.interfaces) == ({}, {})
    assert look_at_machine().processors["cpu"][-1] > 0


def where(port: int) -> Where:
    options = f"rw,vers=3,addr=127.0.0.1,port={port}"
    return Where(mount_id=1, device="0:1", mount_point="/m", share="a:/b", fstype="nfs", options=options)


def test_a_call_that_does_nothing_is_timed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            peer, _ = server.accept()
            with peer:
                while call := peer.recv(4096):
                    reply = call[4:8] + (1).to_bytes(4, "big") + bytes(16)
                    peer.sendall((0x80000000 | len(reply)).to_bytes(4, "big") + reply)

        thread = threading.Thread(target=answer)
        thread.start()
        found = null_round_trip(where(server.getsockname()[1]))
        thread.join()
    assert found is not None
    assert 0 < found < 1


def test_a_server_that_refuses_tells_no_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert null_round_trip(where(port)) is None
    unnamed = Where(mount_id=1, device="0:1", mount_point="/m", share="x", fstype="nfs", options="rw")
    assert null_round_trip(unnamed) is None

"""Sampler: samples, signs of life, differences of recorded counters, load of the host; the NULL RPC."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fake_counters import FakeCounterReader
from hypothesis import given
from hypothesis import strategies as st

from app.kernel.mount_of_path import MountOfPath
from app.speedtest import sampler
from app.speedtest import sampler as probe_module
from app.speedtest.network_measurement import null_rpc_round_trip
from app.speedtest.sampler import (
    CounterReader,
    HostLoadSampler,
    TransferCounters,
    TransferProgress,
    TransferSampler,
    read_host_counters,
)

if TYPE_CHECKING:
    from app.speedtest.messages import WorkerMessage


def test_sampler_thread_samples_and_stops(tmp_path: Path) -> None:
    probe = FakeCounterReader(tcp=True)
    sent: list[WorkerMessage] = []
    meter = TransferSampler(probe, TransferProgress(), sent.append)
    meter.start()
    meter.begin("read", "read")
    while len([item for item in sent if item.event and item.event.sample]) < 4:
        pass
    probe.now = TransferCounters(server_read=100, read_ops=2, read_rtt_ms=30)
    added, samples = meter.finish()
    meter.stop()
    assert added.server_read == 100
    assert samples[-1].rtt_s is None or samples[-1].rtt_s == pytest.approx(0.015)
    assert any(sample.rtt_s == pytest.approx(0.015) for sample in samples)
    assert [sample.t_s for sample in samples] == sorted(sample.t_s for sample in samples)
    assert any(item.alive for item in sent)


def test_only_growing_counters_are_a_sign_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.speedtest.sampler._ALIVE_INTERVAL_S", 0.0)
    sent: list[WorkerMessage] = []
    meter = TransferSampler(FakeCounterReader(tcp=True), TransferProgress(), sent.append)

    def alive(**counters: int) -> bool:
        sent.clear()
        meter._report_alive(TransferCounters(**counters))
        return bool(sent)

    assert alive(tcp_bytes=100)
    assert not alive(tcp_bytes=100, timeouts=3, tcp_retransmissions=9)
    assert not alive(), "its connection was given up: nothing came"
    assert alive(tcp_bytes=10)
    meter.progress.steps += 1
    assert alive(tcp_bytes=10)
    assert not alive(tcp_bytes=10)


def test_load_of_a_part_of_a_transfer() -> None:
    probe = FakeCounterReader(tcp=True)
    meter = TransferSampler(probe, TransferProgress(), lambda _message: None)
    meter.start()
    meter.begin("read", "read", asleep=True)
    assert not meter.asked
    probe.now = TransferCounters(server_read=100, server_written=7, calls=3, segments=1)
    while not meter.asked:
        pass
    meter.watch()
    probe.now = TransferCounters(server_read=500, server_written=7, calls=5, rtt_ms=30)
    load = meter.watched()
    added, samples = meter.finish()
    meter.stop()
    assert (load.bytes, load.calls, load.rtt_s) == (400, 2, 0.03)
    assert (added.calls, samples[-1].server_bytes) == (5, 500)
    assert load.seconds > 0


looks = st.builds(TransferCounters, *[st.integers(0, 2**64)] * len(TransferCounters._fields))


@given(looks, looks)
def test_differences_are_never_negative(before: TransferCounters, after: TransferCounters) -> None:
    assert min(after.since(before)) >= 0


def test_probe_reads_mountstats_and_survives_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[2] / "data/mountstats/lossy-7.2.txt").read_text()
    where = MountOfPath(
        mount_id=1, device="0:32", mount_point="/mnt/a", share="127.0.0.1:/srv/a", fstype="nfs4",
        options="rw,vers=4.2,addr=127.0.0.1",
    )  # fmt: skip
    monkeypatch.setattr(probe_module, "read_text", lambda: text)
    probe = CounterReader(where)
    look = probe.look()
    assert (look.read_ops, look.timeouts, look.server_written) == (14, 13, 2097152)
    text = ""
    assert probe.look() == TransferCounters()
    probe.close()
    assert not probe.tcp


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


def test_load_is_the_increase_of_counters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = read_host_counters
    monkeypatch.setattr(sampler, "read_host_counters", lambda: real(str(tmp_path)))
    tree(tmp_path, got=1000, sent=5)
    watch = HostLoadSampler()
    watch.network_s = 0.002
    watch.begin()
    tree(tmp_path, user=110, system=140, soft=20, idle=130, got=3000, sent=1005, drops=3)
    added = TransferCounters(
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
    assert (found.speed, found.trip_s, found.requests_in_flight) == (2048, 0.05, 0.25)


def test_no_processor_load_for_too_few_ticks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "read_host_counters", lambda: read_host_counters(tree(tmp_path)))
    watch = HostLoadSampler()
    found = watch.end(0.01, 1, TransferCounters())
    assert (found.cpu, found.core, found.interfaces) == (None, None, {})


def test_damaged_and_missing_files_are_ignored(tmp_path: Path) -> None:
    assert read_host_counters(str(tmp_path)).processors == {}
    tree(tmp_path)
    (tmp_path / "proc/stat").write_text("cpu  1 2\nnot cpu\n")
    (tmp_path / "proc/net/dev").write_text("eth0: 1 2 3\nno colon here\n")
    seen = read_host_counters(str(tmp_path))
    assert (seen.processors, seen.interfaces) == ({}, {})
    assert read_host_counters().processors["cpu"][-1] > 0


def where(port: int) -> MountOfPath:
    options = f"rw,vers=3,addr=127.0.0.1,port={port}"
    return MountOfPath(
        mount_id=1, device="0:1", mount_point="/m", share="a:/b", fstype="nfs", options=options
    )


def test_round_trip_of_null_rpc() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            peer, _ = server.accept()
            with peer:
                while call := peer.recv(4096):
                    reply = call[4:8] + (1).to_bytes(4, "big") + bytes(16)
                    peer.sendall((0x80000000 | len(reply)).to_bytes(4, "big") + reply)

        thread = threading.Thread(target=answer)
        thread.start()
        found = null_rpc_round_trip(where(server.getsockname()[1]))
        thread.join()
    assert found is not None
    assert 0 < found < 1


def test_no_round_trip_from_a_refusing_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert null_rpc_round_trip(where(port)) is None
    unnamed = MountOfPath(mount_id=1, device="0:1", mount_point="/m", share="x", fstype="nfs", options="rw")
    assert null_rpc_round_trip(unnamed) is None

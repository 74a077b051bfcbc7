"""What is seen of a mount while a test copies: samples, signs of life, differences of recorded counters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fake_counters import FakeProbe
from hypothesis import given
from hypothesis import strategies as st

from app.bench import probe as probe_module
from app.bench.probe import Look, Probe
from app.kernel.mount_of_path import Where
from app.speedtest.sampler import Meter, Progress

if TYPE_CHECKING:
    from app.speedtest.messages import WorkerMessage


def test_sampler_thread_samples_and_stops(tmp_path: Path) -> None:
    probe = FakeProbe(tcp=True)
    sent: list[WorkerMessage] = []
    meter = Meter(probe, Progress(), sent.append)
    meter.start()
    meter.begin("read", "read")
    while len([item for item in sent if item.event and item.event.sample]) < 4:
        pass
    probe.now = Look(server_read=100, read_ops=2, read_rtt_ms=30)
    added, samples = meter.finish()
    meter.stop()
    assert added.server_read == 100
    assert samples[-1].rtt_s is None or samples[-1].rtt_s == pytest.approx(0.015)
    assert any(sample.rtt_s == pytest.approx(0.015) for sample in samples)
    assert [sample.t_s for sample in samples] == sorted(sample.t_s for sample in samples)
    assert any(item.alive for item in sent)


def test_only_what_grows_is_a_sign_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.speedtest.sampler._ALIVE_INTERVAL_S", 0.0)
    sent: list[WorkerMessage] = []
    meter = Meter(FakeProbe(tcp=True), Progress(), sent.append)

    def alive(**counters: int) -> bool:
        sent.clear()
        meter._tell_alive(Look(**counters))
        return bool(sent)

    assert alive(tcp_bytes=100)
    assert not alive(tcp_bytes=100, timeouts=3, tcp_retransmissions=9)
    assert not alive(), "its connection was given up: nothing came"
    assert alive(tcp_bytes=10)
    meter.progress.steps += 1
    assert alive(tcp_bytes=10)
    assert not alive(tcp_bytes=10)


def test_a_part_of_a_transfer_is_watched_alone() -> None:
    probe = FakeProbe(tcp=True)
    meter = Meter(probe, Progress(), lambda _message: None)
    meter.start()
    meter.begin("read", "read", asleep=True)
    assert not meter.asked
    probe.now = Look(server_read=100, server_written=7, calls=3, segments=1)
    while not meter.asked:
        pass
    meter.watch()
    probe.now = Look(server_read=500, server_written=7, calls=5, rtt_ms=30)
    load = meter.watched()
    added, samples = meter.finish()
    meter.stop()
    assert (load.bytes, load.calls, load.rtt_s) == (400, 2, 0.03)
    assert (added.calls, samples[-1].server_bytes) == (5, 500)
    assert load.seconds > 0


looks = st.builds(Look, *[st.integers(0, 2**64)] * len(Look._fields))


@given(looks, looks)
def test_differences_are_never_negative(before: Look, after: Look) -> None:
    assert min(after.since(before)) >= 0


def test_probe_reads_mountstats_and_survives_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[2] / "data/mountstats/lossy-7.2.txt").read_text()
    where = Where(
        mount_id=1, device="0:32", mount_point="/mnt/a", share="127.0.0.1:/srv/a", fstype="nfs4",
        options="rw,vers=4.2,addr=127.0.0.1",
    )  # fmt: skip
    monkeypatch.setattr(probe_module, "read_text", lambda: text)
    probe = Probe(where)
    look = probe.look()
    assert (look.read_ops, look.timeouts, look.server_written) == (14, 13, 2097152)
    text = ""
    assert probe.look() == Look()
    probe.close()
    assert not probe.tcp

"""Rates of a mount: sums over operations, restarts, and rates that are never negative."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import AppError, CancelledError, ErrorKind
from app.kernel.mountstats import READ_OPS, ByteCounters, MountStats, OpCounters, Xprt, parse, sum_ops, totals
from app.kernel.tcp_info import SockDiag, TcpConnection
from app.stats.rates import RateMeter, watch_rates
from app.tasks import CancelToken

if TYPE_CHECKING:
    from app.stats.model import StatsSample

DATA = Path(__file__).parents[2] / "data" / "mountstats"


def stats(age_s: int = 10, share: str = "nas:/a", read: int = 0, **ops: OpCounters) -> MountStats:
    return MountStats(
        mount_point="/mnt/a", share=share, fstype="nfs4", statvers="1.1", opts={}, age_s=age_s, impl_id="",
        rpc_version=4, events={}, bytes=ByteCounters(server_read=read), xprts=(Xprt(kind="tcp"),), ops=ops,
    )  # fmt: skip


def test_the_first_reading_is_only_a_baseline() -> None:
    assert RateMeter().update(stats(), 0.0) is None


def test_reads_count_under_both_names() -> None:
    meter = RateMeter()
    meter.update(stats(), 1.0)
    after = stats(
        read=1000,
        READ=OpCounters(2, 3, 1, 0, 0, 10, 20, 30, 0),
        READ_PLUS=OpCounters(2, 2, 0, 0, 0, 0, 60, 60, 0),
    )
    sample = meter.update(after, 3.0)
    assert sample is not None
    assert sample.read_bytes_per_s == 500
    assert sample.ops_per_s == 2
    assert sample.rtt_s == pytest.approx(0.020)
    assert sample.queue_s == pytest.approx(0.0025)
    assert (sample.timeouts, sample.retransmissions, sample.connections) == (1, 1, 1)
    assert sum(op.ops for op in sum_ops(after, READ_OPS)) == 4


def test_each_operation_and_connection() -> None:
    meter = RateMeter()
    meter.update(stats(GETATTR=OpCounters(10, 10, 0, 100, 100, 5, 10, 20, 1)), 1.0)
    after = stats(
        READ=OpCounters(4, 5, 1, 400, 4000, 8, 40, 60, 2),
        GETATTR=OpCounters(12, 12, 0, 120, 120, 5, 14, 26, 1),
    )
    transport = Xprt(kind="tcp", sends=6, receives=6, connect_count=1, backlog_u=12)
    sample = meter.update(msgspec.structs.replace(after, xprts=(transport,)), 3.0, 1024)
    assert sample is not None
    read, getattr_ = sample.operations
    assert (read.name, read.ops_per_s, read.bytes_per_s) == ("READ", 2, 2200)
    assert (read.queue_s, read.rtt_s, read.execute_s) == (0.002, 0.01, 0.015)
    assert (read.timeouts, read.retransmissions, read.errors) == (1, 1, 2)
    assert (getattr_.name, getattr_.ops_per_s) == ("GETATTR", 1)
    (connection,) = sample.transports
    assert (connection.sends_per_s, connection.receives_per_s) == (3, 3)
    assert (connection.reconnections, connection.waiting) == (1, 2)
    assert (sample.errors, sample.read_ahead_kb) == (2, 1024)
    assert sample.execute_s == pytest.approx((60 + 6) / 6 / 1000)


def test_damaged_operations_and_connections_are_left_out() -> None:
    meter = RateMeter()
    before = stats(READ=OpCounters(4, 4, 0, 0, 0, 0, 9), WRITE=OpCounters(1, 1))
    meter.update(msgspec.structs.replace(before, xprts=(Xprt(kind="tcp", sends=9),)), 1.0)
    after = stats(READ=OpCounters(5, 5, 0, 0, 0, 0, 9), WRITE=OpCounters(9, 9, bytes_sent=-1))
    sample = meter.update(msgspec.structs.replace(after, xprts=(Xprt(kind="tcp", sends=3),)), 2.0)
    assert sample is not None
    assert [operation.name for operation in sample.operations] == ["READ"]
    assert sample.transports == []


def test_quiet_interval_has_no_round_trip() -> None:
    meter = RateMeter()
    meter.update(stats(), 0.0)
    sample = meter.update(stats(age_s=11), 1.0)
    assert sample is not None
    assert sample.rtt_s is None
    assert sample.queue_s is None


@pytest.mark.parametrize("again", [stats(age_s=0), stats(share="nas:/b", read=9000), stats(read=10)])
def test_a_new_mount_is_a_new_baseline(again: MountStats) -> None:
    meter = RateMeter()
    meter.update(stats(read=5000), 0.0)
    assert meter.update(again, 1.0) is None
    sample = meter.update(msgspec.structs.replace(again, age_s=again.age_s + 1), 2.0)
    assert sample is not None
    assert sample.read_bytes_per_s == 0


def test_recorded_loss_adds_up() -> None:
    v4, v3 = (totals(mount) for mount in parse((DATA / "lossy-7.2.txt").read_text()))
    assert (v4.timeouts, v4.retransmissions) == (13, 0)
    assert (v3.timeouts, v3.retransmissions) == (8, 28)


numbers = st.integers(0, 2**64 - 1)
operations = st.builds(OpCounters, *[numbers] * 9)
looks = st.builds(
    lambda age, read, written, ops: msgspec.structs.replace(
        stats(age_s=age, **ops), bytes=ByteCounters(server_read=read, server_written=written)
    ),
    numbers, numbers, numbers, st.dictionaries(st.sampled_from(["READ", "WRITE", "GETATTR"]), operations),
)  # fmt: skip


@given(st.lists(st.tuples(looks, st.floats(0, 1e6))))
def test_nothing_is_ever_negative(sequence: list[tuple[MountStats, float]]) -> None:
    meter = RateMeter()
    for look, t_s in sequence:
        sample = meter.update(look, t_s)
        if sample is not None:
            rows = [sample, *sample.operations, *sample.transports]
            values = [value for row in rows for value in msgspec.structs.asdict(row).values()]
            assert all(value >= 0 for value in values if isinstance(value, int | float))


def fake_proc(root: Path, text: str) -> Path:
    path = root / "proc/self/mountstats"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_watch_sends_samples_until_cancelled(tmp_path: Path) -> None:
    fake_proc(tmp_path, (DATA / "lossy-7.2.txt").read_text())
    token = CancelToken()
    samples: list[StatsSample] = []

    def on_sample(sample: StatsSample) -> None:
        samples.append(sample)
        if len(samples) == 3:
            token.cancel()

    with pytest.raises(CancelledError):
        watch_rates("/mnt/c", 0.0, token, on_sample, root=str(tmp_path))
    assert len(samples) == 3
    assert samples[0].t_s < samples[1].t_s < samples[2].t_s


@pytest.mark.parametrize(("proto", "counts"), [("tcp", [(2, 9), (0, 0)]), ("udp", [(None, None)] * 2)])
def test_watch_counts_the_segments_of_the_mounts_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proto: str, counts: list[tuple[int | None, int | None]]
) -> None:
    fake_proc(tmp_path, (DATA / "lossy-7.2.txt").read_text())
    row = f"35 27 0:34 / /mnt/c rw - nfs4 nas:/c rw,vers=4.2,proto={proto},port=3049,addr=10.9.0.1\n"
    (tmp_path / "proc/self/mountinfo").write_text(row)
    asked: list[tuple[str, int]] = []

    class FakeDiag(SockDiag):
        def connections(self, address: str, port: int = 2049) -> list[TcpConnection]:
            asked.append((address, port))
            again, disordered = [(5, 1), (7, 10), (7, 10), (7, 10)][len(asked) - 1]
            return [TcpConnection(1, 700, address, total_retrans=again, disordered=disordered)]

    monkeypatch.setattr("app.stats.rates.SockDiag", FakeDiag)
    token = CancelToken()
    samples: list[StatsSample] = []

    def on_sample(sample: StatsSample) -> None:
        samples.append(sample)
        if len(samples) == 2:
            token.cancel()

    with pytest.raises(CancelledError):
        watch_rates("/mnt/c", 0.0, token, on_sample, root=str(tmp_path))
    assert [(sample.segments, sample.disordered) for sample in samples] == counts
    assert asked == ([("10.9.0.1", 3049)] * 3 if proto == "tcp" else [])


def test_watch_ends_when_the_share_is_unmounted(tmp_path: Path) -> None:
    path = fake_proc(tmp_path, (DATA / "lossy-7.2.txt").read_text())

    def on_sample(_sample: StatsSample) -> None:
        path.write_text("")

    with pytest.raises(AppError) as caught:
        watch_rates("/mnt/a", 0.05, CancelToken(), on_sample, root=str(tmp_path))
    assert caught.value.kind == ErrorKind.NOT_MOUNTED


def test_watch_without_any_mount(tmp_path: Path) -> None:
    with pytest.raises(AppError, match="No NFS share"):
        watch_rates("/mnt/a", 1.0, CancelToken(), lambda _: None, root=str(tmp_path))

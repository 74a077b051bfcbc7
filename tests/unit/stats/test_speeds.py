"""Speeds of all mounts: agreement with the full mountstats parser, and damaged text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import CancelledError, printable
from app.kernel.mountstats import READ_OPS, WRITE_OPS, parse, sum_ops
from app.stats.speeds import mount_speeds, parse_counters, watch_speeds
from app.tasks import CancelToken

if TYPE_CHECKING:
    from app.stats.model import SpeedsSample

DATA = Path(__file__).parents[2] / "data" / "mountstats"
RECORDED = sorted(DATA.glob("*.txt"))
BLOCK = """device nas:/a\\040b mounted on /mnt/a\\040b with fstype nfs4 statvers=1.1
\tage:\t7
\tbytes:\t1 2 3 4 {read} {written} 5 6
\tper-op statistics
\t        READ: {ops} {ops} 1 2 3 4 {rtt} 6 0
\t       WRITE: 0 0 0 0 0 0 0 0 0
\t   READ_PLUS: 1 1 0 0 0 0 8 8 0
"""


def block(read: int = 0, written: int = 0, ops: int = 0, rtt: int = 0) -> bytes:
    return BLOCK.format(read=read, written=written, ops=ops, rtt=rtt).encode()


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_counters_agree_with_the_full_parser(path: Path) -> None:
    text = path.read_text()
    found = parse_counters(text.encode())
    expected = {mount.mount_point: mount for mount in parse(text)}
    assert len(found) == len(expected)
    for mount, glance in zip(expected.values(), found.values(), strict=True):
        assert (glance.server_read, glance.server_written) == (
            mount.bytes.server_read,
            mount.bytes.server_written,
        )
        ops = sum_ops(mount, (*READ_OPS, *WRITE_OPS))
        assert glance.calls == sum(op.ops for op in ops)
        assert (glance.rtt_ms, glance.timeouts) == (
            sum(op.rtt_ms for op in ops),
            sum(op.timeouts for op in ops),
        )


def test_a_name_that_is_not_utf8_can_be_sent_and_is_that_of_the_table() -> None:
    before, now = (block(read=read).replace(b"/mnt/a", b"/mnt/caf\xe9") for read in (0, 4096))
    found = mount_speeds(parse_counters(before), parse_counters(now), 1.0)
    assert list(found) == [printable("/mnt/caf\udce9 b")]
    assert b"/mnt/caf" in msgspec.json.encode(found)


def test_a_busy_mount_and_its_name() -> None:
    found = mount_speeds(
        parse_counters(block()), parse_counters(block(read=4096, written=2048, ops=4, rtt=20)), 2.0
    )
    speed = found["/mnt/a b"]
    assert (speed.read_bytes_per_s, speed.write_bytes_per_s, speed.transfers_per_s) == (2048, 1024, 2)
    assert speed.rtt_s == pytest.approx(0.005)


def test_an_idle_or_restarted_mount_is_left_out() -> None:
    busy = parse_counters(block(read=4096, ops=4))
    assert mount_speeds(busy, busy, 1.0) == {}
    assert mount_speeds(busy, parse_counters(block(read=1)), 1.0) == {}
    assert mount_speeds({}, busy, 1.0) == {}
    other = parse_counters(block(read=9999, ops=9).replace(b"nas:", b"other:"))
    assert mount_speeds(busy, other, 1.0) == {}


@given(st.data())
def test_truncated_text_gives_no_wrong_speed(data: st.DataObject) -> None:
    whole = block(read=10**9, written=10**9, ops=100, rtt=100)
    torn = whole[: data.draw(st.integers(0, len(whole)))]
    for speed in mount_speeds(parse_counters(block()), parse_counters(torn), 1.0).values():
        assert 0 <= speed.read_bytes_per_s <= 10**9
        assert 0 <= speed.transfers_per_s <= 100


def test_watching_without_a_mount_goes_on(tmp_path: Path) -> None:
    token = CancelToken()
    samples: list[SpeedsSample] = []

    def emit(sample: SpeedsSample) -> None:
        samples.append(sample)
        if len(samples) == 2:
            token.cancel()

    with pytest.raises(CancelledError):
        watch_speeds(0.0, token, emit, root=str(tmp_path))
    assert [sample.mounts for sample in samples] == [{}, {}]

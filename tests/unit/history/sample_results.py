"""Sample results of tests."""

from typing import Any

import msgspec

from advisor.facts import LinkFacts
from app.speedtest.model import (
    AccessPattern,
    CacheReport,
    Environment,
    Figure,
    GridCell,
    GridRun,
    Sample,
    TestResult,
    Transfer,
)

MIB = 2**20


def transfer(speed: float, *, cached: bool = False, samples: int = 0) -> Transfer:
    return Transfer(
        bytes=64 * MIB, bytes_per_s=speed, transfer_s=64 * MIB / speed, fsync_s=0, close_s=0, timeouts=0,
        retransmissions=0, retransmissions_from="tcp_info", rpc_retransmissions=0, tcp_retransmissions=0,
        server_bytes=64 * MIB, mean_rtt_s=0.0004, cached=cached,
        samples=[
            Sample(0.05 * place + 0.000_123, place * 5_000_000, max(place - 3, 0) * 4_987_123,
                   retransmissions=place // 50, rtt_s=None if place % 7 == 0 else 0.000_4 + place * 1e-6)
            for place in range(samples)
        ],
    )  # fmt: skip


def figure(values: list[float]) -> Figure:
    return Figure(
        values=values, median=sorted(values)[len(values) // 2], low=min(values), high=max(values),
        confidence=0.97, wide=False,
    )  # fmt: skip


def result(
    write: list[float] | None = None,
    read: list[float] | None = None,
    /,
    *,
    cached: bool = False,
    samples: int = 0,
    **changes: Any,
) -> TestResult:
    write, read = write or [100e6], read or [110e6]
    plain = TestResult(
        path="/mnt/home", nfs=True, share="nas:/home", started_at="2026-03-01T10:00:00+00:00",
        write=transfer(write[0], samples=samples), read=transfer(read[0], cached=cached, samples=samples),
        cache=CacheReport(method="fadvise", checked=True, cached=cached, note="Dropped."),
        requested={"rsize": "65536"}, effective={"vers": "4.2", "rsize": "65536", "hard": ""},
        link=LinkFacts(name="eth0", interface="eth0", rate_bps=1e9), block_size=MIB, sync=False, notes=[],
        figures={"write": figure(write), "read": figure(read)}, environment=Environment(host="desk"),
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


def grid(iops: float, *, cached: bool = False) -> TestResult:
    """Return a result with two grid cells: six repeats of a read, and a write with twice the rate."""
    speeds: dict[AccessPattern, float] = {"randread": iops, "seqwrite": 2 * iops}
    cells = [
        GridCell(
            pattern=pattern, record=4096, depth=4, jobs=1,
            runs=[GridRun(iops=speed + more, bytes_per_s=speed * 4096, latency_s=0.001) for more in range(6)],
        )
        for pattern, speed in speeds.items()
    ]  # fmt: skip
    return result(
        workload="grid", write=None, read=None, figures={}, grid=cells,
        cache=CacheReport(method="fadvise", checked=True, cached=cached, note="Dropped."),
    )  # fmt: skip

"""What held a grid back: its cells, and what they say together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from advisor.bottleneck import Load
from advisor.facts import LinkFacts
from app.bench.grid_model import GridCell, GridRun
from app.bench.grid_verdict import grid_bottleneck, grid_uses, judged_cells

if TYPE_CHECKING:
    from app.bench.grid_model import Pattern

LINK = LinkFacts(interface="eth0", rate_bps=100e6, mtu=1500, rtt_s=0.01)


def cell(pattern: Pattern, record: int, depth: int, iops: float, trip_s: float) -> GridCell:
    """One second of a quiet computer over a link of 100 Mbit/s and 10 ms."""
    speed = iops * record
    load = Load(
        seconds=1.0, bytes=int(speed), calls=int(iops), rtt_s=iops * trip_s, queue_s=0.0, commit_s=0.0,
        network_s=0.01, tcp_s=0.0105, cpu=0.1, core=0.1, worker=0.1,
    )  # fmt: skip
    run = GridRun(iops=iops, bytes_per_s=speed, latency_s=trip_s, load=load)
    slow = GridRun(iops=iops * 0.92, bytes_per_s=speed * 0.92, latency_s=trip_s, load=load)
    quick = GridRun(iops=iops * 1.08, bytes_per_s=speed * 1.08, latency_s=trip_s, load=load)
    return GridCell(pattern=pattern, record=record, depth=depth, jobs=1, runs=[quick, slow, run])


CELLS = [
    cell("seqwrite", 4096, 1, 95, 0.0105),
    cell("seqwrite", 2**20, 16, 11, 1.45),
    cell("seqread", 4096, 1, 96, 0.0104),
    cell("seqread", 2**20, 16, 11.1, 1.44),
    cell("randwrite", 4096, 1, 94, 0.0106),
    cell("randwrite", 4096, 16, 1500, 0.0106),
    cell("randwrite", 2**20, 16, 11, 1.45),
]


def test_each_cell_has_its_own() -> None:
    kinds = [found.bottleneck.kind for found in judged_cells(CELLS, LINK) if found.bottleneck is not None]
    alone, stream = "round-trips", "network"
    assert kinds == [alone, stream, alone, stream, alone, alone, stream]


def test_together_they_tell_a_stream_from_single_requests() -> None:
    found = grid_bottleneck(judged_cells(CELLS, LINK))
    assert found is not None
    assert (found.kind, found.way, found.confidence) == ("network", "write", "high")
    first, *others = found.evidence
    assert first.startswith(
        "In order, 1 MiB each, 16 at once, was the quickest: 11.5 MB/s. The test used 98 %"
    )
    assert any(line.startswith("From the server: the network. In order, 1 MiB each") for line in others)
    assert others[-1].startswith(
        "To the server, at random, 4 KiB each: one at a time 94 requests a second, held back by the round "
        "trips to the server; 16 at once 1500 requests a second, held back by the round trips to the server. "
        "A request took 10.6 ms, of which the way there and back takes 10 ms"
    )
    assert not any(line.startswith("From the server, at random") for line in others)


def test_a_grid_of_random_requests_alone() -> None:
    found = grid_bottleneck(judged_cells(CELLS[4:6], LINK))
    assert found is not None
    assert found.evidence[0].startswith("At random, 4 KiB each, 16 at once, was the quickest: 6.14 MB/s. A")


def test_without_counters_nothing_is_said() -> None:
    bare = [GridCell(pattern="seqread", record=4096, depth=1, jobs=1)]
    assert judged_cells(bare, LINK) == bare
    assert grid_bottleneck(bare) is None
    assert grid_uses(bare) == []


def test_what_it_is_enough_for_rests_on_the_slowest_repeat() -> None:
    video, backup, disks = grid_uses(judged_cells(CELLS, LINK))
    assert video == "Video: about 2 films in 4K at once (25 Mbit/s for each)."
    assert backup.startswith("Backup: about 310 GB in a night")
    assert disks.startswith("Virtual machines: 86 small writes at random a second are enough for no virtual")
    assert grid_uses(judged_cells(CELLS[5:], LINK)) == []
    apart = [
        msgspec.structs.replace(
            one, runs=[one.runs[0], msgspec.structs.replace(one.runs[1], bytes_per_s=1.0), one.runs[2]]
        )
        for one in CELLS
    ]
    assert grid_uses(judged_cells(apart, LINK)) == []

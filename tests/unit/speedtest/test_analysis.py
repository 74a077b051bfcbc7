"""Analysis of a test: detection of cached reads, messages by errno, bottlenecks of grid cells."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import msgspec
import pytest
import sample_results

from advisor.bottleneck import TransferLoad
from advisor.facts import LinkFacts
from app.errors import ErrorKind
from app.speedtest.analysis import (
    cache_report,
    cells_with_bottleneck,
    check_cached,
    grid_bottleneck,
    grid_use_cases,
    unmeasured_effects,
)
from app.speedtest.model import GridCell, GridRun, Transfer
from app.speedtest.testdir import file_error
from app.text.message import message_text

if TYPE_CHECKING:
    from app.speedtest.model import AccessPattern


def transfer(server_bytes: int | None, bytes_per_s: float = 10e6) -> Transfer:
    return Transfer(
        bytes=1000, bytes_per_s=bytes_per_s, transfer_s=1, fsync_s=0, close_s=0, timeouts=0,
        retransmissions=0, retransmissions_from="none", rpc_retransmissions=None, tcp_retransmissions=None,
        server_bytes=server_bytes, mean_rtt_s=None, cached=False, samples=[],
    )  # fmt: skip


FAST_ETHERNET = LinkFacts(rate_bps=100e6)


@pytest.mark.parametrize(
    ("read", "link", "cached", "words"),
    [
        (transfer(1000), FAST_ETHERNET, False, "byte counter of the mount"),
        (transfer(1000), None, False, "byte counter of the mount"),
        (transfer(400), FAST_ETHERNET, True, "only 40 %"),
        (transfer(0), None, True, "only 0 %"),
        (transfer(1000, 20e6), FAST_ETHERNET, True, "faster than the link"),
        (transfer(1000, 20e6), LinkFacts(), False, "byte counter of the mount"),
        (transfer(None, 20e6), FAST_ETHERNET, False, "not NFS"),
    ],
)
def test_detection_of_cached_reads(read: Transfer, link: LinkFacts | None, cached: bool, words: str) -> None:
    report = cache_report(read, "fadvise", link)
    assert report.cached is cached is check_cached(read, link)[0]
    assert words in report.note
    assert report.checked is (read.server_bytes is not None)


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, ErrorKind.NO_SPACE),
        (errno.EDQUOT, ErrorKind.NO_SPACE),
        (errno.EROFS, ErrorKind.READ_ONLY),
        (errno.EACCES, ErrorKind.PERMISSION),
        (errno.EPERM, ErrorKind.PERMISSION),
        (errno.ENOENT, ErrorKind.PATH_MISSING),
        (errno.ENOTDIR, ErrorKind.NOT_A_DIRECTORY),
        (errno.ETIMEDOUT, ErrorKind.NOT_RESPONDING),
        (errno.EIO, ErrorKind.IO),
        (errno.ESTALE, ErrorKind.IO),
        (512, ErrorKind.IO),
    ],
)
def test_each_errno_has_its_message(number: int, kind: ErrorKind) -> None:
    error = file_error(OSError(number, os.strerror(number)), "writing", "/mnt/a")
    assert error.kind == kind
    assert "/mnt/a" in error.message
    assert error.hint
    assert "writing" in error.detail


def test_note_on_the_servers_disk() -> None:
    result = sample_results.result()
    calls, flushed, from_memory = unmeasured_effects(result)
    assert calls == "It copied in calls of 1 MiB."
    assert "async" in flushed
    assert "memory" in from_memory
    assert unmeasured_effects(msgspec.structs.replace(result, read=None)) == [calls, flushed]
    assert unmeasured_effects(sample_results.result(cached=True)) == [calls, flushed]
    assert unmeasured_effects(msgspec.structs.replace(result, nfs=False)) == [calls]
    cell = GridCell(pattern="randread", record=4096, depth=1, jobs=1)
    grid = msgspec.structs.replace(result, write=None, read=None, grid=[cell])
    assert unmeasured_effects(grid) == [from_memory]


def test_permission_error_of_root_mentions_root_squash(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = PermissionError(errno.EACCES, "Permission denied")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "root_squash" in file_error(refused, "writing", "/mnt/a").hint
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "root_squash" not in file_error(refused, "writing", "/mnt/a").hint


LINK = LinkFacts(interface="eth0", rate_bps=100e6, mtu=1500, rtt_s=0.01)


def cell(pattern: AccessPattern, record: int, depth: int, iops: float, trip_s: float) -> GridCell:
    """One second on an idle computer over a link of 100 Mbit/s and 10 ms."""
    speed = iops * record
    load = TransferLoad(
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


def test_each_grid_cell_has_its_own_bottleneck() -> None:
    kinds = [
        found.bottleneck.kind for found in cells_with_bottleneck(CELLS, LINK) if found.bottleneck is not None
    ]
    alone, stream = "round-trips", "network"
    assert kinds == [alone, stream, alone, stream, alone, alone, stream]


def test_grid_bottleneck_covers_sequential_and_random_cells() -> None:
    found = grid_bottleneck(cells_with_bottleneck(CELLS, LINK))
    assert found is not None
    assert (found.kind, found.way, found.confidence) == ("network", "write", "high")
    first, *others = map(message_text, found.evidence)
    assert first.startswith(
        "Sequential access, 1 MiB each, 16 at once, was the fastest: 11.5 MB/s. The test used 98%"
    )
    assert any(
        line.startswith("From the server: the network. Sequential access, 1 MiB each") for line in others
    )
    assert others[-1].startswith(
        "To the server, random access, 4 KiB each: one at a time 94 requests a second, limited by the round "
        "trips to the server; 16 at once 1500 requests a second, limited by the round trips to the server. "
        "A request took 10.6 ms, of which the round trip on the link takes 10 ms"
    )
    assert not any(line.startswith("From the server, at random") for line in others)


def test_grid_with_random_cells_only() -> None:
    found = grid_bottleneck(cells_with_bottleneck(CELLS[4:6], LINK))
    assert found is not None
    assert message_text(found.evidence[0]).startswith(
        "Random access, 4 KiB each, 16 at once, was the fastest: 6.14 MB/s. A"
    )


def test_no_bottleneck_without_counters() -> None:
    bare = [GridCell(pattern="seqread", record=4096, depth=1, jobs=1)]
    assert cells_with_bottleneck(bare, LINK) == bare
    assert grid_bottleneck(bare) is None
    assert grid_use_cases(bare) == []


def test_use_cases_depend_on_the_slowest_repeat() -> None:
    video, backup, disks = grid_use_cases(cells_with_bottleneck(CELLS, LINK))
    assert video == "Video: about 2 films in 4K in parallel (25 Mbit/s for each)."
    assert backup.startswith("Backup: about 310 GB in a night")
    assert disks.startswith("Virtual machines: 86 small writes at random a second are enough for no virtual")
    assert grid_use_cases(cells_with_bottleneck(CELLS[5:], LINK)) == []
    apart = [
        msgspec.structs.replace(
            one, runs=[one.runs[0], msgspec.structs.replace(one.runs[1], bytes_per_s=1.0), one.runs[2]]
        )
        for one in CELLS
    ]
    assert grid_use_cases(cells_with_bottleneck(apart, LINK)) == []

"""What is said of a test: whether a read was the server's, what an error means, what figures cannot show."""

from __future__ import annotations

import errno
import os

import msgspec
import pytest
import sample_results

from advisor.facts import LinkFacts
from app.bench.grid_model import GridCell
from app.bench.problems import explain
from app.bench.verdict import beyond_the_figures, cache_report, flag_cached
from app.errors import ErrorKind
from app.speedtest.model import Transfer


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
def test_verdict_on_a_read(read: Transfer, link: LinkFacts | None, cached: bool, words: str) -> None:
    report = cache_report(read, "fadvise", link)
    assert report.cached is cached is flag_cached(read, link)[0]
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
    error = explain(OSError(number, os.strerror(number)), "writing", "/mnt/a")
    assert error.kind == kind
    assert "/mnt/a" in error.message
    assert error.hint
    assert "writing" in error.detail


def test_what_the_figures_do_not_say_of_the_servers_disk() -> None:
    result = sample_results.result()
    calls, flushed, from_memory = beyond_the_figures(result)
    assert calls == "It copied in calls of 1 MiB."
    assert "async" in flushed
    assert "memory" in from_memory
    assert beyond_the_figures(msgspec.structs.replace(result, read=None)) == [calls, flushed]
    assert beyond_the_figures(sample_results.result(cached=True)) == [calls, flushed]
    assert beyond_the_figures(msgspec.structs.replace(result, nfs=False)) == [calls]
    cell = GridCell(pattern="randread", record=4096, depth=1, jobs=1)
    grid = msgspec.structs.replace(result, write=None, read=None, grid=[cell])
    assert beyond_the_figures(grid) == [from_memory]


def test_root_is_told_of_root_squash(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = PermissionError(errno.EACCES, "Permission denied")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert "root_squash" in explain(refused, "writing", "/mnt/a").hint
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "root_squash" not in explain(refused, "writing", "/mnt/a").hint

"""Command "test": its specification, plan, and figures of repeats."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from advisor.bottleneck import Bottleneck, TransferLoad
from app.cli.parser import parse_args
from app.cli.test import bottleneck_lines, figures_lines, plan_query, plan_text
from app.cli.test import test_spec as spec_of
from app.cli.text import test_text as result_text
from app.speedtest.model import Figure, TestPlan, TestResult, Transfer

MIB = 2**20


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], {"workload": "file", "count": 1, "repeats": 1, "size": 64 * MIB}),
        (["--repeats", "5"], {"repeats": 5}),
        (["--files", "100", "--size", "1M"], {"workload": "files", "count": 100, "size": MIB}),
        (["--small-files"], {"workload": "files", "count": 1000, "size": 4096}),
    ],
)
def test_specifications(words: list[str], expected: dict[str, Any]) -> None:
    spec = spec_of(parse_args(["test", "/m", *words]), "/m")
    assert {name: getattr(spec, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["nas:/a", "-o", "vers=3"], ("", "nas:/a", "vers=3")),
        (["[fe80::1%eth0]:/", "--below", "me", "--cache", "fresh-mount"], ("me", "[fe80::1%eth0]:/", "")),
        (["/mnt/a:/b"], ("/mnt/a:/b", "", "")),
        (["./a:/b"], ("./a:/b", "", "")),
    ],
)
def test_shares_and_directories(words: list[str], expected: tuple[str, str, str]) -> None:
    spec = spec_of(parse_args(["test", *words]), words[0])
    assert (spec.path, spec.share, spec.options) == expected


@pytest.mark.parametrize(
    "words",
    [["--files", "0"], ["--repeats", "x"], ["--quick", "--normal"], ["--quick", "--size", "1M"],
     ["--quick", "--repeats", "3"], ["--thorough", "--files", "10"]],
)  # fmt: skip
def test_conflicting_options(words: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse_args(["test", "/m", *words])
    assert caught.value.code == 2


def test_the_plan_of_a_preset_is_printed() -> None:
    args = parse_args(["test", "/m", "--quick", "--small-files", "--size", "1M"])
    asked: list[Any] = []

    def ask(query: Any) -> TestPlan:
        asked.append(query)
        spec = msgspec.structs.replace(query.spec, repeats=6, count=12)
        return TestPlan(spec=spec, seconds=14.2, bytes=168 * MIB, free=None, note="Sized.")

    plan = plan_query(args, "/m", ask)
    assert plan is not None
    assert asked[0].preset == "quick"
    text = plan_text(plan)
    for word in ("12 files of 1 MiB", "7 times", "14.2 s", "168 MiB", "Sized."):
        assert word in text
    assert plan_query(parse_args(["test", "/m"]), "/m", ask) is None


def result(**found: Figure) -> TestResult:
    return TestResult(
        path="/m", nfs=True, share="a:/b", started_at="", write=None, read=None, cache=None, requested={},
        effective={}, link=None, block_size=MIB, sync=False, notes=[], figures=found,
    )  # fmt: skip


def figure(values: list[float], **changes: Any) -> Figure:
    plain = Figure(
        values=values, median=values[0], low=min(values), high=max(values), confidence=0.97, wide=False
    )
    return msgspec.structs.replace(plain, **changes)


def test_the_bottleneck_is_printed() -> None:
    found = Bottleneck(kind="round-trips", evidence=["A request took 20 ms.", "It is so."], confidence="high")
    lines = bottleneck_lines(found)
    assert lines[0] == "To the server: held back by the round trips to the server (high confidence)"
    assert lines[1:] == ["  A request took 20 ms.", "  It is so."]
    unclear = Bottleneck(kind="unclear", evidence=["Nothing stands out."], confidence="low")
    assert bottleneck_lines(unclear)[0] == "To the server: what held it back is not clear"


def test_a_read_has_disorder_and_retransmissions() -> None:
    load = TransferLoad(
        seconds=1, bytes=1, calls=1, rtt_s=1, queue_s=0, commit_s=0, received=200, disordered=29
    )
    one = Transfer(
        bytes=MIB, bytes_per_s=1e6, transfer_s=1, fsync_s=0, close_s=0, timeouts=0, retransmissions=2,
        retransmissions_from="tcp_info", rpc_retransmissions=0, tcp_retransmissions=2, server_bytes=MIB,
        mean_rtt_s=None, cached=False, samples=[], load=load,
    )  # fmt: skip
    found = msgspec.structs.replace(result(), write=one, read=one)
    head, write, read = result_text(found).splitlines()[2:5]
    assert head.endswith("RETRANSMITTED  OUT OF ORDER")
    assert write.split()[-2:] == ["2", "—"]
    assert read.split()[-2:] == ["2", "14%"]


def test_figures_as_text() -> None:
    lines = figures_lines(
        result(
            write=figure([10e6, 9e6], timeouts=1, retransmissions=4),
            read=figure([1e6]),
            stat=figure([1500.0, 1000.0], confidence=0.5, wide=True),
            delete=figure([250.0]),
        )
    )
    text = "\n".join(lines)
    assert "Write: median 10 MB/s of 2 repeats, 95% confidence interval 9 MB/s to 10 MB/s" in text
    assert "timeouts 1, retransmissions by this computer 4" in text
    assert "Read" not in text
    assert "range 1000 files/s to 1500 files/s; a 95% confidence interval needs six repeats" in text
    assert "too wide for a conclusion (stat)" in text
    assert "Delete: 250 files/s" in text

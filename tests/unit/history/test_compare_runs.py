"""Possible causes of a speed difference between saved tests with equal options."""

from dataclasses import replace

import msgspec
import sample_results

from advisor.bottleneck import TransferLoad
from app.history.compare_runs import compare_runs
from app.history.model import Run
from app.speedtest.model import Environment, TestResult

FAST, SLOW, NEARLY = [100e6, 101e6], [60e6, 62e6], [90e6, 91e6]
LOAD = TransferLoad(
    seconds=1.0,
    bytes=64 * 2**20,
    calls=64,
    rtt_s=1.0,
    queue_s=0.0,
    commit_s=0.0,
    network_s=0.001,
    segments=1000,
    cpu=0.2,
)


def notes(before: TestResult, after: TestResult) -> list[str]:
    found = compare_runs([Run(result=before)], [Run(result=after)]).notes
    return [note for note in found if "equal options" in note]


def loaded(speeds: list[float], load: TransferLoad) -> TestResult:
    plain = sample_results.result(speeds)
    assert plain.write is not None
    return msgspec.structs.replace(plain, write=msgspec.structs.replace(plain.write, load=load))


def test_a_different_call_size_is_given_as_cause() -> None:
    (note,) = notes(sample_results.result(FAST), sample_results.result(SLOW, block_size=131072))
    assert "The speed to the server differs by 39 % with equal options." in note
    assert "What differs: call size (1 MiB → 128 KiB)." in note


def test_kernel_and_link_are_given_as_causes() -> None:
    old = sample_results.result(FAST, environment=Environment(host="desk", kernel="6.1", rate_bps=1e9))
    new = sample_results.result(SLOW, environment=Environment(host="desk", kernel="6.12", rate_bps=1e8))
    (note,) = notes(old, new)
    assert "kernel (6.1 → 6.12)" in note
    assert "line rate (1 Gbit/s → 100 Mbit/s)" in note


def test_load_loss_rtt_and_repeats_are_given_as_causes() -> None:
    busy = replace(LOAD, cpu=0.9, again=30, network_s=0.004)
    (note,) = notes(loaded(FAST, LOAD), loaded([*SLOW, *SLOW], busy))
    assert "busy processors (20 % → 90 %)" in note
    assert "retransmitted segments (0 % → 3 %)" in note
    assert "round-trip time of the idle link (1 ms → 4 ms)" in note
    assert "repeats (2 → 4)" in note


def test_without_a_cause_the_ranges_are_given() -> None:
    (note,) = notes(loaded(FAST, LOAD), loaded(SLOW, LOAD))
    assert "The cause is unknown: the spread was before, 100 MB/s to 101 MB/s (2 repeats); " in note
    assert "after, 60 MB/s to 62 MB/s (2 repeats)." in note


def test_memory_that_differs_a_little_is_the_same() -> None:
    def names(first: int, second: int) -> list[str]:
        runs = [
            Run(result=sample_results.result(FAST, environment=Environment(host="desk", memory_bytes=size)))
            for size in (first, second)
        ]
        return [item.name for item in compare_runs(runs[:1], runs[1:]).differing]

    assert names(981 << 20, 993 << 20) == []
    assert names(981 << 20, 1993 << 20) == ["memory"]


def test_a_small_difference_or_different_options_give_no_note() -> None:
    assert notes(sample_results.result(FAST), sample_results.result(NEARLY)) == []
    assert notes(sample_results.result(FAST), sample_results.result(SLOW, effective={"vers": "3"})) == []

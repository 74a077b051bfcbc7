"""Comparison of test results: a difference counts only if the repeats are sufficient to show it."""

from dataclasses import replace

import msgspec
import pytest
import sample_results

from advisor.facts import ClientFacts, Facts, LinkFacts
from advisor.options import MountOptions
from advisor.recommend import recommend
from app.speedtest.model import SMALL_READS, Figure, TestResult, Transfer
from app.speedtest.result_comparison import compare_results, measured_recommendations

FACTS = Facts(client=ClientFacts(), link=LinkFacts(rate_bps=1e9, rtt_s=0.0004, kind="ethernet"))


def result(write: float, read: float, *, cached: bool = False) -> TestResult:
    def transfer(speed: float) -> Transfer:
        return Transfer(
            bytes=2**26, bytes_per_s=speed, transfer_s=1, fsync_s=0, close_s=0, timeouts=0, retransmissions=0,
            retransmissions_from="none", rpc_retransmissions=None, tcp_retransmissions=None,
            server_bytes=None, mean_rtt_s=None, cached=cached, samples=[],
        )  # fmt: skip

    return TestResult(
        path="/mnt", nfs=True, share=None, started_at="", write=transfer(write), read=transfer(read),
        cache=None,
        requested={}, effective={}, link=None, block_size=2**20, sync=False, notes=[],
    )  # fmt: skip


def test_faster_slower_and_neither() -> None:
    before = [result(80e6, 100e6), result(84e6, 101e6), result(82e6, 99e6), result(83e6, 100e6)]
    after = [result(110e6, 100e6), result(108e6, 90e6), result(109e6, 104e6), result(108e6, 101e6)]
    write, read = compare_results(before, after)
    assert (write.figure, write.verdict, write.repeats) == ("write", "faster", (4, 4))
    assert write.change == pytest.approx(0.32, abs=0.01)
    assert write.low < write.change < write.high
    assert write.text() == (
        "to the server 32 % faster (82.5 MB/s before and 108 MB/s after; 97 % interval +29 to +37 %)"
    )
    assert read.verdict == "same"
    assert read.text().startswith("from the server no significant difference (100 MB/s before and 100 MB/s ")
    assert [item.verdict for item in compare_results(after, before)] == ["slower", "same"]


def test_verdicts_same_and_unknown() -> None:
    before = [result(100e6, 100e6)] * 4
    assert compare_results(before, [result(102e6, 98e6)] * 4)[0].verdict == "same"
    few = compare_results(before, [result(200e6, 1e6)] * 2)[0]
    assert few.verdict == "unknown"
    assert few.text().startswith("to the server too few repeats to say (")


def test_few_tests_pool_repeats_and_many_use_medians() -> None:
    def repeated(*values: float) -> TestResult:
        plain = Figure(values=list(values), median=0, low=0, high=0, confidence=0, wide=False)
        return msgspec.structs.replace(result(1, 1), read=None, figures={"write": plain, "stat": plain})

    one, other = repeated(90, 91, 92, 93), repeated(50, 51, 52, 53)
    write, stat = compare_results([one], [other])
    assert (write.verdict, write.repeats) == ("slower", (4, 4))
    assert "files/s" in stat.text()
    many = compare_results([one] * 5, [other] * 4)[0]
    assert (many.repeats, many.before, many.after) == ((5, 4), 91.5, 51.5)


def test_a_read_from_the_cache_is_not_compared() -> None:
    before = [result(1e8, 1e8)] * 4
    after = [*before[:3], result(1e8, 9e9, cached=True)]
    assert [item.figure for item in compare_results(before, after)] == ["write"]


def with_small_reads(copy: float, small: float, *, cached: bool = False) -> TestResult:
    plain = result(copy, copy)
    assert plain.read is not None
    return msgspec.structs.replace(
        plain, small_read=msgspec.structs.replace(plain.read, bytes_per_s=small, cached=cached),
        figures={SMALL_READS: sample_results.figure([small])},
    )  # fmt: skip


def test_note_on_a_change_that_helps_only_small_reads() -> None:
    before, after = [with_small_reads(11e6, 4e6)] * 4, [with_small_reads(11e6, 9e6)] * 4
    advice = recommend(MountOptions.parse("rsize=8192"), FACTS)
    comparisons = compare_results(before, after)
    assert [(item.figure, item.verdict) for item in comparisons] == [
        ("write", "same"), ("read", "same"), (SMALL_READS, "faster"),
    ]  # fmt: skip
    (found,) = {item.text for item in measured_recommendations(comparisons, advice.recommendations)}
    assert "small reads (64 KiB a call) 125 % faster" in found
    assert "Only small reads are faster: a copy with cp is not." in found
    both = compare_results(before, [with_small_reads(22e6, 9e6)] * 4)
    assert "Only small reads" not in measured_recommendations(both, advice.recommendations)[0].text
    cached = compare_results(before, [with_small_reads(11e6, 9e9, cached=True)] * 4)
    assert [item.figure for item in cached] == ["write", "read"]


def test_measured_recommendations() -> None:
    options = MountOptions.parse("rsize=8192,wsize=8192")
    advice = recommend(options, FACTS)
    assert {item.option for item in advice.recommendations} == {"rsize", "wsize"}
    slow, fast = [result(50e6, 50e6)] * 4, [result(100e6, 100e6)] * 4
    worse = measured_recommendations(compare_results(fast, slow), advice.recommendations)
    assert {item.status for item in worse} == {"refuted"}
    again = recommend(options, FACTS, measured=worse)
    assert again.recommendations == ()
    assert "Your own measurement says otherwise" in again.not_recommended[0].reason
    better = measured_recommendations(compare_results(slow, fast), advice.recommendations)
    assert {item.status for item in better} == {"confirmed"}
    assert "rsize, wsize were tested together" in better[0].text
    assert {item.status for item in recommend(options, FACTS, measured=better).recommendations} == {
        "confirmed"
    }
    same = measured_recommendations(compare_results(slow, slow), advice.recommendations)
    kept = recommend(options, FACTS, measured=same).recommendations
    assert {item.status for item in kept} == {"untested"}
    assert "no significant difference" in kept[0].evidence[-1]


def test_options_without_effect_on_a_copy_are_not_judged() -> None:
    advice = recommend(MountOptions.parse("rsize=8192"), FACTS)
    others = [replace(item, option="lookupcache") for item in advice.recommendations]
    results = [result(1e8, 1e8)] * 4
    assert measured_recommendations(compare_results(results, results), others) == ()
    assert measured_recommendations([], advice.recommendations) == ()

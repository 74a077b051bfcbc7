"""Confidence of speed recommendations: low where the throughput model predicts no gain."""

from dataclasses import replace

import pytest

from advisor.confidence import limit_confidence
from advisor.facts import ClientFacts, Facts, LinkFacts
from advisor.options import MountOptions
from advisor.prediction import Prediction
from advisor.recommend import recommend
from app.service.advice import advise
from app.service.model import AdviceArgs

FAR = Facts(client=ClientFacts(), link=LinkFacts(rate_bps=1e8, rtt_s=0.04))


def _expect(bytes_per_s: float) -> Prediction:
    return Prediction(bytes_per_s=bytes_per_s, seconds=1.0, error=0.2, limit="TCP on a lossy way")


@pytest.mark.parametrize(
    ("advised", "confidence", "words"),
    [
        (1.05e6, "low", "expects only 5 % more when reading: what bounds it is TCP on a lossy way."),
        (0.9e6, "low", "expects no gain"),
        (2e6, "high", ""),
    ],
)
def test_it_is_no_surer_than_the_model(advised: float, confidence: str, words: str) -> None:
    items = recommend(MountOptions(), FAR).recommendations
    assert [item.option for item in items] == ["read_ahead_kb"]
    found = limit_confidence(items, (_expect(1e6), _expect(advised)), (_expect(1e6), _expect(advised)))
    assert [item.confidence for item in found] == [confidence]
    assert words in found[0].effect


def test_what_the_model_does_not_know_stays_as_it_is() -> None:
    items = recommend(MountOptions(), FAR).recommendations
    assert limit_confidence(items, (None, None), (None, None)) == items
    measured = tuple(replace(item, layer="measured", status="confirmed") for item in items)
    same = (_expect(1e6), _expect(1e6))
    assert limit_confidence(measured, same, same) == measured


def test_a_readahead_that_helps_small_reads_alone_says_so() -> None:
    items = recommend(MountOptions(), FAR).recommendations
    (found,) = limit_confidence(items, (_expect(9e6), _expect(9e6)), (_expect(4e6), _expect(9e6)))
    assert found.confidence == "high"
    assert "helps small reads alone: the model expects 125 % more with calls of 64 KiB" in found.effect
    assert "no gain for a copy with cp" in found.effect


def test_copies_are_expected_with_the_calls_of_cp_on_the_mount() -> None:
    answer = advise(
        AdviceArgs(link="rate=100mbit,delay=20ms"), lambda _share: Facts(client=ClientFacts()), None
    )
    assert [(item.figure, item.call_size) for item in answer.expected] == [
        ("write", 2**20), ("read", 2**20), ("small-read", 65536),
    ]  # fmt: skip
    _write, copy, small = answer.expected
    assert copy.now is not None
    assert small.now is not None
    assert small.advised is not None
    assert small.now.bytes_per_s < 0.6 * copy.now.bytes_per_s
    assert small.advised.bytes_per_s > 1.5 * small.now.bytes_per_s
    (found,) = answer.recommendations
    assert found.option == "read_ahead_kb"
    assert "helps small reads alone" in found.effect


def test_a_satellite_that_loses_packets() -> None:
    answer = advise(
        AdviceArgs(link="satellite", options="sec=krb5"), lambda _share: Facts(client=ClientFacts()), None
    )
    found = {item.option: item for item in answer.recommendations}
    assert found["read_ahead_kb"].confidence == "low"
    assert "lossy way" in found["read_ahead_kb"].effect


def test_a_fast_link_by_hand_gets_connections_though_its_kernel_is_not_known() -> None:
    answer = advise(
        AdviceArgs(link="rate=100gbit,delay=0.02ms"), lambda _share: Facts(client=ClientFacts()), None
    )
    found = {item.option: item for item in answer.recommendations}
    assert found["nconnect"].proposed == "8"
    assert "kernel: not known, it must be 5.3 or newer" in found["nconnect"].evidence


def test_over_rdma_nothing_is_expected() -> None:
    args = AdviceArgs(link="rate=40gbit,delay=0.05ms", options="proto=rdma")
    answer = advise(args, lambda _share: Facts(client=ClientFacts()), None)
    assert answer.curve is None
    assert all(entry.now is None and entry.advised is None for entry in answer.expected)

"""Throughput model: comparison with measurements of the studies and the lab."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.facts import ClientFacts, Facts, LinkFacts
from advisor.options import MountOptions
from advisor.throughput import CopySpec, ServerCosts, cubic_throughput, predict
from advisor.throughput_udp import UDP_TRANSFER_SIZES, ethernet_frames, udp_copy

if TYPE_CHECKING:
    from advisor.prediction import Direction, Prediction

_3COM, _ELITE16, _ETHEREXPRESS = 2048, 16384 - 1536, 32768
_WAYS: tuple[Direction, ...] = ("read", "write")
#: Call size of cp in coreutils 8, bytes (st_blksize, at least 32 KiB).
_CP = 2**15
_SEED_3 = "rw,bg,hard,rsize=32768,wsize=32768,tcp,vers=3,timeo=600"


def _facts(rate_bps: float | None, rtt_s: float | None, loss: float | None = None) -> Facts:
    return Facts(client=ClientFacts(), link=LinkFacts(rate_bps=rate_bps, rtt_s=rtt_s, loss=loss))


def _expected(facts: Facts, work: CopySpec, options: str = "", read_ahead: int = 2**17) -> Prediction:
    prediction = predict(MountOptions.parse(options), facts, work, read_ahead=read_ahead)
    assert prediction is not None
    return prediction


# Seed 000


@pytest.mark.parametrize("timeo_s", [0.7, 0.3])
@pytest.mark.parametrize(("receive_buffer", "size"), [(_3COM, 1024), (_ELITE16, 4096), (_ETHEREXPRESS, 8192)])
def test_the_best_size_of_each_card_is_the_article_s(receive_buffer: int, size: int, timeo_s: float) -> None:
    assert size == min(UDP_TRANSFER_SIZES, key=lambda each: udp_copy(each, timeo_s, receive_buffer).seconds)


@pytest.mark.parametrize(("timeo_s", "seconds"), [(0.7, 24.8), (0.3, 12.7)])
def test_the_timer_costs_what_the_article_measured(timeo_s: float, seconds: float) -> None:
    copy = udp_copy(8192, timeo_s, _3COM)
    assert copy.seconds == pytest.approx(seconds, rel=0.1)
    assert copy.timeouts == pytest.approx(13.2, rel=0.1)


def test_a_large_buffer_has_no_timeouts_and_then_the_timer_does_not_matter() -> None:
    for size in UDP_TRANSFER_SIZES:
        assert udp_copy(size, 0.7, _ETHEREXPRESS).timeouts == 0
        assert udp_copy(size, 0.7, _ETHEREXPRESS) == udp_copy(size, 0.3, _ETHEREXPRESS)


def test_frames_of_a_transfer() -> None:
    assert [ethernet_frames(size) for size in (1024, 2048, 4096, 8192, 32768)] == [1, 2, 3, 6, 23]


# Seed 003


@pytest.mark.parametrize(
    ("work", "extra", "seconds"),
    [
        (CopySpec(direction="write", length=2**30, base_s=18.8, block=_CP), "noac", 241),
        (CopySpec(direction="write", length=2**30, base_s=18.8, block=_CP), "actimeo=0", 20.6),
        (CopySpec(direction="write", length=100 * 2**20, files=100, base_s=5.6, block=_CP), "noac", 24.4),
        (CopySpec(direction="write", length=100 * 2**20, files=100, base_s=5.6, block=_CP), "actimeo=0", 6.2),
        (CopySpec(direction="read", length=2**30, base_s=13.2, block=_CP), "noac", 22.8),
        (CopySpec(direction="read", length=2**30, base_s=13.2, block=_CP), "actimeo=0", 23.2),
        (CopySpec(direction="read", length=100 * 2**20, files=100, base_s=2.4, block=_CP), "noac", 4.4),
        (CopySpec(direction="read", length=100 * 2**20, files=100, base_s=2.4, block=_CP), "actimeo=0", 4.6),
    ],
)
def test_what_uncached_attributes_cost(work: CopySpec, extra: str, seconds: float) -> None:
    options = MountOptions.parse(f"{_SEED_3},{extra}")
    prediction = predict(options, _facts(1e9, 0.5e-3), work)
    assert prediction is not None
    assert prediction.seconds == pytest.approx(seconds, rel=0.15)


def test_with_cached_attributes_nothing_is_added() -> None:
    work = CopySpec(direction="write", length=2**30, base_s=18.8, block=_CP)
    prediction = predict(MountOptions.parse(_SEED_3), _facts(1e9, 0.5e-3), work)
    assert prediction is not None
    assert prediction.seconds == 18.8


# The lab: reads of 16 MiB over 100 Mbit/s and 40 ms, NFS 4.2, readahead 128 KiB


@pytest.mark.parametrize(("block", "measured"), [(2**16, 4.77e6), (2**18, 7.48e6), (2**20, 10.0e6)])
def test_readahead_over_a_long_way(block: int, measured: float) -> None:
    work = CopySpec(direction="read", length=2**24, block=block)
    prediction = predict(MountOptions.parse("vers=4.2"), _facts(1e8, 0.04, 1e-5), work)
    assert prediction is not None
    assert prediction.bytes_per_s == pytest.approx(measured, rel=0.15)
    assert abs(prediction.bytes_per_s - measured) <= prediction.error * measured


def test_more_readahead_brings_a_long_way_to_its_rate() -> None:
    work = CopySpec(direction="read", length=2**26, block=2**16)
    facts = _facts(1e8, 0.04)
    short = predict(MountOptions(), facts, work)
    long = predict(MountOptions(), facts, work, read_ahead=15 * 2**20)
    assert short is not None
    assert long is not None
    assert short.limit == "the readahead over the round trip"
    assert long.limit == "the link's rate"
    assert long.bytes_per_s > 2 * short.bytes_per_s


def test_a_lossy_way_bounds_each_connection() -> None:
    link = LinkFacts(rate_bps=1e9, rtt_s=0.002, loss=0.01)
    # RFC 9438, section 5.1: at 1 % loss Reno's window is the greater one, 12.2 segments.
    assert cubic_throughput(link) == pytest.approx(12.2 * 1448 / 0.002, rel=0.01)
    assert cubic_throughput(link, 4) == pytest.approx(4 * cubic_throughput(link))
    assert cubic_throughput(LinkFacts(rtt_s=0.002)) == float("inf")


def test_a_new_connection_begins_slowly() -> None:
    # RFC 6928 and RFC 5681: ten segments in the first round trip, doubled in each further one.
    facts = _facts(2.5e7, 0.6)
    short, long = (
        predict(MountOptions(), facts, CopySpec(direction="write", length=length))
        for length in (2**21, 2**27)
    )
    assert short is not None
    assert long is not None
    assert short.limit == "TCP's slow start"
    assert short.bytes_per_s < long.bytes_per_s / 2


def test_small_files_wait_for_what_is_sent_again() -> None:
    # The lab, 1 % loss and 0.44 ms: 120 files of 4 KiB written and as many read took 3.8 s.
    facts = _facts(1e8, 0.44e-3, 0.01)
    parts = [
        predict(MountOptions(), facts, CopySpec(direction=way, length=120 * 4096, files=120))
        for way in ("write", "read")
    ]
    seconds = sum(part.seconds for part in parts if part is not None)
    assert seconds == pytest.approx(3.8, rel=0.2)


def test_each_direction_has_its_rate() -> None:
    link = LinkFacts(rate_bps=5e7, up_bps=1e7, rtt_s=0.001)
    facts = Facts(client=ClientFacts(), link=link)
    read, write = (_expected(facts, CopySpec(direction=way, length=2**26)) for way in _WAYS)
    assert read.bytes_per_s == pytest.approx(5e7 / 8 * 0.94, rel=0.05)
    assert write.bytes_per_s == pytest.approx(1e7 / 8 * 0.94, rel=0.05)


def test_a_short_copy_may_meet_no_loss() -> None:
    # One packet of 1000 is lost: what one connection carries in the long run does not bound the 362 packets
    # of 512 KiB. Cardwell, Savage and Anderson, “Modeling TCP Latency”, 2000, E[d].
    clean, lossy = _facts(5e7, 0.01), _facts(5e7, 0.01, 1e-3)
    short, long = (CopySpec(direction="write", length=length) for length in (2**19, 2**28))
    assert _expected(lossy, short).seconds == pytest.approx(_expected(clean, short).seconds, rel=0.05)
    # A window that fills link and queue is multiplied by 0.7 and still fills this link, not one of four times
    # its rate.
    assert _expected(lossy, long).seconds < 1.2 * _expected(clean, long).seconds
    clean, lossy = _facts(2e8, 0.01), _facts(2e8, 0.01, 1e-3)
    assert _expected(lossy, long).limit == "TCP on a lossy way"
    assert _expected(lossy, long).seconds > 1.15 * _expected(clean, long).seconds


def test_connections_that_are_not_used_side_by_side_begin_one_after_the_other() -> None:
    # The lab, 40 ms at 100 Mbit/s, readahead 1 MiB: 8.7 MB/s with one connection, 7.3 with two, 7.2 with 4.
    facts, work = _facts(1e8, 0.04, 1e-5), CopySpec(direction="read", length=28 * 2**20, block=2**17)
    one, two, four = (
        _expected(facts, work, options, read_ahead=2**20) for options in ("", "nconnect=2", "nconnect=4")
    )
    assert one.bytes_per_s > two.bytes_per_s > four.bytes_per_s
    assert one.holds(8.7e6)
    assert two.holds(7.3e6)
    assert four.holds(7.2e6)


def test_nobody_knows_the_processors_of_a_fast_link() -> None:
    facts, work = _facts(1e10, 0.3e-3), CopySpec(direction="write", length=2**28)
    assert _expected(facts, work).error > 0.8
    assert _expected(_facts(1e8, 0.3e-3), work).error < 0.2


def test_a_wire_is_only_sure_alone() -> None:
    work = CopySpec(direction="read", length=2**28)
    alone = predict(MountOptions(), _facts(1e8, 0.2e-3), work, read_ahead=2**22)
    beside = predict(
        MountOptions(), _facts(1e9, 0.4e-3), CopySpec(direction="read", length=2**28, block=2**17)
    )
    assert alone is not None
    assert beside is not None
    assert alone.error < 0.2 < beside.error


def test_an_unknown_link_gives_no_prediction() -> None:
    work = CopySpec(direction="read", length=2**20)
    assert predict(MountOptions(), Facts(client=ClientFacts()), work) is None
    assert predict(MountOptions(), _facts(None, 0.001), work) is None
    assert predict(MountOptions(), _facts(1e9, None), work) is None


def test_measured_costs_make_the_prediction_surer() -> None:
    work = CopySpec(direction="write", length=2**26, files=1000)
    guessed = predict(MountOptions(), _facts(1e9, 0.001), work)
    measured = predict(MountOptions(), _facts(1e9, 0.001), work, costs=ServerCosts(service_s=0.0002))
    assert guessed is not None
    assert measured is not None
    assert guessed.limit == "the round trips of each file"
    assert measured.error < guessed.error


@given(st.floats(1e4, 1e12), st.floats(0, 2), st.floats(0, 0.5), st.integers(1, 2**40), st.integers(1, 10**6))
def test_predictions_are_positive_and_within_the_link_s_rate(
    rate_bps: float, rtt_s: float, loss: float, length: int, files: int
) -> None:
    for direction in ("read", "write"):
        work = CopySpec(direction=direction, length=length, files=min(files, length))
        prediction = predict(MountOptions.parse("sync,nconnect=4"), _facts(rate_bps, rtt_s, loss), work)
        assert prediction is not None
        assert 0 < prediction.bytes_per_s <= rate_bps / 8
        assert 0 < prediction.error < 1

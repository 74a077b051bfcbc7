"""Predicted throughput curve: its setting, and the points of current and recommended options."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from advisor.facts import ClientFacts, Facts, LinkFacts, ServerFacts
from advisor.options import MountOptions
from advisor.throughput_curve import predicted_curve

KIB = 1024
LONG = Facts(client=ClientFacts(), link=LinkFacts(rate_bps=1e8, rtt_s=0.04, mtu=1500))
CARD = Facts(client=ClientFacts(), link=LinkFacts(card="3com-etherlink-iii", rate_bps=1e7))


def test_over_a_long_way_readahead_decides() -> None:
    curve = predicted_curve(
        MountOptions(), MountOptions(), LONG, read_ahead=128 * KIB, advised_read_ahead=1024 * KIB
    )
    assert curve is not None
    assert curve.over == "read_ahead_kb"
    assert list(curve.speeds) == sorted(curve.speeds)
    # Measured in the lab: 4.8 of 11.8 MB/s (advice-links.toml, read-ahead).
    assert abs(curve.now[1] / 4.8e6 - 1) < 0.35
    assert curve.advised[1] > 2 * curve.now[1]
    assert curve.speeds[curve.sizes.index(1024 * KIB)] == curve.advised[1]
    assert all(0 < error < 1 for error in curve.errors)


def test_for_a_card_of_1993_the_size_decides() -> None:
    advised = MountOptions.parse("proto=udp,rsize=1024,wsize=1024,timeo=3")
    curve = predicted_curve(
        MountOptions.parse("proto=udp"), advised, CARD, read_ahead=128 * KIB, advised_read_ahead=128 * KIB
    )
    assert curve is not None
    assert curve.over == "rsize"
    assert curve.sizes == (512, 1024, 2048, 4096, 8192)
    assert max(curve.speeds) == curve.advised[1] == curve.speeds[1]
    assert curve.now[0] == 8192


def test_the_server_s_card_decides_over_the_size_of_a_write() -> None:
    facts = replace(CARD, link=None, server=ServerFacts(card="smc-elite16"))
    options = MountOptions.parse("proto=udp,wsize=4096,timeo=7")
    curve = predicted_curve(options, options, facts, read_ahead=0, advised_read_ahead=0)
    assert curve is not None
    assert curve.over == "wsize"
    assert curve.now == curve.advised


def test_nothing_is_drawn_of_what_is_not_known() -> None:
    nothing = Facts(client=ClientFacts())
    for text in ("", "proto=udp"):
        options = MountOptions.parse(text)
        assert predicted_curve(options, options, nothing, read_ahead=0, advised_read_ahead=0) is None


@given(
    rate=st.floats(1e5, 1e12), rtt=st.floats(1e-6, 2), kilobytes=st.integers(0, 2**22),
    size=st.sampled_from(["", "1", "1000", "1048576", "99999999999", "many"]),
)  # fmt: skip
def test_it_never_fails(rate: float, rtt: float, kilobytes: int, size: str) -> None:
    for proto in ("tcp", "udp"):
        options = MountOptions.parse(f"proto={proto}" + (f",rsize={size},timeo={size}" if size else ""))
        link = LinkFacts(rate_bps=rate, rtt_s=rtt, card="3com-etherlink-iii")
        curve = predicted_curve(
            options, options, Facts(client=ClientFacts(), link=link),
            read_ahead=kilobytes * KIB, advised_read_ahead=kilobytes * KIB,
        )  # fmt: skip
        assert curve is not None
        assert len(curve.sizes) == len(curve.speeds) == len(curve.errors)
        assert all(speed > 0 for speed in curve.speeds)

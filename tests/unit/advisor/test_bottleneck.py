"""Bottleneck of a transfer, from figures measured in the lab."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from advisor.bottleneck import Bottleneck, InterfaceTraffic, TransferLoad, find_bottleneck
from advisor.facts import LinkFacts
from app.text.message import message_text

FAST = LinkFacts(interface="eth0", rate_bps=100e6, mtu=1500, rtt_s=0.001)
GIGABIT = LinkFacts(interface="eth0", rate_bps=1e9, mtu=1500, rtt_s=0.001)
UNKNOWN = LinkFacts(interface="eth0", rtt_s=0.02)


def load(**changes: Any) -> TransferLoad:
    """Return the load of 16 MB in 1.4 s over an idle link, with a client that is not busy."""
    plain = TransferLoad(
        seconds=1.45, bytes=16 << 20, calls=17, rtt_s=1.15, queue_s=0.0, commit_s=0.0, network_s=0.0012,
        tcp_s=0.0015, cpu=0.2, core=0.1, worker=0.05,
    )  # fmt: skip
    return replace(plain, **changes)


CASES: dict[str, tuple[str, str, LinkFacts | None, TransferLoad]] = {
    # Measured over the lab's links of these names.
    "full fast ethernet": ("network", "high", FAST, load(tcp_s=0.0357, unsent=302667)),
    "full although the processor is, too": ("network", "high", FAST, load(cpu=0.99)),
    "losses": (
        "network", "medium", FAST,
        load(bytes=8 << 20, seconds=1.49, calls=9, rtt_s=0.127, network_s=0.00285, segments=5861, again=66),
    ),
    "losses, one of them found by a time-out": (
        "network", "medium", FAST,
        load(bytes=6 << 20, seconds=1.49, calls=8, rtt_s=0.35, network_s=0.0025, segments=4400, again=45),
    ),
    # The lab, rate=100mbit,delay=0.1ms,loss=2%: CUBIC's mean rate at that loss would be far above the link's.
    "losses on a short way, where timers decide": (
        "network", "medium", FAST,
        load(seconds=2.21, calls=18, rtt_s=0.9, queue_s=5.0, network_s=0.00048, tcp_s=0.0009, unsent=58606.0,
             segments=11829, again=238),
    ),
    "losses beside a program that keeps the processors busy": (
        "network", "medium", FAST,
        load(seconds=6.49, calls=18, rtt_s=1.162, queue_s=58.6, network_s=0.00048, tcp_s=0.0023,
             unsent=58606.0, segments=11829, again=238, cpu=0.908, core=0.051, worker=0.434),
    ),
    "losses that the kernel has no time to handle": (
        "client", "high", FAST,
        load(seconds=6.49, calls=18, rtt_s=1.162, network_s=0.00048, segments=11829, again=238, core=0.95),
    ),
    "losses that make a request look slow at the server": (
        "network", "medium", FAST,
        load(seconds=3.0, calls=17, rtt_s=2.9, network_s=0.0005, tcp_s=0.0006, segments=11829, again=238),
    ),
    "a server that is long about its disk, behind a way that loses": (
        "server", "high", FAST,
        load(seconds=9.0, calls=17, rtt_s=8.9, commit_s=7.0, network_s=0.0005, tcp_s=0.0006,
             segments=11829, again=238),
    ),
    "a queue on a way of unknown rate": (
        "network", "medium", UNKNOWN,
        load(bytes=2 << 20, seconds=1.85, calls=3, rtt_s=0.46, network_s=0.025, tcp_s=0.132, unsent=50050),
    ),
    "others fill the link": (
        "network", "high", FAST,
        load(bytes=4 << 20, interfaces={"eth0": InterfaceTraffic(received=9, sent=17_000_000, drops=0)}),
    ),
    "a processor that works all the time": (
        "client", "high", LinkFacts(rate_bps=10e9),
        load(bytes=256 << 20, seconds=0.8, calls=264, rtt_s=11.4, cpu=1.0, worker=0.42, unsent=2815260),
    ),
    "one processor that handles the packets": ("client", "medium", None, load(core=0.97)),
    "the copying process itself": ("client", "high", GIGABIT, load(worker=0.95)),
    "small files over a long way": (
        "round-trips", "high", GIGABIT,
        load(bytes=20 * 4096, seconds=1.23, calls=60, rtt_s=1.21, network_s=0.0207, tcp_s=0.0202),
    ),
    "small requests over a long way, many at once": (
        "round-trips", "high", GIGABIT,
        load(bytes=4 << 20, seconds=1.06, calls=1024, rtt_s=24.2, queue_s=30.8, network_s=0.0205),
    ),
    "small requests over a long way, one packet sent again after a stall": (
        "round-trips", "high", GIGABIT,
        load(bytes=6 << 20, seconds=6.3, calls=1541, rtt_s=390.0, network_s=0.202, segments=4587, again=1),
    ),
    "a long way beside a busy computer": (
        "round-trips", "medium", None,
        load(bytes=20 * 4096, seconds=1.23, calls=60, rtt_s=1.21, network_s=0.0207, cpu=1.0),
    ),
    "a server that is long about its disk": (
        "server", "high", GIGABIT,
        load(bytes=8 << 20, seconds=1.01, calls=9, rtt_s=1.0, commit_s=0.92, network_s=0.0007, tcp_s=0.009),
    ),
    "a server that is long about each write": (
        "server", "high", GIGABIT,
        load(bytes=8 << 20, seconds=7.5, calls=8, rtt_s=7.4, network_s=0.0006, tcp_s=0.0006),
    ),
    "a server that does not take the data": (
        "server", "medium", UNKNOWN,
        load(seconds=2.0, calls=17, rtt_s=8.5, window_s=1.6, unsent=4 << 20, tcp_s=None),
    ),
    "large requests one at a time": (
        "network", "medium", FAST,
        load(bytes=7 << 20, seconds=1.0, calls=7, rtt_s=0.95, network_s=0.0095, tcp_s=0.011),
    ),
    "nothing stands out": ("unclear", "low", GIGABIT, load(bytes=8 << 20, rtt_s=0.2)),
    "no counters": ("unclear", "low", None, load(calls=0, rtt_s=0.0, network_s=None, tcp_s=None)),
}  # fmt: skip


def texts(found: Bottleneck) -> list[str]:
    return [message_text(one) for one in found.evidence]


@pytest.mark.parametrize("name", list(CASES))
def test_what_held_it_back(name: str) -> None:
    kind, confidence, link, seen = CASES[name]
    found = find_bottleneck("write", seen, link)
    assert (found.kind, found.confidence) == (kind, confidence), found.evidence
    assert found.way == "write"
    lines = texts(found)
    assert all(line.endswith(".") for line in lines)
    assert len(set(lines)) == len(lines)


def test_a_speed_above_the_link_s_is_not_said_to_be_a_part_of_it() -> None:
    """As with fio's sequential reads in the lab: 121 MB/s over a link of 118 MB/s."""
    for speed, said in (
        (110e6, "The test used 93% of the 118 MB/s that the link can carry."),
        (
            121e6,
            "At 121 MB/s the test used all that the link can carry, which is about 118 MB/s by its rate.",
        ),
    ):
        found = find_bottleneck("read", load(bytes=round(speed), seconds=1.0), GIGABIT)
        assert texts(found)[0] == said


def test_a_speed_that_is_beaten_is_not_said_to_be_what_tcp_brings() -> None:
    """The formula is a long-term mean; the lab measured 14.5 MB/s where it gives 9.3 MB/s."""
    link = LinkFacts(rate_bps=220e6, rtt_s=0.00657)
    seen = load(
        bytes=96 << 20, seconds=6.0, calls=96, rtt_s=30.0, network_s=0.00657, segments=69000, again=65
    )
    for slower, said in ((1, False), (2.4, True)):
        found = find_bottleneck("write", replace(seen, seconds=seen.seconds * slower), link)
        assert found.kind == "network"
        assert "lost and retransmitted" in texts(found)[0]
        assert ("brings about" in texts(found)[0]) is said


def test_a_reader_knows_losses_by_the_disorder() -> None:
    seen = load(bytes=8 << 20, seconds=1.32, calls=8, rtt_s=2.3, received=5795, disordered=994)
    found = find_bottleneck("read", seen, FAST)
    assert (found.kind, found.way) == ("network", "read")
    assert texts(found)[0].startswith("17% of the packets")


def test_answers_that_wait_for_each_other_are_not_the_servers_delay() -> None:
    # 16 concurrent requests of 64 KiB: each reply waits for 15 others on a busy link.
    seen = load(bytes=7 << 20, seconds=0.93, calls=112, rtt_s=14.8, network_s=0.0042, tcp_s=0.0172)
    found = find_bottleneck("read", seen, FAST)
    assert (found.kind, found.confidence) == ("network", "medium")
    assert find_bottleneck("read", replace(seen, bytes=3 << 20, calls=48), FAST).kind == "server"


def test_what_limits_the_labs_quick_links_is_said() -> None:
    seen = load(bytes=256 << 20, seconds=0.8, calls=264, rtt_s=11.4, cpu=1.0)
    for link, said in ((LinkFacts(rate_bps=10e9, emulated=True), True), (LinkFacts(rate_bps=10e9), False)):
        text = " ".join(texts(find_bottleneck("read", seen, link)))
        assert ("The lab has one processor for client, server and link" in text) is said
    slow = find_bottleneck("read", load(bytes=8 << 20), replace(FAST, emulated=True))
    assert not any("The lab" in line for line in texts(slow))


def test_a_request_is_not_said_to_be_shorter_than_its_way() -> None:
    seen = load(bytes=20 * 4096, seconds=1.23, calls=60, rtt_s=1.1, network_s=0.0207)
    assert texts(find_bottleneck("read", seen, GIGABIT))[0].startswith(
        "A request took 18.3 ms, no longer than one that does nothing. 60 requests"
    )


def test_a_short_transfer_says_little() -> None:
    seen = load(
        seconds=0.03, bytes=8 << 20, calls=8, rtt_s=0.03, network_s=0.003, cpu=None, core=None, worker=1.0
    )
    found = find_bottleneck("write", seen, LinkFacts(rate_bps=10e9))
    assert (found.kind, found.confidence) == ("round-trips", "low")


def test_what_else_was_seen_is_said() -> None:
    seen = load(
        bytes=20 * 4096, seconds=1.23, calls=60, rtt_s=1.21, network_s=0.0207, cpu=0.95, queue_s=2.4,
        segments=900, again=3, interfaces={"eth0": InterfaceTraffic(received=100, sent=100, drops=7)},
    )  # fmt: skip
    text = " ".join(texts(find_bottleneck("write", seen, GIGABIT)))
    for words in ("20.2 ms, no longer than", "0.0566% of what the link", "all together 95%",
                  "40 ms each before", "3 of 900 segments", "dropped 7 packets"):  # fmt: skip
        assert words in text


def test_a_speed_that_was_beaten_is_not_called_what_tcp_brings() -> None:
    # RTT 6.57 ms and 0.05 % loss, where the speed exceeded the mean of CUBIC.
    link = LinkFacts(interface="eth0", rate_bps=220e6, mtu=1500, rtt_s=0.00657)
    seen = load(
        bytes=96 << 20, seconds=5.2, calls=97, rtt_s=30.0, network_s=0.00657, segments=70_000, again=35
    )
    found = find_bottleneck("write", seen, link)
    assert found.kind == "network"
    assert "TCP brings" not in texts(found)[0]
    slower = find_bottleneck("write", replace(seen, seconds=12.0), link)
    assert "TCP brings about" in texts(slower)[0]

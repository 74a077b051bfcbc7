"""Estimated time and volume of a test, before it runs: by the throughput model, or the link's rate alone.

Planning of single tests and of experiments use the same figures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from advisor.facts import payload_rate_bps
from advisor.options import MountOptions
from advisor.throughput import DEFAULT_READAHEAD_BYTES, CopySpec, predict
from advisor.transfer_sizes import call_size

if TYPE_CHECKING:
    from advisor.bottleneck import TransferDirection
    from advisor.facts import Facts, LinkFacts
    from advisor.throughput import ServerCosts
    from app.speedtest.model import TestSpec

#: Time of the server for a request in addition to the round trip, s.
_SERVICE_S = 0.3e-3
#: Assumed rate if the link's rate is unknown, bits per second.
_ASSUMED_LINK_BPS = 1e9
#: Maximum fraction of the free space that a test uses.
_MAX_FREE_SPACE_SHARE = 0.25
#: Two sizes that are so large that the slow beginning of a copy is over, bytes.
_STEADY_SIZES = (2**30, 2**31)
#: Kinds of tests that copy many files.
_MANY_FILES = {"files", "own"}


def link_speed(link: LinkFacts | None, direction: Literal["read", "write", "both"]) -> float:
    """Return the maximum throughput of a link, in its slower direction for "both", bytes per second."""
    rate_bps = link.slowest_of(direction) if link is not None else None
    return payload_rate_bps(rate_bps or _ASSUMED_LINK_BPS) / 8


def usable_space(free: int) -> int:
    """Return the bytes of the free space that a test may use."""
    return int(free * _MAX_FREE_SPACE_SHARE)


def copies_before(spec: TestSpec) -> int:
    """Return how many times the data are written before the first repeat, to have something to read."""
    return int(spec.direction == "read" and spec.workload == "file")


def copies_per_repeat(spec: TestSpec) -> tuple[int, int]:
    """Return how many times a repeat writes and reads the data; one read may have several passes."""
    # A file is written as a whole before its random records are.
    writes = 1 - copies_before(spec) + (spec.workload == "random" and spec.direction != "read")
    return writes, 0 if spec.direction == "write" else 1 + spec.reads_again


def bytes_of_test(spec: TestSpec) -> int:
    """Return the bytes that cross the network in both directions during a test."""
    writes, reads = copies_per_repeat(spec)
    return spec.total * (copies_before(spec) + spec.rounds * (writes + spec.passes * reads))


def copy_seconds(
    spec: TestSpec,
    direction: TransferDirection,
    facts: Facts,
    *,
    read_ahead_kb: int | None = None,
    costs: ServerCosts | None = None,
) -> float:
    """Return the time of one copy in one direction, with all its passes.

    Args:
        spec: the test, with the mount options of its share.
        direction: direction of the copy.
        facts: facts about link, server and client.
        read_ahead_kb: readahead of the mount, KiB; None for the kernel's default.
        costs: measured times of the server, None for typical ones.
    """
    parsed = MountOptions.parse(spec.options)
    block = call_size(spec.block_size, parsed.values())
    length = spec.total * (spec.passes if direction == "read" else 1)
    copy = CopySpec(
        direction=direction,
        length=length,
        files=spec.count if spec.workload in _MANY_FILES else 1,
        block=block,
        at_once=spec.count if spec.workload == "streams" else 1,
    )
    read_ahead = 1024 * read_ahead_kb if read_ahead_kb is not None else DEFAULT_READAHEAD_BYTES
    prediction = predict(parsed, facts, copy, read_ahead=read_ahead, costs=costs)
    seconds = prediction.seconds if prediction is not None else length / link_speed(facts.link, direction)
    if spec.workload == "random" and direction == "read":
        seconds = max(seconds, length / block * _round_trip_s(facts))
    return seconds


def seconds_of_test(
    spec: TestSpec,
    facts: Facts,
    *,
    read_ahead_kb: int | None = None,
    costs: ServerCosts | None = None,
    overhead: float = 0.0,
) -> float:
    """Return the time of all copies of a test.

    Args:
        spec: the test, with the mount options of its share.
        facts: facts about link, server and client.
        read_ahead_kb: readahead of the mount, KiB; None for the kernel's default.
        costs: measured times of the server, None for typical ones.
        overhead: fraction of a repeat for everything but the copy.
    """

    def seconds(direction: TransferDirection, copies: int) -> float:
        if not copies:
            return 0.0
        one_s = copy_seconds(spec, direction, facts, read_ahead_kb=read_ahead_kb, costs=costs)
        return copies * one_s

    writes, reads = copies_per_repeat(spec)
    repeat_s = seconds("write", writes) + seconds("read", reads)
    if spec.workload in _MANY_FILES:
        repeat_s += 2 * spec.count * _round_trip_s(facts)  # they are examined and deleted
    return seconds("write", copies_before(spec)) + spec.rounds * repeat_s / (1 - overhead)


def steady_speed(spec: TestSpec, facts: Facts) -> float:
    """Return the speed of a copy of one file after its slow beginning, in the slower direction, bytes/s."""
    short, long = (msgspec.structs.replace(spec, size=size, passes=1) for size in _STEADY_SIZES)
    directions: list[TransferDirection] = ["write", "read"] if spec.direction == "both" else [spec.direction]
    return min(
        (long.size - short.size) / (copy_seconds(long, each, facts) - copy_seconds(short, each, facts))
        for each in directions
    )


def _round_trip_s(facts: Facts) -> float:
    rtt_s = facts.link.rtt_s if facts.link is not None else None
    return (rtt_s or 0.0) + _SERVICE_S

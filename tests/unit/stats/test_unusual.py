"""Unusual figures: what is marked on the live page, and what is left alone."""

from __future__ import annotations

import msgspec
import pytest

from app.stats.model import StatsSample
from app.stats.unusual import unusual_figures

USUAL = StatsSample(
    t_s=1.0, read_bytes_per_s=11.5e6, write_bytes_per_s=11.5e6, ops_per_s=44, rtt_s=0.0021, queue_s=0.0001,
    timeouts=0, retransmissions=0, connections=1, errors=2, segments=3, disordered=4,
)  # fmt: skip


def test_nothing_is_not_unusual() -> None:
    assert unusual_figures([]) == frozenset()
    assert unusual_figures([USUAL] * 60) == frozenset()


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"timeouts": 1}, "timeouts"),
        ({"retransmissions": 1}, "retransmissions"),
        ({"segments": 200}, "segments"),
        ({"disordered": 200}, "disordered"),
        ({"errors": 40}, "errors"),
        ({"queue_s": 0.004}, "queue"),
    ],
)
def test_each_figure(changes: dict[str, float], name: str) -> None:
    assert unusual_figures([msgspec.structs.replace(USUAL, **changes)]) == {name}


def test_what_the_kernel_does_not_count_is_not_unusual() -> None:
    unknown = msgspec.structs.replace(USUAL, segments=None, disordered=None, errors=None, queue_s=None)
    assert unusual_figures([unknown]) == frozenset()


def test_a_lost_segment_on_a_quiet_link_is_not_unusual() -> None:
    quiet = msgspec.structs.replace(USUAL, read_bytes_per_s=0, write_bytes_per_s=0, ops_per_s=1, segments=2)
    assert unusual_figures([quiet]) == frozenset()

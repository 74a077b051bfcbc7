"""Two sets of repeats: the ratio, its interval, and when nothing can be said."""

import random
from itertools import combinations
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.difference import _orders, difference
from advisor.experiment.intervals import CONFIDENCE

speeds = st.lists(st.floats(1e3, 1e10), min_size=1, max_size=8)


@pytest.mark.parametrize(("first", "second"), [(1, 1), (2, 3), (4, 4), (5, 2), (3, 6)])
def test_orders_are_counted_exactly(first: int, second: int) -> None:
    counts = [0] * (first * second + 1)
    for chosen in combinations(range(first + second), first):
        below = sum(
            place not in chosen and place < mine for mine in chosen for place in range(first + second)
        )
        counts[below] += 1
    assert _orders(first, second) == counts
    assert sum(counts) == comb(first + second, first)


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ([100, 101, 99, 100], [120, 121, 119, 122], "higher"),
        ([100, 101, 99, 100], [80, 81, 79, 82], "lower"),
        ([100, 101, 99, 100], [101, 102, 101.5, 102.5], "same"),  # sure, but two per cent do not matter
        ([100, 140, 90, 120], [110, 150, 95, 119], "same"),
        ([100, 101, 99], [200, 201, 199], "unknown"),
        ([100], [200] * 30, "unknown"),
        ([100, 101], [200, 210, 220, 230, 240, 250, 260, 270], "higher"),
    ],
)
def test_verdicts(before: list[float], after: list[float], verdict: str) -> None:
    assert difference(before, after).verdict == verdict


def test_ratio_and_interval_by_hand() -> None:
    found = difference([100, 100, 100, 100], [150, 150, 150, 300])
    assert found.ratio == pytest.approx(1.5)
    assert (found.low, found.high) == (pytest.approx(1.5), pytest.approx(3.0))
    assert found.confidence == pytest.approx(1 - 2 / 70)


@settings(max_examples=60)
@given(speeds, speeds)
def test_turned_round_it_says_the_opposite(before: list[float], after: list[float]) -> None:
    there, back = difference(before, after), difference(after, before)
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert back.low == pytest.approx(1 / there.high)
    assert back.high == pytest.approx(1 / there.low)
    assert there.low <= there.ratio * (1 + 1e-12)
    assert there.ratio <= there.high * (1 + 1e-12)
    opposite = {"higher": "lower", "lower": "higher", "same": "same", "unknown": "unknown"}
    if abs(there.ratio - 1) > 0.05:  # 3 % up and 3 % down are not quite each other's opposite
        assert back.verdict == opposite[there.verdict]


@pytest.mark.parametrize(("first", "second"), [(4, 4), (6, 6), (6, 10), (60, 60)])
def test_intervals_cover_as_often_as_they_say(first: int, second: int) -> None:
    source = random.Random(5)
    rounds, covered = 400, 0
    for _ in range(rounds):
        before = [source.lognormvariate(18, 0.2) for _ in range(first)]
        after = [1.3 * source.lognormvariate(18, 0.2) for _ in range(second)]
        found = difference(before, after)
        covered += found.low <= 1.3 <= found.high
    assert covered / rounds >= CONFIDENCE - 0.03


@pytest.mark.parametrize(("before", "after"), [([], [1.0]), ([1.0], []), ([1.0], [0.0]), ([-1.0], [1.0])])
def test_values_that_have_no_ratio(before: list[float], after: list[float]) -> None:
    with pytest.raises(ValueError, match="above 0"):
        difference(before, after)

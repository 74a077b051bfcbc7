"""Intervals of medians and ratios: comparison with brute force, and coverage; outliers."""

from __future__ import annotations

import itertools
import random
import statistics
from itertools import combinations
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.experiment.intervals import (
    CONFIDENCE,
    MIN_INTERVAL_VALUES,
    _mann_whitney_counts,
    compare_samples,
    confidence_interval,
    median,
    single_outlier,
    spread_is_wide,
)

speeds = st.lists(st.floats(1e3, 1e10), min_size=1, max_size=30)


@given(speeds)
def test_the_median_is_that_of_the_library(values: list[float]) -> None:
    assert median(values) == pytest.approx(statistics.median(values))


@given(speeds, st.randoms(use_true_random=False))
def test_the_order_of_the_repeats_does_not_matter(values: list[float], chance: random.Random) -> None:
    other = values.copy()
    chance.shuffle(other)
    assert (median(other), confidence_interval(other)) == (median(values), confidence_interval(values))


@given(speeds)
def test_the_interval_encloses_the_median(values: list[float]) -> None:
    low, high, confidence = confidence_interval(values)
    assert min(values) <= low <= median(values) * (1 + 1e-9)
    assert median(values) * (1 - 1e-9) <= high <= max(values)
    assert (confidence >= CONFIDENCE) == (len(values) >= MIN_INTERVAL_VALUES)


@pytest.mark.parametrize("count", range(1, 15))
def test_the_confidence_is_that_of_every_way_the_coins_can_fall(count: int) -> None:
    low, _, confidence = confidence_interval([float(place) for place in range(count)])
    rank = round(low) + 1
    # The interval misses the median if too few values lie on one side of it.
    ways = [sum(coins) for coins in itertools.product((0, 1), repeat=count)]
    covered = sum(rank <= heads <= count - rank for heads in ways)
    assert confidence == pytest.approx(covered / 2**count if count > 1 else 0)


def test_known_ranks() -> None:
    # Coverage from tables of the sign test: 6 values 96.9 %, 9 values 96.1 %, 12 values 96.1 %.
    for count, rank, confidence in ((6, 1, 0.969), (9, 2, 0.961), (12, 3, 0.961)):
        low, high, found = confidence_interval([float(place) for place in range(1, count + 1)])
        assert (low, high) == (rank, count + 1 - rank)
        assert found == pytest.approx(confidence, abs=1e-3)


def test_it_covers_the_median_of_a_skewed_distribution_as_often_as_promised() -> None:
    chance = random.Random(7)
    hits = 0
    for _ in range(2000):
        low, high, _ = confidence_interval([chance.expovariate(1) for _ in range(9)])
        hits += low <= 0.6931 <= high
    assert 0.945 < hits / 2000 < 0.975


def test_a_wide_spread_is_named() -> None:
    assert not spread_is_wide([100, 101, 99, 100, 102, 98])
    assert spread_is_wide([100, 60, 140, 100, 90, 115])
    # Order statistics are robust against a single outlier.
    assert not spread_is_wide([100] * 11 + [5])
    assert not spread_is_wide([3.0])


@pytest.mark.parametrize("ask", [median, confidence_interval, spread_is_wide])
def test_nothing_has_no_median(ask: object) -> None:
    assert callable(ask)
    with pytest.raises(ValueError, match="no values"):
        ask([])


@pytest.mark.parametrize("count", [1023, 1024, 5000])
def test_more_values_than_a_float_has_room_for(count: int) -> None:
    # As many values as for one factor of an experiment with 5000 sets; the normal approximation applies.
    low, high, confidence = confidence_interval([float(number) for number in range(count)])
    assert 0.95 <= confidence < 0.96
    assert low + high == count - 1
    assert high - low == pytest.approx(1.96 * count**0.5, rel=0.03)


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ([100, 101, 99, 55, 100, 102], 3),
        ([100, 101, 99, 155, 100, 102], 3),
        ([100, 100, 100, 100, 88], 4),
        ([100, 100, 100, 100, 91], None),  # less than 10 % away
        ([100, 101, 55, 50, 100, 102], None),  # two outliers, not a single one
        ([90, 100, 110, 80, 120, 70], None),  # wide spread without outlier
        ([100, 101, 55, 100], None),  # too few values
        ([0, 0, 0, 0, 0, 5], None),
    ],
)
def test_a_single_outlier_is_found(values: list[float], place: int | None) -> None:
    found = single_outlier(values)
    assert (found.place if found else None) == place
    if found is not None:
        assert found.ratio == pytest.approx(values[found.place] / statistics.median(values))


def test_few_sets_of_ordinary_repeats_have_an_outlier() -> None:
    chance = random.Random(7)
    sets = [[chance.gauss(100, 3) for _ in range(6)] for _ in range(2000)]
    assert sum(single_outlier(values) is not None for values in sets) < 20


speed_samples = st.lists(st.floats(1e3, 1e10), min_size=1, max_size=8)


@pytest.mark.parametrize(("first", "second"), [(1, 1), (2, 3), (4, 4), (5, 2), (3, 6)])
def test_orders_are_counted_exactly(first: int, second: int) -> None:
    counts = [0] * (first * second + 1)
    for chosen in combinations(range(first + second), first):
        below = sum(
            place not in chosen and place < mine for mine in chosen for place in range(first + second)
        )
        counts[below] += 1
    assert _mann_whitney_counts(first, second) == counts
    assert sum(counts) == comb(first + second, first)


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ([100, 101, 99, 100], [120, 121, 119, 122], "higher"),
        ([100, 101, 99, 100], [80, 81, 79, 82], "lower"),
        ([100, 101, 99, 100], [101, 102, 101.5, 102.5], "same"),  # significant, but 2 % is not relevant
        ([100, 140, 90, 120], [110, 150, 95, 119], "same"),
        ([100, 101, 99], [200, 201, 199], "unknown"),
        ([100], [200] * 30, "unknown"),
        ([100, 101], [200, 210, 220, 230, 240, 250, 260, 270], "higher"),
    ],
)
def test_verdicts(before: list[float], after: list[float], verdict: str) -> None:
    assert compare_samples(before, after).verdict == verdict


def test_ratio_and_interval_by_hand() -> None:
    found = compare_samples([100, 100, 100, 100], [150, 150, 150, 300])
    assert found.ratio == pytest.approx(1.5)
    assert (found.low, found.high) == (pytest.approx(1.5), pytest.approx(3.0))
    assert found.confidence == pytest.approx(1 - 2 / 70)


@settings(max_examples=60)
@given(speed_samples, speed_samples)
def test_turned_round_it_says_the_opposite(before: list[float], after: list[float]) -> None:
    there, back = compare_samples(before, after), compare_samples(after, before)
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert back.low == pytest.approx(1 / there.high)
    assert back.high == pytest.approx(1 / there.low)
    assert there.low <= there.ratio * (1 + 1e-12)
    assert there.ratio <= there.high * (1 + 1e-12)
    opposite = {"higher": "lower", "lower": "higher", "same": "same", "unknown": "unknown"}
    if abs(there.ratio - 1) > 0.05:  # plus 3 % and minus 3 % are not exactly reciprocal
        assert back.verdict == opposite[there.verdict]


@pytest.mark.parametrize(("first", "second"), [(4, 4), (6, 6), (6, 10), (60, 60)])
def test_intervals_cover_as_often_as_they_say(first: int, second: int) -> None:
    source = random.Random(5)
    rounds, covered = 400, 0
    for _ in range(rounds):
        before = [source.lognormvariate(18, 0.2) for _ in range(first)]
        after = [1.3 * source.lognormvariate(18, 0.2) for _ in range(second)]
        found = compare_samples(before, after)
        covered += found.low <= 1.3 <= found.high
    assert covered / rounds >= CONFIDENCE - 0.03


@pytest.mark.parametrize(("before", "after"), [([], [1.0]), ([1.0], []), ([1.0], [0.0]), ([-1.0], [1.0])])
def test_values_that_have_no_ratio(before: list[float], after: list[float]) -> None:
    with pytest.raises(ValueError, match="above 0"):
        compare_samples(before, after)

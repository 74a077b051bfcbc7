"""Confidence intervals: of a median, and of the ratio between two samples. Outliers and wide spreads.

Medians and order statistics throughout: speeds over a network are skewed and have outliers, and nothing is
assumed about their distribution. The interval of a median is that of the sign test.

The ratio of two samples is the estimator of Hodges and Lehmann (Estimates of Location Based on Rank Tests,
1963) on logarithms: the median of all ratios of a value after to a value before. Its interval lies between
order statistics of the same ratios, at the ranks where the exact test of Wilcoxon, Mann and Whitney stops
finding a difference (Moses; Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 4.2 and 4.3).
The one assumption is that both samples have the same shape on a logarithmic scale, which is what “faster by
a percentage” means.
"""

from __future__ import annotations

from math import exp, floor, log, sqrt
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

#: What an interval covers at least, if there are enough values.
CONFIDENCE = 0.95
#: The fewest values that give such an interval: the smallest and greatest of n miss the median in 2 of 2^n.
MIN_INTERVAL_VALUES = 6
#: An interval wider than this part of its median says too little to conclude from.
WIDE_INTERVAL_SHARE = 0.2


#: The modified z-score above which Iglewicz and Hoaglin call a value an outlier.
_OUTLIER_Z_SCORE = 3.5
#: The normal distribution's standard deviation in units of its median absolute deviation, inverted.
_MAD_PER_SIGMA = 0.6745
#: Fewer values say too little of how much they scatter: two of three agree by chance.
_OUTLIER_MIN_VALUES = 5
#: A value within this part of the median is none, however close the others lie together.
_OUTLIER_MIN_DEVIATION = 0.1


class Outlier(NamedTuple):
    """The one repeat that does not fit the others.

    Attributes:
        place: of the value, from 0.
        value: itself.
        ratio: the value over the median of all.
    """

    place: int
    value: float
    ratio: float


class ConfidenceInterval(NamedTuple):
    """Where the true median lies.

    Attributes:
        low: its lower end.
        high: its upper end.
        confidence: how often such an interval covers the median; below CONFIDENCE if made of fewer than
            MIN_INTERVAL_VALUES values.
    """

    low: float
    high: float
    confidence: float


def median(values: Sequence[float]) -> float:
    """Return the middle value, or the mean of the two in the middle.

    Raises:
        ValueError: if there is none.
    """
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def confidence_interval(values: Sequence[float]) -> ConfidenceInterval:
    """Return the narrowest interval between order statistics that covers the median with 95 %.

    The k-th smallest and the k-th greatest of n independent values enclose the median of their distribution,
    whatever it is, but with the probability of fewer than k heads, or of fewer than k tails, in n tosses of a
    coin (the interval of the sign test). With fewer than six values it is their range, which covers less.

    Raises:
        ValueError: if there is no value.
    """
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    count = len(ordered)
    # In whole numbers: of a thousand values they are beyond what a float can be.
    total = 2**count
    ways, missed, rank = 1, 2, 1
    while rank < count // 2:
        ways = ways * (count - rank + 1) // rank
        if (missed + 2 * ways) / total > 1 - CONFIDENCE:
            break
        missed, rank = missed + 2 * ways, rank + 1
    return ConfidenceInterval(ordered[rank - 1], ordered[-rank], max(0.0, 1 - missed / total))


def single_outlier(values: Sequence[float]) -> Outlier | None:
    """Return the single value that does not fit the others, None if there is none, or more than one.

    The rule is that of Iglewicz and Hoaglin (How to Detect and Handle Outliers, ASQC 1993; the NIST/SEMATECH
    e-Handbook has it in 1.3.5.17): with the median m and the median absolute deviation MAD, a value x is one
    where 0.6745 · |x - m| / MAD exceeds 3.5. In addition it has to be more than 10 % from the median, since
    repeats that agree to a thousandth would make an outlier of the next one, and five values are needed. With
    two such values the repeats scatter, and :func:`spread_is_wide` says so.
    """
    if len(values) < _OUTLIER_MIN_VALUES:
        return None
    middle = median(values)
    deviations = [abs(value - middle) for value in values]
    limit = max(_OUTLIER_Z_SCORE * median(deviations) / _MAD_PER_SIGMA, _OUTLIER_MIN_DEVIATION * abs(middle))
    far = [place for place, deviation in enumerate(deviations) if deviation > limit]
    if len(far) != 1 or not middle:
        return None
    return Outlier(far[0], values[far[0]], values[far[0]] / middle)


def spread_is_wide(values: Sequence[float]) -> bool:
    """Return whether the values scatter too much to conclude from their median.

    Raises:
        ValueError: if there is no value.
    """
    low, high, _ = confidence_interval(values)
    return high - low > WIDE_INTERVAL_SHARE * abs(median(values))


DifferenceVerdict = Literal["higher", "lower", "same", "unknown"]

#: Values of each side from which a difference can be shown: 4 and 4 are wholly apart in one of 35 orders.
MIN_SAMPLE_SIZE = 4
#: A difference below this is not worth a word, however sure it is.
MIN_RELEVANT_DIFFERENCE = 0.03
#: Above this many ratios, the normal approximation of the test is exact enough and much quicker.
_MAX_EXACT_PAIRS = 2500
#: Of the normal distribution, for CONFIDENCE.
_Z_95 = 1.959964


class SampleDifference(NamedTuple):
    """What two sets of values say.

    Attributes:
        ratio: after over before.
        low: lower end of its interval.
        high: upper end.
        confidence: what the interval covers; less than CONFIDENCE if there are too few values.
        verdict: higher or lower; "same": no significant difference, or none that matters; "unknown": too few
            values to say.
    """

    ratio: float
    low: float
    high: float
    confidence: float
    verdict: DifferenceVerdict


def compare_samples(before: Sequence[float], after: Sequence[float]) -> SampleDifference:
    """Return what the values say; all of them are above 0.

    Raises:
        ValueError: if a side has no value, or one that is not above 0.
    """
    if not before or not after or min(*before, *after) <= 0:
        raise ValueError("values above 0 are needed on both sides")
    ratios = sorted(log(new) - log(old) for old in before for new in after)
    rank, confidence = _interval_rank(len(before), len(after))
    ratio = exp(median(ratios))
    low, high = exp(ratios[rank - 1]), exp(ratios[-rank])
    verdict: DifferenceVerdict = "same"
    if confidence < CONFIDENCE:
        verdict = "unknown"
    elif low > 1 and ratio >= 1 + MIN_RELEVANT_DIFFERENCE:
        verdict = "higher"
    elif high < 1 and ratio <= 1 - MIN_RELEVANT_DIFFERENCE:
        verdict = "lower"
    return SampleDifference(ratio, low, high, confidence, verdict)


def _interval_rank(first: int, second: int) -> tuple[int, float]:
    """Return the rank of the interval's ends among the sorted ratios, from 1, and what it covers."""
    pairs = first * second
    if pairs > _MAX_EXACT_PAIRS:
        rank = floor(pairs / 2 - _Z_95 * sqrt(pairs * (first + second + 1) / 12))
        return max(rank, 1), CONFIDENCE
    counts = _mann_whitney_counts(first, second)
    total = sum(counts)
    rank, missed = 1, 2 * counts[0] / total
    while rank < pairs // 2:
        more = missed + 2 * counts[rank] / total
        if more > 1 - CONFIDENCE:
            break
        rank, missed = rank + 1, more
    return rank, max(0.0, 1 - missed)


def _mann_whitney_counts(first: int, second: int) -> list[int]:
    """Return in how many orders of all values u of the pairs are higher after, for each u from 0.

    These are the coefficients of the Gaussian binomial: the product of (1 - q^(second + i)) / (1 - q^i).
    """
    size = first * second + 1
    counts = [1] + [0] * (size - 1)
    for step in range(1, first + 1):
        for place in range(size - 1, second + step - 1, -1):
            counts[place] -= counts[place - second - step]
        for place in range(step, size):
            counts[place] += counts[place - step]
    return counts

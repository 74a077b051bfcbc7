"""Confidence intervals of a median and of the ratio between two samples; tests for outliers and wide spread.

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

#: Coverage of an interval, given enough values.
CONFIDENCE = 0.95
#: Fewest values for this coverage: the range of n values misses the median with probability 2 / 2^n.
MIN_INTERVAL_VALUES = 6
#: Greatest width of a conclusive interval, as a fraction of the median.
WIDE_INTERVAL_SHARE = 0.2


#: The modified z-score above which Iglewicz and Hoaglin call a value an outlier.
_OUTLIER_Z_SCORE = 3.5
#: The normal distribution's standard deviation in units of its median absolute deviation, inverted.
_MAD_PER_SIGMA = 0.6745
#: Fewest values for the outlier test: of three values, two may agree by chance.
_OUTLIER_MIN_VALUES = 5
#: Least deviation of an outlier, as a fraction of the median.
_OUTLIER_MIN_DEVIATION = 0.1


class Outlier(NamedTuple):
    """A value that deviates strongly from all others.

    Attributes:
        place: index of the value, from 0.
        value: the value.
        ratio: the value divided by the median of all values.
    """

    place: int
    value: float
    ratio: float


class ConfidenceInterval(NamedTuple):
    """Confidence interval of a median.

    Attributes:
        low: lower end.
        high: upper end.
        confidence: coverage probability; below CONFIDENCE with fewer than MIN_INTERVAL_VALUES values.
    """

    low: float
    high: float
    confidence: float


def median(values: Sequence[float]) -> float:
    """Return the middle value, or the mean of the two middle values.

    Raises:
        ValueError: if there are no values.
    """
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def confidence_interval(values: Sequence[float]) -> ConfidenceInterval:
    """Return the narrowest interval between order statistics that covers the median with 95 %.

    The interval between the k-th smallest and the k-th greatest of n independent values misses the median of
    any continuous distribution with the probability of fewer than k heads, or fewer than k tails, in n tosses
    of a coin (interval of the sign test). With fewer than six values it is their range, which covers less.

    Raises:
        ValueError: if there is no value.
    """
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    count = len(ordered)
    # Integers, because with a thousand values these numbers exceed the range of a float.
    total = 2**count
    binomial, missed, rank = 1, 2, 1
    while rank < count // 2:
        binomial = binomial * (count - rank + 1) // rank
        if (missed + 2 * binomial) / total > 1 - CONFIDENCE:
            break
        missed, rank = missed + 2 * binomial, rank + 1
    return ConfidenceInterval(ordered[rank - 1], ordered[-rank], max(0.0, 1 - missed / total))


def single_outlier(values: Sequence[float]) -> Outlier | None:
    """Return the outlier if there is exactly one, else None.

    The rule is that of Iglewicz and Hoaglin (How to Detect and Handle Outliers, ASQC 1993; NIST/SEMATECH
    e-Handbook, 1.3.5.17): with median m and median absolute deviation MAD, x is an outlier if
    0.6745 · |x - m| / MAD exceeds 3.5. In addition, at least five values are needed, and x must deviate by
    more than 10 %, since nearly equal repeats would make an outlier of a negligible difference. Two or more
    outliers are treated as wide spread (:func:`spread_is_wide`).
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
    """Return whether the interval of the median is wider than WIDE_INTERVAL_SHARE of the median.

    Raises:
        ValueError: if there are no values.
    """
    low, high, _ = confidence_interval(values)
    return high - low > WIDE_INTERVAL_SHARE * abs(median(values))


DifferenceVerdict = Literal["higher", "lower", "same", "unknown"]

#: Fewest values of each sample for a significant difference: 4 and 4 values are completely separated in one
#: of 35 orders.
MIN_SAMPLE_SIZE = 4
#: Smallest difference that is reported, as a fraction, even if a smaller one is significant.
MIN_RELEVANT_DIFFERENCE = 0.03
#: Greatest number of ratios for the exact test; above, the normal approximation is accurate and much faster.
_MAX_EXACT_PAIRS = 2500
#: Two-sided 95 % quantile of the normal distribution.
_Z_95 = 1.959964


class SampleDifference(NamedTuple):
    """Difference between two samples.

    Attributes:
        ratio: estimated ratio, after divided by before.
        low: lower end of the ratio's confidence interval.
        high: upper end of the ratio's confidence interval.
        confidence: coverage of the interval; below CONFIDENCE with too few values.
        verdict: higher or lower; "same": no significant or relevant difference; "unknown": too few values.
    """

    ratio: float
    low: float
    high: float
    confidence: float
    verdict: DifferenceVerdict


def compare_samples(before: Sequence[float], after: Sequence[float]) -> SampleDifference:
    """Return the ratio of two samples of positive values, with its confidence interval.

    Args:
        before: values of the first sample.
        after: values of the second sample.

    Raises:
        ValueError: if a sample is empty or has a value of 0 or less.
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
    """Return the rank of the interval's ends among the sorted ratios, from 1, and its coverage.

    Args:
        first: size of the first sample.
        second: size of the second sample.
    """
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
    """Return the null distribution of the Mann-Whitney statistic U, as counts of orders for each U from 0.

    They are the coefficients of the Gaussian binomial: the product of (1 - q^(second + i)) / (1 - q^i).
    """
    size = first * second + 1
    counts = [1] + [0] * (size - 1)
    for step in range(1, first + 1):
        for place in range(size - 1, second + step - 1, -1):
            counts[place] -= counts[place - second - step]
        for place in range(step, size):
            counts[place] += counts[place - step]
    return counts

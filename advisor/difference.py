"""Is there a difference between two sets of repeats, how large is it, and how sure is that?

The ratio is the estimator of Hodges and Lehmann (Estimates of Location Based on Rank Tests, 1963) on
logarithms: the median of all ratios of a value after to a value before. Its interval lies between order
statistics of the same ratios, at the ranks where the exact test of Wilcoxon, Mann and Whitney stops finding a
difference (Moses; Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 4.2 and 4.3). No
distribution is assumed but that both sets have the same shape on a logarithmic scale, which is what "so many
per cent faster" means.
"""

from __future__ import annotations

from math import exp, floor, log, sqrt
from typing import TYPE_CHECKING, Literal, NamedTuple

from advisor.experiment.intervals import CONFIDENCE, median

if TYPE_CHECKING:
    from collections.abc import Sequence

Verdict = Literal["higher", "lower", "same", "unknown"]

#: Values of each side from which a difference can be shown: 4 and 4 are wholly apart in one of 35 orders.
ENOUGH_EACH = 4
#: A difference below this is not worth a word, however sure it is.
WORTH = 0.03
#: Above this many ratios, the normal approximation of the test is exact enough and much quicker.
_EXACT = 2500
#: Of the normal distribution, for CONFIDENCE.
_Z = 1.959964


class Difference(NamedTuple):
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
    verdict: Verdict


def difference(before: Sequence[float], after: Sequence[float]) -> Difference:
    """Return what the values say; all of them are above 0.

    Raises:
        ValueError: if a side has no value, or one that is not above 0.
    """
    if not before or not after or min(*before, *after) <= 0:
        raise ValueError("values above 0 are needed on both sides")
    ratios = sorted(log(new) - log(old) for old in before for new in after)
    rank, confidence = _rank(len(before), len(after))
    ratio = exp(median(ratios))
    low, high = exp(ratios[rank - 1]), exp(ratios[-rank])
    verdict: Verdict = "same"
    if confidence < CONFIDENCE:
        verdict = "unknown"
    elif low > 1 and ratio >= 1 + WORTH:
        verdict = "higher"
    elif high < 1 and ratio <= 1 - WORTH:
        verdict = "lower"
    return Difference(ratio, low, high, confidence, verdict)


def _rank(first: int, second: int) -> tuple[int, float]:
    """Return the rank of the interval's ends among the sorted ratios, from 1, and what it covers."""
    pairs = first * second
    if pairs > _EXACT:
        rank = floor(pairs / 2 - _Z * sqrt(pairs * (first + second + 1) / 12))
        return max(rank, 1), CONFIDENCE
    counts = _orders(first, second)
    total = sum(counts)
    rank, missed = 1, 2 * counts[0] / total
    while rank < pairs // 2:
        more = missed + 2 * counts[rank] / total
        if more > 1 - CONFIDENCE:
            break
        rank, missed = rank + 1, more
    return rank, max(0.0, 1 - missed)


def _orders(first: int, second: int) -> list[int]:
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

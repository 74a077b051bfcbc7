"""What several repeats of one measurement say: the median, how sure it is, and whether that is enough.

Medians and order statistics throughout: speeds over a network are skewed and have outliers, and what is said
here needs no assumption about their distribution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

#: What an interval covers at least, if there are enough values.
CONFIDENCE = 0.95
#: The fewest values that give such an interval: the smallest and greatest of n miss the median in 2 of 2^n.
ENOUGH = 6
#: An interval wider than this part of its median says too little to conclude from.
WIDE = 0.2


#: The modified z-score above which Iglewicz and Hoaglin call a value an outlier.
_OUTLIER = 3.5
#: The normal distribution's standard deviation in units of its median absolute deviation, inverted.
_MAD_IN_SIGMA = 0.6745
#: Fewer values say too little of how much they scatter: two of three agree by chance.
_OUTLIER_NEEDS = 5
#: A value within this part of the median is none, however close the others lie together.
_NO_OUTLIER = 0.1


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


class Interval(NamedTuple):
    """Where the true median lies.

    Attributes:
        low: its lower end.
        high: its upper end.
        confidence: how often such an interval covers the median; below CONFIDENCE if made of fewer than
            ENOUGH values.
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


def interval(values: Sequence[float]) -> Interval:
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
    return Interval(ordered[rank - 1], ordered[-rank], max(0.0, 1 - missed / total))


def single_outlier(values: Sequence[float]) -> Outlier | None:
    """Return the single value that does not fit the others, None if there is none, or more than one.

    The rule is that of Iglewicz and Hoaglin (How to Detect and Handle Outliers, ASQC 1993; the NIST/SEMATECH
    e-Handbook has it in 1.3.5.17): with the median m and the median absolute deviation MAD, a value x is one
    where 0.6745 · |x - m| / MAD exceeds 3.5. In addition it has to be more than 10 % from the median, since
    repeats that agree to a thousandth would make an outlier of the next one, and five values are needed. With
    two such values the repeats scatter, and :func:`spread_is_wide` says so.
    """
    if len(values) < _OUTLIER_NEEDS:
        return None
    middle = median(values)
    deviations = [abs(value - middle) for value in values]
    limit = max(_OUTLIER * median(deviations) / _MAD_IN_SIGMA, _NO_OUTLIER * abs(middle))
    far = [place for place, deviation in enumerate(deviations) if deviation > limit]
    if len(far) != 1 or not middle:
        return None
    return Outlier(far[0], values[far[0]], values[far[0]] / middle)


def spread_is_wide(values: Sequence[float]) -> bool:
    """Return whether the values scatter too much to conclude from their median.

    Raises:
        ValueError: if there is no value.
    """
    low, high, _ = interval(values)
    return high - low > WIDE * abs(median(values))

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


def spread_is_wide(values: Sequence[float]) -> bool:
    """Return whether the values scatter too much to conclude from their median.

    Raises:
        ValueError: if there is no value.
    """
    low, high, _ = interval(values)
    return high - low > WIDE * abs(median(values))

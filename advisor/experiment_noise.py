"""How much a single trial of an experiment varies by chance, and what differences that leaves undecided.

A few repeats of one option set say little of their own spread, but all sets together say much: the ratios of
repeats of the same set, of all sets, are what chance does. Nothing is assumed of its distribution but that it
acts on every set by about the same factor, and upwards as downwards.
"""

from __future__ import annotations

import itertools
from math import log, sqrt
from typing import TYPE_CHECKING

from advisor.analysis import CONFIDENCE, median

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from advisor.experiment_values import Chance

#: With fewer degrees of freedom (repeats beyond the first of each set) the spread of chance is not known.
_FEWEST = 4
#: Medians that are drawn for each number of repeats.
_DRAWS = 2000
#: Up to so many sets, all are drawn for a range.
_FEW = 20


class Noise:
    """What chance does to the logarithm of a value, and to a median of several."""

    def __init__(self, differences: Sequence[float], freedom: int, chance: Chance) -> None:
        """Take what chance does from repeats.

        Args:
            differences: of the logarithms of two repeats of the same set, each divided by the root of 2.
            freedom: degrees of freedom: how many repeats there are beyond the first of each set.
            chance: for the bootstrap.
        """
        self._differences = differences
        self._chance = chance
        # Student's t against the normal distribution (Cornish and Fisher): few repeats know the spread badly.
        self._widened = 1 + 1.21 / freedom + 1.44 / freedom**2
        self._drawn: dict[int, list[float]] = {}
        self._limits: dict[tuple[int, int], float] = {}

    def half_width(self, repeats: int) -> float:
        """Return how far the median of so many repeats is from the true one, in 95 of 100 cases at most.

        It is a difference of logarithms, as the other figures here.
        """
        wide = sorted(abs(drawn) for drawn in self._medians(repeats))
        return wide[int(CONFIDENCE * len(wide))] * self._widened

    def limit(self, repeats: int, sets: int) -> float:
        """Return how far apart the best and the worst of several equal sets are seen, in 95 of 100 cases.

        Among many sets some are lucky and some are not: this is the limit for comparing each with each
        (Tukey's honestly significant difference), by bootstrap instead of a table.

        Args:
            repeats: of each set, or of the one with the fewest.
            sets: how many are compared.
        """
        known = self._limits.get((repeats, sets))
        if known is None:
            medians = self._medians(repeats)
            ranges = sorted(self._range(medians, sets) for _ in range(_DRAWS))
            known = self._limits[repeats, sets] = ranges[int(CONFIDENCE * len(ranges))] * self._widened
        return known

    def variance(self) -> float:
        """Return the variance of a single value's logarithm."""
        return sum(each * each for each in self._differences) / len(self._differences)

    def _range(self, medians: list[float], sets: int) -> float:
        if sets <= _FEW:
            drawn = [medians[int(self._chance.random() * len(medians))] for _ in range(sets)]
            return max(drawn) - min(drawn)
        # Of many, the greatest and the least hardly depend on each other: each is where the inverse of its
        # distribution has a random place.
        top, bottom = (self._chance.random() ** (1 / sets) for _ in range(2))
        count = len(medians)
        return medians[min(count - 1, int(top * count))] - medians[max(0, count - 1 - int(bottom * count))]

    def _medians(self, repeats: int) -> list[float]:
        found = self._drawn.get(repeats)
        if found is None:
            found = sorted(median([self._draw() for _ in range(repeats)]) for _ in range(_DRAWS))
            self._drawn[repeats] = found
        return found

    def _draw(self) -> float:
        chosen = self._differences[int(self._chance.random() * len(self._differences))]
        return chosen if self._chance.random() < 0.5 else -chosen


def noise_of(sets: Iterable[Sequence[float]], chance: Chance) -> Noise | None:
    """Return what chance does to single values, or None if too few sets were repeated to tell.

    Args:
        sets: the values of each option set; also of the baseline, as often as it ran.
        chance: for the bootstrap.
    """
    differences: list[float] = []
    freedom = 0
    for values in sets:
        if len(values) > 1 and min(values) > 0:
            freedom += len(values) - 1
            logs = [log(each) for each in values]
            differences += [(second - first) / sqrt(2) for first, second in itertools.combinations(logs, 2)]
    return Noise(differences, freedom, chance) if freedom >= _FEWEST else None

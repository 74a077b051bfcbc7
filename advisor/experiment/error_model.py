"""Error model of an experiment: how much a single trial varies, and which differences are significant.

A few repeats of one option set say little of their own spread, but all sets together say much: the ratios
of repeats of the same set, over all sets, are the random error. Nothing is assumed of its distribution but
that it acts on every set by about the same factor, and upwards as downwards. Limits are found by bootstrap.
"""

from __future__ import annotations

import itertools
from bisect import bisect
from math import exp, log, pi, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

from advisor.experiment.intervals import CONFIDENCE, median

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from advisor.experiment.measurements import RandomSource

#: With fewer degrees of freedom (repeats beyond the first of each set) the spread of chance is not known.
_MIN_DEGREES_OF_FREEDOM = 4
_NORMAL = NormalDist()
#: Medians that are drawn for each number of repeats.
_BOOTSTRAP_DRAWS = 2000
#: Up to so many sets, all are drawn for a range.
_MAX_SETS_DRAWN = 20


class ErrorModel:
    """What chance does to the logarithm of a value, and to a median of several."""

    def __init__(self, sets: Sequence[Sequence[float]], chance: RandomSource) -> None:
        """Take what chance does from repeats.

        Args:
            sets: the logarithms of the values of each option set, two or more of each.
            chance: for the bootstrap.
        """
        #: Degrees of freedom: how many repeats there are beyond the first of each set.
        self.degrees_of_freedom = sum(len(values) - 1 for values in sets)
        self._chance = chance
        self._differences: list[float] = []
        # A set has more pairs than degrees of freedom: one that was repeated often would drown the others.
        weights: list[float] = []
        for values in sets:
            for first, second in itertools.combinations(values, 2):
                self._differences.append((second - first) / sqrt(2))
                weights.append(2 / len(values))
        self._cumulative_weights = list(itertools.accumulate(weights))
        # A few differences have no tails: drawn from as they are, the luckiest of many sets would come out
        # too tame. Smoothed by a normal kernel of the usual width (Silverman, Density Estimation, 3.4 and
        # 6.4), and narrowed again to the same variance.
        width = 1.06 * self.degrees_of_freedom**-0.2 if self._cumulative_weights else 0.0
        self._smoothing_width = width * sqrt(self.variance()) if self._cumulative_weights else 0.0
        self._variance_correction = 1 / sqrt(1 + width**2)
        self._drawn: dict[int, list[float]] = {}
        self._limits: dict[tuple[int, int], list[float]] = {}

    def half_width(self, repeats: int) -> float:
        """Return how far the median of so many repeats is from the true one, in 95 of 100 cases at most.

        It is a difference of logarithms, as the other figures here.
        """
        wide = sorted(abs(drawn) for drawn in self._medians(repeats))
        return wide[int(CONFIDENCE * len(wide))] * self._student_factor(_NORMAL.inv_cdf((1 + CONFIDENCE) / 2))

    def limit(self, repeats: int, sets: int, *, contexts: int = 1, confidence: float = CONFIDENCE) -> float:
        """Return how far apart the best and the worst of several equal sets are seen, in 95 of 100 cases.

        Among many sets some are lucky and some are not: this is the limit for comparing each with each
        (Tukey's honestly significant difference), by bootstrap instead of a table.

        Args:
            repeats: of each set, or of the one with the fewest.
            sets: how many are compared.
            contexts: what is compared is the median of so many medians, each of so many repeats.
            confidence: instead of 95 of 100, such as where several such questions are asked at once.
        """
        if (repeats, sets) not in self._limits:
            medians = self._medians(repeats)
            self._limits[repeats, sets] = sorted(
                self._sampled_range(medians, sets) for _ in range(_BOOTSTRAP_DRAWS)
            )
        ranges = self._limits[repeats, sets]
        found = ranges[min(int(confidence * len(ranges)), len(ranges) - 1)]
        medians = self._medians(repeats)
        spread = sqrt(2 * sum(each * each for each in medians) / len(medians))
        # The median's variance is about pi / 2 times the mean's, and that of two values is their mean.
        narrower = sqrt((pi / 2 if contexts > 2 else 1) / contexts)
        return found * narrower * self._student_factor(found / spread) if spread else found

    def variance(self) -> float:
        """Return the variance of a single value's logarithm."""
        before, total = 0.0, 0.0
        for upto, each in zip(self._cumulative_weights, self._differences, strict=True):
            total += (upto - before) * each * each
            before = upto
        return total / before

    def _student_factor(self, deviations: float) -> float:
        """Return Student's t against the normal distribution (Cornish and Fisher).

        Few repeats know the spread badly, and the farther out, the more that matters.

        Args:
            deviations: how far out, in standard deviations.
        """
        square = deviations**2
        part = (5 * square**2 + 16 * square + 3) / 96
        return 1 + (square + 1) / 4 / self.degrees_of_freedom + part / self.degrees_of_freedom**2

    def _sampled_range(self, medians: list[float], sets: int) -> float:
        if sets <= _MAX_SETS_DRAWN:
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
            found = sorted(median([self._draw() for _ in range(repeats)]) for _ in range(_BOOTSTRAP_DRAWS))
            self._drawn[repeats] = found
        return found

    def _draw(self) -> float:
        place = bisect(self._cumulative_weights, self._chance.random() * self._cumulative_weights[-1])
        chosen = self._differences[min(place, len(self._differences) - 1)]
        even = self._chance.random()
        moved = (
            chosen + self._smoothing_width * _NORMAL.inv_cdf(min(max(even, 1e-9), 1 - 1e-9))
            if self._smoothing_width
            else chosen
        )
        return (
            moved * self._variance_correction
            if self._chance.random() < 0.5
            else -moved * self._variance_correction
        )


def smallest_detectable_difference(
    repeats: int, sets: int, watching: int = 0, *, chance: RandomSource, scatter: float = 0.05
) -> float | None:
    """Return the smallest difference that an experiment would show, as a fraction; None if it shows none.

    Args:
        repeats: of each set.
        sets: that are compared.
        watching: trials of the baseline that watch for drift.
        chance: for the bootstrap.
        scatter: standard deviation of a single trial's logarithm, normal.
    """
    freedom = (repeats - 1) * sets + max(watching - 1, 0)
    if freedom < _MIN_DEGREES_OF_FREEDOM:
        return None
    # The expected order statistics of the differences of pairs, in the place of such as are drawn.
    draws = min(freedom, _BOOTSTRAP_DRAWS // 10)
    pairs = [[0.0, scatter * sqrt(2) * _NORMAL.inv_cdf((place + 0.5) / draws)] for place in range(draws)]
    noise = ErrorModel(pairs, chance)
    noise.degrees_of_freedom = freedom
    return exp(noise.limit(repeats, max(sets, 2))) - 1


def bonferroni_confidence(questions: int) -> float:
    """Return how sure each answer must be, for all of several to be right in 95 of 100 cases (Bonferroni)."""
    return 1 - (1 - CONFIDENCE) / max(1, questions)


def estimate_error_model(sets: Iterable[Sequence[float]], chance: RandomSource) -> ErrorModel | None:
    """Return what chance does to single values, or None if that cannot be told.

    Too few sets were repeated; or some value is 0, as time-outs are: there are no ratios to it, and the sets
    that never have one are calmer than all.

    Args:
        sets: the values of each option set; also of the baseline, as often as it ran.
        chance: for the bootstrap.
    """
    repeated = [values for values in sets if len(values) > 1]
    if any(min(values) <= 0 for values in repeated):
        return None
    noise = ErrorModel([[log(each) for each in values] for values in repeated], chance)
    return noise if noise.degrees_of_freedom >= _MIN_DEGREES_OF_FREEDOM else None

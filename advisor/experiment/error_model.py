"""Error model of an experiment: how much a single trial varies, and which differences are significant.

A few repeats of one option set are too few to estimate their spread. Therefore the differences between
repeats of the same set are pooled over all sets, on a logarithmic scale. The relative error is assumed to be
the same for all sets, and symmetric. Limits are computed by bootstrap.
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

#: Least degrees of freedom (repeats beyond the first of each set) for an estimate of the error.
_MIN_DEGREES_OF_FREEDOM = 4
_NORMAL = NormalDist()
#: Bootstrap samples of the median for each number of repeats.
_BOOTSTRAP_DRAWS = 2000
#: Greatest number of sets whose range is simulated by drawing every set.
_MAX_SETS_DRAWN = 20


class ErrorModel:
    """Distribution of the random error of a value's logarithm, and of medians of several values."""

    def __init__(self, sets: Sequence[Sequence[float]], chance: RandomSource) -> None:
        """Estimate the error from repeats.

        Args:
            sets: logarithms of the values of each option set, two or more values each.
            chance: random source for the bootstrap.
        """
        #: Degrees of freedom: number of repeats beyond the first of each set.
        self.degrees_of_freedom = sum(len(values) - 1 for values in sets)
        self._chance = chance
        self._differences: list[float] = []
        # Weights, since a set with many repeats has far more pairs than degrees of freedom.
        weights: list[float] = []
        for values in sets:
            for first, second in itertools.combinations(values, 2):
                self._differences.append((second - first) / sqrt(2))
                weights.append(2 / len(values))
        self._cumulative_weights = list(itertools.accumulate(weights))
        # A few differences have no tails, so that the extremes of many sets would be underestimated. They
        # are smoothed by a normal kernel of the usual width and rescaled to the same variance (Silverman,
        # Density Estimation, 3.4 and 6.4).
        width = 1.06 * self.degrees_of_freedom**-0.2 if self._cumulative_weights else 0.0
        self._smoothing_width = width * sqrt(self.variance()) if self._cumulative_weights else 0.0
        self._variance_correction = 1 / sqrt(1 + width**2)
        self._drawn: dict[int, list[float]] = {}
        self._limits: dict[tuple[int, int], list[float]] = {}

    def half_width(self, repeats: int) -> float:
        """Return half the width of the 95 % interval of a median, as a difference of logarithms.

        Args:
            repeats: number of values of the median.
        """
        wide = sorted(abs(drawn) for drawn in self._medians(repeats))
        return wide[int(CONFIDENCE * len(wide))] * self._student_factor(_NORMAL.inv_cdf((1 + CONFIDENCE) / 2))

    def limit(self, repeats: int, sets: int, *, contexts: int = 1, confidence: float = CONFIDENCE) -> float:
        """Return the quantile of the range of several equal sets, as a difference of logarithms.

        It is the limit for comparing each set with each other one (Tukey's honestly significant
        difference), computed by bootstrap instead of taken from a table.

        Args:
            repeats: repeats of each set, or of the set with the fewest.
            sets: number of compared sets.
            contexts: number of medians whose median is compared; 1 to compare the sets themselves.
            confidence: probability that equal sets stay below the limit.
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
        # The variance of a median is about pi / 2 times that of a mean; a median of two is their mean.
        narrower = sqrt((pi / 2 if contexts > 2 else 1) / contexts)
        return found * narrower * self._student_factor(found / spread) if spread else found

    def variance(self) -> float:
        """Return the variance of a single value's logarithm, pooled over all sets."""
        before, total = 0.0, 0.0
        for upto, each in zip(self._cumulative_weights, self._differences, strict=True):
            total += (upto - before) * each * each
            before = upto
        return total / before

    def _student_factor(self, deviations: float) -> float:
        """Return the ratio of a quantile of Student's t to that of the normal distribution.

        It is the expansion of Cornish and Fisher, and accounts for a variance estimated from few repeats.

        Args:
            deviations: quantile of the normal distribution, in standard deviations.
        """
        square = deviations**2
        part = (5 * square**2 + 16 * square + 3) / 96
        return 1 + (square + 1) / 4 / self.degrees_of_freedom + part / self.degrees_of_freedom**2

    def _sampled_range(self, medians: list[float], sets: int) -> float:
        if sets <= _MAX_SETS_DRAWN:
            drawn = [medians[int(self._chance.random() * len(medians))] for _ in range(sets)]
            return max(drawn) - min(drawn)
        # Maximum and minimum of many values are nearly independent; each is drawn by inverse transform
        # sampling.
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
        uniform = self._chance.random()
        smoothed = (
            chosen + self._smoothing_width * _NORMAL.inv_cdf(min(max(uniform, 1e-9), 1 - 1e-9))
            if self._smoothing_width
            else chosen
        )
        return (
            smoothed * self._variance_correction
            if self._chance.random() < 0.5
            else -smoothed * self._variance_correction
        )


def smallest_detectable_difference(
    repeats: int, sets: int, watching: int = 0, *, chance: RandomSource, scatter: float = 0.05
) -> float | None:
    """Return the smallest significant difference of a planned experiment, as a fraction.

    It is None with too few repeats to estimate the error.

    Args:
        repeats: repeats of each set.
        sets: number of compared sets.
        watching: number of baseline trials, which also detect drift.
        chance: random source for the bootstrap.
        scatter: standard deviation of a single trial's logarithm, normally distributed.
    """
    freedom = (repeats - 1) * sets + max(watching - 1, 0)
    if freedom < _MIN_DEGREES_OF_FREEDOM:
        return None
    # Expected order statistics of the pairwise differences replace observed differences.
    draws = min(freedom, _BOOTSTRAP_DRAWS // 10)
    pairs = [[0.0, scatter * sqrt(2) * _NORMAL.inv_cdf((place + 0.5) / draws)] for place in range(draws)]
    noise = ErrorModel(pairs, chance)
    noise.degrees_of_freedom = freedom
    return exp(noise.limit(repeats, max(sets, 2))) - 1


def bonferroni_confidence(questions: int) -> float:
    """Return the confidence of each of several tests that together have CONFIDENCE (Bonferroni)."""
    return 1 - (1 - CONFIDENCE) / max(1, questions)


def estimate_error_model(sets: Iterable[Sequence[float]], chance: RandomSource) -> ErrorModel | None:
    """Return the error model of single values, or None if it cannot be estimated.

    It needs enough repeats, and values above 0: the ratio to 0 timeouts, for example, is undefined.

    Args:
        sets: values of each option set, and of the baseline.
        chance: random source for the bootstrap.
    """
    repeated = [values for values in sets if len(values) > 1]
    if any(min(values) <= 0 for values in repeated):
        return None
    noise = ErrorModel([[log(each) for each in values] for values in repeated], chance)
    return noise if noise.degrees_of_freedom >= _MIN_DEGREES_OF_FREEDOM else None

"""Gaussian process over the levels of the factors: mean and deviation of every candidate of a search.

The logarithm of the figure is modeled as a sum of what each factor does, of what pairs of them do together,
and so on with less and less weight: the kernel is the product over the factors of (1 + w K), the analysis of
variance written as a kernel (Durrande and others, 2013). K is Matern 3/2 over the ranks of sizes and counts,
and the identity over words. A level of a size or a count may also differ from its neighbors for no reason:
that part is rough. Two exponential terms over time follow a server that drifts. The weights maximize the
likelihood of the trials and a prior. Trials that fit badly count less, as with Student's distribution (Lange,
Little, Taylor, 1989).
"""

from __future__ import annotations

from math import exp, log, sqrt
from operator import mul
from typing import TYPE_CHECKING

from advisor.experiment.measurements import level_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Length of what a factor's levels have in common (Matern 3/2), in steps from one level to the next.
_LENGTH_SCALE = 4.0
#: Weights of the factors, of what is rough in them, of the noise and of the drift, and what they are tried
#: with: this many times as much, or as little.
_INITIAL_WEIGHT, _INITIAL_ROUGHNESS, _INITIAL_NOISE, _INITIAL_DRIFT = 0.4, 0.4, 0.1, 0.01
_WEIGHT_FACTORS = (3.0, 1 / 3.0)
#: What a weight can be at least: of a factor, of the noise and of the drift; and at most.
_MIN_WEIGHT, _MIN_NOISE, _MIN_DRIFT, _MAX_WEIGHT = 1e-3, 1e-5, 1e-4, 30.0
#: By how much two trials of one set usually differ: standard deviation of their logarithm. It may well be e
#: times as much, or as little.
_PRIOR_NOISE_SIGMA = 0.07
#: How sure the weights are before any trial: standard deviation of their logarithm.
_PRIOR_LOG_WEIGHT_SIGMA = 1.5
#: Degrees of freedom of the noise.
_STUDENT_NU = 4.0
#: With fewer trials the weights are as at first, and the variance is at least this; they are found anew after
#: so many more trials, or this part of all: oftener, they run after chance.
_MIN_TRIALS_TO_FIT, _MIN_VARIANCE = 6, 0.1
_REFIT_AFTER, _REFIT_DIVISOR = 3, 5
#: How far each is to be believed is judged after this part of all.
_REWEIGHT_DIVISOR = 20
#: So many numbers among a factor's levels are neighbours of each other; of fewer each is for itself.
_MIN_SCALE_LEVELS = 3
#: Parts of the run after which 1/e is left of what was the server's mood: of half of it, and of the rest.
_FAST_DRIFT_TIME, _SLOW_DRIFT_TIME = 0.1, 1.0


class GaussianProcess:
    """Mean and deviation of the logarithm of every candidate's figure, after any number of trials."""

    def __init__(self, candidates: Sequence[Mapping[str, str]]) -> None:
        """Look at what is varied."""
        factors = [name for name in candidates[0] if len({each[name] for each in candidates}) > 1]
        levels = {name: list(dict.fromkeys(each[name] for each in candidates)) for name in factors}
        self._columns = [[levels[name].index(each[name]) for each in candidates] for name in factors]
        self._kernels = [_kernel_matrix(levels[name]) for name in factors]
        self._rough_factors = [place for place, name in enumerate(factors) if _is_scale(levels[name])]
        self._first = (
            [_INITIAL_WEIGHT] * len(factors)
            + [_INITIAL_ROUGHNESS] * len(self._rough_factors)
            + [_INITIAL_NOISE, _INITIAL_DRIFT]
        )
        self._min_weights = [_MIN_WEIGHT] * (len(self._first) - 2) + [_MIN_NOISE, _MIN_DRIFT]
        self._weights = self._first
        self._trials: list[_Trial] = []
        self._refitted_at = self._reweighted_at = 0
        self._rows: list[list[float]] = []
        self._solved_logs: list[float] = []
        self._solved_ones: list[float] = []
        self._covariance_rows: dict[int, list[float]] = {}
        self._parts: list[list[float]] = [[] for _ in candidates]
        self._left: list[float] = [1.0] * len(candidates)
        self.means: list[float] = [0.0] * len(candidates)
        self.deviations: list[float] = [1.0] * len(candidates)
        #: Deviation of a single trial's logarithm.
        self.noise = 0.1

    def add(self, candidate: int, logarithm: float, when: float, doubt: float = 1.0) -> None:
        """Take one trial in.

        Args:
            candidate: its number.
            logarithm: of its figure.
            when: part of the run that is over, from 0 to 1.
            doubt: how many times the variance of an ordinary trial it has.
        """
        self._trials.append(_Trial(candidate, logarithm, when, doubt))
        count = len(self._trials)
        if self._needs_reweighting():
            self._update_weights()
            self._rows, self._solved_logs, self._solved_ones, self._covariance_rows = [], [], [], {}
            self._parts = [[] for _ in self._parts]
            self._left = [1.0] * len(self._parts)
        for number in range(len(self._rows), count):
            self._append(number)
        self._update_posterior()

    def _needs_reweighting(self) -> bool:
        """Return whether the trials are to be judged anew: at first after each, of many now and then."""
        count = len(self._trials)
        return count >= _MIN_TRIALS_TO_FIT and count >= self._reweighted_at + max(
            1, count // _REWEIGHT_DIVISOR
        )

    def _append(self, number: int) -> None:
        """Add a row to the triangle, and what it means for every candidate."""
        noise, drift = self._weights[-2:]
        trial = self._trials[number]
        near = self._covariance_rows.get(trial.candidate)
        if near is None:
            near = self._covariance_rows[trial.candidate] = self._covariances(trial.candidate)
        fresh: list[float] = []
        for other, row in zip(self._trials, self._rows, strict=False):
            common = near[other.candidate] + drift * drift_correlation(abs(trial.when - other.when))
            fresh.append((common - sum(map(mul, row, fresh))) / row[-1])
        corner = sqrt(max(1 + drift + noise * trial.doubt - sum(map(mul, fresh, fresh)), 1e-10))
        self._solved_logs.append((trial.logarithm - sum(map(mul, fresh, self._solved_logs))) / corner)
        self._solved_ones.append((1 - sum(map(mul, fresh, self._solved_ones))) / corner)
        for place, (parts, common) in enumerate(zip(self._parts, near, strict=True)):
            part = (common - sum(map(mul, fresh, parts))) / corner
            parts.append(part)
            self._left[place] -= part * part
        self._rows.append([*fresh, corner])

    def _update_posterior(self) -> None:
        ones, solved = self._solved_ones, self._solved_logs
        middle = sum(map(mul, ones, solved)) / sum(map(mul, ones, ones))
        away = [each - middle * one for each, one in zip(solved, ones, strict=True)]
        scale = sum(map(mul, away, away)) / len(away)
        if len(away) < _MIN_TRIALS_TO_FIT:
            scale = max(scale, _MIN_VARIANCE)
        self.means = [middle + sum(map(mul, parts, away)) for parts in self._parts]
        self.deviations = [sqrt(scale * max(left, 0.0)) for left in self._left]
        self.noise = sqrt(scale * self._weights[-2])

    def _covariances(self, candidate: int) -> list[float]:
        """Return what each candidate has in common with one."""
        found = [1.0] * len(self._parts)
        for table, column in zip(self._tables(self._weights), self._columns, strict=True):
            found = list(map(mul, found, map(table[column[candidate]].__getitem__, column)))
        return found

    def _tables(self, weights: Sequence[float]) -> list[list[list[float]]]:
        """Return for each factor what two of its levels have in common: 1 if they are the same."""
        rough = dict(zip(self._rough_factors, weights[len(self._kernels) :], strict=False))
        found: list[list[list[float]]] = []
        for place, (weight, table) in enumerate(zip(weights, self._kernels, strict=False)):
            whole = 1 + weight + rough.get(place, 0.0)
            rows = [[(1 + weight * each) / whole for each in row] for row in table]
            for level, row in enumerate(rows):
                row[level] = 1.0
            found.append(rows)
        return found

    def _update_weights(self) -> None:
        """Judge how far each trial is to be believed; and find the weights anew, if that is due."""
        levels = [[column[trial.candidate] for trial in self._trials] for column in self._columns]
        moods = [
            [drift_correlation(abs(one.when - other.when)) for other in self._trials] for one in self._trials
        ]
        self._reweighted_at = len(self._trials)
        if self._reweighted_at >= self._refitted_at + max(_REFIT_AFTER, self._refitted_at // _REFIT_DIVISOR):
            self._fit(levels, moods)
            self._refitted_at = self._reweighted_at
        self._update_student_weights(*self._negative_log_likelihood(self._weights, levels, moods)[1:])

    def _fit(self, levels: list[list[int]], moods: list[list[float]]) -> None:
        """Find the weights under which the trials are likeliest, one after the other."""
        best = self._negative_log_likelihood(self._weights, levels, moods)[0]
        for place in range(len(self._weights)):
            for factor in _WEIGHT_FACTORS:
                tried = self._weights.copy()
                tried[place] = min(_MAX_WEIGHT, max(self._min_weights[place], tried[place] * factor))
                found = self._negative_log_likelihood(tried, levels, moods)[0]
                if found < best - 1e-9:
                    best, self._weights = found, tried
                    break

    def _negative_log_likelihood(
        self, weights: list[float], levels: list[list[int]], moods: list[list[float]]
    ) -> tuple[float, list[list[float]], list[float]]:
        """Return the negative logarithm of how likely the trials are, the triangle, and its solution."""
        noise, drift = weights[-2:]
        tables = self._tables(weights)
        rows: list[list[float]] = []
        for number, (trial, mood) in enumerate(zip(self._trials, moods, strict=True)):
            common = [1.0] * number
            for table, places in zip(tables, levels, strict=True):
                common = list(map(mul, common, map(table[places[number]].__getitem__, places)))
            fresh: list[float] = []
            for row, each, now in zip(rows, common, mood, strict=False):
                fresh.append((each + drift * now - sum(map(mul, row, fresh))) / row[-1])
            rest = 1 + drift + noise * trial.doubt - sum(map(mul, fresh, fresh))
            rows.append([*fresh, sqrt(max(rest, 1e-10))])
        solved = _forward_substitution(rows, [trial.logarithm for trial in self._trials])
        ones = _forward_substitution(rows, [1.0] * len(rows))
        middle = sum(map(mul, ones, solved)) / sum(map(mul, ones, ones))
        away = [each - middle * one for each, one in zip(solved, ones, strict=True)]
        scale = max(sum(map(mul, away, away)) / len(away), 1e-12)
        unlikely = 0.5 * len(away) * log(scale) + sum(log(row[-1]) for row in rows)
        return self._add_log_prior(unlikely, weights, scale), rows, away

    def _add_log_prior(self, unlikely: float, weights: list[float], scale: float) -> float:
        """Add how unlikely the weights are by themselves, and the noise."""
        usual = [
            log(weight / first) / _PRIOR_LOG_WEIGHT_SIGMA
            for weight, first in zip(weights, self._first, strict=True)
        ]
        usual.append(log(sqrt(scale * weights[-2]) / _PRIOR_NOISE_SIGMA))
        return unlikely + 0.5 * sum(each * each for each in usual)

    def _update_student_weights(self, rows: list[list[float]], away: list[float]) -> None:
        """Doubt each trial by how far it is from what the others say of it."""
        count = len(rows)
        scale = max(sum(map(mul, away, away)) / count, 1e-12)
        for number, trial in enumerate(self._trials):
            column = _forward_substitution(rows, [float(number == row) for row in range(count)])
            distance = sum(map(mul, column, away)) ** 2 / sum(map(mul, column, column)) / scale
            trial.doubt = student_variance_factor(trial.least, distance)


def student_variance_factor(least: float, distance: float) -> float:
    """Return how many times the variance of an ordinary trial one has.

    Args:
        least: what it has at least.
        distance: the square of how far it is from what the others say of it, in deviations.
    """
    return max(least, (_STUDENT_NU + distance) / (_STUDENT_NU + 1))


def drift_correlation(apart: float) -> float:
    """Return what the server's mood has in common at two moments, so far apart as a part of the run."""
    return 0.5 * (exp(-apart / _FAST_DRIFT_TIME) + exp(-apart / _SLOW_DRIFT_TIME))


class _Trial:
    """One trial, and how far it is to be believed."""

    def __init__(self, candidate: int, logarithm: float, when: float, least: float) -> None:
        self.candidate = candidate
        self.logarithm = logarithm
        self.when = when
        self.least = least
        self.doubt = least


def _kernel_matrix(levels: Sequence[str]) -> list[list[float]]:
    """Return what each two levels of a factor have in common, from 0 to 1."""
    numbers = [level_number(level) for level in levels]
    known = sorted({each for each in numbers if each is not None})
    ranks = {number: rank for rank, number in enumerate(known)}
    return [
        [_matern_3_2(one, other, ranks, same=row == column) for column, other in enumerate(numbers)]
        for row, one in enumerate(numbers)
    ]


def _is_scale(levels: Sequence[str]) -> bool:
    """Return whether levels are numbers of which there are enough to be neighbours."""
    return len({level_number(level) for level in levels} - {None}) >= _MIN_SCALE_LEVELS


def _matern_3_2(one: float | None, other: float | None, ranks: Mapping[float, int], *, same: bool) -> float:
    if same:
        return 1.0
    if one is None or other is None or len(ranks) < _MIN_SCALE_LEVELS:
        return 0.0
    distance = sqrt(3) * abs(ranks[one] - ranks[other]) / _LENGTH_SCALE
    return (1 + distance) * exp(-distance)


def _forward_substitution(rows: list[list[float]], right: Sequence[float]) -> list[float]:
    """Return the solution of a lower triangle of equations."""
    found: list[float] = []
    for row, number in zip(rows, right, strict=True):
        found.append((number - sum(map(mul, row, found))) / row[-1])
    return found

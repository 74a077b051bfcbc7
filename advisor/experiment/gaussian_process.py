"""Gaussian process over the levels of the factors: mean and deviation of every candidate of a search.

The logarithm of the figure is modeled as a sum of main effects of the factors, interactions of pairs, and so
on with decreasing weight. The kernel is the product over the factors of (1 + w K), the ANOVA kernel (Durrande
and others, ANOVA kernels and RKHS of zero mean functions, 2013). K is Matern 3/2 over the ranks of numeric
levels, and the identity over other levels. A second, rough term lets single numeric levels deviate from
their neighbors. Two exponential terms over time model the drift of the server.

The weights w maximize the posterior density, the likelihood of the trials times a prior. Outliers among the
trials get a greater noise variance, which corresponds to noise with Student's t distribution (Lange, Little
and Taylor, Robust Statistical Modeling Using the t Distribution, 1989).
"""

from __future__ import annotations

from math import exp, log, sqrt
from operator import mul
from typing import TYPE_CHECKING

from advisor.experiment.measurements import level_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Length scale of the Matern 3/2 kernel, in steps from one level to the next.
_LENGTH_SCALE = 4.0
#: Initial weights of the factors, their rough terms, the noise and the drift, relative to the constant term;
#: and the factors by which the fit changes each weight.
_INITIAL_WEIGHT, _INITIAL_ROUGHNESS, _INITIAL_NOISE, _INITIAL_DRIFT = 0.4, 0.4, 0.1, 0.01
_WEIGHT_FACTORS = (3.0, 1 / 3.0)
#: Lower bounds of the weights of a factor, the noise and the drift, and the upper bound of all weights.
_MIN_WEIGHT, _MIN_NOISE, _MIN_DRIFT, _MAX_WEIGHT = 1e-3, 1e-5, 1e-4, 30.0
#: Prior median of the noise: standard deviation of a trial's logarithm. The prior is log-normal with a
#: standard deviation of 1, that is, a factor of e.
_PRIOR_NOISE_SIGMA = 0.07
#: Prior standard deviation of the logarithm of each weight.
_PRIOR_LOG_WEIGHT_SIGMA = 1.5
#: nu, the degrees of freedom of Student's t distribution of the noise.
_STUDENT_NU = 4.0
#: Below this number of trials the initial weights and at least this variance are used.
_MIN_TRIALS_TO_FIT, _MIN_VARIANCE = 6, 0.1
#: The weights are fitted again after this many trials, or after one divided by this divisor of all trials;
#: more frequent fits would follow random errors.
_REFIT_AFTER, _REFIT_DIVISOR = 3, 5
#: The variances of the trials are updated after one divided by this divisor of all trials.
_REWEIGHT_DIVISOR = 20
#: Fewest numeric levels of a factor that are treated as ordered; fewer are treated as words.
_MIN_SCALE_LEVELS = 3
#: Time constants of the two exponential drift terms, which have equal weight, as fractions of the run.
_FAST_DRIFT_TIME, _SLOW_DRIFT_TIME = 0.1, 1.0


class GaussianProcess:
    """Gaussian process posterior of the logarithm of every candidate's figure, updated trial by trial.

    Attributes:
        means: posterior mean of each candidate's logarithm.
        deviations: posterior standard deviation of each candidate's logarithm.
        noise: standard deviation of a single trial's logarithm.
    """

    def __init__(self, candidates: Sequence[Mapping[str, str]]) -> None:
        """Build the kernel of each varied factor.

        Args:
            candidates: option sets, all with the same factors.
        """
        factors = [name for name in candidates[0] if len({each[name] for each in candidates}) > 1]
        levels = {name: list(dict.fromkeys(each[name] for each in candidates)) for name in factors}
        self._columns = [[levels[name].index(each[name]) for each in candidates] for name in factors]
        self._kernels = [_kernel_matrix(levels[name]) for name in factors]
        self._rough_factors = [place for place, name in enumerate(factors) if _is_scale(levels[name])]
        self._initial_weights = (
            [_INITIAL_WEIGHT] * len(factors)
            + [_INITIAL_ROUGHNESS] * len(self._rough_factors)
            + [_INITIAL_NOISE, _INITIAL_DRIFT]
        )
        self._min_weights = [_MIN_WEIGHT] * (len(self._initial_weights) - 2) + [_MIN_NOISE, _MIN_DRIFT]
        self._weights = self._initial_weights
        self._trials: list[_Trial] = []
        self._refitted_at = self._reweighted_at = 0
        #: Lower Cholesky factor L of the trials' covariance matrix, row by row.
        self._cholesky_rows: list[list[float]] = []
        #: Solutions of L x = logarithms and of L x = 1.
        self._whitened_logs: list[float] = []
        self._whitened_ones: list[float] = []
        #: Tried candidate to its covariance with every candidate.
        self._covariance_rows: dict[int, list[float]] = {}
        #: For each candidate the solution of L x = covariances with the trials, and the variance left.
        self._whitened_covariances: list[list[float]] = [[] for _ in candidates]
        self._posterior_variances: list[float] = [1.0] * len(candidates)
        self.means: list[float] = [0.0] * len(candidates)
        self.deviations: list[float] = [1.0] * len(candidates)
        self.noise = 0.1

    def add(self, candidate: int, logarithm: float, when: float, variance_factor: float = 1.0) -> None:
        """Add one trial and update the posterior.

        Args:
            candidate: index of the candidate.
            logarithm: logarithm of the trial's figure.
            when: time of the trial, as a fraction of the run from 0 to 1.
            variance_factor: noise variance as a multiple of that of an ordinary trial.
        """
        self._trials.append(_Trial(candidate, logarithm, when, variance_factor))
        count = len(self._trials)
        if self._needs_reweighting():
            self._update_weights()
            self._cholesky_rows, self._covariance_rows = [], {}
            self._whitened_logs, self._whitened_ones = [], []
            self._whitened_covariances = [[] for _ in self._whitened_covariances]
            self._posterior_variances = [1.0] * len(self._whitened_covariances)
        for number in range(len(self._cholesky_rows), count):
            self._append(number)
        self._update_posterior()

    def _needs_reweighting(self) -> bool:
        """Return whether the trials' variances are due for an update: with few trials after each one."""
        count = len(self._trials)
        return count >= _MIN_TRIALS_TO_FIT and count >= self._reweighted_at + max(
            1, count // _REWEIGHT_DIVISOR
        )

    def _append(self, number: int) -> None:
        """Append a trial's row to the Cholesky factor, and extend the solutions of every candidate."""
        noise, drift = self._weights[-2:]
        trial = self._trials[number]
        covariances = self._covariance_rows.get(trial.candidate)
        if covariances is None:
            covariances = self._covariance_rows[trial.candidate] = self._covariances(trial.candidate)
        new_row: list[float] = []
        for other, row in zip(self._trials, self._cholesky_rows, strict=False):
            covariance = covariances[other.candidate] + drift * drift_correlation(
                abs(trial.when - other.when)
            )
            new_row.append((covariance - sum(map(mul, row, new_row))) / row[-1])
        diagonal = sqrt(
            max(1 + drift + noise * trial.variance_factor - sum(map(mul, new_row, new_row)), 1e-10)
        )
        self._whitened_logs.append((trial.logarithm - sum(map(mul, new_row, self._whitened_logs))) / diagonal)
        self._whitened_ones.append((1 - sum(map(mul, new_row, self._whitened_ones))) / diagonal)
        for place, (whitened, covariance) in enumerate(
            zip(self._whitened_covariances, covariances, strict=True)
        ):
            last = (covariance - sum(map(mul, new_row, whitened))) / diagonal
            whitened.append(last)
            self._posterior_variances[place] -= last * last
        self._cholesky_rows.append([*new_row, diagonal])

    def _update_posterior(self) -> None:
        ones, logs = self._whitened_ones, self._whitened_logs
        # Generalized least squares estimate of the mean, and maximum likelihood estimate of the variance.
        mean = sum(map(mul, ones, logs)) / sum(map(mul, ones, ones))
        residuals = [each - mean * one for each, one in zip(logs, ones, strict=True)]
        scale = sum(map(mul, residuals, residuals)) / len(residuals)
        if len(residuals) < _MIN_TRIALS_TO_FIT:
            scale = max(scale, _MIN_VARIANCE)
        self.means = [mean + sum(map(mul, whitened, residuals)) for whitened in self._whitened_covariances]
        self.deviations = [sqrt(scale * max(variance, 0.0)) for variance in self._posterior_variances]
        self.noise = sqrt(scale * self._weights[-2])

    def _covariances(self, candidate: int) -> list[float]:
        """Return the prior covariance of each candidate with one candidate, without drift and noise."""
        found = [1.0] * len(self._whitened_covariances)
        for table, column in zip(self._tables(self._weights), self._columns, strict=True):
            found = list(map(mul, found, map(table[column[candidate]].__getitem__, column)))
        return found

    def _tables(self, weights: Sequence[float]) -> list[list[list[float]]]:
        """Return for each factor the correlations of its levels, 1 on the diagonal."""
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
        """Fit the weights again if that is due, and update the noise variance of each trial."""
        levels = [[column[trial.candidate] for trial in self._trials] for column in self._columns]
        drifts = [
            [drift_correlation(abs(one.when - other.when)) for other in self._trials] for one in self._trials
        ]
        self._reweighted_at = len(self._trials)
        if self._reweighted_at >= self._refitted_at + max(_REFIT_AFTER, self._refitted_at // _REFIT_DIVISOR):
            self._fit(levels, drifts)
            self._refitted_at = self._reweighted_at
        self._update_student_weights(*self._negative_log_likelihood(self._weights, levels, drifts)[1:])

    def _fit(self, levels: list[list[int]], drifts: list[list[float]]) -> None:
        """Change each weight in turn if that increases the posterior density (coordinate search)."""
        best = self._negative_log_likelihood(self._weights, levels, drifts)[0]
        for place in range(len(self._weights)):
            for factor in _WEIGHT_FACTORS:
                tried = self._weights.copy()
                tried[place] = min(_MAX_WEIGHT, max(self._min_weights[place], tried[place] * factor))
                found = self._negative_log_likelihood(tried, levels, drifts)[0]
                if found < best - 1e-9:
                    best, self._weights = found, tried
                    break

    def _negative_log_likelihood(
        self, weights: list[float], levels: list[list[int]], drifts: list[list[float]]
    ) -> tuple[float, list[list[float]], list[float]]:
        """Return the negative log posterior of weights, the Cholesky factor, and the whitened residuals."""
        noise, drift = weights[-2:]
        tables = self._tables(weights)
        rows: list[list[float]] = []
        for number, (trial, drift_row) in enumerate(zip(self._trials, drifts, strict=True)):
            covariances = [1.0] * number
            for table, places in zip(tables, levels, strict=True):
                covariances = list(map(mul, covariances, map(table[places[number]].__getitem__, places)))
            new_row: list[float] = []
            for row, each, correlation in zip(rows, covariances, drift_row, strict=False):
                new_row.append((each + drift * correlation - sum(map(mul, row, new_row))) / row[-1])
            remaining = 1 + drift + noise * trial.variance_factor - sum(map(mul, new_row, new_row))
            rows.append([*new_row, sqrt(max(remaining, 1e-10))])
        logs = _forward_substitution(rows, [trial.logarithm for trial in self._trials])
        ones = _forward_substitution(rows, [1.0] * len(rows))
        mean = sum(map(mul, ones, logs)) / sum(map(mul, ones, ones))
        residuals = [each - mean * one for each, one in zip(logs, ones, strict=True)]
        scale = max(sum(map(mul, residuals, residuals)) / len(residuals), 1e-12)
        likelihood = 0.5 * len(residuals) * log(scale) + sum(log(row[-1]) for row in rows)
        return self._add_log_prior(likelihood, weights, scale), rows, residuals

    def _add_log_prior(self, likelihood: float, weights: list[float], scale: float) -> float:
        """Return the negative log likelihood plus the negative log prior of the weights and the noise."""
        scores = [
            log(weight / initial) / _PRIOR_LOG_WEIGHT_SIGMA
            for weight, initial in zip(weights, self._initial_weights, strict=True)
        ]
        scores.append(log(sqrt(scale * weights[-2]) / _PRIOR_NOISE_SIGMA))
        return likelihood + 0.5 * sum(each * each for each in scores)

    def _update_student_weights(self, rows: list[list[float]], residuals: list[float]) -> None:
        """Set each trial's noise variance from its leave-one-out residual (Student's t, nu = 4)."""
        count = len(rows)
        scale = max(sum(map(mul, residuals, residuals)) / count, 1e-12)
        for number, trial in enumerate(self._trials):
            column = _forward_substitution(rows, [float(number == row) for row in range(count)])
            distance = sum(map(mul, column, residuals)) ** 2 / sum(map(mul, column, column)) / scale
            trial.variance_factor = student_variance_factor(trial.min_variance_factor, distance)


def student_variance_factor(min_variance_factor: float, distance: float) -> float:
    """Return the noise variance of a trial, as a multiple of that of an ordinary trial.

    Args:
        min_variance_factor: lower bound of the result.
        distance: squared leave-one-out residual, in units of its variance.
    """
    return max(min_variance_factor, (_STUDENT_NU + distance) / (_STUDENT_NU + 1))


def drift_correlation(apart: float) -> float:
    """Return the correlation of the server's drift at two times.

    Args:
        apart: time between them, as a fraction of the run.
    """
    return 0.5 * (exp(-apart / _FAST_DRIFT_TIME) + exp(-apart / _SLOW_DRIFT_TIME))


class _Trial:
    """One trial; ``variance_factor`` is its noise variance as a multiple of that of an ordinary trial."""

    def __init__(self, candidate: int, logarithm: float, when: float, min_variance_factor: float) -> None:
        self.candidate = candidate
        self.logarithm = logarithm
        self.when = when
        self.min_variance_factor = min_variance_factor
        self.variance_factor = min_variance_factor


def _kernel_matrix(levels: Sequence[str]) -> list[list[float]]:
    """Return the kernel K between the levels of a factor, from 0 to 1."""
    numbers = [level_number(level) for level in levels]
    known = sorted({each for each in numbers if each is not None})
    ranks = {number: rank for rank, number in enumerate(known)}
    return [
        [_matern_3_2(one, other, ranks, same=row == column) for column, other in enumerate(numbers)]
        for row, one in enumerate(numbers)
    ]


def _is_scale(levels: Sequence[str]) -> bool:
    """Return whether enough levels are numbers to be treated as ordered."""
    return len({level_number(level) for level in levels} - {None}) >= _MIN_SCALE_LEVELS


def _matern_3_2(one: float | None, other: float | None, ranks: Mapping[float, int], *, same: bool) -> float:
    if same:
        return 1.0
    if one is None or other is None or len(ranks) < _MIN_SCALE_LEVELS:
        return 0.0
    distance = sqrt(3) * abs(ranks[one] - ranks[other]) / _LENGTH_SCALE
    return (1 + distance) * exp(-distance)


def _forward_substitution(rows: list[list[float]], right: Sequence[float]) -> list[float]:
    """Return the solution of a lower triangular system of equations."""
    found: list[float] = []
    for row, number in zip(rows, right, strict=True):
        found.append((number - sum(map(mul, row, found))) / row[-1])
    return found

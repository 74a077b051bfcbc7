"""The model of a search (advisor.experiment.gaussian_process) with the arithmetic of numpy.

A hundred runs on each surface take minutes so instead of hours. find_best.py looks first whether a race is
the same both ways.
"""

from __future__ import annotations

from math import log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from advisor.experiment import gaussian_process, search

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def use() -> None:
    """Have searches use this model from now on."""
    search.GaussianProcess = FastSurface  # type: ignore[misc]


class FastSurface(gaussian_process.GaussianProcess):
    """As its base class, but for the linear algebra."""

    def __init__(self, candidates: Sequence[Mapping[str, str]]) -> None:
        super().__init__(candidates)
        self._codes = np.array(self._columns)

    def add(self, candidate: int, logarithm: float, when: float, doubt: float = 1.0) -> None:
        """See the base class; nothing is kept from one trial to the next."""
        self._trials.append(gaussian_process._Trial(candidate, logarithm, when, doubt))
        if self._needs_reweighting():
            self._update_weights()
        scale, middle, away, triangle = self._solve_for(self._weights)
        if len(self._trials) < gaussian_process._MIN_TRIALS_TO_FIT:
            scale = max(scale, gaussian_process._MIN_VARIANCE)
        everywhere = np.arange(len(self.means))
        parts = np.linalg.solve(triangle, self._common(self._weights, self._tried(), everywhere))
        self.means = (middle + away @ parts).tolist()
        self.deviations = np.sqrt(scale * np.maximum(1 - (parts**2).sum(0), 0)).tolist()
        self.noise = sqrt(scale * self._weights[-2])

    def _tried(self) -> Any:
        return np.array([trial.candidate for trial in self._trials])

    def _common(self, weights: Sequence[float], ones: Any, others: Any) -> Any:
        found = np.ones((len(ones), len(others)))
        for table, codes in zip(self._tables(weights), self._codes, strict=True):
            found *= np.array(table)[np.ix_(codes[ones], codes[others])]
        return found

    def _solve_for(self, weights: Sequence[float]) -> tuple[float, float, Any, Any]:
        """Return scale, middle, the solution for what is away from it, and the triangle."""
        noise, drift = weights[-2:]
        when = np.array([trial.when for trial in self._trials])
        common = self._common(weights, self._tried(), self._tried())
        apart = abs(when[:, None] - when)
        common += (
            0.5
            * drift
            * (
                np.exp(-apart / gaussian_process._FAST_DRIFT_TIME)
                + np.exp(-apart / gaussian_process._SLOW_DRIFT_TIME)
            )
        )
        common[np.diag_indices(len(when))] += noise * np.array([trial.doubt for trial in self._trials])
        triangle = np.linalg.cholesky(common)
        right = np.array([[trial.logarithm, 1.0] for trial in self._trials])
        solved, ones = np.linalg.solve(triangle, right).T
        middle = solved @ ones / (ones @ ones)
        away = solved - middle * ones
        return float(away @ away / len(away)), float(middle), away, triangle

    def _negative_log_likelihood(self, weights: list[float], *_: Any) -> tuple[float, Any, Any]:
        scale, _middle, away, triangle = self._solve_for(weights)
        scale = max(scale, 1e-12)
        unlikely = 0.5 * len(away) * log(scale) + np.log(np.diag(triangle)).sum()
        return self._add_log_prior(float(unlikely), weights, scale), triangle, away

    def _update_student_weights(self, rows: Any, away: Any) -> None:
        inverse = np.linalg.inv(rows)
        scale = max(float(away @ away) / len(away), 1e-12)
        distances = (inverse.T @ away) ** 2 / (inverse**2).sum(0) / scale
        for trial, distance in zip(self._trials, distances.tolist(), strict=True):
            trial.doubt = gaussian_process.student_variance_factor(trial.least, distance)

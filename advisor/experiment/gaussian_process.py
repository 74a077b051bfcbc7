"""What the trials so far say of every candidate: a Gaussian process over the factors' levels.

The logarithm of the figure is thought of as a sum of what each factor does, of what pairs of them do
together, and so on with less and less weight: the kernel is the product over the factors of (1 + w K), the
analysis of variance written as a kernel (Durrande and others, 2013). Neighbouring sizes or counts do alike.
A term over time follows a server that gets slower, or stumbles. The weights are those under which the trials
are likeliest; trials that fit badly count less, as with Student's distribution (Lange, Little, Taylor, 1989).
A level of a size or a count may also differ from its neighbours for no reason: that part is rough.
"""

from __future__ import annotations

from math import exp, log, sqrt
from operator import mul
from typing import TYPE_CHECKING

from advisor.experiment_values import number_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Length of what a factor's levels have in common (Matern 3/2), in steps from one level to the next.
_STEPS = 4.0
#: Weights of the factors, of what is rough in them, of the noise and of the drift, and what they are tried
#: with: this many times as much, or as little.
_FIRST, _ROUGH, _NOISE, _DRIFT = 0.4, 0.4, 0.1, 0.01
_TRIED = (3.0, 1 / 3.0)
#: What a weight can be at least: of a factor, of the noise and of the drift; and at most.
_LEAST, _LEAST_NOISE, _LEAST_DRIFT, _MOST = 1e-3, 1e-5, 1e-4, 30.0
#: By how much two trials of one set usually differ: standard deviation of their logarithm. It may well be e
#: times as much, or as little.
_USUAL = 0.07
#: How sure the weights are before any trial: standard deviation of their logarithm.
_SURE = 1.5
#: Degrees of freedom of the noise.
_FREEDOM = 4.0
#: With fewer trials the weights are as at first, and the variance is at least this; they are found anew after
#: so many more trials, or this part of all: oftener, they run after chance.
_FEWEST, _UNKNOWN = 6, 0.1
_AGAIN, _AGAIN_PART = 3, 5
#: How far each is to be believed is judged after this part of all.
_JUDGED_PART = 20
#: So many numbers among a factor's levels are neighbours of each other; of fewer each is for itself.
_SCALE = 3
#: Parts of the run after which 1/e is left of what was the server's mood: of half of it, and of the rest.
_MOOD, _TREND = 0.1, 1.0


class Surface:
    """Mean and deviation of the logarithm of every candidate's figure, after any number of trials."""

    def __init__(self, candidates: Sequence[Mapping[str, str]]) -> None:
        """Look at what is varied."""
        factors = [name for name in candidates[0] if len({each[name] for each in candidates}) > 1]
        levels = {name: list(dict.fromkeys(each[name] for each in candidates)) for name in factors}
        self._columns = [[levels[name].index(each[name]) for each in candidates] for name in factors]
        self._alike = [_likeness(levels[name]) for name in factors]
        self._rough = [place for place, name in enumerate(factors) if _is_scale(levels[name])]
        self._first = [_FIRST] * len(factors) + [_ROUGH] * len(self._rough) + [_NOISE, _DRIFT]
        self._least = [_LEAST] * (len(self._first) - 2) + [_LEAST_NOISE, _LEAST_DRIFT]
        self._weights = self._first
        self._trials: list[_Trial] = []
        self._fitted = self._judged = 0
        self._rows: list[list[float]] = []
        self._solved: list[float] = []
        self._ones: list[float] = []
        self._near: dict[int, list[float]] = {}
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
        if self._is_due():
            self._learn()
            self._rows, self._solved, self._ones, self._near = [], [], [], {}
            self._parts = [[] for _ in self._parts]
            self._left = [1.0] * len(self._parts)
        for number in range(len(self._rows), count):
            self._append(number)
        self._conclude()

    def _is_due(self) -> bool:
        """Return whether the trials are to be judged anew: at first after each, of many now and then."""
        count = len(self._trials)
        return count >= _FEWEST and count >= self._judged + max(1, count // _JUDGED_PART)

    def _append(self, number: int) -> None:
        """Add a row to the triangle, and what it means for every candidate."""
        noise, drift = self._weights[-2:]
        trial = self._trials[number]
        near = self._near.get(trial.candidate)
        if near is None:
            near = self._near[trial.candidate] = self._covariances(trial.candidate)
        fresh: list[float] = []
        for other, row in zip(self._trials, self._rows, strict=False):
            common = near[other.candidate] + drift * in_common(abs(trial.when - other.when))
            fresh.append((common - sum(map(mul, row, fresh))) / row[-1])
        corner = sqrt(max(1 + drift + noise * trial.doubt - sum(map(mul, fresh, fresh)), 1e-10))
        self._solved.append((trial.logarithm - sum(map(mul, fresh, self._solved))) / corner)
        self._ones.append((1 - sum(map(mul, fresh, self._ones))) / corner)
        for place, (parts, common) in enumerate(zip(self._parts, near, strict=True)):
            part = (common - sum(map(mul, fresh, parts))) / corner
            parts.append(part)
            self._left[place] -= part * part
        self._rows.append([*fresh, corner])

    def _conclude(self) -> None:
        ones, solved = self._ones, self._solved
        middle = sum(map(mul, ones, solved)) / sum(map(mul, ones, ones))
        away = [each - middle * one for each, one in zip(solved, ones, strict=True)]
        scale = sum(map(mul, away, away)) / len(away)
        if len(away) < _FEWEST:
            scale = max(scale, _UNKNOWN)
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
        rough = dict(zip(self._rough, weights[len(self._alike) :], strict=False))
        found: list[list[list[float]]] = []
        for place, (weight, table) in enumerate(zip(weights, self._alike, strict=False)):
            whole = 1 + weight + rough.get(place, 0.0)
            rows = [[(1 + weight * each) / whole for each in row] for row in table]
            for level, row in enumerate(rows):
                row[level] = 1.0
            found.append(rows)
        return found

    def _learn(self) -> None:
        """Judge how far each trial is to be believed; and find the weights anew, if that is due."""
        levels = [[column[trial.candidate] for trial in self._trials] for column in self._columns]
        moods = [[in_common(abs(one.when - other.when)) for other in self._trials] for one in self._trials]
        self._judged = len(self._trials)
        if self._judged >= self._fitted + max(_AGAIN, self._fitted // _AGAIN_PART):
            self._fit(levels, moods)
            self._fitted = self._judged
        self._doubt(*self._unlikely(self._weights, levels, moods)[1:])

    def _fit(self, levels: list[list[int]], moods: list[list[float]]) -> None:
        """Find the weights under which the trials are likeliest, one after the other."""
        best = self._unlikely(self._weights, levels, moods)[0]
        for place in range(len(self._weights)):
            for factor in _TRIED:
                tried = self._weights.copy()
                tried[place] = min(_MOST, max(self._least[place], tried[place] * factor))
                found = self._unlikely(tried, levels, moods)[0]
                if found < best - 1e-9:
                    best, self._weights = found, tried
                    break

    def _unlikely(
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
        solved = _solve(rows, [trial.logarithm for trial in self._trials])
        ones = _solve(rows, [1.0] * len(rows))
        middle = sum(map(mul, ones, solved)) / sum(map(mul, ones, ones))
        away = [each - middle * one for each, one in zip(solved, ones, strict=True)]
        scale = max(sum(map(mul, away, away)) / len(away), 1e-12)
        unlikely = 0.5 * len(away) * log(scale) + sum(log(row[-1]) for row in rows)
        return self._with_what_is_usual(unlikely, weights, scale), rows, away

    def _with_what_is_usual(self, unlikely: float, weights: list[float], scale: float) -> float:
        """Add how unlikely the weights are by themselves, and the noise."""
        usual = [log(weight / first) / _SURE for weight, first in zip(weights, self._first, strict=True)]
        usual.append(log(sqrt(scale * weights[-2]) / _USUAL))
        return unlikely + 0.5 * sum(each * each for each in usual)

    def _doubt(self, rows: list[list[float]], away: list[float]) -> None:
        """Doubt each trial by how far it is from what the others say of it."""
        count = len(rows)
        scale = max(sum(map(mul, away, away)) / count, 1e-12)
        for number, trial in enumerate(self._trials):
            column = _solve(rows, [float(number == row) for row in range(count)])
            distance = sum(map(mul, column, away)) ** 2 / sum(map(mul, column, column)) / scale
            trial.doubt = doubt(trial.least, distance)


def doubt(least: float, distance: float) -> float:
    """Return how many times the variance of an ordinary trial one has.

    Args:
        least: what it has at least.
        distance: the square of how far it is from what the others say of it, in deviations.
    """
    return max(least, (_FREEDOM + distance) / (_FREEDOM + 1))


def in_common(apart: float) -> float:
    """Return what the server's mood has in common at two moments, so far apart as a part of the run."""
    return 0.5 * (exp(-apart / _MOOD) + exp(-apart / _TREND))


class _Trial:
    """One trial, and how far it is to be believed."""

    def __init__(self, candidate: int, logarithm: float, when: float, least: float) -> None:
        self.candidate = candidate
        self.logarithm = logarithm
        self.when = when
        self.least = least
        self.doubt = least


def _likeness(levels: Sequence[str]) -> list[list[float]]:
    """Return what each two levels of a factor have in common, from 0 to 1."""
    numbers = [number_of(level) for level in levels]
    known = sorted({each for each in numbers if each is not None})
    ranks = {number: rank for rank, number in enumerate(known)}
    return [
        [_common(one, other, ranks, same=row == column) for column, other in enumerate(numbers)]
        for row, one in enumerate(numbers)
    ]


def _is_scale(levels: Sequence[str]) -> bool:
    """Return whether levels are numbers of which there are enough to be neighbours."""
    return len({number_of(level) for level in levels} - {None}) >= _SCALE


def _common(one: float | None, other: float | None, ranks: Mapping[float, int], *, same: bool) -> float:
    if same:
        return 1.0
    if one is None or other is None or len(ranks) < _SCALE:
        return 0.0
    distance = sqrt(3) * abs(ranks[one] - ranks[other]) / _STEPS
    return (1 + distance) * exp(-distance)


def _solve(rows: list[list[float]], right: Sequence[float]) -> list[float]:
    """Return the solution of a lower triangle of equations."""
    found: list[float] = []
    for row, number in zip(rows, right, strict=True):
        found.append((number - sum(map(mul, row, found))) / row[-1])
    return found

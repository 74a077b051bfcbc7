"""Gaussian process of a search: posterior means and deviations after trials."""

from __future__ import annotations

import itertools
import math
import random

from advisor.experiment.gaussian_process import GaussianProcess

_SIZES = [str(2**power) for power in range(14, 20)]
_SETS = [{"rsize": size, "hard": hard} for size, hard in itertools.product(_SIZES, ["hard", "soft"])]


def _after(figures: list[tuple[int, float]]) -> GaussianProcess:
    """Return the Gaussian process after trials of these sets with these figures."""
    surface = GaussianProcess(_SETS)
    for place, (number, figure) in enumerate(figures):
        surface.add(number, math.log(figure), place / len(figures))
    return surface


def test_a_trial_that_is_far_off_hardly_counts_even_if_it_was_the_last() -> None:
    noise = random.Random(1)
    figures = [(number, noise.lognormvariate(0, 0.03)) for number in [*range(12), *range(12)]]
    alone = _after(figures).means[4]
    assert abs(_after([*figures, (4, 0.3)]).means[4] - alone) < 0.05


def test_the_scatter_of_single_trials_is_found() -> None:
    for scatter in (0.03, 0.2):
        noise = random.Random(2)
        surface = _after([(number % 12, noise.lognormvariate(0, scatter)) for number in range(48)])
        assert 0.6 * scatter < surface.noise < 1.6 * scatter


def test_neighbours_of_a_size_tell_of_it_and_the_far_ones_less() -> None:
    surface = _after([(0, 1.0), (2, 1.1), (4, 1.2), (10, 2.0)] * 3)
    untried = surface.deviations[6]
    assert surface.deviations[4] < untried
    assert math.log(1.15) < surface.means[6] < math.log(2.0)


def test_a_level_may_stand_out_from_its_neighbours() -> None:
    peak = 4  # 65536, hard
    figures = [(number, 1.5 if number == peak else 1.0) for number in range(0, 12, 2)] * 4
    surface = _after(figures)
    assert surface.means[peak] > math.log(1.4)
    assert abs(surface.means[peak - 2]) < 0.05
    assert abs(surface.means[peak + 2]) < 0.05


def test_a_server_that_gets_slower_is_not_taken_for_trials_that_scatter() -> None:
    noise = random.Random(3)
    # Random order, so that no set is confounded with time.
    figures = [(noise.randrange(12), 0.7 ** (place / 48)) for place in range(48)]
    surface = _after([(number, figure * noise.lognormvariate(0, 0.01)) for number, figure in figures])
    assert surface.noise < 0.02
    assert max(surface.means) - min(surface.means) < 0.03

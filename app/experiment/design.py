"""Experiment design: option sets from factors (full factorial, one at a time, rows), order of the trials.

The order is that of randomized complete blocks, with the baseline repeated at even distances to see a drift.
"""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.experiment.model import Experiment, ExperimentPlan, Factor

#: The baseline comes again after so many trials at most, and often enough for the four values in each half of
#: the run that tell a drift from chance (advisor.experiment.intervals), where that makes it longer by a third
#: at most.
_MAX_TRIALS_BETWEEN_BASELINES = 20
_BASELINE_PARTS, _LONG_RUN_TRIALS = 8, 24
_FEW_BASELINE_PARTS, _SHORT_RUN_TRIALS = 3, 8


class Trial(NamedTuple):
    """One set, one workload, one repeat.

    Attributes:
        order: its place in the run, from 0; the same plan always gives the same order.
        block: of the repeats, in which every set has its turn once.
        set: index of the option set in the plan.
        work: index of the workload.
        baseline: whether it only watches for drift.
    """

    order: int
    block: int
    set: int
    work: int
    baseline: bool


def level_combinations(experiment: Experiment, factors: Sequence[Factor]) -> list[dict[str, str]]:
    """Return the levels of each option set, the baseline first, none twice.

    Args:
        experiment: its strategy and rows.
        factors: those that can be varied here, with the levels that can.
    """
    base = {factor.name: factor.baseline for factor in factors}
    found: list[dict[str, str]] = [base]
    if experiment.strategy == "one-at-a-time":
        found += [{**base, factor.name: level} for factor in factors for level in factor.levels]
    elif experiment.strategy == "rows":
        names = set(base)
        rows = [{name: level for name, level in row.items() if name in names} for row in experiment.rows]
        left = {factor.name: factor.levels for factor in factors}
        found = [{**base, **row} for row in rows if all(level in left[name] for name, level in row.items())]
    else:
        levels = [factor.levels for factor in factors]
        found += [dict(zip(base, each, strict=True)) for each in itertools.product(*levels)]
    return [dict(pairs) for pairs in dict.fromkeys(tuple(levels.items()) for levels in found)]


def schedule_trials(plan: ExperimentPlan) -> list[Trial]:
    """Return all trials in the order of the run.

    Each block has every set and workload once, shuffled, so that a drift of server or network hits all alike.
    The baseline opens and ends the run and comes again at even distances.
    """
    experiment = plan.experiment
    source = random.Random(experiment.seed)  # noqa: S311 - no secret, only an order
    each = [(number, work) for number in range(len(plan.sets)) for work in range(len(experiment.workloads))]
    ordinary: list[tuple[int, int, int, bool]] = []
    for block in range(experiment.repeats):
        source.shuffle(each)
        ordinary += [(block, number, work, False) for number, work in each]
    total = len(ordinary)
    parts = (
        1
        if total < _SHORT_RUN_TRIALS
        else _FEW_BASELINE_PARTS
        if total < _LONG_RUN_TRIALS
        else _BASELINE_PARTS
    )
    step = total if parts == 1 else min(_MAX_TRIALS_BETWEEN_BASELINES, -(-total // parts))
    places: list[tuple[int, int, int, bool]] = []
    for place, trial in enumerate(ordinary):
        if place % step == 0:
            places.append((trial[0], 0, 0, True))
        places.append(trial)
    if places:
        places.append((experiment.repeats - 1, 0, 0, True))
    return [Trial(order, *place) for order, place in enumerate(places)]

"""Experiment design: option sets from factors (full factorial, one at a time, rows), order of the trials.

The order is that of randomized complete blocks. The baseline is repeated at even distances to detect drift.
"""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.experiment.model import Experiment, ExperimentPlan, Factor

#: Maximum number of trials between two baseline trials. Eight parts give the four baseline values in each
#: half of the run that a drift test needs (advisor.experiment.intervals). Shorter runs have fewer parts, so
#: that the baseline adds at most a third.
_MAX_TRIALS_BETWEEN_BASELINES = 20
_BASELINE_PARTS, _LONG_RUN_TRIALS = 8, 24
_FEW_BASELINE_PARTS, _SHORT_RUN_TRIALS = 3, 8


class Trial(NamedTuple):
    """One trial: an option set, a workload and a repeat.

    Attributes:
        order: position in the run, from 0; reproducible for a given plan.
        block: number of the block; each block contains every set once.
        set: index of the option set in the plan.
        work: index of the workload.
        baseline: whether it is an additional trial of the baseline to detect drift.
    """

    order: int
    block: int
    set: int
    work: int
    baseline: bool


def level_combinations(experiment: Experiment, factors: Sequence[Factor]) -> list[dict[str, str]]:
    """Return the levels of each option set, the baseline first, without duplicates.

    Args:
        experiment: experiment with strategy and rows.
        factors: factors with their feasible levels.
    """
    base = {factor.name: factor.baseline for factor in factors}
    combinations: list[dict[str, str]] = [base]
    if experiment.strategy == "one-at-a-time":
        combinations += [{**base, factor.name: level} for factor in factors for level in factor.levels]
    elif experiment.strategy == "rows":
        names = set(base)
        rows = [{name: level for name, level in row.items() if name in names} for row in experiment.rows]
        levels_by_factor = {factor.name: factor.levels for factor in factors}
        combinations = [
            {**base, **row}
            for row in rows
            if all(level in levels_by_factor[name] for name, level in row.items())
        ]
    else:
        levels = [factor.levels for factor in factors]
        combinations += [
            dict(zip(base, combination, strict=True)) for combination in itertools.product(*levels)
        ]
    return [dict(pairs) for pairs in dict.fromkeys(tuple(levels.items()) for levels in combinations)]


def schedule_trials(plan: ExperimentPlan) -> list[Trial]:
    """Return all trials in the order of the run.

    Each block contains every set and workload once, in random order, so that drift affects all sets alike.
    The baseline begins and ends the run and is repeated at even distances.
    """
    experiment = plan.experiment
    generator = random.Random(experiment.seed)  # noqa: S311 - no secret, only an order
    pairs = [(number, work) for number in range(len(plan.sets)) for work in range(len(experiment.workloads))]
    ordinary: list[tuple[int, int, int, bool]] = []
    for block in range(experiment.repeats):
        generator.shuffle(pairs)
        ordinary += [(block, number, work, False) for number, work in pairs]
    total = len(ordinary)
    parts = (
        1
        if total < _SHORT_RUN_TRIALS
        else _FEW_BASELINE_PARTS
        if total < _LONG_RUN_TRIALS
        else _BASELINE_PARTS
    )
    step = total if parts == 1 else min(_MAX_TRIALS_BETWEEN_BASELINES, -(-total // parts))
    schedule: list[tuple[int, int, int, bool]] = []
    for index, trial in enumerate(ordinary):
        if index % step == 0:
            schedule.append((trial[0], 0, 0, True))
        schedule.append(trial)
    if schedule:
        schedule.append((experiment.repeats - 1, 0, 0, True))
    return [Trial(order, *entry) for order, entry in enumerate(schedule)]

"""Option sets from factors, and the order in which their trials are run."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.bench.experiment.model import Experiment, ExperimentPlan, Factor

#: A block with more trials than this has the baseline repeated inside it.
_BETWEEN_BASELINES = 20


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


def combinations(experiment: Experiment, factors: Sequence[Factor]) -> list[dict[str, str]]:
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
        found = [{**base, **row} for row in rows]
    else:
        levels = [factor.levels for factor in factors]
        found += [dict(zip(base, each, strict=True)) for each in itertools.product(*levels)]
    return [dict(pairs) for pairs in dict.fromkeys(tuple(levels.items()) for levels in found)]


def schedule(plan: ExperimentPlan) -> list[Trial]:
    """Return all trials in the order of the run.

    Each block has every set and workload once, shuffled, so that a drift of server or network hits all alike.
    The baseline opens each block, comes again after every twentieth trial in it, and ends the last.
    """
    experiment = plan.experiment
    source = random.Random(experiment.seed)  # noqa: S311 - no secret, only an order
    each = [(number, work) for number in range(len(plan.sets)) for work in range(len(experiment.workloads))]
    places: list[tuple[int, int, int, bool]] = []
    for block in range(experiment.repeats):
        source.shuffle(each)
        for place, (number, work) in enumerate(each):
            if place % _BETWEEN_BASELINES == 0:
                places.append((block, 0, 0, True))
            places.append((block, number, work, False))
    if places:
        places.append((experiment.repeats - 1, 0, 0, True))
    return [Trial(order, *place) for order, place in enumerate(places)]

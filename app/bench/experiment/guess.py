"""What an experiment would take, before anything is mounted: from its factors and the facts alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from app.experiment.design import schedule
from app.experiment.estimate import space_needed, total_bytes, total_seconds, trial_seconds
from app.experiment.feasibility import mount_of
from app.experiment.model import ExperimentPlan, PlannedSet
from app.experiment.plan import option_sets

if TYPE_CHECKING:
    from advisor.facts import Facts
    from app.experiment.model import Experiment

#: Beside the copying: what the programs take, and the round trips of mounting, checking and unmounting, about
#: (tests/benchmarks/trial_overhead.py: 0.3 to 0.5 s in the lab over 0.2 ms, 4.0 to 4.7 s over 80 ms).
_MOUNT_S, _MOUNT_TRIPS = 0.4, 50


def guess(experiment: Experiment, facts: Facts) -> ExperimentPlan:
    """Return the plan of an experiment if every option set could be mounted.

    What only trying can tell is not in it: sets that cannot be mounted or come out the same, values in use,
    the free space.

    Args:
        experiment: as asked.
        facts: of client, server and link, as far as they are known.

    Raises:
        AppError: if it is too large, or a level cannot be written as an option.
    """
    sets, struck = option_sets(experiment, facts)
    rtt_s = facts.link.rtt_s if facts.link is not None else None
    overhead_s = _MOUNT_S + _MOUNT_TRIPS * (rtt_s or 0.0)
    planned = [_planned(experiment, levels, facts, overhead_s) for levels in sets]
    plan = ExperimentPlan(
        experiment=experiment, sets=planned, struck=struck, trials=0, seconds=0.0, bytes=0,
        space=space_needed(experiment, sets),
    )  # fmt: skip
    return msgspec.structs.replace(
        plan, trials=len(schedule(plan)), seconds=total_seconds(plan), bytes=total_bytes(plan)
    )


def _planned(experiment: Experiment, levels: dict[str, str], facts: Facts, overhead_s: float) -> PlannedSet:
    mount = mount_of(experiment, levels)
    one = PlannedSet(levels=levels, options=mount.options, read_ahead_kb=mount.read_ahead_kb)
    return msgspec.structs.replace(one, seconds=trial_seconds(experiment, one, facts, overhead_s))

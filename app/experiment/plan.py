"""Plan of an experiment: its option sets, trials, duration and space, shrunk to fit the limits.

Planning mounts every option set once before anything is measured. A plan without mounting is only an
estimate.
"""

from __future__ import annotations

import random
from math import prod
from typing import TYPE_CHECKING

import msgspec

from advisor.experiment.error_model import smallest_detectable_difference
from app.errors import AppError, ErrorKind
from app.experiment.design import level_combinations, schedule_trials
from app.experiment.estimate import (
    shrunk,
    smallest_experiment,
    space_needed,
    total_bytes,
    total_seconds,
    trial_seconds,
)
from app.experiment.factors import FILE_SIZE
from app.experiment.feasibility import (
    Exclusion,
    SetProber,
    SetProbeReport,
    checked_mount_settings,
    explain_exclusions,
    levels_of_test,
    possible_factors,
    without_conflicts,
    without_refused_tests,
)
from app.experiment.model import SEARCH_NAME, ExcludedSet, ExperimentPlan, OptionSet
from app.mounts.parsing import share_to_mount
from app.speedtest.estimate import usable_space
from app.text.errors import ErrorCode
from app.text.experiment import detectable_difference_text
from app.text.units import format_size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from advisor.facts import Facts
    from app.experiment.context import ExperimentContext
    from app.experiment.feasibility import Levels
    from app.experiment.model import Experiment, ExperimentArgs, ExperimentEvent
    from app.tasks import CancelToken

#: Maximum number of option sets.
MAX_SETS = 5000
#: Number of combinations above which they are not even checked for conflicts.
_MAX_COMBINATIONS = 10 * MAX_SETS
#: Up to this number of repeats, a note compares the detectable difference with that of the usual number.
_FEW_REPEATS, _USUAL_REPEATS = 2, 3
_TOO_LARGE_REASON = "Its files would take more than a quarter of the free space on the server."


def plan_experiment(
    args: ExperimentArgs,
    context: ExperimentContext,
    token: CancelToken,
    emit: Callable[[ExperimentEvent], None],
) -> ExperimentPlan:
    """Mount every option set, exclude those that cannot be measured, and estimate the duration of the rest.

    Raises:
        AppError: if no set can be mounted, or the experiment is invalid.
        CancelledError: if the token is set.
    """
    experiment = args.experiment
    share_to_mount(experiment.share)
    sets, struck = option_sets(experiment, context.facts)
    prober = SetProber(context, token, emit)
    probed = prober.probe(experiment, sets)
    return fit_plan(args, SetProbeReport(probed.planned, struck + probed.struck), context, prober)


def option_sets(experiment: Experiment, facts: Facts) -> tuple[list[Levels], list[ExcludedSet]]:
    """Return the option sets that are feasible by the known facts, and the excluded ones.

    Args:
        experiment: experiment with factors and strategy.
        facts: facts on client and server; unknown ones exclude nothing.

    Raises:
        AppError: USAGE if there are more than MAX_SETS, or none.
    """
    factors, struck = possible_factors(experiment, facts)
    count = prod(len(factor.levels) for factor in factors) if experiment.strategy == "full" else 0
    sets, conflicting = without_conflicts(
        level_combinations(experiment, factors) if count <= _MAX_COMBINATIONS else []
    )
    count = count if count > _MAX_COMBINATIONS else len(sets)
    if count > MAX_SETS:
        raise AppError(ErrorCode.TOO_MANY_SETS, count=count, limit=MAX_SETS)
    sets, refused = without_refused_tests(sets, experiment.workloads)
    struck = [*struck, *conflicting, *refused]
    if not sets or (experiment.factors and not factors):
        raise AppError(
            ErrorKind.USAGE,
            f"None of these option sets can be measured here. {struck[0].reason if struck else ''}".rstrip(),
            hint="Choose other levels, or another test.",
        )
    return sets, struck


def fit_plan(
    args: ExperimentArgs, probed: SetProbeReport, context: ExperimentContext, prober: SetProber
) -> ExperimentPlan:
    """Return the plan with amounts and repeats shrunk until they fit time limit and free space.

    Raises:
        AppError: NO_SPACE if not even the smallest experiment fits.
    """
    experiment = args.experiment
    overhead_s, free = prober.overhead_s(), prober.free()
    planned, too_large = _fitting_sets(experiment, probed.planned, free)
    too_slow = too_large_files = False
    while True:
        sets = [
            msgspec.structs.replace(
                one,
                seconds=trial_seconds(experiment, one, context.facts, overhead_s, prober.costs(one.options)),
            )
            for one in planned
        ]
        plan = ExperimentPlan(
            experiment=experiment,
            sets=sets,
            struck=[*probed.struck, *too_large],
            trials=0,
            seconds=0,
            bytes=0,
            space=0,
        )
        seconds = total_seconds(plan)
        space = space_needed(experiment, [one.levels for one in sets])
        in_time = args.budget_s is None or seconds <= args.budget_s
        fits = free is None or space <= usable_space(free)
        too_slow, too_large_files = too_slow or not in_time, too_large_files or not fits
        smaller = None if in_time and fits else shrunk(experiment)
        if smaller is None:
            break
        experiment = smaller
    exceeded = ["the time allowed"] if too_slow else []
    exceeded += [f"the {format_size(free or 0)} that are free"] if too_large_files else []
    return msgspec.structs.replace(
        plan,
        trials=len(schedule_trials(plan)),
        seconds=seconds,
        bytes=total_bytes(plan),
        space=space,
        notes=[*_notes(args, experiment, context, in_time=in_time, exceeded=exceeded), *_power_notes(plan)],
    )


def _power_notes(plan: ExperimentPlan) -> list[str]:
    """Return a note on the difference that cannot be detected with few repeats."""
    experiment = plan.experiment
    repeats = experiment.repeats
    sets = len(plan.sets) // len({one.levels.get(FILE_SIZE) for one in plan.sets})
    if experiment.recipe == SEARCH_NAME or sets < 2 or repeats > _FEW_REPEATS:
        return []
    # Baseline trials run only the first workload, so they add no repeats to the others.
    baseline_trials = (
        sum(trial.baseline for trial in schedule_trials(plan)) if len(experiment.workloads) == 1 else 0
    )
    chance = random.Random(experiment.seed)  # noqa: S311 - for a bootstrap
    detectable = smallest_detectable_difference(repeats, sets, baseline_trials, chance=chance)
    usual = smallest_detectable_difference(_USUAL_REPEATS, sets, chance=chance)
    return [
        detectable_difference_text(repeats, detectable, None if usual is None else (_USUAL_REPEATS, usual))
    ]


def _fitting_sets(
    experiment: Experiment, planned: list[OptionSet], free: int | None
) -> tuple[list[OptionSet], list[ExcludedSet]]:
    """Return the sets whose smallest possible trials fit the usable space, and the excluded ones.

    Raises:
        AppError: NO_SPACE if no set fits.
    """
    if free is None:
        return planned, []
    fixed = any(factor.name == FILE_SIZE for factor in experiment.factors)
    smallest = experiment if fixed else smallest_experiment(experiment)
    needed = [space_needed(smallest, [one.levels]) for one in planned]
    fitting = [one for one, space in zip(planned, needed, strict=True) if space <= usable_space(free)]
    if not fitting:
        raise AppError(ErrorCode.NO_SPACE_FOR_TRIALS, needed=min(needed), free=free)
    tests = {
        tuple(levels_of_test(one.levels).items()): space for one, space in zip(planned, needed, strict=True)
    }
    excluded = {
        number: Exclusion(_TOO_LARGE_REASON)
        for number, space in enumerate(tests.values())
        if space > usable_space(free)
    }
    return fitting, explain_exclusions([dict(pairs) for pairs in tests], excluded)


def _notes(
    args: ExperimentArgs,
    experiment: Experiment,
    context: ExperimentContext,
    *,
    in_time: bool,
    exceeded: Sequence[str],
) -> list[str]:
    notes: list[str] = []
    if experiment != args.experiment:
        notes.append(
            f"Made smaller for {' and '.join(exceeded)}: {_changes_text(args.experiment, experiment)}."
        )
    if not in_time:
        notes.append(
            "The time will not do for all trials: it ends when the time is over, and can be resumed."
        )
    link = context.facts.link
    if link is None or link.rate_bps is None:
        notes.append("The link's rate is not known; the time is that of 1 Gbit/s.")
    return notes


def _changes_text(before: Experiment, after: Experiment) -> str:
    changes = [
        f"“{new.uncut_name}” copies {new.amount}, not {old.amount}"
        for old, new in zip(before.workloads, after.workloads, strict=True)
        if old != new
    ]
    if before.repeats != after.repeats:
        changes.append(f"repeats are {after.repeats} instead of {before.repeats}")
    return ", ".join(changes)


#: Estimated overhead of a trial: time of the programs, s, and round trips to mount, check and unmount
#: (tests/benchmarks/trial_overhead.py: 0.3 to 0.5 s in the lab over 0.2 ms, 4.0 to 4.7 s over 80 ms).
_MOUNT_OVERHEAD_S, _MOUNT_ROUND_TRIPS = 0.4, 50


def estimated_plan(experiment: Experiment, facts: Facts) -> ExperimentPlan:
    """Return the plan of an experiment without mounting, as if every option set were feasible.

    Infeasible sets, equivalent sets, options in use and free space are unknown without mounting.

    Args:
        experiment: experiment as requested.
        facts: facts on client, server and link, as far as known.

    Raises:
        AppError: if it has too many sets, or a level cannot be expressed as an option.
    """
    sets, struck = option_sets(experiment, facts)
    rtt_s = facts.link.rtt_s if facts.link is not None else None
    overhead_s = _MOUNT_OVERHEAD_S + _MOUNT_ROUND_TRIPS * (rtt_s or 0.0)
    planned = [_estimated_set(experiment, levels, facts, overhead_s) for levels in sets]
    plan = ExperimentPlan(
        experiment=experiment, sets=planned, struck=struck, trials=0, seconds=0.0, bytes=0,
        space=space_needed(experiment, sets),
    )  # fmt: skip
    return msgspec.structs.replace(
        plan, trials=len(schedule_trials(plan)), seconds=total_seconds(plan), bytes=total_bytes(plan)
    )


def _estimated_set(
    experiment: Experiment, levels: dict[str, str], facts: Facts, overhead_s: float
) -> OptionSet:
    mount = checked_mount_settings(experiment, levels)
    option_set = OptionSet(levels=levels, options=mount.options, read_ahead_kb=mount.read_ahead_kb)
    return msgspec.structs.replace(
        option_set, seconds=trial_seconds(experiment, option_set, facts, overhead_s)
    )

"""Plan of an experiment: its option sets, trials, duration and space, made smaller to fit.

Every option set is mounted once before anything is measured; an estimate without mounting is there as well.
"""

from __future__ import annotations

import random
from math import prod
from typing import TYPE_CHECKING

import msgspec

from advisor.experiment.error_model import smallest_detectable_difference
from advisor.text.experiment import detectable_difference_text
from app.errors import AppError, ErrorKind
from app.experiment.design import level_combinations, schedule_trials
from app.experiment.estimate import (
    MAX_FREE_SPACE_SHARE,
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
from app.units import format_size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from advisor.facts import Facts
    from app.experiment.context import ExperimentContext
    from app.experiment.feasibility import Levels
    from app.experiment.model import Experiment, ExperimentArgs, ExperimentEvent
    from app.tasks import CancelToken

#: More sets than this nobody waits for.
MAX_SETS = 5000
#: Of so many combinations it is not even looked which of them can be.
_MAX_COMBINATIONS = 10 * MAX_SETS
#: With up to so many repeats it is said before what they cannot show, and what as many as are usual would.
_FEW_REPEATS, _USUAL_REPEATS = 2, 3
_TOO_LARGE_REASON = "Its files would take more than a quarter of the free space on the server."


def plan_experiment(
    args: ExperimentArgs,
    context: ExperimentContext,
    token: CancelToken,
    emit: Callable[[ExperimentEvent], None],
) -> ExperimentPlan:
    """Try every option set, strike out what cannot be measured, and say what the rest will take.

    Raises:
        AppError: if no set can be mounted, or the experiment is not one.
        CancelledError: when the token is set.
    """
    experiment = args.experiment
    share_to_mount(experiment.share)
    sets, struck = option_sets(experiment, context.facts)
    prober = SetProber(context, token, emit)
    probed = prober.probe(experiment, sets)
    return fit_plan(args, SetProbeReport(probed.planned, struck + probed.struck), context, prober)


def option_sets(experiment: Experiment, facts: Facts) -> tuple[list[Levels], list[ExcludedSet]]:
    """Return the option sets that may work here, and what is struck out without trying.

    Args:
        experiment: its factors and how they are combined.
        facts: of client and server; what they do not tell is found out by trying.

    Raises:
        AppError: USAGE if there are more than MAX_SETS, or none.
    """
    factors, struck = possible_factors(experiment, facts)
    count = prod(len(factor.levels) for factor in factors) if experiment.strategy == "full" else 0
    sets, unlikely = without_conflicts(
        level_combinations(experiment, factors) if count <= _MAX_COMBINATIONS else []
    )
    count = count if count > _MAX_COMBINATIONS else len(sets)
    if count > MAX_SETS:
        raise AppError(
            ErrorKind.USAGE,
            f"These factors make {count} option sets; {MAX_SETS} are the most.",
            hint="Leave some levels out, or vary the factors one at a time.",
        )
    sets, refused = without_refused_tests(sets, experiment.workloads)
    struck = [*struck, *unlikely, *refused]
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
    """Return the plan, its amounts and repeats made smaller until time and free space should do.

    Raises:
        AppError: NO_SPACE if not even the smallest fits.
    """
    experiment = args.experiment
    overhead_s, free = prober.overhead_s(), prober.free()
    planned, too_large = _fitting_sets(experiment, probed.planned, free)
    slow = large = False
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
        fits = free is None or space <= _usable_space(free)
        slow, large = slow or not in_time, large or not fits
        less = None if in_time and fits else shrunk(experiment)
        if less is None:
            break
        experiment = less
    exceeded = ["the time allowed"] if slow else []
    exceeded += [f"the {format_size(free or 0)} that are free"] if large else []
    return msgspec.structs.replace(
        plan,
        trials=len(schedule_trials(plan)),
        seconds=seconds,
        bytes=total_bytes(plan),
        space=space,
        notes=[*_notes(args, experiment, context, in_time=in_time, exceeded=exceeded), *_power_notes(plan)],
    )


def _power_notes(plan: ExperimentPlan) -> list[str]:
    """Return what so few repeats cannot show, before they are run."""
    experiment = plan.experiment
    repeats = experiment.repeats
    sets = len(plan.sets) // len({one.levels.get(FILE_SIZE) for one in plan.sets})
    if experiment.recipe == SEARCH_NAME or sets < 2 or repeats > _FEW_REPEATS:
        return []
    # The baseline is watched with the first workload alone; the others have no more than their repeats.
    watching = sum(trial.baseline for trial in schedule_trials(plan)) if len(experiment.workloads) == 1 else 0
    chance = random.Random(experiment.seed)  # noqa: S311 - for a bootstrap
    shown = smallest_detectable_difference(repeats, sets, watching, chance=chance)
    better = smallest_detectable_difference(_USUAL_REPEATS, sets, chance=chance)
    return [detectable_difference_text(repeats, shown, None if better is None else (_USUAL_REPEATS, better))]


def _fitting_sets(
    experiment: Experiment, planned: list[OptionSet], free: int | None
) -> tuple[list[OptionSet], list[ExcludedSet]]:
    """Return the sets whose trials, made as small as can be, leave others their room, and the others.

    Raises:
        AppError: NO_SPACE if there are none.
    """
    if free is None:
        return planned, []
    fixed = any(factor.name == FILE_SIZE for factor in experiment.factors)
    least = experiment if fixed else smallest_experiment(experiment)
    needed = [space_needed(least, [one.levels]) for one in planned]
    left = [one for one, space in zip(planned, needed, strict=True) if space <= _usable_space(free)]
    if not left:
        raise AppError(
            ErrorKind.NO_SPACE,
            f"There is not enough free space on the server: a trial takes {format_size(min(needed))} at "
            f"least, and {format_size(free)} are free.",
            hint="A test takes a quarter of the free space at most. Make room, or choose smaller files.",
        )
    tests = {
        tuple(levels_of_test(one.levels).items()): space for one, space in zip(planned, needed, strict=True)
    }
    dead = {
        number: Exclusion(_TOO_LARGE_REASON)
        for number, space in enumerate(tests.values())
        if space > _usable_space(free)
    }
    return left, explain_exclusions([dict(pairs) for pairs in tests], dead)


def _usable_space(free: int) -> int:
    return int(free * MAX_FREE_SPACE_SHARE)


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


#: Beside the copying: what the programs take, and the round trips of mounting, checking and unmounting, about
#: (tests/benchmarks/trial_overhead.py: 0.3 to 0.5 s in the lab over 0.2 ms, 4.0 to 4.7 s over 80 ms).
_MOUNT_OVERHEAD_S, _MOUNT_ROUND_TRIPS = 0.4, 50


def estimated_plan(experiment: Experiment, facts: Facts) -> ExperimentPlan:
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
    one = OptionSet(levels=levels, options=mount.options, read_ahead_kb=mount.read_ahead_kb)
    return msgspec.structs.replace(one, seconds=trial_seconds(experiment, one, facts, overhead_s))

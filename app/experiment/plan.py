"""The plan of an experiment: every option set is tried once, before anything is measured."""

from __future__ import annotations

import random
from math import prod
from typing import TYPE_CHECKING

import msgspec

from advisor.experiment.error_model import smallest_shown
from advisor.text.experiment import power_text
from app.bench.experiment.sift import (
    Dead,
    of_test,
    possible_factors,
    reasons,
    without_impossible,
    without_refused,
)
from app.errors import AppError, ErrorKind
from app.experiment.design import combinations, schedule
from app.experiment.estimate import (
    SHARE_OF_FREE,
    smaller,
    smallest,
    space_needed,
    total_bytes,
    total_seconds,
    trial_seconds,
)
from app.experiment.factors import FILE_SIZE
from app.experiment.feasibility import Probed, Prober
from app.experiment.model import SEARCH, ExperimentPlan, PlannedSet, Struck
from app.mounts.parsing import share_to_mount
from app.units import format_size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from advisor.facts import Facts
    from app.bench.experiment.sift import Levels
    from app.experiment.context import Hands
    from app.experiment.model import Experiment, ExperimentArgs, ExperimentEvent
    from app.tasks import CancelToken

#: More sets than this nobody waits for.
MAX_SETS = 5000
#: Of so many combinations it is not even looked which of them can be.
_MOST_MADE = 10 * MAX_SETS
#: With up to so many repeats it is said before what they cannot show, and what as many as are usual would.
_FEW_REPEATS, _ENOUGH_REPEATS = 2, 3
_TOO_LARGE = "Its files would take more than a quarter of the free space on the server."


def plan_experiment(
    args: ExperimentArgs, hands: Hands, token: CancelToken, emit: Callable[[ExperimentEvent], None]
) -> ExperimentPlan:
    """Try every option set, strike out what cannot be measured, and say what the rest will take.

    Raises:
        AppError: if no set can be mounted, or the experiment is not one.
        CancelledError: when the token is set.
    """
    experiment = args.experiment
    share_to_mount(experiment.share)
    sets, struck = option_sets(experiment, hands.facts)
    prober = Prober(hands, token, emit)
    probed = prober.probe(experiment, sets)
    return sized(args, Probed(probed.planned, struck + probed.struck), hands, prober)


def option_sets(experiment: Experiment, facts: Facts) -> tuple[list[Levels], list[Struck]]:
    """Return the option sets that may work here, and what is struck out without trying.

    Args:
        experiment: its factors and how they are combined.
        facts: of client and server; what they do not tell is found out by trying.

    Raises:
        AppError: USAGE if there are more than MAX_SETS, or none.
    """
    factors, struck = possible_factors(experiment, facts)
    count = prod(len(factor.levels) for factor in factors) if experiment.strategy == "full" else 0
    sets, unlikely = without_impossible(combinations(experiment, factors) if count <= _MOST_MADE else [])
    count = count if count > _MOST_MADE else len(sets)
    if count > MAX_SETS:
        raise AppError(
            ErrorKind.USAGE,
            f"These factors make {count} option sets; {MAX_SETS} are the most.",
            hint="Leave some levels out, or vary the factors one at a time.",
        )
    sets, refused = without_refused(sets, experiment.workloads)
    struck = [*struck, *unlikely, *refused]
    if not sets or (experiment.factors and not factors):
        raise AppError(
            ErrorKind.USAGE,
            f"None of these option sets can be measured here. {struck[0].reason if struck else ''}".rstrip(),
            hint="Choose other levels, or another test.",
        )
    return sets, struck


def sized(args: ExperimentArgs, probed: Probed, hands: Hands, prober: Prober) -> ExperimentPlan:
    """Return the plan, its amounts and repeats made smaller until time and free space should do.

    Raises:
        AppError: NO_SPACE if not even the smallest fits.
    """
    experiment = args.experiment
    overhead_s, free = prober.overhead_s(), prober.free()
    planned, too_large = _fitting(experiment, probed.planned, free)
    slow = large = False
    while True:
        sets = [
            msgspec.structs.replace(
                one,
                seconds=trial_seconds(experiment, one, hands.facts, overhead_s, prober.costs(one.options)),
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
        fits = free is None or space <= _room(free)
        slow, large = slow or not in_time, large or not fits
        less = None if in_time and fits else smaller(experiment)
        if less is None:
            break
        experiment = less
    exceeded = ["the time allowed"] if slow else []
    exceeded += [f"the {format_size(free or 0)} that are free"] if large else []
    return msgspec.structs.replace(
        plan,
        trials=len(schedule(plan)),
        seconds=seconds,
        bytes=total_bytes(plan),
        space=space,
        notes=[*_notes(args, experiment, hands, in_time=in_time, exceeded=exceeded), *_power(plan)],
    )


def _power(plan: ExperimentPlan) -> list[str]:
    """Return what so few repeats cannot show, before they are run."""
    experiment = plan.experiment
    repeats = experiment.repeats
    sets = len(plan.sets) // len({one.levels.get(FILE_SIZE) for one in plan.sets})
    if experiment.recipe == SEARCH or sets < 2 or repeats > _FEW_REPEATS:
        return []
    # The baseline is watched with the first workload alone; the others have no more than their repeats.
    watching = sum(trial.baseline for trial in schedule(plan)) if len(experiment.workloads) == 1 else 0
    chance = random.Random(experiment.seed)  # noqa: S311 - for a bootstrap
    shown = smallest_shown(repeats, sets, watching, chance=chance)
    better = smallest_shown(_ENOUGH_REPEATS, sets, chance=chance)
    return [power_text(repeats, shown, None if better is None else (_ENOUGH_REPEATS, better))]


def _fitting(
    experiment: Experiment, planned: list[PlannedSet], free: int | None
) -> tuple[list[PlannedSet], list[Struck]]:
    """Return the sets whose trials, made as small as can be, leave others their room, and the others.

    Raises:
        AppError: NO_SPACE if there are none.
    """
    if free is None:
        return planned, []
    fixed = any(factor.name == FILE_SIZE for factor in experiment.factors)
    least = experiment if fixed else smallest(experiment)
    needed = [space_needed(least, [one.levels]) for one in planned]
    left = [one for one, space in zip(planned, needed, strict=True) if space <= _room(free)]
    if not left:
        raise AppError(
            ErrorKind.NO_SPACE,
            f"There is not enough free space on the server: a trial takes {format_size(min(needed))} at "
            f"least, and {format_size(free)} are free.",
            hint="A test takes a quarter of the free space at most. Make room, or choose smaller files.",
        )
    tests = {tuple(of_test(one.levels).items()): space for one, space in zip(planned, needed, strict=True)}
    dead = {number: Dead(_TOO_LARGE) for number, space in enumerate(tests.values()) if space > _room(free)}
    return left, reasons([dict(pairs) for pairs in tests], dead)


def _room(free: int) -> int:
    return int(free * SHARE_OF_FREE)


def _notes(
    args: ExperimentArgs, experiment: Experiment, hands: Hands, *, in_time: bool, exceeded: Sequence[str]
) -> list[str]:
    notes: list[str] = []
    if experiment != args.experiment:
        notes.append(f"Made smaller for {' and '.join(exceeded)}: {_changes(args.experiment, experiment)}.")
    if not in_time:
        notes.append(
            "The time will not do for all trials: it ends when the time is over, and can be resumed."
        )
    link = hands.facts.link
    if link is None or link.rate_bps is None:
        notes.append("The link's rate is not known; the time is that of 1 Gbit/s.")
    return notes


def _changes(before: Experiment, after: Experiment) -> str:
    changes = [
        f"“{new.plain_name}” copies {new.amount}, not {old.amount}"
        for old, new in zip(before.workloads, after.workloads, strict=True)
        if old != new
    ]
    if before.repeats != after.repeats:
        changes.append(f"repeats are {after.repeats} instead of {before.repeats}")
    return ", ".join(changes)

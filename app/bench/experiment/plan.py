"""The plan of an experiment: every option set is tried once, before anything is measured."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import msgspec

from app.bench.experiment.estimate import (
    SHARE_OF_FREE,
    smaller,
    space_needed,
    total_bytes,
    total_seconds,
    trial_seconds,
)
from app.bench.experiment.factors import FILE_SIZE, spec_of
from app.bench.experiment.model import ExperimentPlan, PlannedSet, Struck
from app.bench.experiment.probe import Probed, Prober
from app.bench.experiment.sets import combinations, schedule
from app.bench.experiment.sift import possible_factors, without_impossible
from app.errors import AppError, ErrorKind
from app.mounts.asked import parse_share
from app.units import format_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.facts import Facts
    from app.bench.experiment.hands import Hands
    from app.bench.experiment.model import Experiment, ExperimentArgs, ExperimentEvent
    from app.bench.experiment.sift import Levels
    from app.tasks import CancelToken

#: More sets than this nobody waits for.
MAX_SETS = 5000
#: Of so many combinations it is not even looked which of them can be.
_MOST_MADE = 10 * MAX_SETS


def plan_experiment(
    args: ExperimentArgs, hands: Hands, token: CancelToken, emit: Callable[[ExperimentEvent], None]
) -> ExperimentPlan:
    """Try every option set, strike out what cannot be measured, and say what the rest will take.

    Raises:
        AppError: if no set can be mounted, or the experiment is not one.
        CancelledError: when the token is set.
    """
    experiment = args.experiment
    parse_share(experiment.share)
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
        AppError: USAGE if there are more than MAX_SETS.
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
    return sets, struck + unlikely


def sized(args: ExperimentArgs, probed: Probed, hands: Hands, prober: Prober) -> ExperimentPlan:
    """Return the plan, its amounts and repeats made smaller until time and free space should do.

    Raises:
        AppError: NO_SPACE if not even the smallest fits.
    """
    experiment = args.experiment
    overhead_s, costs, free = prober.overhead_s(), prober.costs(), prober.free()
    room = None if free is None else int(free * SHARE_OF_FREE)
    planned, too_large = _fitting(experiment, probed.planned, room)
    while True:
        sets = [
            msgspec.structs.replace(
                one, seconds=trial_seconds(experiment, one, hands.facts, overhead_s, costs)
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
        less = None if in_time and (room is None or space <= room) else smaller(experiment)
        if less is None:
            break
        experiment = less
    if room is not None and space > room:
        raise AppError(
            ErrorKind.NO_SPACE,
            f"There is not enough free space on the server: a trial takes {format_size(space)} at least, and "
            f"{format_size(free or 0)} are free.",
            hint="A test takes a quarter of the free space at most. Make room there.",
        )
    return msgspec.structs.replace(
        plan,
        trials=len(schedule(plan)),
        seconds=seconds,
        bytes=total_bytes(plan),
        space=space,
        notes=_notes(args, experiment, hands, in_time=in_time, free=free),
    )


def _fitting(
    experiment: Experiment, planned: list[PlannedSet], room: int | None
) -> tuple[list[PlannedSet], list[Struck]]:
    """Return the sets whose file size, where it is a factor, leaves others their room, and the others."""
    sizes = {one.levels[FILE_SIZE] for one in planned if FILE_SIZE in one.levels}
    large = {
        size
        for size in sizes
        if room is not None
        and any(spec_of(work, {FILE_SIZE: size}).total > room for work in experiment.workloads)
    }
    left = [one for one in planned if one.levels.get(FILE_SIZE) not in large]
    if not left:
        raise AppError(
            ErrorKind.NO_SPACE,
            "There is not enough free space on the server for any of these file sizes.",
            hint="A test takes a quarter of the free space at most. Choose smaller sizes.",
        )
    reason = "A file of this size would take more than a quarter of the free space on the server."
    return left, [Struck(levels={FILE_SIZE: size}, reason=reason) for size in sorted(large, key=int)]


def _notes(
    args: ExperimentArgs, experiment: Experiment, hands: Hands, *, in_time: bool, free: int | None
) -> list[str]:
    notes: list[str] = []
    if experiment != args.experiment:
        for_what = [] if args.budget_s is None else ["the time allowed"]
        for_what += [] if free is None else [f"the {format_size(free)} that are free"]
        notes.append(f"Made smaller for {' and '.join(for_what)}: {_changes(args.experiment, experiment)}.")
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
        f"{new.plain_name} is {new.amount} instead of {old.amount}"
        for old, new in zip(before.workloads, after.workloads, strict=True)
        if old != new
    ]
    if before.repeats != after.repeats:
        changes.append(f"repeats are {after.repeats} instead of {before.repeats}")
    return ", ".join(changes)

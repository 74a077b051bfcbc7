"""The plan of an experiment: every option set is tried once, before anything is measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

import msgspec

from advisor.analysis import median
from advisor.options import MountOptions, catalogue
from app.bench.experiment.estimate import (
    SHARE_OF_FREE,
    smaller,
    space_needed,
    total_bytes,
    total_seconds,
    trial_seconds,
)
from app.bench.experiment.factors import FILE_SIZE, OF_THE_TEST, mounting, spec_of
from app.bench.experiment.model import ExperimentEvent, ExperimentPlan, PlannedSet, Struck
from app.bench.experiment.sets import combinations, schedule
from app.bench.experiment.sift import Dead, levels_text, possible_factors, reasons, without_impossible
from app.bench.result import TestSpec
from app.errors import AppError, ErrorKind
from app.mounts.asked import parse_share
from app.mounts.effective import why_other
from app.units import format_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.facts import Facts
    from app.bench.experiment.factors import Mounting
    from app.bench.experiment.hands import Hands
    from app.bench.experiment.model import Experiment, ExperimentArgs
    from app.bench.experiment.sift import Levels
    from app.tasks import CancelToken

#: More sets than this nobody waits for.
MAX_SETS = 5000
#: Of so many combinations it is not even looked which of them can be.
_MOST_MADE = 10 * MAX_SETS
#: After so many sets in a row that the server did not answer, it is away.
_SILENT_IN_A_ROW = 3
_SILENT = {ErrorKind.SERVER_SILENT, ErrorKind.SERVER_REFUSED, ErrorKind.NOT_RESPONDING}
#: What no other option set will mend.
_HOPELESS = {
    ErrorKind.CANCELLED, ErrorKind.NOT_AUTHORIZED, ErrorKind.HELPER_MISSING, ErrorKind.HELPER_UNTRUSTED,
    ErrorKind.HELPER_FAILED, ErrorKind.PKEXEC_MISSING, ErrorKind.POLKIT_AGENT_MISSING, ErrorKind.INTERNAL,
    ErrorKind.MOUNT_NFS_MISSING, ErrorKind.SERVER_UNKNOWN, ErrorKind.SHARE_INVALID, ErrorKind.UNAVAILABLE,
}  # fmt: skip
#: What mount.nfs fills in by itself: it differs from mount to mount and says nothing.
VOLATILE = frozenset({"clientaddr", "addr", "mountaddr", "mountport", "port"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What became of an option string when it was tried.

    Attributes:
        error: why it cannot be mounted, or None.
        effective: what was in use.
        shared: whether the server's connections were there before.
        took_s: seconds to mount and unmount.
        free: bytes free there, None if it was not asked.
    """

    error: AppError | None = None
    effective: dict[str, str] = field(default_factory=dict[str, str])
    shared: bool = False
    took_s: float = 0.0
    free: int | None = None


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
    mounts = [mount_of(experiment, levels) for levels in sets]
    tried = _try_all(mounts, sets, hands, token, emit)
    dead = _dead(sets, mounts, tried)
    alive = [number for number in range(len(sets)) if number not in dead]
    if not alive:
        raise next(result.error for result in tried.values() if result.error is not None)
    planned = [
        PlannedSet(
            levels=sets[number],
            options=mounts[number].options,
            read_ahead_kb=mounts[number].read_ahead_kb,
            effective=tried[mounts[number].options].effective,
        )
        for number in alive
    ]
    struck += reasons(sets, dead)
    return _sized(args, planned, struck, hands, list(tried.values()))


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


def mount_of(experiment: Experiment, levels: Levels) -> Mounting:
    """Return how an option set is mounted.

    Raises:
        AppError: OPTION_INVALID if a level cannot be written as an option.
    """
    try:
        return mounting(experiment, levels)
    except ValueError as error:
        raise AppError(
            ErrorKind.OPTION_INVALID,
            f"{levels_text(levels)} cannot be written as mount options: {error}",
            hint="Correct the level.",
        ) from error


def _try_all(
    mounts: list[Mounting],
    sets: list[Levels],
    hands: Hands,
    token: CancelToken,
    emit: Callable[[ExperimentEvent], None],
) -> dict[str, Tried]:
    """Mount each different option string once."""
    tried: dict[str, Tried] = {}
    total = len({mount.options for mount in mounts})
    silent = 0
    for mount, levels in zip(mounts, sets, strict=True):
        if mount.options in tried:
            continue
        token.check()
        of_mount = {name: level for name, level in levels.items() if name not in OF_THE_TEST}
        emit(ExperimentEvent(phase="trying", number=len(tried) + 1, total=total, levels=of_mount))
        result = _try(mount.options, hands, token, look=not any(one.error is None for one in tried.values()))
        silent = silent + 1 if result.error is not None and result.error.kind in _SILENT else 0
        if result.error is not None and silent == _SILENT_IN_A_ROW:
            raise result.error
        tried[mount.options] = result
    return tried


def _try(options: str, hands: Hands, token: CancelToken, *, look: bool) -> Tried:
    began = hands.now()
    try:
        mount = hands.open(options, None, token)
    except AppError as error:
        if error.kind in _HOPELESS:
            raise
        return Tried(error=error)
    try:
        took_s = hands.now() - began
        # Asked once: it takes a worker.
        free = mount.look_at(TestSpec(path=""), token).free if look else None
    except BaseException:
        mount.abandon()
        raise
    began = hands.now()
    mount.close()
    return Tried(
        effective=mount.effective, shared=mount.shared, took_s=took_s + hands.now() - began, free=free
    )


def _dead(sets: list[Levels], mounts: list[Mounting], tried: dict[str, Tried]) -> dict[int, Dead]:
    """Return the sets that cannot be mounted, or that come out the same as an earlier one, with reasons."""
    dead: dict[int, Dead] = {}
    first: dict[object, int] = {}
    for number, (levels, mount) in enumerate(zip(sets, mounts, strict=True)):
        result = tried[mount.options]
        if result.error is not None:
            dead[number] = Dead(f"It cannot be mounted. {result.error.message}")
            continue
        key = (signature(mount.options, result.effective), mount.read_ahead_kb, _of_test(levels))
        other = first.setdefault(key, number)
        if other != number:
            dead[number] = _same(sets[number], sets[other], mount.options, result)
    return dead


def signature(options: str, effective: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Return what tells one mount from another: what is in use, and what was asked for but is never shown."""
    asked = MountOptions.parse(options).values()
    unseen = {
        name: value
        for name, value in asked.items()
        if (option := catalogue().find(name)) is not None and option.shown == "never"
    }
    shown = {name: value for name, value in effective.items() if name not in VOLATILE}
    return tuple(sorted((unseen | shown).items()))


def _of_test(levels: Levels) -> tuple[tuple[str, str], ...]:
    return tuple((name, level) for name, level in levels.items() if name in OF_THE_TEST)


def _same(levels: Levels, other: Levels, options: str, result: Tried) -> Dead:
    differing = {name: level for name, level in other.items() if levels[name] != level}
    requested = MountOptions.parse(options)
    names = requested.values()
    notes = [note for name in names if (note := why_other(name, requested, result.effective))]
    text = f"In use it is the same as {levels_text(differing)}."
    held = any((option := catalogue().find(name)) is not None and option.scope == "client"
               for name in differing)  # fmt: skip
    if held and result.shared:
        text += (
            " Another mount of this server and version is there, and all of them share its connections: "
            "unmount it to vary this."
        )
    elif notes:
        text += f" {notes[0]}"
    return Dead(text, differing)


def _sized(
    args: ExperimentArgs,
    planned: list[PlannedSet],
    struck: list[Struck],
    hands: Hands,
    tried: list[Tried],
) -> ExperimentPlan:
    """Return the plan, its amounts and repeats made smaller until time and free space should do."""
    experiment = args.experiment
    overhead_s = median([result.took_s for result in tried if result.error is None])
    free = next((result.free for result in tried if result.free is not None), None)
    room = None if free is None else int(free * SHARE_OF_FREE)
    planned, too_large = _fitting(experiment, planned, room)
    while True:
        sets = [
            msgspec.structs.replace(one, seconds=trial_seconds(experiment, one, hands.facts, overhead_s))
            for one in planned
        ]
        plan = ExperimentPlan(
            experiment=experiment,
            sets=sets,
            struck=[*struck, *too_large],
            trials=0,
            seconds=0,
            bytes=0,
            space=0,
        )
        seconds = total_seconds(plan)
        space = space_needed(experiment, [one.levels for one in sets])
        fits = (args.budget_s is None or seconds <= args.budget_s) and (room is None or space <= room)
        less = None if fits else smaller(experiment)
        if less is None:
            break
        experiment = less
    return msgspec.structs.replace(
        plan,
        trials=len(schedule(plan)),
        seconds=seconds,
        bytes=total_bytes(plan),
        space=space,
        notes=_notes(args, experiment, hands, fits=fits, free=free),
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
    args: ExperimentArgs, experiment: Experiment, hands: Hands, *, fits: bool, free: int | None
) -> list[str]:
    notes: list[str] = []
    if experiment != args.experiment:
        for_what = [] if args.budget_s is None else ["the time allowed"]
        for_what += [] if free is None else [f"the {format_size(free)} that are free"]
        notes.append(f"Made smaller for {' and '.join(for_what)}: {_changes(args.experiment, experiment)}.")
    if not fits:
        notes.append(
            "The time will not do for all trials: it ends when the time is over, and can be resumed."
        )
    link = hands.facts.link
    if link is None or link.rate_bps is None:
        notes.append("The link's rate is not known; the time is that of 1 Gbit/s.")
    return notes


def _changes(before: Experiment, after: Experiment) -> str:
    changes = [
        f"{new.name} is {f'{new.count} of ' if new.count > 1 else ''}{format_size(new.size)}"
        for old, new in zip(before.workloads, after.workloads, strict=True)
        if old != new
    ]
    if before.repeats != after.repeats:
        changes.append(f"repeats are {after.repeats} instead of {before.repeats}")
    return ", ".join(changes)

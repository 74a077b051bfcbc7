"""Search space: the option sets among which a search finds the fastest.

Levels are mounted one by one, then in pairs as time allows; feasible levels are combined.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import msgspec

from advisor.catalogue import YES
from advisor.options import MountOptions, catalogue, implied_values, options_for_mount
from app.errors import AppError
from app.experiment.estimate import trial_seconds
from app.experiment.factors import (
    CACHE_MODE,
    DEFAULT,
    READ_AHEAD,
    TEST_FACTORS,
    TRANSFER_SIZE,
    YES_LEVEL,
    mount_settings,
    options_of_factor,
)
from app.experiment.feasibility import VOLATILE_OPTIONS, SetProber, without_conflicts
from app.experiment.model import (
    SEARCH_NAME,
    ExcludedSet,
    Experiment,
    ExperimentArgs,
    Factor,
    OptionSet,
    WorkloadSpec,
)
from app.experiment.plan import MAX_SETS, fit_plan, option_sets
from app.mounts.parsing import parse_options, share_to_mount
from app.mounts.saved_readahead import KERNEL_READ_AHEAD_KB
from app.speedtest.estimate import link_speed
from app.text.errors import ErrorCode
from app.text.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.experiment.context import ExperimentContext
    from app.experiment.feasibility import Levels
    from app.experiment.model import ExperimentEvent, ExperimentPlan, SearchArgs
    from app.tasks import CancelToken

#: Mount options with the greatest effect on speed.
DEFAULT_FACTORS = (
    Factor(name="vers", levels=[DEFAULT, "3", "4.1", "4.2"]),
    Factor(name=TRANSFER_SIZE, levels=[DEFAULT, "32768", "65536", "131072", "262144", "1048576"]),
    Factor(name="nconnect", levels=[DEFAULT, "2", "4", "8"]),
    Factor(name=READ_AHEAD, levels=["128", "1024", "4096", "16384"]),
)
#: Target number of trials in the time limit: enough to distinguish the candidates.
_TRIALS_IN_TIME = 100
_MIN_TRIAL_S, _MAX_TRIAL_S = 0.4, 8.0
_MIN_FILE_SIZE, _SIZE_STEP = 2**20, 2**20
#: Fraction of the time limit for mounting pairs of levels; other pairs are checked by their trials.
_PROBING_SHARE = 0.1
#: Number of trials below which a note warns that they cannot show much.
_FEW_TRIALS = 12
_NOT_COMPARED_NOTE = (
    "The present setting is not among these option sets: only at the end is the winner compared with it."
)


def plan_search(
    args: SearchArgs, context: ExperimentContext, token: CancelToken, emit: Callable[[ExperimentEvent], None]
) -> ExperimentPlan:
    """Mount single levels, the present settings and pairs of levels; combine the feasible ones.

    Args:
        args: arguments of the search.
        context: access to mounts, facts and clock.
        token: cancels planning.
        emit: receives the progress.

    Returns:
        plan with the candidates, the kernel's defaults first; its seconds are those left for the trials.

    Raises:
        AppError: if nothing can be mounted, or the factors are invalid.
        CancelledError: if the token is set.
    """
    began = context.now()
    experiment, current = _search_experiment(args, context)
    prober = SetProber(context, token, emit)
    single_level_sets, struck = option_sets(experiment, context.facts)
    prober.probe_largest(experiment, single_level_sets)
    possible = prober.probe(experiment, single_level_sets)
    levels = {
        name: list(dict.fromkeys(one.levels[name] for one in possible.planned))
        for name in possible.planned[0].levels
    }
    if (count := math.prod(map(len, levels.values()))) > MAX_SETS:
        raise AppError(ErrorCode.TOO_MANY_SEARCH_SETS, count=count, limit=MAX_SETS)
    # A level that is equivalent to another one is replaced by that level.
    equivalent = _measured_as(current, possible.struck)
    current = {name: level for name, level in equivalent.items() if name in levels}
    base = possible.planned[0].levels
    extra_sets = _pairs(base, levels)
    if current and all(level in levels[name] for name, level in current.items()):
        extra_sets.insert(0, current)
    extra_sets = _affordable(experiment, extra_sets, prober, _PROBING_SHARE * _search_seconds(args, context))
    probed = prober.probe(
        experiment, _without_duplicates([*(one.levels for one in possible.planned), *extra_sets])
    )
    current = _measured_as(current, probed.struck)
    plan = fit_plan(ExperimentArgs(experiment=experiment), possible, context, prober)
    experiment = plan.experiment  # its file may have been shrunk to fit the free space
    probed_by_options = {one.options: one for one in probed.planned}
    excluded = [one.levels for one in probed.struck]
    sets = [
        _candidate(experiment, each, probed_by_options, probed.planned)
        for each in without_conflicts(_all_combinations(levels))[0]
        if not any(part.items() <= each.items() for part in excluded)
    ]
    overhead_s = prober.overhead_s()
    sets = [
        msgspec.structs.replace(
            one,
            seconds=trial_seconds(experiment, one, context.facts, overhead_s, prober.costs(one.options)),
        )
        for one in sets
    ]
    # The first set of a plan is its baseline: the kernel's defaults.
    sets.sort(key=lambda one: one.levels != base)
    current = current if any(one.levels == current for one in sets) else {}
    spent_s = context.now() - began
    remaining_s = max(args.budget_s - spent_s, 1.0)
    return msgspec.structs.replace(
        plan,
        sets=sets,
        struck=[*struck, *possible.struck, *(one for one in probed.struck if one not in possible.struck)],
        trials=0,
        seconds=remaining_s,
        bytes=args.budget_bytes or 0,
        current=current,
        today=None if current else _present_set(args, context, sets[0]),
        notes=[
            *plan.notes,
            *([] if current else [_NOT_COMPARED_NOTE]),
            *_few_trials_note(spent_s, remaining_s, sets[0].seconds[0]),
        ],
    )


def _present_set(args: SearchArgs, context: ExperimentContext, similar: OptionSet) -> OptionSet:
    """Return the present settings if they are no candidate; their duration is assumed as of another set."""
    options = str(options_for_mount(parse_options(args.options)))
    return OptionSet(
        levels={}, options=options, read_ahead_kb=context.read_ahead_kb, whole=False, seconds=similar.seconds
    )


def _few_trials_note(spent_s: float, remaining_s: float, trial_s: float) -> list[str]:
    """Return a sentence if the remaining time suffices only for few trials after the warm-up."""
    count = max(int(remaining_s / trial_s) - 1, 1)
    if count >= _FEW_TRIALS:
        return []
    trials = "one trial" if count == 1 else f"{count} trials"
    spent, remaining = format_duration(spent_s), format_duration(remaining_s)
    text = f"Trying the settings took {spent}; the {remaining} that are left do for about {trials}"
    return [f"{text}, too few to tell much. Allow more time, or vary less."]


def _search_experiment(args: SearchArgs, context: ExperimentContext) -> tuple[Experiment, Levels]:
    """Return the experiment that varies each level alone, and the levels of the present settings.

    The levels are {} if the present settings cannot be expressed by levels.
    """
    share_to_mount(args.share)
    factors = args.factors or list(DEFAULT_FACTORS)
    for factor in factors:
        if factor.name in TEST_FACTORS:
            raise AppError(ErrorCode.FACTOR_NOT_OF_MOUNT, name=factor.name)
    options = options_for_mount(parse_options(args.options))
    current = {factor.name: _level_in_use(factor, options, context.read_ahead_kb) for factor in factors}
    for option in {option for factor in factors for option in options_of_factor(factor.name, factor.levels)}:
        options.remove(option)
    work = WorkloadSpec(
        name=SEARCH_NAME, size=args.size or _file_size(args, context), direction=args.direction
    )
    experiment = Experiment(
        share=args.share,
        recipe=SEARCH_NAME,
        title="The best setting",
        options=str(options),
        strategy="one-at-a-time",
        factors=[_with_level(factor, current[factor.name]) for factor in factors],
        workloads=[work],
        repeats=1,
        seed=args.seed,
    )
    known = {name: level for name, level in current.items() if level is not None}
    return experiment, known if len(known) == len(current) else {}


def _pairs(base: Levels, levels: dict[str, list[str]]) -> list[Levels]:
    """Return the sets that differ from the base in exactly two levels."""
    return [
        {**base, one: first, other: second}
        for one, other in itertools.combinations(levels, 2)
        for first, second in itertools.product(levels[one], levels[other])
        if base[one] != first and base[other] != second
    ]


def _affordable(
    experiment: Experiment, sets: Sequence[Levels], prober: SetProber, seconds: float
) -> list[Levels]:
    """Return the first of these sets, as many as can be mounted in this time."""
    max_mounts = len(prober.tried) + int(seconds / max(prober.mounting_s(), 1e-3))
    mounts = set(prober.tried)
    found: list[Levels] = []
    for levels in sets:
        mounts.add(mount_settings(experiment, levels).options)
        if len(mounts) > max_mounts:
            break
        found.append(levels)
    return found


def _without_duplicates(sets: Sequence[Levels]) -> list[Levels]:
    return [dict(each) for each in dict.fromkeys(tuple(levels.items()) for levels in sets)]


def _all_combinations(levels: dict[str, list[str]]) -> list[Levels]:
    return [dict(zip(levels, each, strict=True)) for each in itertools.product(*levels.values())]


def _measured_as(current: Levels, struck: Sequence[ExcludedSet]) -> Levels:
    for one in struck:
        if one.same_as and one.levels.items() <= current.items():
            current = {**current, **one.same_as}
    return current


def _candidate(
    experiment: Experiment,
    levels: Levels,
    probed_by_options: dict[str, OptionSet],
    probed: Sequence[OptionSet],
) -> OptionSet:
    """Return a candidate with its expected options in use: as probed, or inferred from its levels."""
    mount = mount_settings(experiment, levels)
    known = probed_by_options.get(mount.options)
    effective = known.effective if known is not None else _expected_effective(levels, probed)
    return OptionSet(
        levels=levels, options=mount.options, read_ahead_kb=mount.read_ahead_kb, effective=effective,
        whole=known is not None,
    )  # fmt: skip


def _expected_effective(levels: Levels, probed: Sequence[OptionSet]) -> dict[str, str]:
    """Return the options in use changed by each level alone; the option's own factor resolves conflicts."""
    base = probed[0]
    changes: dict[str, str] = {}
    own_changes: dict[str, str] = {}
    conflicting: set[str] = set()
    for name, level in levels.items():
        single = {**base.levels, name: level}
        one = next((one for one in probed if one.levels == single), None)
        if one is None or name in TEST_FACTORS or name == READ_AHEAD:
            continue
        changed = {
            key: value for key, value in one.effective.items()
            if value != base.effective.get(key) and key not in VOLATILE_OPTIONS
        }  # fmt: skip
        option = catalogue().find(name)
        own = {"rsize", "wsize"} if name == TRANSFER_SIZE else {option.name if option is not None else name}
        own_changes |= {key: value for key, value in changed.items() if key in own}
        conflicting |= {key for key, value in changed.items() if changes.get(key, value) != value}
        changes |= changed
    return {key: value for key, value in changes.items() if key not in conflicting} | own_changes


def _level_in_use(factor: Factor, options: MountOptions, read_ahead_kb: int | None) -> str | None:
    """Return the level that corresponds to the options and readahead of a mount, None if there is none."""
    name = factor.name
    if name == READ_AHEAD:
        return str(KERNEL_READ_AHEAD_KB if read_ahead_kb is None else read_ahead_kb)
    if name == TRANSFER_SIZE:
        read, write = options.get("rsize"), options.get("wsize")
        return (read or DEFAULT) if read == write else None
    if name == CACHE_MODE:
        return _cache_level_in_use(factor, options)
    value = implied_values(options).get("vers") if name == "vers" else options.get(name)
    option = catalogue().find(name)
    if value == YES and option is not None and option.kind == "flag":
        return YES_LEVEL
    return value or DEFAULT


def _cache_level_in_use(factor: Factor, options: MountOptions) -> str:
    """Return the level with the same options, or the options themselves as a new level."""
    about = options_of_factor(factor.name, factor.levels)
    items = [item for item in options if item and catalogue().read_item(item)[1] in about]
    if not items:
        return DEFAULT
    values = MountOptions(items).values()
    written = (level for level in factor.levels if level != DEFAULT)
    return next((each for each in written if MountOptions.parse(each).values() == values), ",".join(items))


def _with_level(factor: Factor, level: str | None) -> Factor:
    """Return the factor with the kernel's default as its first level, and with the given level."""
    default = str(KERNEL_READ_AHEAD_KB) if factor.name == READ_AHEAD else DEFAULT
    levels = list(dict.fromkeys([default, *factor.levels, *([level] if level is not None else [])]))
    return msgspec.structs.replace(factor, levels=levels, base=default)


def _file_size(args: SearchArgs, context: ExperimentContext) -> int:
    """Return the size of a file that can be copied in a small fraction of the time limit, in bytes."""
    seconds = min(max(args.budget_s / _TRIALS_IN_TIME, _MIN_TRIAL_S), _MAX_TRIAL_S)
    trial_bytes = link_speed(context.facts.link, args.direction) * seconds
    if args.budget_bytes is not None:
        trial_bytes = min(trial_bytes, args.budget_bytes / _TRIALS_IN_TIME)
    directions = 1 if args.direction == "write" else 2  # a file must be written before it is read
    return max(int(trial_bytes / directions) // _SIZE_STEP * _SIZE_STEP, _MIN_FILE_SIZE)


def _search_seconds(args: SearchArgs, context: ExperimentContext) -> float:
    """Return the estimated duration of a search in seconds, which a byte limit may shorten."""
    if args.budget_bytes is None:
        return args.budget_s
    # Mounting and unmounting take about as long as copying.
    return min(args.budget_s, 2 * args.budget_bytes / link_speed(context.facts.link, args.direction))

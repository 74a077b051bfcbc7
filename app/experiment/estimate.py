"""How long trials will take and how much they move, and an experiment made smaller to fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from advisor.facts import payload_rate_bps
from advisor.options import MountOptions
from advisor.throughput import Work as Copy
from advisor.throughput import predict
from advisor.transfer_sizes import call_size
from app.experiment.design import schedule
from app.experiment.factors import FILE_SIZE, spec_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.facts import Facts
    from advisor.throughput import Costs
    from app.experiment.model import Experiment, ExperimentPlan, PlannedSet, Work
    from app.speedtest.model import TestSpec

#: What the server takes for a request beside the round trip.
_SERVICE_S = 0.3e-3
#: Of a link that nobody knows.
GUESS_BPS = 1e9
#: The kernel's own readahead of an NFS mount, KiB.
_READ_AHEAD_KB = 128
#: A test must leave others their room: it takes this part of the free space at most.
SHARE_OF_FREE = 0.25
_LEAST_SIZE = 2**20
_FEWEST_FILES = 10


def trial_seconds(
    experiment: Experiment, one: PlannedSet, facts: Facts, overhead_s: float, costs: Costs | None = None
) -> list[float]:
    """Return what a trial of each workload will take with this set, about, in seconds.

    Args:
        experiment: its workloads.
        one: the set.
        facts: of the link.
        overhead_s: beside the copying.
        costs: the server's, None for those of a usual one.
    """
    return [
        overhead_s + _copy_seconds(one, spec_of(work, one.levels), facts, costs)
        for work in experiment.workloads
    ]


def total_seconds(plan: ExperimentPlan) -> float:
    """Return what all trials will take, about."""
    warm_up = sum(plan.sets[0].seconds)
    return warm_up + sum(plan.sets[trial.set].seconds[trial.work] for trial in schedule(plan))


def total_bytes(plan: ExperimentPlan) -> int:
    """Return what will cross the network in both directions together."""
    works = plan.experiment.workloads
    moved = [[_crossing(spec_of(work, one.levels)) for work in works] for one in plan.sets]
    return sum(moved[0]) + sum(moved[trial.set][trial.work] for trial in schedule(plan))


def largest_crossing(plan: ExperimentPlan) -> int:
    """Return the bytes that the largest of all trials moves in both directions together."""
    return max(
        _crossing(spec_of(work, one.levels)) for one in plan.sets for work in plan.experiment.workloads
    )


def space_needed(experiment: Experiment, levels: Sequence[dict[str, str]]) -> int:
    """Return the bytes that the largest trial needs."""
    return max(spec_of(work, one).total for one in levels for work in experiment.workloads)


def smaller(experiment: Experiment) -> Experiment | None:
    """Return the experiment with half the amounts, or with a repeat less; None if it is at its smallest."""
    works = [_halved(work, fixed=_has_sizes(experiment)) for work in experiment.workloads]
    if works != experiment.workloads:
        return msgspec.structs.replace(experiment, workloads=works)
    if experiment.repeats > 1:
        return msgspec.structs.replace(experiment, repeats=experiment.repeats - 1)
    return None


def smallest(experiment: Experiment) -> Experiment:
    """Return the experiment at its smallest."""
    while (less := smaller(experiment)) is not None:
        experiment = less
    return experiment


def _has_sizes(experiment: Experiment) -> bool:
    return any(factor.name == FILE_SIZE for factor in experiment.factors)


def _halved(work: Work, *, fixed: bool) -> Work:
    if work.kind == "files" and work.count // 2 >= _FEWEST_FILES:
        return work.cut_to(count=work.count // 2)
    if work.kind != "files" and not fixed and work.size // 2 >= _LEAST_SIZE:
        return work.cut_to(size=work.size // 2)
    return work


def _copy_seconds(one: PlannedSet, spec: TestSpec, facts: Facts, costs: Costs | None) -> float:
    ways = ["write", "read"] if spec.direction != "write" else ["write"]
    if spec.workload == "random" and spec.direction != "read":
        ways.append("write")  # the file is there before its records are written
    seconds = sum(way_seconds(one, spec, facts, costs, write=way == "write") for way in ways)
    if spec.workload == "files":
        seconds += 2 * spec.count * _trip_s(facts)
    return seconds


def way_seconds(one: PlannedSet, spec: TestSpec, facts: Facts, costs: Costs | None, *, write: bool) -> float:
    """Return what a test will take to copy in one direction with this set, about, in seconds."""
    options = MountOptions.parse(one.options)
    block = call_size(spec.block_size, options.values())
    work = Copy(
        direction="write" if write else "read",
        length=spec.total,
        files=spec.count if spec.workload == "files" else 1,
        block=block,
        at_once=spec.count if spec.workload == "streams" else 1,
    )
    read_ahead = 1024 * (one.read_ahead_kb if one.read_ahead_kb is not None else _READ_AHEAD_KB)
    predicted = predict(options, facts, work, read_ahead=read_ahead, costs=costs)
    if predicted is not None:
        seconds = predicted.seconds
    else:
        rate = facts.link.slowest_of(spec.direction) if facts.link is not None else None
        seconds = spec.total * 8 / payload_rate_bps(rate or GUESS_BPS)
    if spec.workload == "random" and not write:
        seconds = max(seconds, spec.total / block * _trip_s(facts))
    return seconds


def _trip_s(facts: Facts) -> float:
    rtt_s = facts.link.rtt_s if facts.link is not None else None
    return (rtt_s or 0.0) + _SERVICE_S


def _crossing(spec: TestSpec) -> int:
    """Return the bytes that a trial moves; what is only read is written before."""
    ways = 1 if spec.direction == "write" else 2
    return spec.total * (ways + (spec.workload == "random" and spec.direction != "read"))

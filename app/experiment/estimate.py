"""Duration and volume of trials, by the throughput model and measured latencies; smaller experiments.

What the link takes to carry bytes, the model knows. What this server takes to put a write on stable storage
(sync), and for a file whose attributes are not cached (noac), is measured by a very small test on such a
mount: the time beyond what the model predicts without these options.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from advisor.experiment.measurements import CREATE
from advisor.facts import payload_rate_bps
from advisor.options import MountOptions, implied_values
from advisor.throughput import CopySpec as Copy
from advisor.throughput import ServerCosts, predict
from advisor.transfer_sizes import call_size
from app.experiment.design import schedule_trials
from app.experiment.factors import FILE_SIZE, trial_spec
from app.experiment.model import OptionSet
from app.speedtest.model import TestSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from advisor.facts import Facts
    from app.experiment.model import Experiment, ExperimentPlan, WorkloadSpec
    from app.speedtest.model import TestResult, Transfer

#: What the server takes for a request beside the round trip.
_SERVICE_S = 0.3e-3
#: Of a link that nobody knows.
ASSUMED_LINK_BPS = 1e9
#: The kernel's own readahead of an NFS mount, KiB.
_KERNEL_READAHEAD_KB = 128
#: A test must leave others their room: it takes this part of the free space at most.
MAX_FREE_SPACE_SHARE = 0.25
_MIN_FILE_SIZE = 2**20
_MIN_FILES = 10


def trial_seconds(
    experiment: Experiment, one: OptionSet, facts: Facts, overhead_s: float, costs: ServerCosts | None = None
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
        overhead_s + _copy_seconds(one, trial_spec(work, one.levels), facts, costs)
        for work in experiment.workloads
    ]


def total_seconds(plan: ExperimentPlan) -> float:
    """Return what all trials will take, about."""
    warm_up = sum(plan.sets[0].seconds)
    return warm_up + sum(plan.sets[trial.set].seconds[trial.work] for trial in schedule_trials(plan))


def total_bytes(plan: ExperimentPlan) -> int:
    """Return what will cross the network in both directions together."""
    works = plan.experiment.workloads
    moved = [[_trial_bytes(trial_spec(work, one.levels)) for work in works] for one in plan.sets]
    return sum(moved[0]) + sum(moved[trial.set][trial.work] for trial in schedule_trials(plan))


def max_trial_bytes(plan: ExperimentPlan) -> int:
    """Return the bytes that the largest of all trials moves in both directions together."""
    return max(
        _trial_bytes(trial_spec(work, one.levels)) for one in plan.sets for work in plan.experiment.workloads
    )


def space_needed(experiment: Experiment, levels: Sequence[dict[str, str]]) -> int:
    """Return the bytes that the largest trial needs."""
    return max(trial_spec(work, one).total for one in levels for work in experiment.workloads)


def shrunk(experiment: Experiment) -> Experiment | None:
    """Return the experiment with half the amounts, or with a repeat less; None if it is at its smallest."""
    works = [_halved(work, fixed=_has_sizes(experiment)) for work in experiment.workloads]
    if works != experiment.workloads:
        return msgspec.structs.replace(experiment, workloads=works)
    if experiment.repeats > 1:
        return msgspec.structs.replace(experiment, repeats=experiment.repeats - 1)
    return None


def smallest_experiment(experiment: Experiment) -> Experiment:
    """Return the experiment at its smallest."""
    while (less := shrunk(experiment)) is not None:
        experiment = less
    return experiment


def _has_sizes(experiment: Experiment) -> bool:
    return any(factor.name == FILE_SIZE for factor in experiment.factors)


def _halved(work: WorkloadSpec, *, fixed: bool) -> WorkloadSpec:
    if work.kind == "files" and work.count // 2 >= _MIN_FILES:
        return work.resized(count=work.count // 2)
    if work.kind != "files" and not fixed and work.size // 2 >= _MIN_FILE_SIZE:
        return work.resized(size=work.size // 2)
    return work


def _copy_seconds(one: OptionSet, spec: TestSpec, facts: Facts, costs: ServerCosts | None) -> float:
    ways = ["write", "read"] if spec.direction != "write" else ["write"]
    if spec.workload == "random" and spec.direction != "read":
        ways.append("write")  # the file is there before its records are written
    seconds = sum(direction_seconds(one, spec, facts, costs, write=way == "write") for way in ways)
    if spec.workload == "files":
        seconds += 2 * spec.count * _round_trip_s(facts)
    return seconds


def direction_seconds(
    one: OptionSet, spec: TestSpec, facts: Facts, costs: ServerCosts | None, *, write: bool
) -> float:
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
    read_ahead = 1024 * (one.read_ahead_kb if one.read_ahead_kb is not None else _KERNEL_READAHEAD_KB)
    predicted = predict(options, facts, work, read_ahead=read_ahead, costs=costs)
    if predicted is not None:
        seconds = predicted.seconds
    else:
        rate = facts.link.slowest_of(spec.direction) if facts.link is not None else None
        seconds = spec.total * 8 / payload_rate_bps(rate or ASSUMED_LINK_BPS)
    if spec.workload == "random" and not write:
        seconds = max(seconds, spec.total / block * _round_trip_s(facts))
    return seconds


def _round_trip_s(facts: Facts) -> float:
    rtt_s = facts.link.rtt_s if facts.link is not None else None
    return (rtt_s or 0.0) + _SERVICE_S


def _trial_bytes(spec: TestSpec) -> int:
    """Return the bytes that a trial moves; what is only read is written before."""
    ways = 1 if spec.direction == "write" else 2
    return spec.total * (ways + (spec.workload == "random" and spec.direction != "read"))


#: Bytes that are copied to see whether a test works; where each call or file is waited for, in several ones.
SAMPLE_SIZE = 65536
_SAMPLE_CALLS = 8
#: One hiccup in so short a test is not what all calls of a long one take.
_MAX_SLOWDOWN = 5.0


class LatencySources(NamedTuple):
    """What options make a test wait for.

    Attributes:
        stable: each write is on stable storage before the next one.
        attributes: they are asked for each time.
    """

    stable: bool
    attributes: bool


def latencies_of(options: str) -> LatencySources:
    """Return what an option string makes a test wait for."""
    values = implied_values(MountOptions.parse(options))
    return LatencySources(stable=values.get("sync") == "sync", attributes=values.get("acregmax") == "0")


def latency_sample(experiment: Experiment, options: str, levels: Mapping[str, str]) -> TestSpec:
    """Return the test of next to nothing that tells what a mount makes a test wait for.

    Args:
        experiment: what is copied; the calls are those of its first workload, as their memory takes time too.
        options: of the mount.
        levels: of the set that it is mounted for.
    """
    waits = latencies_of(options)
    asked = trial_spec(experiment.workloads[0], levels).block_size
    block = call_size(asked, MountOptions.parse(options).values())
    part = SAMPLE_SIZE // _SAMPLE_CALLS
    if waits.attributes and any(work.kind == "files" for work in experiment.workloads):
        return TestSpec(path="", workload="files", size=part, count=_SAMPLE_CALLS, block_size=block)
    return TestSpec(path="", size=SAMPLE_SIZE, block_size=min(block, part) if waits.stable else block)


def measured_costs(options: str, spec: TestSpec, result: TestResult, facts: Facts) -> ServerCosts:
    """Return what the server takes with such options, a usual one's times where they make nobody wait.

    Args:
        options: as mounted.
        spec: the test, from :func:`latency_sample`.
        result: what it said.
        facts: of the link.
    """
    waits, usual = latencies_of(options), ServerCosts()
    costs = usual
    rtt_s = (facts.link.rtt_s if facts.link is not None else None) or 0.0
    write, read = result.write, result.read
    if waits.stable and write is not None:
        block = call_size(spec.block_size, MountOptions.parse(options).values())
        calls = spec.count * ceil(spec.size / block)
        rate = facts.link.rate_of("write") if facts.link is not None else None
        carried_s = spec.total * 8 / payload_rate_bps(rate or ASSUMED_LINK_BPS)
        made_s = spec.count / result.figures[CREATE].median if CREATE in result.figures else 0.0
        commit_s = (write.transfer_s - made_s - carried_s) / calls - rtt_s
        costs = replace(costs, commit_s=_bounded(commit_s, usual.commit_s))
    if waits.attributes:
        one = OptionSet(levels={}, options=options)
        costs = replace(costs, attributes_s=rtt_s + usual.service_s, create_s=0.0, open_s=0.0)
        to_s, from_s = (direction_seconds(one, spec, facts, costs, write=way) for way in (True, False))
        costs = replace(
            costs,
            create_s=_bounded((transfer_seconds(write) - to_s) / spec.count, usual.create_s),
            open_s=_bounded((transfer_seconds(read) - from_s) / max(spec.count - 1, 1), usual.open_s),
        )
    return costs


def transfer_seconds(transfer: Transfer | None) -> float:
    """Return what a transfer took until all was on the server, or with the program; 0 of none."""
    return transfer.transfer_s + transfer.fsync_s + transfer.close_s if transfer is not None else 0.0


def _bounded(seconds: float, usual_s: float) -> float:
    return min(max(seconds, 0.0), _MAX_SLOWDOWN * usual_s)

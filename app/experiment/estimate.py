"""Duration and volume of trials, by the throughput model and measured latencies; shrinking experiments.

app.speedtest.estimate predicts the time of each test. A small test measures the server's latency for a
write to stable storage (sync), or for a file without cached attributes (noac). The latency is the time beyond
the model's prediction without these options.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from advisor.experiment.measurements import CREATE
from advisor.options import MountOptions, implied_values
from advisor.throughput import ServerCosts
from advisor.transfer_sizes import call_size
from app.experiment.design import schedule_trials
from app.experiment.factors import FILE_SIZE, trial_spec
from app.speedtest.estimate import bytes_of_test, copy_seconds, link_speed, seconds_of_test
from app.speedtest.model import TestSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from advisor.facts import Facts
    from app.experiment.model import Experiment, ExperimentPlan, OptionSet, WorkloadSpec
    from app.speedtest.model import TestResult, Transfer

_MIN_FILE_SIZE = 2**20
_MIN_FILES = 10


def trial_seconds(
    experiment: Experiment,
    option_set: OptionSet,
    facts: Facts,
    overhead_s: float,
    costs: ServerCosts | None = None,
) -> list[float]:
    """Return the estimated duration of a trial of each workload with this set, in seconds.

    Args:
        experiment: experiment with the workloads.
        option_set: option set.
        facts: facts on the link.
        overhead_s: time in addition to the transfers, s.
        costs: latencies of the server, None for typical ones.
    """
    specs = [trial_spec(work, option_set.levels) for work in experiment.workloads]
    return [
        overhead_s
        + seconds_of_test(
            msgspec.structs.replace(spec, options=option_set.options),
            facts,
            read_ahead_kb=option_set.read_ahead_kb,
            costs=costs,
        )
        for spec in specs
    ]


def total_seconds(plan: ExperimentPlan) -> float:
    """Return the estimated duration of all trials, in seconds."""
    warm_up = sum(plan.sets[0].seconds)
    return warm_up + sum(plan.sets[trial.set].seconds[trial.work] for trial in schedule_trials(plan))


def total_bytes(plan: ExperimentPlan) -> int:
    """Return the bytes that will cross the network in both directions."""
    works = plan.experiment.workloads
    trial_bytes = [[bytes_of_test(trial_spec(work, one.levels)) for work in works] for one in plan.sets]
    return sum(trial_bytes[0]) + sum(trial_bytes[trial.set][trial.work] for trial in schedule_trials(plan))


def max_trial_bytes(plan: ExperimentPlan) -> int:
    """Return the bytes that the largest trial moves in both directions."""
    return max(
        bytes_of_test(trial_spec(work, one.levels)) for one in plan.sets for work in plan.experiment.workloads
    )


def space_needed(experiment: Experiment, levels: Sequence[dict[str, str]]) -> int:
    """Return the free space that the largest trial needs, in bytes."""
    return max(trial_spec(work, one).total for one in levels for work in experiment.workloads)


def shrunk(experiment: Experiment) -> Experiment | None:
    """Return the experiment with half the amounts, or one repeat less; None if it is at its minimum."""
    works = [_halved(work, fixed=_has_sizes(experiment)) for work in experiment.workloads]
    if works != experiment.workloads:
        return msgspec.structs.replace(experiment, workloads=works)
    if experiment.repeats > 1:
        return msgspec.structs.replace(experiment, repeats=experiment.repeats - 1)
    return None


def smallest_experiment(experiment: Experiment) -> Experiment:
    """Return the experiment shrunk to its minimum."""
    while (smaller := shrunk(experiment)) is not None:
        experiment = smaller
    return experiment


def _has_sizes(experiment: Experiment) -> bool:
    return any(factor.name == FILE_SIZE for factor in experiment.factors)


def _halved(work: WorkloadSpec, *, fixed: bool) -> WorkloadSpec:
    if work.kind == "files" and work.count // 2 >= _MIN_FILES:
        return work.resized(count=work.count // 2)
    if work.kind != "files" and not fixed and work.size // 2 >= _MIN_FILE_SIZE:
        return work.resized(size=work.size // 2)
    return work


#: Total bytes of a latency test, divided into several calls or files if each has a latency.
SAMPLE_SIZE = 65536
_SAMPLE_CALLS = 8
#: Limit relative to the typical latency: a short test exaggerates a single delay.
_MAX_SLOWDOWN = 5.0


class LatencySources(NamedTuple):
    """Latencies to which mount options expose a test.

    Attributes:
        stable: each write waits for stable storage (sync).
        attributes: attributes are requested from the server each time (noac).
    """

    stable: bool
    attributes: bool


def latencies_of(options: str) -> LatencySources:
    """Return the latencies to which an option string exposes a test."""
    values = implied_values(MountOptions.parse(options))
    return LatencySources(stable=values.get("sync") == "sync", attributes=values.get("acregmax") == "0")


def latency_sample(experiment: Experiment, options: str, levels: Mapping[str, str]) -> TestSpec:
    """Return a minimal test that measures the latencies of a mount.

    Args:
        experiment: experiment; its first workload defines the call size, as buffers take time as well.
        options: mount options of the set.
        levels: levels of the set.
    """
    latencies = latencies_of(options)
    block_size = trial_spec(experiment.workloads[0], levels).block_size
    block = call_size(block_size, MountOptions.parse(options).values())
    chunk = SAMPLE_SIZE // _SAMPLE_CALLS
    if latencies.attributes and any(work.kind == "files" for work in experiment.workloads):
        return TestSpec(path="", workload="files", size=chunk, count=_SAMPLE_CALLS, block_size=block)
    return TestSpec(path="", size=SAMPLE_SIZE, block_size=min(block, chunk) if latencies.stable else block)


def measured_costs(options: str, spec: TestSpec, result: TestResult, facts: Facts) -> ServerCosts:
    """Return the server's latencies with these options; typical ones where the options cause none.

    Args:
        options: mount options of the set.
        spec: test from :func:`latency_sample`.
        result: result of the test.
        facts: facts on the link.
    """
    latencies, usual = latencies_of(options), ServerCosts()
    costs = usual
    rtt_s = (facts.link.rtt_s if facts.link is not None else None) or 0.0
    write, read = result.write, result.read
    if latencies.stable and write is not None:
        block = call_size(spec.block_size, MountOptions.parse(options).values())
        calls = spec.count * ceil(spec.size / block)
        transfer_s = spec.total / link_speed(facts.link, "write")
        created_s = spec.count / result.figures[CREATE].median if CREATE in result.figures else 0.0
        commit_s = (write.transfer_s - created_s - transfer_s) / calls - rtt_s
        costs = replace(costs, commit_s=_bounded(commit_s, usual.commit_s))
    if latencies.attributes:
        with_options = msgspec.structs.replace(spec, options=options)
        costs = replace(costs, attributes_s=rtt_s + usual.service_s, create_s=0.0, open_s=0.0)
        write_s, read_s = (
            copy_seconds(with_options, direction, facts, costs=costs) for direction in ("write", "read")
        )
        costs = replace(
            costs,
            create_s=_bounded((transfer_seconds(write) - write_s) / spec.count, usual.create_s),
            open_s=_bounded((transfer_seconds(read) - read_s) / max(spec.count - 1, 1), usual.open_s),
        )
    return costs


def transfer_seconds(transfer: Transfer | None) -> float:
    """Return the time of a transfer including fsync and close, in seconds; 0 without a transfer."""
    return transfer.transfer_s + transfer.fsync_s + transfer.close_s if transfer is not None else 0.0


def _bounded(seconds: float, usual_s: float) -> float:
    return min(max(seconds, 0.0), _MAX_SLOWDOWN * usual_s)

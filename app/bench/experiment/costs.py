"""What options make a test wait for, measured: writes put on stable storage one by one, attributes asked for.

What the link takes to carry bytes, the model knows. What this server takes to put a write on stable
storage, and for a file whose attributes nobody remembers, a test of next to nothing tells on such a mount:
it is what that took beyond what the model says of it without these options.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from advisor.experiment.measurements import CREATE
from advisor.facts import payload_rate_bps
from advisor.options import MountOptions, implied_values
from advisor.throughput import Costs
from advisor.transfer_sizes import call_size
from app.experiment.estimate import GUESS_BPS, way_seconds
from app.experiment.factors import spec_of
from app.experiment.model import PlannedSet
from app.speedtest.model import TestSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from advisor.facts import Facts
    from app.experiment.model import Experiment
    from app.speedtest.model import TestResult, Transfer

#: Bytes that are copied to see whether a test works; where each call or file is waited for, in several ones.
SAMPLE_SIZE = 65536
_SEVERAL = 8
#: One hiccup in so short a test is not what all calls of a long one take.
_SLOWEST = 5.0


class Waits(NamedTuple):
    """What options make a test wait for.

    Attributes:
        stable: each write is on stable storage before the next one.
        attributes: they are asked for each time.
    """

    stable: bool
    attributes: bool


def waits_of(options: str) -> Waits:
    """Return what an option string makes a test wait for."""
    values = implied_values(MountOptions.parse(options))
    return Waits(stable=values.get("sync") == "sync", attributes=values.get("acregmax") == "0")


def sample_of(experiment: Experiment, options: str, levels: Mapping[str, str]) -> TestSpec:
    """Return the test of next to nothing that tells what a mount makes a test wait for.

    Args:
        experiment: what is copied; the calls are those of its first workload, as their memory takes time too.
        options: of the mount.
        levels: of the set that it is mounted for.
    """
    waits = waits_of(options)
    asked = spec_of(experiment.workloads[0], levels).block_size
    block = call_size(asked, MountOptions.parse(options).values())
    part = SAMPLE_SIZE // _SEVERAL
    if waits.attributes and any(work.kind == "files" for work in experiment.workloads):
        return TestSpec(path="", workload="files", size=part, count=_SEVERAL, block_size=block)
    return TestSpec(path="", size=SAMPLE_SIZE, block_size=min(block, part) if waits.stable else block)


def measured_costs(options: str, spec: TestSpec, result: TestResult, facts: Facts) -> Costs:
    """Return what the server takes with such options, a usual one's times where they make nobody wait.

    Args:
        options: as mounted.
        spec: the test, from :func:`sample_of`.
        result: what it said.
        facts: of the link.
    """
    waits, usual = waits_of(options), Costs()
    costs = usual
    rtt_s = (facts.link.rtt_s if facts.link is not None else None) or 0.0
    write, read = result.write, result.read
    if waits.stable and write is not None:
        block = call_size(spec.block_size, MountOptions.parse(options).values())
        calls = spec.count * ceil(spec.size / block)
        rate = facts.link.rate_of("write") if facts.link is not None else None
        carried_s = spec.total * 8 / payload_rate_bps(rate or GUESS_BPS)
        made_s = spec.count / result.figures[CREATE].median if CREATE in result.figures else 0.0
        commit_s = (write.transfer_s - made_s - carried_s) / calls - rtt_s
        costs = replace(costs, commit_s=_bounded(commit_s, usual.commit_s))
    if waits.attributes:
        one = PlannedSet(levels={}, options=options)
        costs = replace(costs, attributes_s=rtt_s + usual.service_s, create_s=0.0, open_s=0.0)
        to_s, from_s = (way_seconds(one, spec, facts, costs, write=way) for way in (True, False))
        costs = replace(
            costs,
            create_s=_bounded((seconds_of(write) - to_s) / spec.count, usual.create_s),
            open_s=_bounded((seconds_of(read) - from_s) / max(spec.count - 1, 1), usual.open_s),
        )
    return costs


def seconds_of(transfer: Transfer | None) -> float:
    """Return what a transfer took until all was on the server, or with the program; 0 of none."""
    return transfer.transfer_s + transfer.fsync_s + transfer.close_s if transfer is not None else 0.0


def _bounded(seconds: float, usual_s: float) -> float:
    return min(max(seconds, 0.0), _SLOWEST * usual_s)

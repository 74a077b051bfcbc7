"""Estimated duration of trials: latencies are measured, transfer times follow from the link."""

from __future__ import annotations

import msgspec
import pytest
from experiment_world import World, experiment

from advisor.facts import ClientFacts, Facts, LinkFacts
from advisor.throughput import ServerCosts
from app.experiment.estimate import (
    LatencySources,
    latencies_of,
    latency_sample,
    measured_costs,
)
from app.experiment.model import ExperimentArgs, Factor, WorkloadSpec
from app.experiment.plan import plan_experiment
from app.speedtest.estimate import copy_seconds
from app.speedtest.model import Figure, TestResult, TestSpec, Transfer
from app.tasks import CancelToken

_SEED = "vers=3,hard,rsize=32768,wsize=32768,proto=tcp,timeo=600"
_FILE = TestSpec(path="", size=65536, block_size=8192)
_FILES = TestSpec(path="", workload="files", size=8192, count=8, block_size=8192)


def _transfer(write_s: float, fsync_s: float = 0.0) -> Transfer:
    return Transfer(
        bytes=65536, bytes_per_s=1e6, transfer_s=write_s, fsync_s=fsync_s, close_s=0.0, timeouts=0,
        retransmissions=0, retransmissions_from="none", rpc_retransmissions=None, tcp_retransmissions=None,
        server_bytes=65536, mean_rtt_s=None, cached=False, samples=[],
    )  # fmt: skip


def _result(write: Transfer, read: Transfer, create: float | None = None) -> TestResult:
    figures: dict[str, Figure] = {}
    if create is not None:
        figures["create"] = Figure(
            values=[create], median=create, low=create, high=create, confidence=0.0, wide=True
        )
    return TestResult(
        path="", nfs=True, share="nas:/x", started_at="", write=write, read=read, cache=None, requested={},
        effective={}, link=None, block_size=8192, sync=False, notes=[], figures=figures,
    )  # fmt: skip


def _facts(rate_bps: float, rtt_s: float) -> Facts:
    return Facts(client=ClientFacts(), link=LinkFacts(rate_bps=rate_bps, rtt_s=rtt_s))


@pytest.mark.parametrize(
    ("options", "stable", "attributes"),
    [
        ("vers=4.2", False, False),
        ("vers=4.2,async", False, False),
        ("sync", True, False),
        ("noac", True, True),
        ("actimeo=0", False, True),
        ("acregmax=0,acregmin=0", False, True),
    ],
)
def test_latency_sources_of_options(options: str, stable: bool, attributes: bool) -> None:
    assert latencies_of(options) == LatencySources(stable=stable, attributes=attributes)


#: Recorded in the lab: a minimal test (seconds of write, fsync and read, files created per second), and the
#: median seconds of later trials with the same options to write and to read.
_FAST, _GIGABIT = (1e8, 0.0004), (1e9, 0.0002)
_NOAC = f"{_SEED},noac", _FILES, (0.0277, 0.0045, 0.0442, 510.0)
_ACTIMEO = f"{_SEED},actimeo=0", _FILES, (0.0168, 0.0145, 0.0408, 500.0)
_SYNC = "vers=4.2,rsize=8192,wsize=8192,sync", _FILE, (0.0116, 0.0012, 0.0068, None)
_RECORDED = [
    (_FAST, _NOAC, TestSpec(path="", size=2**24), (1.488, 1.469)),
    (_FAST, _NOAC, TestSpec(path="", workload="files", size=160 * 1024, count=100), (1.904, 2.046)),
    (_FAST, _ACTIMEO, TestSpec(path="", size=2**24), (1.443, 1.467)),
    (_FAST, _ACTIMEO, TestSpec(path="", workload="files", size=160 * 1024, count=100), (2.172, 2.061)),
    (_FAST, _SYNC, TestSpec(path="", size=2**21), (0.217, 0.199)),
    (_FAST, _SYNC, TestSpec(path="", size=2**21, block_size=4096), (0.639, 0.278)),
    (_FAST, _SYNC, TestSpec(path="", workload="streams", size=2**21, block_size=4096, count=4), (1.05, 0.8)),
    (
        _GIGABIT, ("vers=3,noac,rsize=8192,wsize=8192,timeo=7", _FILE, (0.0039, 0.0014, 0.0049, None)),
        TestSpec(path="", size=2**20, block_size=8192), (0.063, 0.071),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("link", "sample", "spec", "took_s"), _RECORDED)
def test_latencies_of_a_small_test_predict_large_ones(
    link: tuple[float, float],
    sample: tuple[str, TestSpec, tuple[float, float, float, float | None]],
    spec: TestSpec,
    took_s: tuple[float, float],
) -> None:
    facts = _facts(*link)
    options, small, (write_s, flush_s, read_s, create) = sample
    result = _result(_transfer(write_s, flush_s), _transfer(read_s), create)
    costs = measured_costs(options, small, result, facts)
    spec = msgspec.structs.replace(spec, options=options)
    expected = [copy_seconds(spec, direction, facts, costs=costs) for direction in ("write", "read")]
    assert sum(expected) == pytest.approx(sum(took_s), rel=0.25)


def test_a_single_delay_is_limited() -> None:
    result = _result(_transfer(3.0), _transfer(3.0), 2.0)
    costs = measured_costs("noac", _FILES, result, _facts(1e9, 0.0002))
    assert costs.commit_s <= 5 * ServerCosts().commit_s
    assert costs.create_s <= 5 * ServerCosts().create_s
    assert costs.open_s <= 5 * ServerCosts().open_s


def test_typical_costs_without_latency_sources() -> None:
    result = _result(_transfer(3.0), _transfer(3.0))
    assert measured_costs("vers=4.2", _FILE, result, _facts(1e9, 0.0002)) == ServerCosts()


def test_each_latency_source_is_measured_once() -> None:
    """A failing minimal test ends nothing: the trials report the error."""
    world = World()
    world.failing = {"noac"}
    factors = [
        Factor(name="cache_mode", levels=["default", "noac", "actimeo=0"]),
        Factor(name="rsize", levels=["4096", "65536"]),
    ]
    works = [WorkloadSpec(name="many", kind="files", size=4096, count=20)]
    asked = ExperimentArgs(experiment=experiment(factors=factors, workloads=works))
    made = plan_experiment(asked, world.context(), CancelToken(), lambda _event: None)
    assert len(made.sets) == 6
    tried = [(latencies_of(options), spec.workload) for options, spec in world.samples]
    assert tried == [
        (latencies_of(""), "file"), (latencies_of(""), "file"), (latencies_of("noac"), "files"),
        (latencies_of("actimeo=0"), "files"),
    ]  # fmt: skip


def test_latency_sample_uses_the_call_size_of_trials() -> None:
    one = experiment(workloads=[WorkloadSpec(name="one", size=2**20, block_size=2**18)])
    many = experiment(workloads=[WorkloadSpec(name="many", kind="files", size=4096, count=20)])
    assert latency_sample(many, "noac", {}) == msgspec.structs.replace(_FILES, block_size=2**20)
    assert latency_sample(many, "vers=4.2", {}) == msgspec.structs.replace(_FILE, block_size=2**20)
    assert latency_sample(one, "vers=4.2", {}).block_size == 2**18
    assert latency_sample(one, "vers=4.2", {"block_size": "4096"}).block_size == 4096
    assert latency_sample(one, "noac", {}) == _FILE

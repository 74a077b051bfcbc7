"""Proposed options of a mount from an option set: only varied options, checked by lint."""

from __future__ import annotations

import pytest

from app.experiment.model import Experiment, ExperimentPlan, Factor, OptionSet, WorkloadSpec
from app.experiment.proposed_options import matching_set, propose_options


def plan_of(options: str, factors: dict[str, list[str]], sets: list[dict[str, str]]) -> ExperimentPlan:
    experiment = Experiment(
        share="nas:/x", options=options, workloads=[WorkloadSpec(name="file", size=1)],
        factors=[Factor(name=name, levels=levels) for name, levels in factors.items()],
    )  # fmt: skip
    planned = [
        OptionSet(
            levels=levels, options="whatever",
            read_ahead_kb=int(levels["read_ahead_kb"]) if "read_ahead_kb" in levels else None,
        )
        for levels in sets
    ]  # fmt: skip
    return ExperimentPlan(
        experiment=experiment, sets=planned, struck=[], trials=1, seconds=1, bytes=1, space=1
    )


def test_common_options_of_the_study_are_not_adopted() -> None:
    """Options such as “vers=3,noac” of a study must not be adopted if only the transfer size was varied."""
    plan = plan_of("vers=3,noac", {"rsize": ["8192", "65536"]}, [{"rsize": "8192"}, {"rsize": "65536"}])
    found = propose_options(plan, plan.sets[1], "vers=4.2,hard,_netdev,nofail,rsize=8192")
    assert found.options == "vers=4.2,hard,_netdev,nofail,rsize=65536"
    assert [(one.option, one.before, one.after) for one in found.changes] == [("rsize", "8192", "65536")]
    assert found.study == "vers=3,noac"
    assert found.findings == []


@pytest.mark.parametrize(
    ("name", "levels", "level", "before", "after"),
    [
        ("transfer_size", ["4096", "65536"], "65536", "rsize=1,ro,wsize=1", "ro,rsize=65536,wsize=65536"),
        ("transfer_size", ["default", "65536"], "default", "rsize=1,hard,wsize=1", "hard"),
        ("vers", ["3", "4.2"], "4.2", "vers=4,minorversion=1,hard", "hard,vers=4.2"),
        ("cache_mode", ["default", "noac", "actimeo=0"], "actimeo=0", "noac,acregmin=1,ro", "ro,actimeo=0"),
        ("hard", ["hard", "soft"], "hard", "vers=3", "vers=3,hard"),
        ("nconnect", ["default", "4"], "4", "", "nconnect=4"),
        ("block_size", ["4096", "65536"], "65536", "vers=3", "vers=3"),
    ],
)  # fmt: skip
def test_varied_options_are_proposed(
    name: str, levels: list[str], level: str, before: str, after: str
) -> None:
    plan = plan_of("", {name: levels}, [{name: each} for each in levels])
    one = next(each for each in plan.sets if each.levels[name] == level)
    assert propose_options(plan, one, before).options == after


def test_a_factor_with_one_level_is_not_varied() -> None:
    """For example the transport, if UDP was excluded."""
    sets = [{"proto": "tcp", "rsize": "8192"}, {"proto": "tcp", "rsize": "65536"}]
    plan = plan_of("", {"proto": ["tcp", "udp"], "rsize": ["8192", "65536"]}, sets)
    assert propose_options(plan, plan.sets[1], "hard").options == "hard,rsize=65536"


def test_varied_readahead_is_proposed() -> None:
    sets = [{"read_ahead_kb": "128"}, {"read_ahead_kb": "4096"}]
    plan = plan_of("", {"read_ahead_kb": ["128", "4096"]}, sets)
    found = propose_options(plan, plan.sets[1], "hard", read_ahead_kb=128)
    assert (found.options, found.read_ahead_kb) == ("hard", 4096)
    assert [(one.option, one.before, one.after) for one in found.changes] == [
        ("read_ahead_kb", "128", "4096")
    ]


def test_only_new_lint_findings_are_reported() -> None:
    sets = [{"hard": "hard"}, {"hard": "soft"}]
    plan = plan_of("", {"hard": ["hard", "soft"]}, sets)
    found = propose_options(plan, plan.sets[1], "vers=4.2,timeo=3")
    assert "soft-rw" in [one.rule for one in found.findings]
    again = propose_options(plan, plan.sets[1], "vers=4.2,soft,timeo=3")
    assert again.changes == []
    assert again.findings == []


def test_the_set_of_a_mount_is_found() -> None:
    plan = plan_of("vers=3", {"rsize": ["8192", "65536"]}, [{"rsize": "8192"}, {"rsize": "65536"}])
    found = matching_set(plan, "vers=4.2,hard,rsize=65536", None)
    assert found is plan.sets[1]
    assert matching_set(plan, "vers=4.2,rsize=4096", None) is None
    # The block size of a test is no setting of the mount, so that several sets match.
    blocks = plan_of("", {"block_size": ["4k", "1M"]}, [{"block_size": "4k"}, {"block_size": "1M"}])
    assert matching_set(blocks, "", None) is None


def test_the_readahead_belongs_to_the_set_of_a_mount() -> None:
    levels = [{"read_ahead_kb": "128"}, {"read_ahead_kb": "1024"}]
    plan = plan_of("", {"read_ahead_kb": ["128", "1024"]}, levels)
    found = matching_set(plan, "hard", 1024)
    assert found is plan.sets[1]
    assert matching_set(plan, "hard", None) is None

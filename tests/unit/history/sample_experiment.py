"""Sample experiment of the history, with outcomes."""

import random

import msgspec

from advisor.experiment.measurements import TrialOutcome
from app.experiment.model import ExcludedSet, ExperimentPlan, Factor, OptionSet, WorkloadSpec
from app.experiment.model import Experiment as Asked
from app.history.model import ExperimentRecord
from app.speedtest.model import Environment

_GAIN = {"65536": 1.0, "262144": 1.3, "1048576": 1.35, "1": 1.0, "4": 1.2, "3": 1.0, "4.2": 1.02}


def experiment() -> ExperimentRecord:
    """Return a full factorial experiment of three factors; its speeds scatter by some percent."""
    factors = [
        Factor(name="rsize", levels=["65536", "262144", "1048576"]),
        Factor(name="nconnect", levels=["1", "4"]),
        Factor(name="vers", levels=["3", "4.2"]),
    ]
    work = WorkloadSpec(name="one file", size=2**26)
    asked = Asked(share="nas:/a", recipe="quick", title="Sizes & connections", factors=factors,
                  workloads=[work], repeats=3, seed=5)  # fmt: skip
    source = random.Random(5)
    sets = [
        {"rsize": size, "nconnect": connections, "vers": version}
        for size in factors[0].levels for connections in factors[1].levels for version in factors[2].levels
    ]  # fmt: skip
    outcomes = []
    for block in range(3):
        for levels in source.sample(sets, len(sets)):
            gain = 1.0
            for level in levels.values():
                gain *= _GAIN[level]
            speed = 60e6 * gain * source.lognormvariate(0, 0.03)
            outcomes.append(
                TrialOutcome(
                    levels=levels,
                    workload="one file",
                    block=block,
                    order=len(outcomes),
                    figures={"write": speed, "read": 1.1 * speed, "mount_s": 0.1, "unmount_s": 0.2},
                    timeouts=block,
                    effective=levels | {"hard": ""},
                    started_at="2026-03-01T10:00:00+00:00",
                )
            )
    outcomes[3] = msgspec.structs.replace(
        outcomes[3], state="failed", figures={}, note="=The <server> did not answer."
    )
    plan = ExperimentPlan(
        experiment=asked, sets=[OptionSet(levels=levels, options="") for levels in sets],
        struck=[ExcludedSet(levels={"rsize": "8388608"}, reason="The kernel takes 1048576 at most.")],
        trials=len(outcomes), seconds=60, bytes=2**30, space=2**26,
    )  # fmt: skip
    return ExperimentRecord(
        started_at="2026-03-01T10:00:00+00:00", name="quick", share="nas:/a", seed=5,
        spec=msgspec.Raw(msgspec.json.encode(plan)), environment=Environment(host="desk", kernel="6.1"),
        outcomes=outcomes,
    )  # fmt: skip

"""What is said of an experiment: no more than was measured."""

import itertools
import random

import msgspec

from advisor.experiment_tables import curve
from advisor.trials import Outcome
from app.bench.experiment.findings import find, level_rows, measured
from app.bench.experiment.model import Experiment, ExperimentPlan, Factor, PlannedSet, Strategy, Work
from app.units import format_figure

_WORK = "files"


def _plan(factors: dict[str, list[str]], strategy: Strategy = "full") -> ExperimentPlan:
    sets = [dict(zip(factors, levels, strict=True)) for levels in itertools.product(*factors.values())]
    asked = Experiment(
        share="nas:/a", strategy=strategy, workloads=[Work(name=_WORK, size=1)],
        factors=[Factor(name=name, levels=levels) for name, levels in factors.items()],
    )  # fmt: skip
    planned = [PlannedSet(levels=levels, options="") for levels in sets]
    return ExperimentPlan(
        experiment=asked, sets=planned, struck=[], trials=6 * len(sets), seconds=1, bytes=1, space=1
    )


def test_the_luckiest_level_of_six_factors_that_do_nothing_is_not_best() -> None:
    names = ("rsize", "wsize", "timeo", "retrans", "nconnect", "acregmin")
    plan = _plan({name: ["1"] for name in names}, "one-at-a-time")
    base = plan.sets[0].levels
    sets = [base, *({**base, name: level} for name in names for level in ("2", "3"))]
    factors = [Factor(name=name, levels=["1", "2", "3"]) for name in names]
    plan = msgspec.structs.replace(plan, experiment=msgspec.structs.replace(plan.experiment, factors=factors))
    chance = random.Random(3)
    outcomes = [
        Outcome(
            levels=levels, workload=_WORK, block=block, order=0,
            figures={"write": 1e7 * chance.lognormvariate(0, 0.05)},
        )
        for block in range(6) for levels in sets
    ]  # fmt: skip
    # As the one question that was asked it would be; of six, one comes so far by chance alone.
    lucky = [curve(outcomes, name, base, "write", chance=random.Random(1)) for name in names]
    assert [each.best is not None for each in lucky if each is not None].count(True) == 1
    found = find(plan, outcomes, "write", _WORK, written=format_figure)
    assert [each.best for each in found.curves] == [None] * len(names)


def test_the_steadiest_of_levels_is_named_only_if_they_differ() -> None:
    plan = _plan({"rsize": ["4096", "65536"], "nconnect": ["1", "4"]})
    for gain, named in ((1.0, False), (2.0, True)):
        chance = random.Random(2)
        outcomes = [
            Outcome(
                levels=one.levels, workload=_WORK, block=block, order=0,
                figures={
                    "write": chance.lognormvariate(17, 0.05)
                    * (gain if one.levels["rsize"] == "65536" else 1.0)
                },
            )
            for block in range(4) for one in plan.sets
        ]  # fmt: skip
        found = find(plan, outcomes, "write", _WORK, written=format_figure)
        assert len(found.matrices) == 1
        assert any("is the steadiest" in text for _, text in found.said) == named


def test_time_outs_have_a_picture_and_nothing_is_said_of_ratios() -> None:
    plan = _plan({"rsize": ["4096", "65536"], "nconnect": ["1", "4"]})
    seen = {"4096": 0, "65536": 5}
    outcomes = [
        Outcome(
            levels=one.levels, workload=_WORK, block=block, order=0, figures={"write": 1e7},
            timeouts=seen[one.levels["rsize"]],
        )
        for block in range(4) for one in plan.sets
    ]  # fmt: skip
    found = find(plan, outcomes, "timeouts", _WORK, written=format_figure)
    (matrix,) = found.matrices
    assert matrix.cells == [[0, 0], [5, 5]]
    assert found.effects == []
    assert [text for _, text in found.said] == [
        (
            "rsize=4096, nconnect=1 came first with 0 (time-outs), and one other set with the same. How the "
            "rest differs from 0 cannot be told from chance."
        ),
        "The baseline is among the first, with 0.",
        "rsize: 4096 is usually ahead (average place 4 of 16), 65536 usually last (12).",
        "Everything else being equal, no level is ahead by more than chance: nconnect.",
    ]
    rows = [(row.factor, row.level, row.beside, row.sum, row.ahead) for row in level_rows(found)]
    assert rows == [
        ("rsize", "4096", "—", 36, True), ("rsize", "65536", "—", 100, False),
        ("nconnect", "1", "—", 68, False), ("nconnect", "4", "—", 68, False),
    ]  # fmt: skip
    calm = [msgspec.structs.replace(one, timeouts=0) for one in outcomes]
    none = find(plan, calm, "timeouts", _WORK, written=format_figure)
    assert (none.matrices, level_rows(none)) == ([], [])


def test_the_luckiest_of_many_sets_is_not_confirmed_against_an_unlucky_baseline() -> None:
    plan = _plan({"timeo": [str(number) for number in range(60)]})
    named = [msgspec.structs.replace(one, options=f"timeo={one.levels['timeo']}") for one in plan.sets]
    plan = msgspec.structs.replace(plan, sets=named)
    for gain, status in ((1.17, "untested"), (1.5, "confirmed")):
        chance = random.Random(1)
        # Of so many that are the same the first is often this far from the last, and from a given one seldom.
        middle = {"0": 0.925e7, "59": 0.925e7 * gain}
        outcomes = [
            Outcome(
                levels=one.levels, workload=_WORK, block=block, order=0,
                figures={
                    "write": middle[one.levels["timeo"]] * (0.97 + 0.03 * block)
                    if one.levels["timeo"] in middle
                    else 1e7 * chance.lognormvariate(0, 0.05)
                },
            )
            for block in range(3) for one in plan.sets
        ]  # fmt: skip
        found = find(plan, outcomes, "write", _WORK, written=format_figure)
        best, base = found.ranking.standings[0], found.ranking.of(plan.sets[0].levels)
        assert base is not None
        assert best.levels == {"timeo": "59"}
        assert best.low > base.high
        (learned,) = measured(found, plan, plan.sets[59], format_figure)
        assert learned.status == status


def test_what_takes_no_sync_is_not_said_to_have_it_counted_in() -> None:
    plan = _plan({"rsize": ["4096", "65536"]})
    outcomes = [
        Outcome(
            levels=one.levels, workload=_WORK, block=block, order=2 * block + place,
            figures={
                "write": 3.2e6, "write_bytes": 64e6, "read": 8e6, "read_bytes": 64e6,
                "create": 100.0 + block + 50 * place, "sync_s": 30.0, "unmount_s": 10.0,
            },
        )
        for block in range(6) for place, one in enumerate(plan.sets)
    ]  # fmt: skip
    found = find(plan, outcomes, "write", _WORK, written=format_figure, counted=True)
    assert found.counted
    assert any("counted in" in text for _, text in found.said)
    # Files made a second; and what was read is there before the sync of what was written begins.
    for figure in ("create", "read", "unmount_s", "timeouts"):
        found = find(plan, outcomes, figure, _WORK, written=format_figure, counted=True)
        assert not found.counted
        assert not found.ranking.counted
        assert not any("counted in" in text for _, text in found.said)

"""Analysis of an experiment: claims no more than the measurements support."""

import itertools
import random
from collections.abc import Callable

import msgspec
import pytest

from advisor.experiment.measurements import TrialOutcome
from advisor.experiment.tables import factor_curve
from app.errors import AppError
from app.experiment.analysis import analyze, analyze_main_figures, level_rows, measured_options, parts_of_plan
from app.experiment.model import Experiment, ExperimentPlan, Factor, OptionSet, Strategy, WorkloadSpec
from app.experiment.recipe_store import find_recipe
from app.text.units import format_figure

_WORK = "files"


def _plan(factors: dict[str, list[str]], strategy: Strategy = "full") -> ExperimentPlan:
    sets = [dict(zip(factors, levels, strict=True)) for levels in itertools.product(*factors.values())]
    asked = Experiment(
        share="nas:/a", strategy=strategy, workloads=[WorkloadSpec(name=_WORK, size=1)],
        factors=[Factor(name=name, levels=levels) for name, levels in factors.items()],
    )  # fmt: skip
    planned = [OptionSet(levels=levels, options="") for levels in sets]
    return ExperimentPlan(
        experiment=asked, sets=planned, struck=[], trials=6 * len(sets), seconds=1, bytes=1, space=1
    )


def test_no_best_level_among_six_factors_without_effect() -> None:
    names = ("rsize", "wsize", "timeo", "retrans", "nconnect", "acregmin")
    plan = _plan({name: ["1"] for name in names}, "one-at-a-time")
    base = plan.sets[0].levels
    sets = [base, *({**base, name: level} for name in names for level in ("2", "3"))]
    factors = [Factor(name=name, levels=["1", "2", "3"]) for name in names]
    plan = msgspec.structs.replace(plan, experiment=msgspec.structs.replace(plan.experiment, factors=factors))
    chance = random.Random(3)
    outcomes = [
        TrialOutcome(
            levels=levels, workload=_WORK, block=block, order=0,
            figures={"write": 1e7 * chance.lognormvariate(0, 0.05)},
        )
        for block in range(6) for levels in sets
    ]  # fmt: skip
    # Significant for a single comparison, but expected by chance among six factors.
    lucky = [factor_curve(outcomes, name, base, "write", chance=random.Random(1)) for name in names]
    assert [each.best is not None for each in lucky if each is not None].count(True) == 1
    found = analyze(plan, outcomes, "write", _WORK, written=format_figure)
    assert [each.best for each in found.curves] == [None] * len(names)


def test_most_consistent_level_is_named_only_if_levels_differ() -> None:
    plan = _plan({"rsize": ["4096", "65536"], "nconnect": ["1", "4"]})
    for gain, named in ((1.0, False), (2.0, True)):
        chance = random.Random(2)
        outcomes = [
            TrialOutcome(
                levels=one.levels, workload=_WORK, block=block, order=0,
                figures={
                    "write": chance.lognormvariate(17, 0.05)
                    * (gain if one.levels["rsize"] == "65536" else 1.0)
                },
            )
            for block in range(4) for one in plan.sets
        ]  # fmt: skip
        found = analyze(plan, outcomes, "write", _WORK, written=format_figure)
        assert len(found.matrices) == 1
        assert any("is the steadiest" in text for _, text in found.said) == named


def test_timeouts_have_a_matrix_and_no_ratios() -> None:
    plan = _plan({"rsize": ["4096", "65536"], "nconnect": ["1", "4"]})
    seen = {"4096": 0, "65536": 5}
    outcomes = [
        TrialOutcome(
            levels=one.levels, workload=_WORK, block=block, order=0, figures={"write": 1e7},
            timeouts=seen[one.levels["rsize"]],
        )
        for block in range(4) for one in plan.sets
    ]  # fmt: skip
    found = analyze(plan, outcomes, "timeouts", _WORK, written=format_figure)
    (matrix,) = found.matrices
    assert matrix.cells == [[0, 0], [5, 5]]
    assert found.effects == []
    assert [text for _, text in found.said] == [
        (
            "rsize=4096, nconnect=1 came first with 0 (time-outs), and 1 other set with the same. How the "
            "rest differs from 0 cannot be told from chance."
        ),
        "The reference is among the first, with 0.",
        "rsize: 4096 is usually ahead (mean rank 4 of 16), 65536 usually last (12).",
        "With the other settings equal, no value is significantly better: nconnect.",
    ]
    rows = [(row.factor, row.level, row.beside, row.sum, row.ahead) for row in level_rows(found)]
    assert rows == [
        ("rsize", "4096", "—", 36, True), ("rsize", "65536", "—", 100, False),
        ("nconnect", "1", "—", 68, False), ("nconnect", "4", "—", 68, False),
    ]  # fmt: skip
    calm = [msgspec.structs.replace(one, timeouts=0) for one in outcomes]
    none = analyze(plan, calm, "timeouts", _WORK, written=format_figure)
    assert (none.matrices, level_rows(none)) == ([], [])


def test_best_of_many_equal_sets_is_not_significant() -> None:
    plan = _plan({"timeo": [str(number) for number in range(60)]})
    named = [msgspec.structs.replace(one, options=f"timeo={one.levels['timeo']}") for one in plan.sets]
    plan = msgspec.structs.replace(plan, sets=named)
    for gain, status in ((1.17, "untested"), (1.5, "confirmed")):
        chance = random.Random(1)
        # The first and last of this many equal sets often differ as much, the first and a given one seldom.
        middle = {"0": 0.925e7, "59": 0.925e7 * gain}
        outcomes = [
            TrialOutcome(
                levels=one.levels, workload=_WORK, block=block, order=0,
                figures={
                    "write": middle[one.levels["timeo"]] * (0.97 + 0.03 * block)
                    if one.levels["timeo"] in middle
                    else 1e7 * chance.lognormvariate(0, 0.05)
                },
            )
            for block in range(3) for one in plan.sets
        ]  # fmt: skip
        found = analyze(plan, outcomes, "write", _WORK, written=format_figure)
        best, base = found.ranking.standings[0], found.ranking.of(plan.sets[0].levels)
        assert base is not None
        assert best.levels == {"timeo": "59"}
        assert best.low > base.high
        (learned,) = measured_options(found, plan, plan.sets[59], format_figure)
        assert learned.status == status


def test_sync_time_is_not_counted_in_figures_without_sync() -> None:
    plan = _plan({"rsize": ["4096", "65536"]})
    outcomes = [
        TrialOutcome(
            levels=one.levels, workload=_WORK, block=block, order=2 * block + place,
            figures={
                "write": 3.2e6, "write_bytes": 64e6, "read": 8e6, "read_bytes": 64e6,
                "create": 100.0 + block + 50 * place, "sync_s": 30.0, "unmount_s": 10.0,
            },
        )
        for block in range(6) for place, one in enumerate(plan.sets)
    ]  # fmt: skip
    found = analyze(plan, outcomes, "write", _WORK, written=format_figure, counted=True)
    assert found.counted
    assert any("including the time to sync" in text for _, text in found.said)
    # Creation of files per second, and reads, which end before the sync of the written data begins.
    for figure in ("create", "read", "unmount_s", "timeouts"):
        found = analyze(plan, outcomes, figure, _WORK, written=format_figure, counted=True)
        assert not found.counted
        assert not found.ranking.counted
        assert not any("including the time to sync" in text for _, text in found.said)


def _outcomes(
    plan: ExperimentPlan, speed: Callable[[dict[str, str]], float], repeats: int = 4
) -> list[TrialOutcome]:
    chance = random.Random(2)
    return [
        TrialOutcome(
            levels=one.levels, workload=_WORK, block=block, order=0,
            figures={"write": speed(one.levels) * chance.lognormvariate(0, 0.03)},
        )
        for block in range(repeats) for one in plan.sets
    ]  # fmt: skip


_VERSIONS = {
    "vers": ["3", "4.2"], "file_size": ["65536", "4194304"], "record_size": ["16384", "65536"],
    "pattern": ["sequential", "random"],
}  # fmt: skip


def test_file_sizes_are_ranked_separately() -> None:
    """Small files are slower than large ones on every mount, which makes no settings the best."""
    plan = _plan(_VERSIONS)
    outcomes = _outcomes(plan, lambda levels: 1e6 if levels["file_size"] == "65536" else 13e6)
    parts = parts_of_plan(plan)
    assert [part.label for part in parts] == ["files, files of 64 KiB", "files, files of 4 MiB"]
    for part, low, high in zip(parts, (0.5e6, 10e6), (2e6, 20e6), strict=True):
        found = analyze(plan, outcomes, "write", _WORK, written=format_figure, file_size=part.file_size)
        assert {one.levels["file_size"] for one in found.ranking.standings} == {part.file_size}
        assert all(low < one.median < high for one in found.ranking.standings)
        assert found.headline == "No difference found. Keep the present setting."
        assert "file_size" not in [one.factor for one in found.effects]
    assert len(analyze_main_figures(plan, outcomes, written=format_figure)) == 2


def test_a_set_is_compared_with_the_reference_of_the_same_test() -> None:
    """Sequential records are faster than random ones, which no mount option can gain."""
    plan = _plan(_VERSIONS)
    slow = {"random": 1e6, "sequential": 5e6}
    outcomes = _outcomes(plan, lambda levels: slow[levels["pattern"]])
    found = analyze(plan, outcomes, "write", _WORK, written=format_figure)
    assert (found.conclusion.verdict, found.conclusion.gain) == ("none-better", None)
    outcomes = _outcomes(
        plan,
        lambda levels: (
            (2 if levels["vers"] == "4.2" else 1) * (1e6 if levels["pattern"] == "random" else 5e6)
        ),
    )
    gain = analyze(plan, outcomes, "write", _WORK, written=format_figure).conclusion.gain
    assert gain is not None
    assert (gain.levels["vers"], gain.reference["vers"]) == ("4.2", "3")
    assert gain.levels["pattern"] == gain.reference["pattern"]
    assert 1.8 < gain.ratio < 2.3
    assert gain.low < gain.ratio < gain.high


def test_axes_default_to_those_of_the_study() -> None:
    for name, axes, apart in (
        ("transfer-size", ["transfer_size", "block_size"], {"streams", "sync"}),
        ("versions", ["file_size", "record_size"], {"vers", "pattern"}),
    ):
        experiment = find_recipe(name).experiment("nas:/a", "quick")
        varied = {
            factor.name: [level for level in factor.levels if level != "2"]
            for factor in experiment.factors if factor.name != "server_threads"
        }  # fmt: skip
        plan = msgspec.structs.replace(_plan(varied), experiment=experiment)
        outcomes = [
            msgspec.structs.replace(one, workload=experiment.workloads[0].name)
            for one in _outcomes(plan, lambda _levels: 1e7)
        ]
        found = analyze(plan, outcomes, "write", experiment.workloads[0].name, written=format_figure)
        assert found.axes == axes
        assert set(found.matrices[0].fixed) == apart
        assert found.pooled == []


def test_any_two_settings_can_be_the_axes() -> None:
    plan = _plan(_VERSIONS)
    outcomes = _outcomes(plan, lambda _levels: 1e7)
    found = analyze(plan, outcomes, "write", _WORK, written=format_figure, axes=["vers", "pattern"])
    assert (found.matrices[0].row_factor, found.matrices[0].column_factor) == ("vers", "pattern")
    assert all("file_size" in one.fixed for one in found.matrices)
    for axes in (["vers", "vers"], ["vers", "rsize"], ["vers"]):
        with pytest.raises(AppError) as caught:
            analyze(plan, outcomes, "write", _WORK, written=format_figure, axes=axes)
        assert "vers, file_size, record_size, pattern" in caught.value.hint


def test_random_variation_is_no_pattern_in_a_matrix() -> None:
    plan = _plan({"rsize": ["4096", "16384", "65536"], "nconnect": ["1", "2", "4"]})
    for gain, differs in ((1.0, False), (2.0, True)):
        outcomes = _outcomes(
            plan, lambda levels, gain=gain: 1e7 * (gain if levels["rsize"] == "65536" else 1)
        )  # type: ignore[misc]
        (matrix,) = analyze(plan, outcomes, "write", _WORK, written=format_figure).matrices
        assert matrix.differs is differs
        shades = {shade for row in matrix.shades() for shade in row}
        assert shades == {0.0} if not differs else 1.0 in shades
        if differs:  # sets equal to the best one have its color
            assert matrix.shades()[2] == [1.0, 1.0, 1.0]
    once = _outcomes(plan, lambda _levels: 1e7, repeats=1)
    (matrix,) = analyze(plan, once, "write", _WORK, written=format_figure).matrices
    assert matrix.differs is None
    assert {shade for row in matrix.shades() for shade in row} == {0.0}


def test_too_few_repeats_show_no_difference() -> None:
    plan = _plan({"rsize": ["4096", "65536"]})
    outcomes = _outcomes(plan, lambda levels: 1e7 * int(levels["rsize"]), repeats=1)
    found = analyze(plan, outcomes, "write", _WORK, written=format_figure)
    assert found.conclusion.verdict == "too-few"
    assert found.headline == "Nothing is proven: too few trials were repeated. Keep the present setting."


def test_an_effect_over_all_sets_marks_the_matrix() -> None:
    """Two repeats cannot distinguish two sets, but the repeats of all sets show the factor's effect."""
    plan = _plan({"rsize": ["1024", "65536"], "nconnect": ["1", "2"]})
    speeds = {"1024": (1.6e6, 1.5e6, 1.4e6, 1.8e6), "65536": (3.9e6, 3.0e6, 3.6e6, 3.3e6)}
    outcomes = [
        TrialOutcome(
            levels=one.levels, workload=_WORK, block=block, order=0,
            figures={"write": speeds[one.levels["rsize"]][2 * block + int(one.levels["nconnect"]) - 1]},
        )
        for block in range(2) for one in plan.sets
    ]  # fmt: skip
    found = analyze(plan, outcomes, "write", _WORK, written=format_figure)
    (rsize,) = [one for one in found.effects if one.factor == "rsize"]
    assert rsize.notable
    assert found.conclusion.verdict in {"effect", "better"}
    assert "No difference" not in found.headline
    assert "rsize" in found.headline
    assert found.matrices[0].differs
    # With the values exchanged, no set is better than the reference.
    turned = msgspec.structs.replace(plan, sets=plan.sets[::-1])
    assert (
        analyze(turned, outcomes, "write", _WORK, written=format_figure).conclusion.verdict == "none-better"
    )

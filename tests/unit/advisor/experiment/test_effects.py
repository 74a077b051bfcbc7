"""Effects, interactions, rank sums, tables and curves of simulated experiments with known effects."""

from __future__ import annotations

import itertools
import random

import pytest
from known_experiments import SIZES, growing, mb, run
from msgspec.structs import replace

from advisor.experiment.effects import (
    factor_effects,
    interaction_degrees_of_freedom,
    interactions,
    rank_sums,
)
from advisor.experiment.measurements import TIMEOUTS, WRITE, TrialOutcome
from advisor.experiment.ranking import rank_sets
from advisor.experiment.tables import compare_with_base, factor_curve, matrices
from app.text.experiment import (
    FactorNames,
    best_levels_text,
    comparison_text,
    effect_texts,
    interaction_text,
    rank_texts,
    set_text,
)


def test_of_time_outs_by_chance_nothing_is_claimed() -> None:
    """Counts with a mean of two include 0, so that no error model exists and nothing is significant."""
    claims = {"groups": 0, "effects": 0, "interactions": 0}
    for seed in range(40):
        chance = random.Random(seed)
        outcomes = [
            TrialOutcome(
                levels={"a": a, "b": b}, workload="w", block=block, order=0, figures={"write": 1.0},
                timeouts=sum(chance.random() < 0.1 for _ in range(20)),
            )
            for block in range(6) for a in "1234" for b in "123"
        ]  # fmt: skip
        ranked = rank_sets(outcomes, TIMEOUTS, chance=chance)
        claims["groups"] += max(each.group for each in ranked.standings) > 1
        claims["effects"] += any(each.notable for each in factor_effects(outcomes, TIMEOUTS, chance=chance))
        claims["interactions"] += any(
            each.notable for each in interactions(outcomes, TIMEOUTS, chance=chance)
        )
    assert max(claims.values()) < 8, claims


def test_main_effects_and_interactions() -> None:
    def truth(levels: dict[str, str]) -> float:
        # True effects: readahead helps only large reads; hard or soft has no effect.
        together = 2.0 if levels["rsize"] == "1048576" and levels["ra"] == "4096" else 1.0
        return growing(levels) * together

    factors = {"rsize": SIZES["rsize"], "ra": ["128", "4096"], "hard": ["hard", "soft"]}
    outcomes = run(truth, factors, noise=0.02)
    found = {effect.factor: effect for effect in factor_effects(outcomes, WRITE, chance=random.Random(1))}
    assert next(iter(found)) == "rsize"
    assert found["rsize"].best == "1048576"
    assert found["rsize"].gain == pytest.approx(4 * 2**0.5 - 1, rel=0.45)
    assert found["rsize"].share > 0.7
    assert sum(effect.share for effect in found.values()) < 1
    strong, weak = effect_texts([found["rsize"], found["hard"]])
    assert strong.startswith("rsize: 1048576 is best")
    assert weak == "No relevant difference was found: hard."
    pairs = {pair.factors: pair for pair in interactions(outcomes, WRITE, chance=random.Random(1))}
    assert pairs["rsize", "ra"].notable
    assert "choose them together" in interaction_text(pairs["rsize", "ra"])
    assert not pairs["ra", "hard"].notable or pairs["ra", "hard"].share < 0.001
    assert "no interaction was found" in interaction_text(pairs["ra", "hard"])
    assert pairs["rsize", "ra"].cells[2][1] == pytest.approx(2 ** (1 / 3), rel=0.03)
    once = interactions(run(truth, factors, repeats=1), WRITE, chance=random.Random(1))
    assert "too few" in interaction_text(once[0])


def test_where_each_set_ran_once_the_baseline_tells_what_chance_does() -> None:
    outcomes = run(growing, SIZES, repeats=1, noise=0.1)
    assert {one.notable for one in factor_effects(outcomes, WRITE, chance=random.Random(1))} == {None}
    base = {"rsize": "4096", "nconnect": "1"}
    watched = [
        replace(each, baseline=True)
        for each in run(growing, {name: [level] for name, level in base.items()}, repeats=6, noise=0.1)
    ]
    outcomes += watched
    found = {
        effect.factor: effect.notable for effect in factor_effects(outcomes, WRITE, chance=random.Random(1))
    }
    assert found == {"rsize": True, "nconnect": False}
    (pair,) = interactions(outcomes, WRITE, chance=random.Random(1))
    assert pair.notable is False


def test_effects_compare_only_what_is_otherwise_equal() -> None:
    # The set of the slow size with its best partner is missing, which must not bias the partner's effect.
    outcomes = [
        each
        for each in run(growing, SIZES, noise=0.001)
        if (each.levels["rsize"], each.levels["nconnect"]) != ("4096", "8")
    ]
    found = {effect.factor: effect for effect in factor_effects(outcomes, WRITE, chance=random.Random(1))}
    assert found["nconnect"].gain < 0.01


def test_a_level_that_never_succeeded_does_not_take_its_factor_away() -> None:
    outcomes = [
        replace(each, state="failed", figures={}) if each.levels["rsize"] == "65536" else each
        for each in run(growing, SIZES)
    ]
    found = {effect.factor: effect for effect in factor_effects(outcomes, WRITE, chance=random.Random(1))}
    assert found["rsize"].notable
    assert [level.level for level in found["rsize"].levels] == ["4096", "1048576"]
    (pair,) = interactions(outcomes, WRITE, chance=random.Random(1))
    assert (pair.rows, pair.notable) == (["4096", "1048576"], False)


def test_a_level_that_can_be_compared_with_none_does_not_take_its_factor_away() -> None:
    # One factor at a time, and the base failed: no two levels of a factor share a context.
    base = {"rsize": "4096", "nconnect": "1"}
    outcomes = [
        each
        for each in run(growing, {**SIZES, "rsize": ["4096", "65536", "1048576"]})
        if sum(each.levels[name] != level for name, level in base.items()) == 1
    ]
    found = {effect.factor: effect for effect in factor_effects(outcomes, WRITE, chance=random.Random(1))}
    assert [level.level for level in found["rsize"].levels] == ["65536", "1048576"]
    assert (found["rsize"].best, found["rsize"].notable) == ("1048576", True)
    assert [level.level for level in found["nconnect"].levels] == ["2", "4", "8"]
    assert not found["nconnect"].notable


def test_levels_that_never_ran_beside_each_other_are_not_compared() -> None:
    # Two disconnected halves: the best slow level must not rank above the worst fast level.
    speeds = {"a1": 4.0, "a2": 5.0, "a3": 2.0, "a4": 1.0, "a5": 6.0}
    outcomes = [
        each
        for each in run(lambda levels: 1e7 * speeds[levels["a"]], {"a": list(speeds), "b": ["x", "y"]})
        if (each.levels["a"] in {"a3", "a4"}) == (each.levels["b"] == "y")
    ]
    (found,) = [
        each for each in factor_effects(outcomes, WRITE, chance=random.Random(1)) if each.factor == "a"
    ]
    assert [level.level for level in found.levels] == ["a1", "a2", "a5"]
    assert found.best == "a5"


def test_of_chance_alone_nothing_is_claimed_where_half_of_the_levels_are_dead() -> None:
    claims = {"effects": 0, "interactions": 0}
    for seed in range(40):
        outcomes = [
            replace(each, state="failed", figures={}) if each.levels["a"] > "3" else each
            for each in run(lambda _: 1e7, {"a": list("123456"), "b": list("1234")}, noise=0.05, seed=seed)
        ]
        chance = random.Random(seed)
        claims["effects"] += any(each.notable for each in factor_effects(outcomes, WRITE, chance=chance))
        claims["interactions"] += any(each.notable for each in interactions(outcomes, WRITE, chance=chance))
    assert max(claims.values()) < 8, claims


@pytest.mark.parametrize("gone", [("1048576", "8", "3"), ("1048576", "8", "")])
def test_a_set_that_failed_does_not_make_two_factors_act_on_each_other(gone: tuple[str, ...]) -> None:
    connections = {"1": 1.0, "2": 1.5, "4": 2.0, "8": 3.0}

    def truth(levels: dict[str, str]) -> float:
        return growing(levels) * connections[levels["nconnect"]] * (2 if levels["vers"] == "3" else 1)

    claims = 0
    for seed in range(20):
        outcomes = [
            each
            for each in run(truth, {**SIZES, "vers": ["3", "4"]}, noise=0.02, seed=seed)
            if not all(
                level in {"", each.levels[name]} for name, level in zip(each.levels, gone, strict=True)
            )
        ]
        claims += any(each.notable for each in interactions(outcomes, WRITE, chance=random.Random(seed)))
    assert claims <= 4


def test_a_table_of_two_parts_has_a_level_for_each() -> None:
    whole = list(itertools.product("abc", "xyz"))
    assert interaction_degrees_of_freedom(whole) == 4
    assert interaction_degrees_of_freedom(whole[1:]) == 3
    assert (
        interaction_degrees_of_freedom([*itertools.product("ab", "wx"), *itertools.product("cd", "yz")]) == 2
    )
    assert (
        interaction_degrees_of_freedom([("a", "x"), ("b", "x"), ("a", "y")])
        == interaction_degrees_of_freedom([])
        == 0
    )


def test_sets_without_time_outs_are_not_left_out_of_what_is_best() -> None:
    # The second level has fewer timeouts where both have some, but the first has none in three of four.
    seen = {"1": {"a": 0, "b": 0, "c": 0, "d": 40}, "2": {"a": 20, "b": 20, "c": 20, "d": 10}}
    outcomes = [
        TrialOutcome(
            levels={"one": one, "two": two}, workload="w", block=block, order=0, figures={"write": 1.0},
            timeouts=count and count + block % 2,
        )
        for block in range(6) for one, row in seen.items() for two, count in row.items()
    ]  # fmt: skip
    assert factor_effects(outcomes, TIMEOUTS, chance=random.Random(1)) == []
    assert interactions(outcomes, TIMEOUTS, chance=random.Random(1)) == []
    sums = {each.factor: each.best for each in rank_sums(outcomes, TIMEOUTS)}
    assert sums["one"] == "1"


def test_of_five_factors_that_do_nothing_none_is_usually_ahead() -> None:
    factors = {name: ["1", "2"] for name in "abcde"}
    claims = 0
    for seed in range(40):
        outcomes = run(lambda _: 1e7, factors, noise=0.05, seed=seed)
        claims += any(each.notable for each in rank_sums(outcomes, WRITE))
    assert claims < 8  # 2 expected; the probability of this many or more is 0.001


def test_places_are_shared_by_equals_and_compared_by_their_mean() -> None:
    rows = [("a", 5.0), ("b", 5.0), ("a", 4.0), ("a", 1.0), ("b", 3.0)]
    outcomes = [
        TrialOutcome(levels={"f": level}, workload="w", block=0, order=order, figures={"write": speed})
        for order, (level, speed) in enumerate(rows)
    ]
    (sums,) = rank_sums(outcomes, WRITE)
    assert {level.level: (level.sum, level.trials) for level in sums.levels} == {"a": (9.5, 3), "b": (5.5, 2)}
    assert sums.best == "b"
    assert rank_texts([sums]) == ["With the other settings equal, no value is significantly better: f."]


def test_a_level_that_is_usually_ahead() -> None:
    sums = {each.factor: each for each in rank_sums(run(growing, SIZES), WRITE)}
    named = FactorNames(factor=str.upper, level=lambda factor, level: f"{level}?", between=": ")
    first, last = rank_texts([sums["nconnect"], sums["rsize"]], named)
    assert first.startswith("RSIZE: 1048576? is usually ahead (mean rank 6 of 36), 4096? usually")
    assert last.endswith("better: NCONNECT.")
    assert not sums["nconnect"].notable
    assert set_text({"rsize": "1"}, names=named) == "RSIZE: 1?"


def test_place_sums_are_those_of_counting_by_hand() -> None:
    outcomes = run(growing, SIZES, seed=9)
    ordered = sorted(outcomes, key=lambda each: -each.figures["write"])
    for each in rank_sums(outcomes, WRITE):
        for level in each.levels:
            by_hand = [n for n, row in enumerate(ordered, 1) if row.levels[each.factor] == level.level]
            assert (level.sum, level.trials) == (sum(by_hand), len(by_hand))


@pytest.mark.parametrize(
    ("factors", "repeats"),
    [({"ac": ["", "noac", "actimeo=0"]}, 5), ({"a": ["1", "2"], "b": ["1", "2", "3"]}, 3)],
)
def test_of_chance_alone_nothing_is_claimed(factors: dict[str, list[str]], repeats: int) -> None:
    """Each test may err in 5 % of experiments; 8 or more errors in 40 have a probability of 0.001."""
    claims = {"groups": 0, "effects": 0, "interactions": 0}
    for seed in range(40):
        outcomes = run(lambda _: 1e7, factors, repeats=repeats, noise=0.05, seed=seed)
        chance = random.Random(seed)
        claims["groups"] += rank_sets(outcomes, WRITE, chance=chance).standings[-1].group > 1
        claims["effects"] += any(each.notable for each in factor_effects(outcomes, WRITE, chance=chance))
        claims["interactions"] += any(each.notable for each in interactions(outcomes, WRITE, chance=chance))
    assert max(claims.values()) < 8, claims


def test_a_curve_that_is_flat_chooses_nothing_and_a_table_says_no_difference() -> None:
    outcomes = run(lambda levels: 1e7, {"timeo": ["3", "7", "600"]}, repeats=5, seed=2)
    found = factor_curve(outcomes, "timeo", {"timeo": "7"}, WRITE, chance=random.Random(1))
    assert found is not None
    assert found.best is None
    (row,) = compare_with_base(outcomes, "timeo", "7", chance=random.Random(1), figures=[WRITE])
    assert [cell.level for cell in row.cells] == ["7", "3", "600"]
    assert comparison_text(row, mb).endswith("; 3 no difference; 600 no difference.")
    assert factor_curve(outcomes[:1], "timeo", {}, WRITE, chance=random.Random(1)) is None


def test_a_curve_of_too_few_repeats_chooses_nothing() -> None:
    def flat(_: dict[str, str]) -> float:
        return 1e7

    levels = {"timeo": ["3", "7", "600"], "retrans": ["2"]}
    once = run(growing, {"rsize": SIZES["rsize"], "timeo": ["7"], "retrans": ["2"]}, repeats=1)
    once += run(flat, levels, repeats=1)
    base = {"timeo": "7", "retrans": "2"}
    alone = factor_curve(once, "rsize", base, WRITE, chance=random.Random(1))
    found = factor_curve(once, "timeo", base, WRITE, chance=random.Random(1))
    assert alone is not None
    assert found is not None
    assert (alone.best, alone.told, found.best, found.told) == (None, False, None, False)
    assert best_levels_text([alone, found]) == "No value is significantly better: rsize, timeo."
    # The repeats of the baseline show the error.
    watching = [replace(each, baseline=True) for each in run(flat, {"timeo": ["7"]}, repeats=6, seed=5)]
    chosen = factor_curve([*once, *watching], "rsize", base, WRITE, chance=random.Random(1))
    assert chosen is not None
    assert chosen.best == "1048576"
    assert best_levels_text([chosen, found]) == (
        "Best settings found: rsize 1048576. No value is significantly better: timeo."
    )


def test_a_level_without_a_figure_is_no_point_of_a_curve() -> None:
    # All reads of one level came from the client's cache, so that it has no read speed.
    outcomes = [
        replace(each, figures={}) if each.levels["timeo"] == "7" else each
        for each in run(lambda levels: 1e7, {"timeo": ["3", "7", "60", "600"]}, repeats=5, seed=2)
    ]
    found = factor_curve(outcomes, "timeo", {"timeo": "7"}, WRITE, chance=random.Random(1))
    assert found is not None
    assert [point.level for point in found.points] == ["3", "60", "600"]
    assert all(len(point.values) == 5 for point in found.points)
    assert compare_with_base(outcomes, "timeo", "7", chance=random.Random(1), figures=[WRITE]) == []


def test_curves_and_matrices_count_sync_and_unmount_in_too() -> None:
    outcomes = [
        TrialOutcome(
            levels={"rsize": size, "nconnect": count}, workload="w", block=0, order=0,
            figures={"write": 100.0, "write_bytes": 100.0, "write_s": 1.0, "sync_s": 2.0, "unmount_s": 1.0},
        )
        for size in ("1", "2") for count in ("1", "4")
    ]  # fmt: skip
    found = factor_curve(outcomes, "rsize", {"nconnect": "1"}, WRITE, chance=random.Random(1), counted=True)
    assert found is not None
    assert [point.median for point in found.points] == [25, 25]
    (matrix,) = matrices(outcomes, "rsize", "nconnect", WRITE, counted=True)
    assert matrix.cells == [[25, 25], [25, 25]]


def test_a_level_that_ran_only_beside_the_best_of_another_factor_is_not_called_ahead() -> None:
    outcomes = [
        one for one in run(growing, SIZES, repeats=9)
        if one.levels["nconnect"] != "8" or one.levels["rsize"] == "1048576"
    ]  # fmt: skip
    sums = {one.factor: one for one in rank_sums(outcomes, WRITE)}
    assert sums["nconnect"].best == "8"  # as in the study, which had all combinations
    assert not sums["nconnect"].notable
    assert (sums["rsize"].best, sums["rsize"].notable) == ("1048576", True)


def test_of_levels_that_never_ran_beside_each_other_none_is_called_ahead() -> None:
    outcomes = [
        one for one in run(growing, SIZES)
        if (one.levels["nconnect"] == "8") == (one.levels["rsize"] == "1048576")
    ]  # fmt: skip
    sums = {one.factor: one for one in rank_sums(outcomes, WRITE)}
    assert not any(one.notable for one in sums.values())


def test_a_level_that_is_ahead_beside_the_same_ones_is_so_though_some_are_missing() -> None:
    outcomes = [
        one for one in run(growing, SIZES)
        if one.levels["nconnect"] != "8" or one.levels["rsize"] != "1048576"
    ]  # fmt: skip
    sums = {one.factor: one for one in rank_sums(outcomes, WRITE)}
    assert (sums["rsize"].best, sums["rsize"].notable) == ("1048576", True)

"""Rankings, groups, effects, interactions, drift and their sentences, on experiments whose truth is known."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING

import pytest

from advisor.experiment_analysis import drifts, ranking
from advisor.experiment_effects import effects, interactions, place_sums
from advisor.experiment_noise import noise_of
from advisor.experiment_tables import comparison, curve
from advisor.experiment_text import (
    against_text,
    comparison_text,
    counted_text,
    drift_text,
    effect_text,
    interaction_text,
    interval_text,
    place_text,
    steady_text,
    unmeasured_text,
    winner_text,
)
from advisor.experiment_values import levels_of, value
from advisor.trials import QUANTITIES, READ, READ_TOTAL_S, WRITE, WRITE_CALLS, WRITE_TOTAL_S, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable


def _run(
    truth: Callable[[dict[str, str]], float],
    factors: dict[str, list[str]],
    *,
    repeats: int = 3,
    noise: float = 0.03,
    seed: int = 1,
) -> list[Outcome]:
    chance = random.Random(seed)
    sets = [dict(zip(factors, levels, strict=True)) for levels in itertools.product(*factors.values())]
    plan = [(block, levels) for block in range(repeats) for levels in sets]
    return [
        Outcome(
            levels=levels, workload="w", block=block, order=order,
            figures={"write": truth(levels) * chance.lognormvariate(0, noise)},
        )
        for order, (block, levels) in enumerate(plan)
    ]  # fmt: skip


def _mb(figure: str, number: float) -> str:
    return f"{number / 1e6:.1f} MB/s" if figure in {WRITE, READ} else f"{number:.1f} s"


_SIZES = {"rsize": ["4096", "65536", "1048576"], "nconnect": ["1", "2", "4", "8"]}


def _growing(levels: dict[str, str]) -> float:
    return 1e7 * {"4096": 1, "65536": 2, "1048576": 4}[levels["rsize"]]


def test_sets_that_are_the_same_are_one_group_and_others_are_not() -> None:
    ranked = ranking(_run(_growing, _SIZES), WRITE, chance=random.Random(1))
    groups = [(standing.levels["rsize"], standing.group) for standing in ranked.standings]
    assert groups == [("1048576", 1)] * 4 + [("65536", 2)] * 4 + [("4096", 3)] * 4
    assert all(each.low < each.median < each.high and each.method == "bootstrap" for each in ranked.standings)
    assert ranked.scatter == pytest.approx(0.06, abs=0.03)
    assert winner_text(ranked, _mb).startswith(
        "These four of 12 sets cannot be told apart; first among them is "
    )
    first, last = ranked.standings[0], ranked.standings[-1]
    assert "cannot be told apart from the best" in against_text(ranked, ranked.standings[3].levels, "It", _mb)
    assert "in place 12 with 1" in against_text(ranked, last.levels, "The default", _mb)
    assert "came first" in against_text(ranked, first.levels, "The default", _mb)
    assert "three repeats, by bootstrap" in interval_text(first)


@pytest.mark.parametrize("sets", [3, 40])
def test_equal_sets_are_one_group_as_often_as_promised(sets: int) -> None:
    split = 0
    for seed in range(100):
        outcomes = _run(
            lambda levels: 1e7, {"a": [str(number) for number in range(sets)]}, seed=seed, noise=0.1
        )
        ranked = ranking(outcomes, WRITE, chance=random.Random(seed))
        split += ranked.standings[-1].group != 1
    assert split <= 11  # of 5 expected, exceeded in one case of a hundred


def test_the_intervals_cover_the_truth_as_often_as_promised() -> None:
    covered = total = 0
    for seed in range(30):
        ranked = ranking(_run(_growing, _SIZES, noise=0.2, seed=seed), WRITE, chance=random.Random(seed))
        for each in ranked.standings:
            covered += each.low <= _growing(each.levels) <= each.high
            total += 1
    assert covered / total == pytest.approx(0.95, abs=0.04)


def test_with_six_repeats_the_interval_is_exact_and_with_one_nothing_can_be_told() -> None:
    many = ranking(_run(_growing, _SIZES, repeats=6), WRITE, chance=random.Random(1))
    assert {each.method for each in many.standings} == {"sign test"}
    assert "no distribution is assumed" in interval_text(many.standings[0])
    once = ranking(_run(_growing, _SIZES, repeats=1), WRITE, chance=random.Random(1))
    assert {(each.method, each.group) for each in once.standings} == {("range", 0)}
    assert "too few trials were repeated" in winner_text(once, _mb)
    assert "too few to say" in interval_text(once.standings[0])


def test_the_baseline_s_repeats_tell_what_chance_does_where_sets_ran_once() -> None:
    outcomes = _run(_growing, _SIZES, repeats=1)
    watch = _run(lambda levels: 1e7, {"rsize": ["4096"], "nconnect": ["1"]}, repeats=6, seed=5)
    outcomes += [_with(each, baseline=True) for each in watch]
    ranked = ranking(outcomes, WRITE, chance=random.Random(1))
    assert [each.group for each in ranked.standings][:4] == [1, 1, 1, 1]
    assert ranked.standings[-1].group > 1
    assert len(ranked.standings[-1].values) == 1


def _with(outcome: Outcome, **changes: object) -> Outcome:
    fields = {name: getattr(outcome, name) for name in outcome.__struct_fields__}
    return Outcome(**{**fields, **changes})  # type: ignore[arg-type]


def test_what_failed_or_ran_with_other_values_is_left_out_and_counted() -> None:
    outcomes = _run(_growing, _SIZES)
    wrong = [
        _with(outcomes[0], state="mismatch", figures={"write": 1e12}),
        _with(outcomes[1], state="failed"),
    ]
    ranked = ranking([*wrong, *outcomes[2:]], WRITE, chance=random.Random(1))
    assert ranked.left_out == 2
    assert ranked.standings[0].median < 1e9


def test_workloads_are_not_mixed() -> None:
    outcomes = _run(_growing, _SIZES)
    with pytest.raises(ValueError, match="several workloads"):
        ranking([outcomes[0], _with(outcomes[1], workload="other")], WRITE, chance=random.Random(1))


def test_all_alike_is_said() -> None:
    ranked = ranking(_run(lambda levels: 5e7, _SIZES), WRITE, chance=random.Random(1))
    assert winner_text(ranked, _mb).startswith("All twelve sets cannot be told apart")
    assert winner_text(ranking([], WRITE, chance=random.Random(1)), _mb) == "No trial gave a result."


def test_times_rank_from_the_shortest() -> None:
    outcomes = [
        _with(each, figures={**each.figures, "write_bytes": 2.0**26}) for each in _run(_growing, _SIZES)
    ]
    speeds = ranking(outcomes, WRITE, chance=random.Random(1))
    times = ranking(outcomes, WRITE_TOTAL_S, chance=random.Random(1))
    assert [each.levels for each in speeds.standings] == [each.levels for each in times.standings]
    assert times.standings[0].median == pytest.approx(2**26 / speeds.standings[0].median)


def test_main_effects_and_interactions() -> None:
    def truth(levels: dict[str, str]) -> float:
        # Readahead only helps with large reads; hard or soft does nothing.
        together = 2.0 if levels["rsize"] == "1048576" and levels["ra"] == "4096" else 1.0
        return _growing(levels) * together

    factors = {"rsize": _SIZES["rsize"], "ra": ["128", "4096"], "hard": ["hard", "soft"]}
    outcomes = _run(truth, factors, noise=0.02)
    found = {effect.factor: effect for effect in effects(outcomes, WRITE, chance=random.Random(1))}
    assert next(iter(found)) == "rsize"
    assert found["rsize"].best == "1048576"
    assert found["rsize"].gain == pytest.approx(4 * 2**0.5 - 1, rel=0.45)
    assert found["rsize"].share > 0.7
    assert sum(effect.share for effect in found.values()) < 1
    assert effect_text(found["hard"]) == "hard: no difference that counts was found."
    assert "1048576 is best" in effect_text(found["rsize"])
    pairs = {pair.factors: pair for pair in interactions(outcomes, WRITE, chance=random.Random(1))}
    assert pairs["rsize", "ra"].notable
    assert "have to be chosen together" in interaction_text(pairs["rsize", "ra"])
    assert not pairs["ra", "hard"].notable or pairs["ra", "hard"].share < 0.001
    assert "nothing was found" in interaction_text(pairs["ra", "hard"])
    assert pairs["rsize", "ra"].cells[2][1] == pytest.approx(2 ** (1 / 3), rel=0.03)
    once = interactions(_run(truth, factors, repeats=1), WRITE, chance=random.Random(1))
    assert "too few" in interaction_text(once[0])


def test_effects_compare_only_what_is_otherwise_equal() -> None:
    # The slow size lacks its best partner: that must not count against the partner, or for it.
    outcomes = [
        each
        for each in _run(_growing, _SIZES, noise=0.001)
        if (each.levels["rsize"], each.levels["nconnect"]) != ("4096", "8")
    ]
    found = {effect.factor: effect for effect in effects(outcomes, WRITE, chance=random.Random(1))}
    assert found["nconnect"].gain < 0.01


def test_places_are_shared_by_equals_and_compared_by_their_mean() -> None:
    rows = [("a", 5.0), ("b", 5.0), ("a", 4.0), ("a", 1.0), ("b", 3.0)]
    outcomes = [
        Outcome(levels={"f": level}, workload="w", block=0, order=order, figures={"write": speed})
        for order, (level, speed) in enumerate(rows)
    ]
    (sums,) = place_sums(outcomes, WRITE)
    assert {level.level: (level.sum, level.trials) for level in sums.levels} == {"a": (9.5, 3), "b": (5.5, 2)}
    assert sums.best == "b"
    assert place_text(sums) == "f: its levels' average places differ no more than by chance."


def test_a_level_that_is_usually_ahead() -> None:
    sums = {each.factor: each for each in place_sums(_run(_growing, _SIZES), WRITE)}
    assert place_text(sums["rsize"]).startswith(
        "rsize: 1048576 is usually ahead (average place 6), 4096 usually"
    )
    assert not sums["nconnect"].notable


def test_place_sums_are_those_of_counting_by_hand() -> None:
    outcomes = _run(_growing, _SIZES, seed=9)
    ordered = sorted(outcomes, key=lambda each: -each.figures["write"])
    for each in place_sums(outcomes, WRITE):
        for level in each.levels:
            by_hand = [n for n, row in enumerate(ordered, 1) if row.levels[each.factor] == level.level]
            assert (level.sum, level.trials) == (sum(by_hand), len(by_hand))


def test_drift_of_the_baseline() -> None:
    chance = random.Random(1)
    steady = [chance.lognormvariate(0, 0.05) for _ in range(10)]
    falling = [1 - 0.04 * number for number in range(8)]
    for values, notable in ((steady, False), (falling, True)):
        outcomes = [
            Outcome(
                levels={}, workload="w", block=0, order=order, baseline=True, figures={"write": 1e7 * each}
            )
            for order, each in enumerate(values)
        ]
        (drift,) = drifts(outcomes, [WRITE, READ])
        assert drift.notable == notable
        assert ("fell by 17 %" in drift_text(drift)) == notable
    (few,) = drifts(outcomes[:7], [WRITE])
    assert few.notable is None
    assert "too seldom to tell" in drift_text(few)
    assert drifts(outcomes[:1], [WRITE]) == []


@pytest.mark.parametrize(
    ("factors", "repeats"),
    [({"ac": ["", "noac", "actimeo=0"]}, 5), ({"a": ["1", "2"], "b": ["1", "2", "3"]}, 3)],
)
def test_of_chance_alone_nothing_is_claimed(factors: dict[str, list[str]], repeats: int) -> None:
    """In 5 of 100 experiments each may err; 8 and more of 40 would happen by such chance in 1 of 1000."""
    claims = {"groups": 0, "effects": 0, "interactions": 0}
    for seed in range(40):
        outcomes = _run(lambda _: 1e7, factors, repeats=repeats, noise=0.05, seed=seed)
        chance = random.Random(seed)
        claims["groups"] += ranking(outcomes, WRITE, chance=chance).standings[-1].group > 1
        claims["effects"] += any(each.notable for each in effects(outcomes, WRITE, chance=chance))
        claims["interactions"] += any(each.notable for each in interactions(outcomes, WRITE, chance=chance))
    assert max(claims.values()) < 8, claims


def test_where_none_is_ahead_it_is_said_what_would_have_shown() -> None:
    quiet = _run(lambda _: 1e7, {"ac": ["", "noac"]}, repeats=8, noise=0.01)
    assert "makes little difference" in winner_text(ranking(quiet, WRITE, chance=random.Random(1)), _mb)
    loud = _run(lambda _: 1e7, {"ac": ["", "noac"]}, repeats=5, noise=0.5)
    assert "more repeats, or a quieter link" in winner_text(
        ranking(loud, WRITE, chance=random.Random(1)), _mb
    )


def test_one_set_that_was_repeated_often_does_not_speak_for_all() -> None:
    still = [[1.0, 1.0001]] * 10
    noise = noise_of([*still, [1.0, 1.5] * 10], random.Random(1))
    assert noise is not None
    # By degrees of freedom: 19 of 29 are the loud set's, not 190 of 200 pairs.
    assert noise.variance() == pytest.approx(19 / 29 * 0.0433, rel=0.02)


def test_a_read_that_came_from_memory_is_counted_as_left_out() -> None:
    outcomes = _run(lambda _: 1e7, {"ac": ["", "noac"]})
    outcomes[0] = _with(outcomes[0], figures={})
    ranked = ranking(outcomes, WRITE, chance=random.Random(1))
    assert (ranked.left_out, ranked.unmeasured) == (1, 1)
    assert unmeasured_text(ranked).startswith("One trial has no figure here: it could not be measured.")
    none = ranking(outcomes, READ, chance=random.Random(1))
    assert none.unmeasured == len(outcomes)
    assert "came from this computer's memory" in unmeasured_text(none)
    assert unmeasured_text(ranking(outcomes[1:], WRITE, chance=random.Random(1))) == ""


def test_a_curve_that_is_flat_chooses_nothing_and_a_table_says_no_difference() -> None:
    outcomes = _run(lambda levels: 1e7, {"timeo": ["3", "7", "600"]}, repeats=5, seed=2)
    found = curve(outcomes, "timeo", {"timeo": "7"}, WRITE, chance=random.Random(1))
    assert found is not None
    assert found.best is None
    (row,) = comparison(outcomes, "timeo", "7", chance=random.Random(1), figures=[WRITE])
    assert [cell.level for cell in row.cells] == ["7", "3", "600"]
    assert comparison_text(row, _mb).endswith("; 3 no difference; 600 no difference.")
    assert curve(outcomes[:1], "timeo", {}, WRITE, chance=random.Random(1)) is None


def test_figures_that_are_made_of_others() -> None:
    both = Outcome(
        levels={}, workload="w", block=0, order=0, timeouts=3, retransmissions=4,
        figures={"write": 10.0, "write_bytes": 100.0, "write_s": 2.0, "read": 50.0, "read_bytes": 100.0,
                 "sync_s": 4.0, "unmount_s": 6.0},
    )  # fmt: skip
    assert value(both, WRITE_TOTAL_S) == 10
    assert value(both, WRITE_TOTAL_S, counted=True) == 20
    assert value(both, WRITE, counted=True) == 5
    assert value(both, WRITE_CALLS) == 50
    assert value(both, WRITE_CALLS, counted=True) == pytest.approx(100 / 12)
    # What was read before needs no sync.
    assert value(both, READ_TOTAL_S, counted=True) == 2
    assert value(both, "timeouts") == 3
    assert value(both, "create") is None
    only_read = _with(both, figures={"read": 50.0, "read_bytes": 100.0, "unmount_s": 2.0})
    assert value(only_read, READ, counted=True) == 25
    assert "3.6" in counted_text("It", WRITE, 73.2e6, 3.6e6, _mb)
    assert all(quantity.label for quantity in QUANTITIES.values())


def test_levels_come_in_the_order_of_their_numbers() -> None:
    outcomes = [
        Outcome(levels={"size": level, "same": "x"}, workload="w", block=0, order=0)
        for level in ("default", "1M", "64k", "8192", "soft")
    ]
    assert levels_of(outcomes) == {"size": ["8192", "64k", "1M", "default", "soft"]}


def test_little_noise_or_none_is_no_reason_to_fail() -> None:
    assert noise_of([[1.0], [2.0, 2.0]], random.Random(1)) is None
    still = noise_of([[2.0, 2.0, 2.0], [3.0, 3.0, 3.0]], random.Random(1))
    assert still is not None
    assert still.half_width(3) == 0
    assert noise_of([[0.0, 1.0], [-1.0, 2.0]], random.Random(1)) is None
    assert steady_text([]) == "No matrix has values."

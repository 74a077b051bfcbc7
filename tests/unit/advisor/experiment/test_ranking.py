"""Rankings, groups, drift, error model and their sentences, on simulated experiments with known truth."""

from __future__ import annotations

import random

import pytest
from known_experiments import SIZES, growing, mb, run
from msgspec.structs import replace

from advisor.experiment.error_model import estimate_error_model
from advisor.experiment.measurements import (
    FIGURE_INFO,
    READ,
    READ_TOTAL_S,
    TIMEOUTS,
    WRITE,
    WRITE_CALLS,
    WRITE_TOTAL_S,
    TrialOutcome,
    figure_value,
    sync_time_matters,
    varied_levels,
)
from advisor.experiment.ranking import baseline_drifts, rank_sets
from advisor.experiment.tables import compare_with_base
from app.text.experiment import (
    compared_with_best_text,
    comparison_text,
    consistency_text,
    drift_text,
    interval_text,
    sync_time_text,
    unmeasured_text,
    winner_text,
)


def test_sets_that_are_the_same_are_one_group_and_others_are_not() -> None:
    ranked = rank_sets(run(growing, SIZES), WRITE, chance=random.Random(1))
    groups = [(standing.levels["rsize"], standing.group) for standing in ranked.standings]
    assert groups == [("1048576", 1)] * 4 + [("65536", 2)] * 4 + [("4096", 3)] * 4
    assert all(each.low < each.median < each.high and each.method == "bootstrap" for each in ranked.standings)
    assert ranked.scatter == pytest.approx(0.06, abs=0.03)
    assert winner_text(ranked, mb).startswith(
        "No significant difference among 4 of the 12 sets. The first of them is "
    )
    first, last = ranked.standings[0], ranked.standings[-1]
    assert "does not differ significantly from the best" in compared_with_best_text(
        ranked, ranked.standings[3].levels, "It", mb
    )
    assert "has rank 12 with 1" in compared_with_best_text(ranked, last.levels, "The default", mb)
    assert "came first" in compared_with_best_text(ranked, first.levels, "The default", mb)
    assert "3 repeats, by bootstrap" in interval_text(first)


@pytest.mark.parametrize(
    ("sets", "seeds", "most"),
    # Limit with a probability of 0.01 for an expected error rate of 5 %.
    [(3, 100, 11), (40, 30, 5), pytest.param(40, 100, 11, marks=pytest.mark.long)],
)
def test_equal_sets_are_one_group_as_often_as_promised(sets: int, seeds: int, most: int) -> None:
    split = 0
    for seed in range(seeds):
        outcomes = run(
            lambda levels: 1e7, {"a": [str(number) for number in range(sets)]}, seed=seed, noise=0.1
        )
        ranked = rank_sets(outcomes, WRITE, chance=random.Random(seed))
        split += ranked.standings[-1].group != 1
    assert split <= most


def test_the_intervals_cover_the_truth_as_often_as_promised() -> None:
    covered = total = 0
    for seed in range(30):
        ranked = rank_sets(run(growing, SIZES, noise=0.2, seed=seed), WRITE, chance=random.Random(seed))
        for each in ranked.standings:
            covered += each.low <= growing(each.levels) <= each.high
            total += 1
    assert covered / total == pytest.approx(0.95, abs=0.04)


def test_with_six_repeats_the_interval_is_exact_and_with_one_nothing_can_be_told() -> None:
    many = rank_sets(run(growing, SIZES, repeats=6), WRITE, chance=random.Random(1))
    assert {each.method for each in many.standings} == {"sign-test"}
    assert "no distribution is assumed" in interval_text(many.standings[0])
    once = rank_sets(run(growing, SIZES, repeats=1), WRITE, chance=random.Random(1))
    assert {(each.method, each.group) for each in once.standings} == {("range", 0)}
    assert "too few trials were repeated" in winner_text(once, mb)
    assert "too few for a" in interval_text(once.standings[0])


def test_the_baseline_s_repeats_tell_what_chance_does_where_sets_ran_once() -> None:
    outcomes = run(growing, SIZES, repeats=1)
    watch = run(lambda levels: 1e7, {"rsize": ["4096"], "nconnect": ["1"]}, repeats=6, seed=5)
    outcomes += [replace(each, baseline=True) for each in watch]
    ranked = rank_sets(outcomes, WRITE, chance=random.Random(1))
    assert [each.group for each in ranked.standings][:4] == [1, 1, 1, 1]
    assert ranked.standings[-1].group > 1
    assert len(ranked.standings[-1].values) == 1


def test_what_failed_or_ran_with_other_values_is_left_out_and_counted() -> None:
    outcomes = run(growing, SIZES)
    wrong = [
        replace(outcomes[0], state="mismatch", figures={"write": 1e12}),
        replace(outcomes[1], state="failed"),
    ]
    ranked = rank_sets([*wrong, *outcomes[2:]], WRITE, chance=random.Random(1))
    assert ranked.left_out == 2
    assert ranked.standings[0].median < 1e9


def _timed_out(counts: dict[str, list[int]]) -> list[TrialOutcome]:
    return [
        TrialOutcome(
            levels={"rsize": size}, workload="w", block=block, order=0, figures={"write": 1e6}, timeouts=count
        )
        for size, row in counts.items()
        for block, count in enumerate(row)
    ]


def _plain(_figure: str, number: float) -> str:
    return f"{number:g}"


def test_time_outs_that_never_were_set_nothing_apart() -> None:
    # Zeros are common for this figure; too few repeats are not the reason.
    none = rank_sets(_timed_out(dict.fromkeys("123", [0] * 10)), TIMEOUTS, chance=random.Random(1))
    assert winner_text(none, _plain) == "All 3 sets come out alike, with a median of 0 (time-outs)."
    for size in "13":
        assert (
            compared_with_best_text(none, {"rsize": size}, "It", _plain) == "It is among the first, with 0."
        )
    some = _timed_out({"1": [0, 0, 0], "2": [0, 0, 3], "3": [5, 6, 7], "4": [20, 22, 21]})
    found = rank_sets(some, TIMEOUTS, chance=random.Random(1))
    assert winner_text(found, _plain) == (
        "rsize=1 came first with 0 (time-outs), and 1 other set with the same. How the rest differs from 0 "
        "cannot be told from chance."
    )
    assert compared_with_best_text(found, {"rsize": "3"}, "It", _plain) == (
        "It has rank 3 with 6. Where trials have 0, no difference can be told from chance."
    )
    alone = rank_sets(
        [each for each in some if each.levels["rsize"] != "2"], TIMEOUTS, chance=random.Random(1)
    )
    assert winner_text(alone, _plain) == (
        "rsize=1 came first with 0 (time-outs). How the rest differs from 0 cannot be told from chance."
    )
    mixed = rank_sets(_timed_out({"1": [1, 2, 0, 1], "2": [3, 5, 0, 4]}), TIMEOUTS, chance=random.Random(1))
    assert winner_text(mixed, _plain) == (
        "rsize=1 came first with 1 (time-outs), but where trials have 0, no difference can be told from "
        "chance."
    )
    (row,) = compare_with_base(some, "rsize", "1", chance=random.Random(1), figures=[TIMEOUTS])
    assert comparison_text(row, _plain) == "w, time-outs: 1 0; 2 0; 3 6; 4 21."


def test_workloads_are_not_mixed() -> None:
    outcomes = run(growing, SIZES)
    with pytest.raises(ValueError, match="several workloads"):
        rank_sets([outcomes[0], replace(outcomes[1], workload="other")], WRITE, chance=random.Random(1))


def test_all_alike_is_said() -> None:
    ranked = rank_sets(run(lambda levels: 5e7, SIZES), WRITE, chance=random.Random(1))
    assert winner_text(ranked, mb).startswith("No significant difference among all 12 sets")
    assert winner_text(rank_sets([], WRITE, chance=random.Random(1)), mb) == "No trial has a result."


def test_two_sets_are_both_and_one_with_a_figure_is_not_the_one_that_ran() -> None:
    outcomes = run(lambda _: 1e7, {"ac": ["", "noac"]}, repeats=5)
    assert winner_text(rank_sets(outcomes, WRITE, chance=random.Random(1)), mb).startswith(
        "No significant difference between the two"
    )
    never = _timed_out({"1": [0, 0], "2": [0, 0]})
    assert winner_text(rank_sets(never, TIMEOUTS, chance=random.Random(1)), _plain).startswith(
        "Both sets come"
    )
    # All reads of the other set came from the client's cache.
    one = [replace(each, figures={}) if each.levels["ac"] else each for each in outcomes]
    assert winner_text(rank_sets(one, WRITE, chance=random.Random(1)), mb).startswith(
        "The one set with a figure: ac=, 9.9 MB/s"
    )
    failed = [replace(each, state="failed") if each.levels["ac"] else each for each in outcomes]
    assert winner_text(rank_sets(failed, WRITE, chance=random.Random(1)), mb).startswith(
        "The one set that ran: "
    )


def test_times_rank_from_the_shortest() -> None:
    outcomes = [
        replace(each, figures={**each.figures, "write_bytes": 2.0**26}) for each in run(growing, SIZES)
    ]
    speeds = rank_sets(outcomes, WRITE, chance=random.Random(1))
    times = rank_sets(outcomes, WRITE_TOTAL_S, chance=random.Random(1))
    assert [each.levels for each in speeds.standings] == [each.levels for each in times.standings]
    assert times.standings[0].median == pytest.approx(2**26 / speeds.standings[0].median)


def test_drift_of_the_baseline() -> None:
    chance = random.Random(1)
    steady = [chance.lognormvariate(0, 0.05) for _ in range(10)]
    falling = [1 - 0.04 * number for number in range(8)]
    for values, notable in ((steady, False), (falling, True)):
        outcomes = [
            TrialOutcome(
                levels={}, workload="w", block=0, order=order, baseline=True, figures={"write": 1e7 * each}
            )
            for order, each in enumerate(values)
        ]
        (drift,) = baseline_drifts(outcomes, [WRITE, READ])
        assert drift.notable == notable
        assert ("fell by 17%" in drift_text(drift)) == notable
    (few,) = baseline_drifts(outcomes[:7], [WRITE])
    assert few.notable is None
    assert "too seldom to show" in drift_text(few)
    assert baseline_drifts(outcomes[:1], [WRITE]) == []


def test_where_none_is_ahead_it_is_said_what_would_have_shown() -> None:
    quiet = run(lambda _: 1e7, {"ac": ["", "noac"]}, repeats=8, noise=0.01)
    assert "the choice matters little" in winner_text(rank_sets(quiet, WRITE, chance=random.Random(1)), mb)
    loud = run(lambda _: 1e7, {"ac": ["", "noac"]}, repeats=5, noise=0.5)
    assert "more repeats or a quieter link" in winner_text(
        rank_sets(loud, WRITE, chance=random.Random(1)), mb
    )


def test_one_set_that_was_repeated_often_does_not_speak_for_all() -> None:
    still = [[1.0, 1.0001]] * 10
    noise = estimate_error_model([*still, [1.0, 1.5] * 10], random.Random(1))
    assert noise is not None
    # Weighted by degrees of freedom: the noisy set has 19 of 29, although it has 190 of 200 pairs.
    assert noise.variance() == pytest.approx(19 / 29 * 0.0433, rel=0.02)


def test_a_read_that_came_from_memory_is_counted_as_left_out() -> None:
    outcomes = run(lambda _: 1e7, {"ac": ["", "noac"]})
    outcomes[0] = replace(outcomes[0], figures={})
    ranked = rank_sets(outcomes, WRITE, chance=random.Random(1))
    assert (ranked.left_out, ranked.unmeasured) == (1, 1)
    assert unmeasured_text(ranked).startswith("1 trial has no figure here: it could not be measured.")
    none = rank_sets(outcomes, READ, chance=random.Random(1))
    assert none.unmeasured == len(outcomes)
    assert "came from this computer's memory" in unmeasured_text(none)
    assert unmeasured_text(rank_sets(outcomes[1:], WRITE, chance=random.Random(1))) == ""


def test_figures_that_are_made_of_others() -> None:
    both = TrialOutcome(
        levels={}, workload="w", block=0, order=0, timeouts=3, retransmissions=4,
        figures={"write": 10.0, "write_bytes": 100.0, "write_s": 2.0, "read": 50.0, "read_bytes": 100.0,
                 "sync_s": 4.0, "unmount_s": 6.0},
    )  # fmt: skip
    assert figure_value(both, WRITE_TOTAL_S) == 10
    assert figure_value(both, WRITE_TOTAL_S, counted=True) == 20
    assert figure_value(both, WRITE, counted=True) == 5
    assert figure_value(both, WRITE_CALLS) == 50
    assert figure_value(both, WRITE_CALLS, counted=True) == pytest.approx(100 / 12)
    # Reads need no sync.
    assert figure_value(both, READ_TOTAL_S, counted=True) == 2
    assert figure_value(both, "timeouts") == 3
    assert figure_value(both, "create") is None
    only_read = replace(both, figures={"read": 50.0, "read_bytes": 100.0, "unmount_s": 2.0})
    assert figure_value(only_read, READ, counted=True) == 25
    assert sync_time_matters([only_read], READ)
    assert sync_time_matters([both], WRITE_TOTAL_S)
    assert not sync_time_matters([both], READ)
    assert not sync_time_matters([both], "timeouts")
    assert not sync_time_matters([], WRITE)
    assert "3.6" in sync_time_text("It", WRITE, 73.2e6, 3.6e6, mb)
    assert all(quantity.label for quantity in FIGURE_INFO.values())


def test_levels_come_in_the_order_of_their_numbers() -> None:
    outcomes = [
        TrialOutcome(levels={"size": level, "same": "x"}, workload="w", block=0, order=0)
        for level in ("default", "1M", "64k", "8192", "soft")
    ]
    assert varied_levels(outcomes) == {"size": ["8192", "64k", "1M", "default", "soft"]}


def test_little_noise_or_none_is_no_reason_to_fail() -> None:
    assert estimate_error_model([[1.0], [2.0, 2.0]], random.Random(1)) is None
    still = estimate_error_model([[2.0, 2.0, 2.0], [3.0, 3.0, 3.0]], random.Random(1))
    assert still is not None
    assert still.half_width(3) == 0
    assert estimate_error_model([[0.0, 1.0], [-1.0, 2.0]], random.Random(1)) is None
    assert consistency_text([], "") == "No matrix has values."

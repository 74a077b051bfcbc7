"""The places of each level's trials, where some combinations were struck out."""

from __future__ import annotations

from known_experiments import SIZES, growing, run

from advisor.experiment.measurements import WRITE
from advisor.experiment_effects import place_sums


def test_a_level_that_ran_only_beside_the_best_of_another_factor_is_not_called_ahead() -> None:
    outcomes = [
        one for one in run(growing, SIZES, repeats=9)
        if one.levels["nconnect"] != "8" or one.levels["rsize"] == "1048576"
    ]  # fmt: skip
    sums = {one.factor: one for one in place_sums(outcomes, WRITE)}
    assert sums["nconnect"].best == "8"  # as the study adds them, which had all combinations
    assert not sums["nconnect"].notable
    assert (sums["rsize"].best, sums["rsize"].notable) == ("1048576", True)


def test_of_levels_that_never_ran_beside_each_other_none_is_called_ahead() -> None:
    outcomes = [
        one for one in run(growing, SIZES)
        if (one.levels["nconnect"] == "8") == (one.levels["rsize"] == "1048576")
    ]  # fmt: skip
    sums = {one.factor: one for one in place_sums(outcomes, WRITE)}
    assert not any(one.notable for one in sums.values())


def test_a_level_that_is_ahead_beside_the_same_ones_is_so_though_some_are_missing() -> None:
    outcomes = [
        one for one in run(growing, SIZES)
        if one.levels["nconnect"] != "8" or one.levels["rsize"] != "1048576"
    ]  # fmt: skip
    sums = {one.factor: one for one in place_sums(outcomes, WRITE)}
    assert (sums["rsize"].best, sums["rsize"].notable) == ("1048576", True)

"""The search for the best setting where mounts fail or the server dies, and how it goes on later."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from experiment_world import Mount, World, experiment
from search_world import FACTORS, dying, refusing, resume, retests, search, searched, told, world

from app.errors import AppError, ErrorKind
from app.experiment.model import ExperimentPlan
from app.experiment.search import search_result_to_date
from app.history.experiment_store import is_unfinished

if TYPE_CHECKING:
    from app.tasks import CancelToken


def test_a_server_that_dies_ends_it_with_what_is_known() -> None:
    here = world()
    dying(here, 20)
    result, _ = search(here)
    assert "3 trials failed" in result.stopped
    assert result.answer.trials == 20  # those of the dead server say nothing of their sets


@pytest.mark.parametrize("alive", range(6, 16))
def test_a_server_that_dies_takes_no_set_from_the_answer(alive: int) -> None:
    """Whichever sets were tried last: the best one was among them at some of these ends."""
    here = world()
    dying(here, alive)
    result, events = search(here, factors=[FACTORS[1]])
    plan, outcomes = told(events)
    assert result.stopped
    assert outcomes[-1].state == "failed"
    assert result.answer.winner.levels == {"nconnect": "8"}
    assert result.struck == []
    later = search_result_to_date(plan, outcomes)
    assert later is not None
    assert (later.answer, later.struck) == (result.answer, [])


def failing(here: World, word: str, times: range) -> None:
    """Have mounts with this option fail at these times, counted when the search has begun its trials."""
    opened, count = here.open, itertools.count()

    def refuse(options: str, read_ahead_kb: int | None, token: CancelToken) -> Mount:
        if here.specs and word in options and next(count) in times:
            raise AppError(ErrorKind.SERVER_SILENT, "The server does not answer.")
        return opened(options, read_ahead_kb, token)

    here.open = refuse  # type: ignore[method-assign]


@pytest.mark.parametrize("hiccups", [1, 2])
def test_a_hiccup_of_the_best_set_costs_its_time_alone(hiccups: int) -> None:
    here = world()
    here.time = 0.0
    failing(here, "nconnect=8", range(2, 2 + hiccups))
    result, events = search(here, factors=[FACTORS[1]], budget_s=60.0)
    outcomes = told(events)[1]
    failed = [one.order for one in outcomes if one.state == "failed"]
    assert [outcomes[order].levels["nconnect"] for order in failed] == ["8"] * hiccups
    assert result.answer.winner.levels == {"nconnect": "8"}
    assert any(one.levels["nconnect"] == "8" for one in outcomes[failed[-1] + 1 :])
    assert (result.stopped, result.struck) == ("", [])
    assert result.answer.trials == len(searched(outcomes))


def test_a_set_that_fails_from_some_time_on_is_given_up_and_the_others_go_on() -> None:
    here = world()
    failing(here, "nconnect=8", range(2, 10**6))
    result, events = search(here, factors=[FACTORS[1]], budget_s=60.0)
    outcomes = told(events)[1]
    failed = [one.order for one in outcomes if one.state == "failed"]
    assert len(failed) == 3
    assert len(outcomes) > failed[-1] + 3
    assert result.answer.winner.levels == {"nconnect": "4"}
    assert [one.levels for one in result.struck] == [{"nconnect": "8"}]
    assert result.stopped == ""


def test_many_sets_that_cannot_be_mounted_are_no_dead_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.experiment.search_space._PROBING_SHARE", 0.0)
    here = world()
    refusing(here, "rsize", "nconnect")
    result, events = search(here)
    assert sum(one.state == "failed" for one in told(events)[1]) > 3
    assert result.stopped == ""


def test_no_result_at_all_is_an_error() -> None:
    here = world()
    here.before_test = lambda world: setattr(world, "dead", True)
    with pytest.raises(AppError) as caught:
        search(here)
    assert "No trial gave a result" in caught.value.message


@pytest.mark.parametrize("stop", [0, 7])
def test_it_goes_on_where_it_stopped(stop: int) -> None:
    here = world()
    whole, events = search(here, budget_s=60.0)
    plan, outcomes = told(events)
    here.time = 0.0
    here.opened.clear()
    result, rest = resume(here, plan, outcomes[:stop])
    assert [one.order for one in outcomes[:stop] + rest] == list(range(stop + len(rest)))
    # With the same figures it is the race that it would have been.
    assert [one.levels for one in rest][:20] == [one.levels for one in outcomes[stop:]][:20]
    assert result.answer.winner.levels == whole.answer.winner.levels
    assert result.answer.trials == stop + len(searched(rest))
    assert len(here.opened) == len(rest) + 1  # nothing is tried again, but for the warm-up
    before = outcomes[stop - 1].left_s if stop else plan.seconds
    assert before is not None
    assert here.time <= before + 2


def test_what_has_ended_tells_its_answer_again_and_goes_on_only_for_more_time() -> None:
    here = world()
    whole, events = search(here, budget_s=60.0)
    plan, outcomes = told(events)
    assert [is_unfinished(plan, outcomes[:count]) for count in (0, 5, len(outcomes))] == [True, True, False]
    assert outcomes[-1].left_s == 0
    here.opened.clear()
    again, more = resume(here, plan, outcomes)
    assert (again.answer, more, here.opened) == (whole.answer, [], [])
    began = here.time
    _, more = resume(here, plan, outcomes, budget_s=30.0)
    assert more
    assert here.time <= began + 30 + 2


def test_a_search_that_a_dead_server_ended_tries_those_again_that_failed() -> None:
    here = world()
    dying(here, 20)
    plan, outcomes = told(search(here)[1])
    assert [one.state for one in outcomes[-3:]] == ["failed"] * 3
    assert is_unfinished(plan, outcomes)
    here.before_test = lambda _world: None
    here.dead = False
    result, more = resume(here, plan, outcomes)
    assert more[0].order == outcomes[-3].order
    assert result.answer.trials == len(outcomes) - 3 + len(searched(more))
    assert not result.struck


def test_a_search_that_went_on_for_less_time_than_was_lost_is_at_its_end() -> None:
    here = world()
    dying(here, 14)
    plan, outcomes = told(search(here)[1])
    here.before_test, here.dead = lambda _world: None, False
    _, more = resume(here, plan, outcomes, budget_s=4.0)
    assert len(more) < 3
    kept = sorted(({one.order: one for one in [*outcomes, *more]}).values(), key=lambda one: one.order)
    assert kept[-1].state == "failed"  # of the dead server, further on
    assert not is_unfinished(plan, kept)
    found = search_result_to_date(plan, kept)
    assert found is not None
    assert found.answer.trials == len(outcomes) - 3 + len(more)
    assert resume(here, plan, kept)[1] == []


def test_time_for_one_trial_is_not_spent_on_warming_up() -> None:
    here = world()
    plan, outcomes = told(search(here, budget_s=60.0)[1])
    del outcomes[-1]
    assert is_unfinished(plan, outcomes)
    _, more = resume(here, plan, outcomes)
    assert more
    assert not is_unfinished(plan, [*outcomes, *more])


def test_only_a_search_is_gone_on_with() -> None:
    plan = ExperimentPlan(
        experiment=experiment(), sets=[], struck=[], trials=0, seconds=0.0, bytes=0, space=0
    )
    with pytest.raises(AppError) as caught:
        resume(world(), plan, [])
    assert caught.value.kind is ErrorKind.USAGE


def test_pairs_that_cannot_be_mounted_are_struck_out_before() -> None:
    here = world()
    refusing(here, "rsize=32768", "nconnect=4")
    plan, outcomes = told(search(here)[1])
    (pair,) = [one for one in plan.struck if "nconnect" in one.levels]
    assert pair.levels == {"transfer_size": "32768", "nconnect": "4"}
    assert pair.reason == "It cannot be mounted. The kernel refuses it."
    assert len(plan.sets) == 3 * 4 * 3 - 3
    assert {one.state for one in outcomes} == {"ok"}


@pytest.mark.parametrize("error", ["refused", "other values"])
def test_what_was_not_tried_before_is_seen_when_its_turn_comes(
    error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if there were time to try the levels alone only."""
    monkeypatch.setattr("app.experiment.search_space._PROBING_SHARE", 0.0)
    here = world()
    opened = here.open

    def other(options: str, read_ahead_kb: int | None, token: CancelToken) -> Mount:
        together = "rsize=131072" in options and "nconnect=8" in options
        if together and error == "refused":
            raise AppError(ErrorKind.OPTION_REJECTED, "The kernel refuses it.")
        mount = opened(options, read_ahead_kb, token)
        if together:
            mount.effective["rsize"] = "4096"
        return mount

    here.open = other  # type: ignore[method-assign]
    result, events = search(here, seed=3)
    plan, outcomes = told(events)
    assert not any(one.whole for one in plan.sets if one.levels["nconnect"] == "8"
                   and one.levels["transfer_size"] == "131072")  # fmt: skip
    assert len(plan.sets) == 36
    marked = [one for one in outcomes if one.state == ("failed" if error == "refused" else "mismatch")]
    assert marked
    assert len(marked) == len({str(one.levels) for one in marked}) == len(result.struck)
    words = "refuses" if error == "refused" else "rsize is 4096 instead of 131072"
    assert all(words in one.reason for one in result.struck)
    levels = result.answer.winner.levels
    assert (levels["nconnect"], levels["transfer_size"]) != ("8", "131072")
    assert result.answer.candidates == 36 - len(marked)


@pytest.mark.parametrize("stop", [1, 6, 11])
def test_a_re_test_goes_on_where_it_stopped(stop: int) -> None:
    here = world()
    whole, events = search(here, options="nconnect=2")
    plan, outcomes = told(events)
    begun = len(searched(outcomes)) + stop
    assert is_unfinished(plan, outcomes[:begun])
    assert not is_unfinished(plan, outcomes)
    result, rest = resume(here, plan, outcomes[:begun])
    assert searched(rest) == []
    assert result.answer == whole.answer
    assert result.retest is not None
    assert whole.retest is not None
    assert result.retest.rounds == whole.retest.rounds
    later = search_result_to_date(plan, outcomes)
    assert later is not None
    assert later.retest == whole.retest


def test_a_server_that_dies_in_the_re_test_leaves_it_for_later() -> None:
    here = world()
    whole, events = search(here, options="nconnect=2")
    count = len(searched(told(events)[1])) + 3
    here = world()
    dying(here, count)
    result, events = search(here, options="nconnect=2")
    plan, outcomes = told(events)
    assert "3 trials failed" in result.stopped
    assert result.answer == whole.answer
    assert is_unfinished(plan, outcomes)
    here.before_test, here.dead = lambda _world: None, False
    result, rest = resume(here, plan, outcomes)
    assert retests(rest) == rest
    assert result.retest is not None
    assert result.retest.gained

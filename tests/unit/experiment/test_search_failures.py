"""Search for the best settings: failing mounts, a failing server, and resuming."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from experiment_world import Mount, World, experiment
from search_world import (
    FACTORS,
    fail_after,
    refuse_options,
    resume,
    retests,
    search,
    search_outcomes,
    told,
    world,
)

from app.errors import AppError, ErrorKind
from app.experiment.model import ExperimentPlan
from app.experiment.search import search_result_to_date
from app.history.experiment_store import is_unfinished
from app.text.message import message_text

if TYPE_CHECKING:
    from app.tasks import CancelToken


def test_a_failing_server_ends_the_search_with_a_result() -> None:
    server = world()
    fail_after(server, 20)
    result, _ = search(server)
    assert "3 trials in a row failed" in message_text(result.stopped)
    assert result.answer.trials == 20  # failures of the server do not count against their sets


@pytest.mark.parametrize("alive", range(6, 16))
def test_a_failing_server_excludes_no_set(alive: int) -> None:
    """The result does not depend on the last sets tried, which at some of these ends include the best one."""
    server = world()
    fail_after(server, alive)
    result, events = search(server, factors=[FACTORS[1]])
    plan, outcomes = told(events)
    assert result.stopped
    assert outcomes[-1].state == "failed"
    assert result.answer.winner.levels == {"nconnect": "8"}
    assert result.struck == []
    later = search_result_to_date(plan, outcomes)
    assert later is not None
    assert (later.answer, later.struck) == (result.answer, [])


def failing(server: World, word: str, times: range) -> None:
    """Make mounts with this option fail these times, counted from the first trial of the search."""
    opened, count = server.open, itertools.count()

    def refuse(options: str, read_ahead_kb: int | None, token: CancelToken) -> Mount:
        if server.specs and word in options and next(count) in times:
            raise AppError(ErrorKind.SERVER_SILENT, "The server does not answer.")
        return opened(options, read_ahead_kb, token)

    server.open = refuse  # type: ignore[method-assign]


@pytest.mark.parametrize("hiccups", [1, 2])
def test_transient_failures_of_the_best_set_are_tolerated(hiccups: int) -> None:
    server = world()
    server.time = 0.0
    failing(server, "nconnect=8", range(2, 2 + hiccups))
    result, events = search(server, factors=[FACTORS[1]], budget_s=60.0)
    outcomes = told(events)[1]
    failed = [one.order for one in outcomes if one.state == "failed"]
    assert [outcomes[order].levels["nconnect"] for order in failed] == ["8"] * hiccups
    assert result.answer.winner.levels == {"nconnect": "8"}
    assert any(one.levels["nconnect"] == "8" for one in outcomes[failed[-1] + 1 :])
    assert (result.stopped, result.struck) == (None, [])
    assert result.answer.trials == len(search_outcomes(outcomes))


def test_a_set_that_fails_repeatedly_is_given_up() -> None:
    server = world()
    failing(server, "nconnect=8", range(2, 10**6))
    result, events = search(server, factors=[FACTORS[1]], budget_s=60.0)
    outcomes = told(events)[1]
    failed = [one.order for one in outcomes if one.state == "failed"]
    assert len(failed) == 3
    assert len(outcomes) > failed[-1] + 3
    assert result.answer.winner.levels == {"nconnect": "4"}
    assert [one.levels for one in result.struck] == [{"nconnect": "8"}]
    assert result.stopped is None


def test_many_infeasible_sets_do_not_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.experiment.search_space._PROBING_SHARE", 0.0)
    server = world()
    refuse_options(server, "rsize", "nconnect")
    result, events = search(server)
    assert sum(one.state == "failed" for one in told(events)[1]) > 3
    assert result.stopped is None


def test_no_result_at_all_is_an_error() -> None:
    server = world()
    server.before_test = lambda world: setattr(world, "dead", True)
    with pytest.raises(AppError) as caught:
        search(server)
    assert "No trial gave a result" in caught.value.message


@pytest.mark.parametrize("stop", [0, 7])
def test_search_resumes_where_it_stopped(stop: int) -> None:
    server = world()
    whole, events = search(server, budget_s=60.0)
    plan, outcomes = told(events)
    server.time = 0.0
    server.opened.clear()
    result, rest = resume(server, plan, outcomes[:stop])
    assert [one.order for one in outcomes[:stop] + rest] == list(range(stop + len(rest)))
    # With the same figures it continues like the uninterrupted search.
    assert [one.levels for one in rest][:20] == [one.levels for one in outcomes[stop:]][:20]
    assert result.answer.winner.levels == whole.answer.winner.levels
    assert result.answer.trials == stop + len(search_outcomes(rest))
    assert len(server.opened) == len(rest) + 1  # no trial is repeated; one mount is for the warm-up
    before = outcomes[stop - 1].left_s if stop else plan.seconds
    assert before is not None
    assert server.time <= before + 2


def test_a_finished_search_repeats_its_result() -> None:
    server = world()
    whole, events = search(server, budget_s=60.0)
    plan, outcomes = told(events)
    assert [is_unfinished(plan, outcomes[:count]) for count in (0, 5, len(outcomes))] == [True, True, False]
    assert outcomes[-1].left_s == 0
    server.opened.clear()
    again, more = resume(server, plan, outcomes)
    assert (again.answer, more, server.opened) == (whole.answer, [], [])
    began = server.time
    _, more = resume(server, plan, outcomes, budget_s=30.0)
    assert more
    assert server.time <= began + 30 + 2


def test_resuming_repeats_trials_that_failed_at_the_end() -> None:
    server = world()
    fail_after(server, 20)
    plan, outcomes = told(search(server)[1])
    assert [one.state for one in outcomes[-3:]] == ["failed"] * 3
    assert is_unfinished(plan, outcomes)
    server.before_test = lambda _world: None
    server.dead = False
    result, more = resume(server, plan, outcomes)
    assert more[0].order == outcomes[-3].order
    assert result.answer.trials == len(outcomes) - 3 + len(search_outcomes(more))
    assert not result.struck


def test_resuming_for_a_short_time_ignores_later_failures() -> None:
    server = world()
    fail_after(server, 14)
    plan, outcomes = told(search(server)[1])
    server.before_test, server.dead = lambda _world: None, False
    _, more = resume(server, plan, outcomes, budget_s=4.0)
    assert len(more) < 3
    kept = sorted(({one.order: one for one in [*outcomes, *more]}).values(), key=lambda one: one.order)
    assert kept[-1].state == "failed"  # a later failure by the server
    assert not is_unfinished(plan, kept)
    found = search_result_to_date(plan, kept)
    assert found is not None
    assert found.answer.trials == len(outcomes) - 3 + len(more)
    assert resume(server, plan, kept)[1] == []


def test_warm_up_does_not_use_up_the_time_for_a_trial() -> None:
    server = world()
    plan, outcomes = told(search(server, budget_s=60.0)[1])
    del outcomes[-1]
    assert is_unfinished(plan, outcomes)
    _, more = resume(server, plan, outcomes)
    assert more
    assert not is_unfinished(plan, [*outcomes, *more])


def test_only_a_search_can_be_resumed() -> None:
    plan = ExperimentPlan(
        experiment=experiment(), sets=[], struck=[], trials=0, seconds=0.0, bytes=0, space=0
    )
    with pytest.raises(AppError) as caught:
        resume(world(), plan, [])
    assert caught.value.kind is ErrorKind.USAGE


def test_infeasible_pairs_are_excluded_by_planning() -> None:
    server = world()
    refuse_options(server, "rsize=32768", "nconnect=4")
    plan, outcomes = told(search(server)[1])
    (pair,) = [one for one in plan.struck if "nconnect" in one.levels]
    assert pair.levels == {"transfer_size": "32768", "nconnect": "4"}
    assert pair.reason == "It cannot be mounted. The kernel refuses it."
    assert len(plan.sets) == 3 * 4 * 3 - 3
    assert {one.state for one in outcomes} == {"ok"}


@pytest.mark.parametrize("error", ["refused", "other values"])
def test_unprobed_sets_are_excluded_by_their_trials(error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the time limit permitted mounting only single levels."""
    monkeypatch.setattr("app.experiment.search_space._PROBING_SHARE", 0.0)
    server = world()
    opened = server.open

    def other(options: str, read_ahead_kb: int | None, token: CancelToken) -> Mount:
        together = "rsize=131072" in options and "nconnect=8" in options
        if together and error == "refused":
            raise AppError(ErrorKind.OPTION_REJECTED, "The kernel refuses it.")
        mount = opened(options, read_ahead_kb, token)
        if together:
            mount.effective["rsize"] = "4096"
        return mount

    server.open = other  # type: ignore[method-assign]
    result, events = search(server, seed=3)
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
def test_a_retest_resumes_where_it_stopped(stop: int) -> None:
    server = world()
    whole, events = search(server, options="nconnect=2")
    plan, outcomes = told(events)
    begun = len(search_outcomes(outcomes)) + stop
    assert is_unfinished(plan, outcomes[:begun])
    assert not is_unfinished(plan, outcomes)
    result, rest = resume(server, plan, outcomes[:begun])
    assert search_outcomes(rest) == []
    assert result.answer == whole.answer
    assert result.retest is not None
    assert whole.retest is not None
    assert result.retest.rounds == whole.retest.rounds
    later = search_result_to_date(plan, outcomes)
    assert later is not None
    assert later.retest == whole.retest


def test_a_failing_server_leaves_the_retest_for_later() -> None:
    server = world()
    whole, events = search(server, options="nconnect=2")
    count = len(search_outcomes(told(events)[1])) + 3
    server = world()
    fail_after(server, count)
    result, events = search(server, options="nconnect=2")
    plan, outcomes = told(events)
    assert "3 trials in a row failed" in message_text(result.stopped)
    assert result.answer == whole.answer
    assert is_unfinished(plan, outcomes)
    server.before_test, server.dead = lambda _world: None, False
    result, rest = resume(server, plan, outcomes)
    assert retests(rest) == rest
    assert result.retest is not None
    assert result.retest.gained

"""Experiment recorder: trials are saved, failed saves repeated, and the experiment stays locked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from experiment_harness import (
    CANCELLED,
    HELD,
    RECIPE,
    SEARCHED,
    WHOLE,
    Call,
    ExperimentHarness,
    resume_stored,
)
from fake_experiments import PLAN, outcomes

from app.errors import AppError
from app.experiment.model import ExperimentEvent
from app.history.experiment_lock import is_experiment_locked, lock_experiment

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication


@pytest.fixture
def world(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> ExperimentHarness:
    return ExperimentHarness(qapp, monkeypatch)


# Saving


def test_a_trial_that_could_not_be_kept_is_kept_with_the_next_one(world: ExperimentHarness) -> None:
    run = resume_stored(world, 16)
    world.finish_trial(run, 16)
    world.last.fail(HELD)
    assert world.errors == [HELD.message]
    world.finish_trial(run, 17)
    world.last.do()
    run.ok(WHOLE)
    assert world.kept == [(7, 16), (7, 17)]
    assert (world.now.settled, world.now.lost) == (True, 0)


def test_trials_wait_for_the_one_that_is_being_kept(world: ExperimentHarness) -> None:
    run = resume_stored(world, 15)
    world.finish_trial(run, 15)
    first = world.last
    for place in (16, 17):
        world.finish_trial(run, place)
    assert world.last is first
    first.do()
    world.last.do()
    assert world.kept == [(7, 15), (7, 16), (7, 17)]


@pytest.mark.parametrize("ended", [False, True], ids=["before the end", "after it"])
def test_what_could_not_be_kept_is_tried_once_more_and_told(world: ExperimentHarness, *, ended: bool) -> None:
    run = resume_stored(world, 17)
    world.finish_trial(run, 17)
    keep = world.last
    if ended:
        run.ok(WHOLE)
        keep.fail(HELD)
    else:
        keep.fail(HELD)
        run.ok(WHOLE)
    assert not world.now.settled
    asked = len(world.calls)
    world.last.fail(HELD)
    assert (world.now.settled, world.now.lost, world.verbs[asked:]) == (True, 1, ["release"])
    assert world.errors == [HELD.message]
    world.load_stored(17)
    assert (world.now.lost, world.now.resumable) == (0, True)


def test_what_waits_to_be_kept_is_kept_though_another_is_planned(world: ExperimentHarness) -> None:
    run = resume_stored(world, 16)
    world.finish_trial(run, 16)
    slow = world.last
    world.finish_trial(run, 17)
    run.ok(WHOLE)
    world.now.make_plan(RECIPE, "nas02:/b", "quick", None)
    (rest,) = [call for call in world.calls[-3:] if call.name == "history"]
    rest.do()
    slow.fail(HELD)
    assert world.kept == [(7, 16), (7, 17)]
    assert (world.now.lost, world.errors) == (0, [])


def searching(world: ExperimentHarness) -> Call:
    """Run a search until its plan and five trials arrived, none of which could be saved."""
    world.now.search("nas:/x", "", 300.0, None)
    search = world.last
    search.progressed.emit(ExperimentEvent(phase="warm-up", number=0, total=0, plan=SEARCHED))
    world.last.fail(HELD)
    for place in range(5):
        world.finish_trial(search, place)
        if world.last is not search:
            world.last.fail(HELD)
    return search


def test_a_search_that_could_not_be_kept_is_kept_with_its_next_trial(world: ExperimentHarness) -> None:
    search = searching(world)
    world.finish_trial(search, 5)
    world.last.ok(9)
    world.last.do()
    assert world.now.number == 9
    assert world.kept == [(9, place) for place in range(6)]


def test_a_search_that_could_not_be_kept_is_kept_as_it_is_started_again(world: ExperimentHarness) -> None:
    search = searching(world)
    world.now.cancel()
    search.fail(CANCELLED)
    world.now.start()
    world.answer_hello()
    world.last.ok(9)
    assert world.last.name == "experiment.search"
    assert len(world.last.args.done) == 5
    (keep,) = [call for call in world.calls[-2:] if call.work is not None]
    keep.do()
    assert world.kept == [(9, place) for place in range(5)]


# Locking: one program at a time runs an experiment


def test_what_another_program_runs_is_not_gone_on_with(world: ExperimentHarness) -> None:
    world.load_stored(10)
    with lock_experiment(7):
        world.now.resume(None)
        world.answer_hello(lock=False)
        assert world.now.busy
        assert world.last.work is not None
        with pytest.raises(AppError) as caught:
            world.last.work()
    world.last.fail(caught.value)
    assert (world.now.busy, world.now.resumable, world.last.name) == (False, True, "claim")
    assert "Experiment 7 is running" in world.errors[0]


def test_trials_that_another_program_has_added_are_not_run_again(world: ExperimentHarness) -> None:
    world.load_stored(10)
    world.now.resume(None)
    world.answer_hello(lock=False)
    world.grant_lock(*outcomes()[10:16])
    assert (world.last.name, len(world.last.args.done)) == ("experiment.run", 16)


def test_others_may_go_on_with_it_once_all_is_kept(world: ExperimentHarness) -> None:
    world.lock = lock_experiment(7)
    run = resume_stored(world, 17)
    world.finish_trial(run, 17)
    keep = world.last
    run.ok(WHOLE)
    assert is_experiment_locked(7)
    assert "release" not in world.verbs
    keep.do()
    assert world.last.name == "release"
    world.last.do()
    assert not is_experiment_locked(7)


@pytest.mark.parametrize("plan", [PLAN, SEARCHED], ids=["experiment", "search"])
def test_a_new_one_is_claimed_as_soon_as_it_has_a_number(world: ExperimentHarness, plan: Any) -> None:
    if plan is SEARCHED:
        world.now.search("nas:/x", "", 300.0, None)
        run = world.last
        run.progressed.emit(ExperimentEvent(phase="warm-up", number=0, total=0, plan=plan))
        world.last.ok(9)
    else:
        world.start_new()
        world.last.ok(9)
        run = world.last
    (held,) = [call for call in world.calls if call.name == "claim"]
    held.do()
    assert is_experiment_locked(9)
    world.now.cancel()
    run.fail(CANCELLED)
    world.last.do()
    assert not is_experiment_locked(9)


@pytest.mark.parametrize("how", ["stop", "forget"])
def test_a_claim_that_comes_too_late_is_given_up(world: ExperimentHarness, how: str) -> None:
    world.load_stored(10)
    world.now.resume(None)
    world.answer_hello(lock=False)
    asked = world.last
    world.lock = lock_experiment(7)
    world.now.cancel() if how == "stop" else world.now.reset()
    world.calls.append(asked)
    world.grant_lock()
    assert (world.now.busy, world.verbs.count("experiment.run"), world.errors) == (False, 0, [])
    world.last.do()
    assert not is_experiment_locked(7)

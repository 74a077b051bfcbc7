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
    world.fail_to_save()
    assert world.errors == [HELD.message]
    world.finish_trial(run, 17)
    world.last.do()
    run.ok(WHOLE)
    world.last.do()
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
        world.fail_to_save(keep)
    else:
        world.fail_to_save(keep)
        run.ok(WHOLE)
    assert not world.now.settled
    asked = len(world.calls)
    world.fail_to_save()
    assert (world.now.settled, world.now.lost, len(world.calls)) == (True, 1, asked)
    assert not is_experiment_locked(7)
    assert world.errors == [HELD.message]
    world.load_stored(17)
    world.last.do()  # a last time, as another one is shown
    assert world.kept == [(7, 17)]
    assert (world.now.lost, world.now.resumable) == (0, True)


def test_what_waits_to_be_kept_is_kept_though_another_is_planned(world: ExperimentHarness) -> None:
    run = resume_stored(world, 16)
    world.finish_trial(run, 16)
    slow = world.last
    world.finish_trial(run, 17)
    run.ok(WHOLE)
    world.now.make_plan(RECIPE, "nas02:/b", "quick", None)
    world.fail_to_save(slow)
    world.last.do()
    assert world.kept == [(7, 16), (7, 17)]
    assert (world.now.lost, world.errors) == (0, [HELD.message])


def searching(world: ExperimentHarness) -> Call:
    """Run a search until its plan and five trials arrived, none of which could be saved."""
    world.now.search("nas:/x", "", 300.0, None)
    search = world.last
    search.progressed.emit(ExperimentEvent(phase="warm-up", number=0, total=0, plan=SEARCHED))
    world.fail_to_save()
    for place in range(5):
        world.finish_trial(search, place)
        world.fail_to_save()
    return search


def test_a_search_that_could_not_be_kept_is_kept_with_its_next_trial(world: ExperimentHarness) -> None:
    search = searching(world)
    world.finish_trial(search, 5)
    world.save_new(9)
    assert (world.now.number, world.errors) == (9, [HELD.message])
    assert world.kept == [(9, place) for place in range(6)]


def test_a_search_that_could_not_be_kept_is_kept_as_it_is_started_again(world: ExperimentHarness) -> None:
    search = searching(world)
    world.now.cancel()
    search.fail(CANCELLED)
    world.fail_to_save()
    assert (world.now.number, world.now.lost) == (0, 5)
    world.now.start()
    world.answer_hello()
    world.save_new(9)
    assert world.last.name == "experiment.search"
    assert len(world.last.args.done) == 5
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
    assert (world.now.busy, world.now.resumable, "experiment.run" in world.verbs) == (False, True, False)
    assert "Experiment 7 is running" in world.errors[0]


def test_trials_that_another_program_has_added_are_not_run_again(world: ExperimentHarness) -> None:
    world.load_stored(10)
    world.now.resume(None)
    world.answer_hello(lock=False)
    world.grant_lock(*outcomes()[10:16])
    assert (world.last.name, len(world.last.args.done)) == ("experiment.run", 16)


def test_others_may_go_on_with_it_once_all_is_kept(world: ExperimentHarness) -> None:
    run = resume_stored(world, 17)
    world.finish_trial(run, 17)
    keep = world.last
    run.ok(WHOLE)
    keep.do()
    assert is_experiment_locked(7)
    world.last.do()
    assert not is_experiment_locked(7)


@pytest.mark.parametrize("plan", [PLAN, SEARCHED], ids=["experiment", "search"])
def test_a_new_one_is_claimed_as_soon_as_it_has_a_number(world: ExperimentHarness, plan: Any) -> None:
    if plan is SEARCHED:
        world.now.search("nas:/x", "", 300.0, None)
        run = world.last
        run.progressed.emit(ExperimentEvent(phase="warm-up", number=0, total=0, plan=plan))
        world.save_new(9)
    else:
        world.start_new()
        world.save_new(9)
        run = world.last
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
    world.now.cancel() if how == "stop" else world.now.reset()
    asked.do()
    assert is_experiment_locked(7)
    assert (world.now.busy, world.verbs.count("experiment.run"), world.errors) == (False, 0, [])
    world.last.do()
    assert not is_experiment_locked(7)


def test_what_ran_goes_on_once_its_lock_is_released(world: ExperimentHarness) -> None:
    run = resume_stored(world, 10)
    run.fail(CANCELLED)
    release = world.last
    world.now.resume(None)
    world.answer_hello(lock=False)
    release.do()
    world.grant_lock()
    assert (world.last.name, world.errors) == ("experiment.run", [])
    assert is_experiment_locked(7)

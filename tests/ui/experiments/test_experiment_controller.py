"""Experiment controller: plan, load, start and stop an experiment, with answers in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from experiment_harness import (
    CANCELLED,
    HELD,
    NEW,
    RECIPE,
    SEARCHED,
    WHOLE,
    ExperimentHarness,
    resume_stored,
    stored_experiment,
)
from fake_experiments import PLAN

from advisor.message import message
from app.experiment.model import ExperimentEvent, StopReason
from app.history.experiment_lock import is_experiment_locked
from app.speedtest.model import Sample, TestEvent

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication


@pytest.fixture
def world(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> ExperimentHarness:
    return ExperimentHarness(qapp, monkeypatch)


# Loading a saved experiment


def test_an_earlier_one_that_is_read_too_late_is_not_mixed_with_a_plan(world: ExperimentHarness) -> None:
    world.now.open(7)
    load = world.last
    world.now.make_plan(RECIPE, "nas02:/b", "quick", None)
    plan = world.last
    load.ok(stored_experiment(10))
    plan.ok(NEW)
    now = world.now
    assert (now.share, now.number, now.outcomes, now.resumable) == ("nas02:/b", 0, {}, False)


def test_of_two_looks_the_last_counts(world: ExperimentHarness) -> None:
    world.now.open(7)
    first = world.last
    world.now.open(8)
    world.last.ok(stored_experiment(0, 8))
    first.ok(stored_experiment(10))
    assert world.now.number == 8


def test_an_earlier_one_of_another_share_is_not_shown(world: ExperimentHarness) -> None:
    world.now.open(7)
    world.now.reset()
    world.last.ok(stored_experiment(10))
    assert world.now.plan is None


def test_an_imported_one_is_only_looked_at(world: ExperimentHarness) -> None:
    world.load_stored(10, origin="desk.json")
    assert (world.now.number, world.now.origin, world.now.resumable) == (7, "desk.json", False)
    asked = len(world.calls)
    world.now.start()
    world.now.resume(None)
    assert len(world.calls) == asked
    world.load_stored(10)
    assert world.now.resumable


# Starting


def test_a_plan_is_started_over_the_link_that_it_was_made_for(world: ExperimentHarness) -> None:
    link = msgspec.structs.replace(PLAN.environment, emulated_link="gigabit")
    world.planned(msgspec.structs.replace(PLAN, environment=link))
    world.now.start()
    world.answer_hello("fast-ethernet")
    assert world.errors == ["It was planned over the lab's link gigabit."]
    assert (world.now.busy, world.verbs) == (False, ["experiment.plan", "hello"])
    world.now.start()
    world.answer_hello("gigabit")
    world.save_new(1)
    assert world.last.name == "experiment.run"


def test_a_start_that_another_plan_overtook_starts_nothing(world: ExperimentHarness) -> None:
    begin = world.start_new()
    world.now.reset()
    world.planned(NEW)
    world.save_new(7, begin)
    world.last.do()
    assert (world.now.number, world.now.busy, "experiment.run" in world.verbs) == (0, False, False)
    assert not is_experiment_locked(7)


def test_a_start_that_could_not_be_kept_ends_no_other_planning(world: ExperimentHarness) -> None:
    begin = world.start_new()
    world.now.reset()
    world.now.make_plan(RECIPE, "nas02:/b", "quick", None)
    planning = world.last
    world.fail_to_save(begin)
    assert world.now.state == "planning"
    world.now.cancel()
    assert planning.cancelled


def test_a_start_that_cannot_be_kept_is_given_up(world: ExperimentHarness) -> None:
    world.start_new()
    world.fail_to_save()
    assert (world.now.busy, world.errors) == (False, [HELD.message])


# Stopping


def test_stop_counts_as_the_host_answers(world: ExperimentHarness) -> None:
    world.load_stored(10)
    world.now.resume(None)
    world.now.cancel()
    world.answer_hello()
    assert (world.now.busy, world.last.name) == (False, "hello")


def test_stop_counts_as_the_plan_comes(world: ExperimentHarness) -> None:
    world.now.make_plan(RECIPE, "a", "quick", None, seen=PLAN.struck)
    world.now.cancel()
    world.last.ok(PLAN)
    assert (world.now.busy, world.verbs) == (False, ["experiment.plan"])
    assert world.now.plan is PLAN


def test_stop_counts_before_the_first_trial_too(world: ExperimentHarness) -> None:
    world.start_new()
    world.now.cancel()  # while the experiment is being saved
    world.save_new(1)
    assert (world.now.busy, world.now.number, world.now.resumable) == (False, 1, True)
    assert "experiment.run" not in world.verbs


@pytest.mark.parametrize("plan", [PLAN, SEARCHED], ids=["experiment", "search"])
def test_how_an_earlier_part_ended_is_not_said_of_a_later_one(world: ExperimentHarness, plan: Any) -> None:
    world.load_stored(10, plan=plan)
    world.now.resume(None)
    world.answer_hello()
    world.last.ok(msgspec.structs.replace(WHOLE, done=10, stopped=message(StopReason.TIME_LIMIT)))
    world.last.do()
    world.now.resume(None)
    world.answer_hello()
    world.now.cancel()
    world.last.fail(CANCELLED)
    assert (world.now.result, world.now.best) == (None, None)


# Timeline


def test_each_workload_s_warm_up_has_a_curve_of_its_own(world: ExperimentHarness) -> None:
    run = resume_stored(world, 0)
    for work in ("a", "b"):
        for moment in (0.5, 1.0, 1.5):
            sample = Sample(moment, int(moment * 1e8), int(moment * 1e8))
            test = TestEvent(direction="write", phase="write", sample=sample)
            event = ExperimentEvent(phase="warm-up", number=1, total=18, workload=work, test=test)
            run.progressed.emit(event)
    assert [curve.times_s for curve in world.now.timeline.curves] == [[0.5, 1.0, 1.5]]

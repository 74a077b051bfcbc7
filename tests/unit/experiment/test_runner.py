"""Experiment runner: separate mounts, resuming, time limit, failures."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from experiment_world import Mount, World, experiment
from waiting import wait_for

from advisor.experiment import measurements
from advisor.message import message
from app.errors import AppError, CancelledError, ErrorKind
from app.experiment.design import schedule_trials
from app.experiment.estimate import SAMPLE_SIZE
from app.experiment.model import (
    ExperimentArgs,
    ExperimentEvent,
    ExperimentPlan,
    ExperimentResult,
    ExperimentRunArgs,
    Factor,
    StopReason,
    WorkloadSpec,
)
from app.experiment.plan import plan_experiment
from app.experiment.runner import run_experiment
from app.speedtest.cleanup import wait_for_cleanups
from app.tasks import CancelToken

if TYPE_CHECKING:
    from advisor.experiment.measurements import TrialOutcome
    from app.speedtest.model import TestResult, TestSpec


def planned(world: World, **changes: object) -> ExperimentPlan:
    args = ExperimentArgs(experiment=experiment(**changes))
    plan = plan_experiment(args, world.context(), CancelToken(), lambda _event: None)
    world.opened.clear()
    world.closed = 0
    return plan


def run(world: World, plan: ExperimentPlan, done: list[TrialOutcome] | None = None,
        budget_s: float | None = None) -> tuple[ExperimentResult, list[TrialOutcome]]:  # fmt: skip
    events: list[ExperimentEvent] = []
    args = ExperimentRunArgs(plan=plan, done=done or [], budget_s=budget_s)
    result = run_experiment(args, world.context(), CancelToken(), events.append)
    return result, [event.outcome for event in events if event.outcome is not None]


def test_every_trial_has_a_fresh_mount_and_its_own_times() -> None:
    world = World()
    plan = planned(world)
    events: list[ExperimentEvent] = []
    result = run_experiment(ExperimentRunArgs(plan=plan), world.context(), CancelToken(), events.append)
    outcomes = [event.outcome for event in events if event.outcome is not None]
    order = schedule_trials(plan)
    assert [outcome.order for outcome in outcomes] == [trial.order for trial in order]
    assert [outcome.levels for outcome in outcomes] == [plan.sets[trial.set].levels for trial in order]
    assert len(world.opened) == world.closed == len(order) + 1  # the warm-up
    assert (result.done, result.planned, result.failed, result.stopped) == (len(order), len(order), 0, None)
    assert outcomes[0].figures == {
        measurements.MOUNT_S: 0.1,
        measurements.WRITE: 1e6,
        measurements.READ: 1e6,
        measurements.WRITE_BYTES: 2**20,
        measurements.READ_BYTES: 2**20,
        measurements.WRITE_S: 1.0,
        measurements.WRITE_SYNC_S: 0.75,
        measurements.READ_S: 1.25,
        measurements.SYNC_S: 0.05,
        measurements.UNMOUNT_S: 0.15,
        measurements.WRITE_TIMEOUTS: 1,
        measurements.READ_TIMEOUTS: 1,
        measurements.TRIAL_S: pytest.approx(1.3),
    }
    assert (outcomes[0].timeouts, outcomes[0].retransmissions) == (2, 4)
    phases = [event.phase for event in events]
    assert phases[0] == "warm-up"
    assert phases.count("done") == len(order)
    assert any(event.test is not None for event in events)
    etas = [event.eta_s for event in events if event.phase == "done"]
    assert etas[-1] == 0
    assert all(eta is not None for eta in etas)
    numbers = [event.number for event in events if event.phase == "done"]
    assert numbers == list(range(1, len(order) + 1))


@pytest.mark.parametrize("stop", [0, 1, 4, 7])
def test_a_run_resumes_where_it_stopped(stop: int) -> None:
    world = World()
    plan = planned(world)
    whole = run(world, plan)[1]
    world.opened.clear()
    result, rest = run(world, plan, whole[:stop])
    assert [outcome.order for outcome in whole[:stop] + rest] == [outcome.order for outcome in whole]
    assert result.done == result.planned == len(whole)
    assert len(world.opened) == (len(whole) - stop + 1 if stop < len(whole) else 0)


def test_a_finished_run_has_nothing_to_resume() -> None:
    world = World()
    plan = planned(world)
    whole = run(world, plan)[1]
    world.opened.clear()
    assert run(world, plan, whole)[0].done == len(whole)
    assert world.opened == []


def test_no_trial_begins_that_would_end_too_late() -> None:
    world = World()
    world.trial_s = 10.0
    plan = planned(world)
    result, outcomes = run(world, plan, budget_s=40.0)
    assert 0 < len(outcomes) < result.planned
    assert world.time < 41
    assert result.stopped == message(StopReason.TIME_LIMIT)
    assert run(world, plan, outcomes)[0].done == result.planned


def test_other_options_in_use_mark_a_mismatch() -> None:
    world = World()
    plan = planned(world)
    world.largest = 32768
    result, outcomes = run(world, plan)
    marked = [outcome for outcome in outcomes if outcome.state == "mismatch"]
    assert {outcome.levels["rsize"] for outcome in marked} == {"4096", "65536"}  # wsize is also lower
    assert result.mismatched == len(marked)
    assert "rsize is 32768 instead of 65536" in next(
        outcome.note for outcome in marked if outcome.levels["rsize"] == "65536"
    )


def test_a_readahead_without_effect_marks_a_mismatch(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    plan = planned(world, factors=[Factor(name="read_ahead_kb", levels=["128", "4096"])])
    opened = world.open

    def open_without_readahead(options: str, read_ahead_kb: int | None, token: CancelToken) -> Mount:
        return opened(options, None, token)

    monkeypatch.setattr(world, "open", open_without_readahead)
    outcomes = run(world, plan)[1]
    assert {outcome.levels["read_ahead_kb"] for outcome in outcomes if outcome.state == "mismatch"} == {
        "4096"
    }


def test_a_failing_server_ends_the_run() -> None:
    world = World()
    plan = planned(world, repeats=5)
    calls = 0

    def die(world: World) -> None:
        nonlocal calls
        calls += 1
        world.dead = calls > 4

    world.before_test = die
    result, outcomes = run(world, plan)
    assert [outcome.state for outcome in outcomes] == ["ok"] * 3 + ["failed"] * 3
    assert "stopped answering" in outcomes[3].note
    assert result.stopped is not None
    assert result.stopped.code == StopReason.FAILURES
    assert result.stopped.params["count"] == 3
    # The last two trials, and the one that tested whether the server answers, could not be mounted.
    assert world.closed == len(world.opened) - 3
    world.dead, world.before_test = False, lambda _world: None
    kept = [outcome for outcome in outcomes if outcome.state != "failed"]
    assert run(world, plan, kept)[0].failed == 0


def test_one_failure_does_not_end_it() -> None:
    world = World()
    plan = planned(world)
    calls = 0

    def die_once(world: World) -> None:
        nonlocal calls
        calls += 1
        world.dead = calls == 3

    def revive(options: str, read_ahead_kb: int | None, token: CancelToken) -> Mount:
        world.dead = False
        return World.open(world, options, read_ahead_kb, token)

    world.before_test = die_once
    context = world.context()
    object.__setattr__(context, "open", revive)
    result = run_experiment(ExperimentRunArgs(plan=plan), context, CancelToken(), lambda _event: None)
    assert (result.failed, result.done, result.stopped) == (1, result.planned, None)


def over_quota(monkeypatch: pytest.MonkeyPatch, *fails: str) -> None:
    """Make the trials of mounts with these options fail, although planning could mount them."""
    run_whole = Mount.run_test

    def run_test(mount: Mount, spec: TestSpec, *args: object, **more: object) -> TestResult:
        if spec.total != SAMPLE_SIZE and any(f"rsize={mount.effective['rsize']}" == each for each in fails):
            raise AppError(ErrorKind.NO_SPACE, "The quota is used up.")
        return run_whole(mount, spec, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Mount, "run_test", run_test)


@pytest.mark.parametrize("seed", range(5))
def test_failing_sets_are_distinguished_from_a_failing_server(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    over_quota(monkeypatch, "rsize=65536", "rsize=131072")
    world = World()
    factor = Factor(name="rsize", levels=["4096", "65536", "131072"])
    plan = planned(world, factors=[factor], repeats=4, seed=seed)
    result, outcomes = run(world, plan)
    assert (result.stopped, result.done, result.failed) == (None, plan.trials, 8)
    assert len(outcomes) == plan.trials


def test_resuming_repeats_failed_trials_last(monkeypatch: pytest.MonkeyPatch) -> None:
    over_quota(monkeypatch, "rsize=65536")
    world = World()
    plan = planned(world, factors=[Factor(name="rsize", levels=["4096", "65536"])], repeats=4)
    outcomes = run(world, plan)[1]
    part = [one for one in outcomes[: len(outcomes) // 2] if one.state != "failed"]
    monkeypatch.undo()
    rest = run(world, plan, part)[1]
    missed = [one.order for one in outcomes[: part[-1].order] if one.state == "failed"]
    assert missed
    assert [one.order for one in rest] == [*range(part[-1].order + 1, plan.trials), *missed]


@pytest.mark.parametrize("moment", ["warm-up", "trial", "done"])
def test_cancelling_leaves_no_mount(moment: str) -> None:
    world, token = World(), CancelToken()
    plan = planned(world)

    def on_event(event: ExperimentEvent) -> None:
        if event.phase == moment:
            token.cancel()

    with pytest.raises(CancelledError):
        run_experiment(ExperimentRunArgs(plan=plan), world.context(), token, on_event)
    assert wait_for_cleanups(5)
    assert world.closed == len(world.opened)


def test_cancelling_does_not_wait_for_an_unmount() -> None:
    world, token = World(), CancelToken()
    plan = planned(world)
    going = threading.Event()
    close = Mount.close

    def hang(mount: Mount) -> object:
        threading.Timer(0.05, token.cancel).start()
        wait_for(going, "the cancelled mount to be let go")
        return close(mount)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Mount, "close", hang)
        with pytest.raises(CancelledError):
            run_experiment(ExperimentRunArgs(plan=plan), world.context(), token, lambda _event: None)
        assert world.closed == 0
        going.set()
        assert wait_for_cleanups(5)
    assert world.closed == 1


def test_drift_uses_only_the_baseline() -> None:
    world = World()
    slow = iter(range(1, 100))
    world.speed = lambda values: 1e6 / next(slow) if values["rsize"] == "4096" else 1.0
    result, _ = run(world, planned(world, workloads=[WorkloadSpec(name="1 MB", size=2**20)], repeats=12))
    assert [drift.figure for drift in result.drift] == [measurements.WRITE, measurements.READ]
    assert len(result.drift[0].values) >= 8
    assert result.drift[0].notable

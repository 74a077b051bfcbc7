"""The search for the best setting: within its time, and against a world whose best is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from experiment_world import Mount, World, experiment

from advisor.trials import REACHED
from app.bench.experiment.best import find_best, go_on
from app.bench.experiment.keeping import unfinished
from app.bench.experiment.model import (
    BestArgs,
    BestResult,
    ExperimentEvent,
    ExperimentPlan,
    ExperimentRunArgs,
    Factor,
)
from app.bench.result import Sample, TestEvent
from app.errors import AppError, ErrorKind
from app.tasks import CancelledError, CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.trials import Outcome

FACTORS = [
    Factor(name="transfer_size", levels=["32768", "131072", "1048576"]),
    Factor(name="nconnect", levels=["2", "4", "8"]),
    Factor(name="read_ahead_kb", levels=["1024", "8192"]),
]


def search(world: World, **args: object) -> tuple[BestResult, list[ExperimentEvent]]:
    events: list[ExperimentEvent] = []
    fields: dict[str, object] = {"share": "nas:/x", "factors": FACTORS, "budget_s": 120.0, **args}
    return find_best(BestArgs(**fields), world.hands(), CancelToken(), events.append), events  # type: ignore[arg-type]


def world() -> World:
    made = World()
    made.speed = lambda values: 1e6 * int(values["nconnect"]) * (2 if values["rsize"] == "131072" else 1)
    return made


@pytest.mark.parametrize("direction", ["both", "write", "read"])
def test_it_finds_the_best_and_tells_what_it_beats(direction: str) -> None:
    here = world()
    result, events = search(here, direction=direction, options="vers=4.2,nconnect=4,soft")
    answer = result.answer
    assert answer.winner.levels["nconnect"] == "8"
    assert answer.winner.levels["transfer_size"] == "131072"
    assert answer.runner_up is not None
    assert answer.default is not None
    assert answer.default.median == pytest.approx(1e6, rel=0.2)
    assert answer.current is not None
    assert answer.current.levels["nconnect"] == "4"
    assert "nconnect=8" in result.options
    assert result.options.startswith("vers=4.2,soft")  # what is not varied is kept
    assert here.closed == len(here.opened)
    assert here.time <= 120 + 2
    (plan,) = [event.plan for event in events if event.plan is not None]
    assert plan == result.plan
    outcomes = [event.outcome for event in events if event.outcome is not None]
    assert [outcome.order for outcome in outcomes] == list(range(len(outcomes)))
    assert len(outcomes) == answer.trials
    # 1048576 comes out as the server's 262144, as the default does.
    assert plan.struck[0].same_as == {"transfer_size": "default"}
    assert len(plan.sets) == 3 * 4 * 3


@pytest.mark.parametrize("direction", ["both", "read"])
def test_it_ends_when_its_bytes_are_spent(direction: str) -> None:
    here = world()
    result, events = search(here, direction=direction, budget_s=86400.0, budget_bytes=40 * 2**20)
    each = 2 * result.plan.experiment.workloads[0].size  # what is only read is written before
    assert each * len(here.specs) == 40 * 2**20
    outcomes = [event.outcome for event in events if event.outcome is not None]
    assert len(outcomes) == len(here.specs) - 1  # one warms up
    assert outcomes[-1].left_s == 0
    assert not unfinished(result.plan, outcomes)
    assert {event.total for event in events if event.phase == "trial"} == {len(outcomes)}
    assert result.answer.winner.levels["nconnect"] == "8"


def test_the_current_setting_is_measured_as_what_comes_out_the_same() -> None:
    result, _ = search(world(), options="rsize=1048576,wsize=1048576")
    assert result.answer.current is not None
    assert result.answer.current == result.answer.default


@pytest.mark.parametrize(("in_use", "level"), [(512, "512"), (8192, "8192"), (0, "0"), (None, "128")])
def test_the_present_setting_has_the_readahead_of_the_mount(in_use: int | None, level: str) -> None:
    here = world()
    here.read_ahead_kb = in_use
    result, events = search(here, options="nconnect=2", budget_s=300.0)
    plan, outcomes = told(events)
    assert plan.current == {"transfer_size": "default", "nconnect": "2", "read_ahead_kb": level}
    assert plan.sets[0].levels["read_ahead_kb"] == "128"  # the kernel's own
    assert result.answer.current is not None
    assert result.answer.current.levels == plan.current
    assert any(outcome.levels == plan.current for outcome in outcomes)


@pytest.mark.parametrize(("budget_s", "few"), [(12.0, True), (120.0, False)])
def test_it_says_before_that_trying_leaves_time_for_few_trials(budget_s: float, few: bool) -> None:
    result, events = search(world(), budget_s=budget_s)
    plan, outcomes = told(events)
    said = [note for note in plan.notes if "too few to tell much" in note]
    assert len(said) == few
    assert (len(outcomes) < 12) == few
    if few:
        assert said[0].startswith("Trying the settings took ")
    assert result.answer.trials == len(outcomes)


def test_a_server_that_dies_ends_it_with_what_is_known() -> None:
    here = world()

    def die(world: World) -> None:
        world.dead = len(world.specs) > 20

    here.before_test = die
    result, _ = search(here)
    assert "3 trials failed" in result.stopped
    assert result.answer.trials == 23


def test_no_result_at_all_is_an_error() -> None:
    here = world()
    here.before_test = lambda world: setattr(world, "dead", True)
    with pytest.raises(AppError) as caught:
        search(here)
    assert "No trial gave a result" in caught.value.message


def test_cancelling() -> None:
    here, token = world(), CancelToken()

    def seen(event: ExperimentEvent) -> None:
        if event.number == 5:
            token.cancel()

    with pytest.raises(CancelledError):
        find_best(BestArgs(share="nas:/x", factors=FACTORS), here.hands(), token, seen)
    assert here.closed == len(here.opened)


def told(events: list[ExperimentEvent]) -> tuple[ExperimentPlan, list[Outcome]]:
    """Return what the history would have of a search."""
    (plan,) = [event.plan for event in events if event.plan is not None]
    return plan, [event.outcome for event in events if event.outcome is not None]


def resume(
    here: World, plan: ExperimentPlan, done: list[Outcome], budget_s: float | None = None
) -> tuple[BestResult, list[Outcome]]:
    events: list[ExperimentEvent] = []
    args = ExperimentRunArgs(plan=plan, done=done, budget_s=budget_s)
    result = go_on(args, here.hands(), CancelToken(), events.append)
    assert all(event.plan is None for event in events)
    return result, [event.outcome for event in events if event.outcome is not None]


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
    assert result.answer.trials == stop + len(rest)
    assert len(here.opened) == len(rest) + 1  # nothing is tried again, but for the warm-up
    before = outcomes[stop - 1].left_s if stop else plan.seconds
    assert before is not None
    assert here.time <= before + 2


def test_what_has_ended_tells_its_answer_again_and_goes_on_only_for_more_time() -> None:
    here = world()
    whole, events = search(here, budget_s=60.0)
    plan, outcomes = told(events)
    assert [unfinished(plan, outcomes[:count]) for count in (0, 5, len(outcomes))] == [True, True, False]
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

    def die(world: World) -> None:
        world.dead = len(world.specs) > 20

    here.before_test = die
    plan, outcomes = told(search(here)[1])
    assert [one.state for one in outcomes[-3:]] == ["failed"] * 3
    assert unfinished(plan, outcomes)
    here.before_test = lambda _world: None
    here.dead = False
    result, more = resume(here, plan, outcomes)
    assert more[0].order == outcomes[-3].order
    assert result.answer.trials == len(outcomes) - 3 + len(more)
    assert not result.struck


def test_only_a_search_is_gone_on_with() -> None:
    plan = ExperimentPlan(
        experiment=experiment(), sets=[], struck=[], trials=0, seconds=0.0, bytes=0, space=0
    )
    with pytest.raises(AppError) as caught:
        resume(world(), plan, [])
    assert caught.value.kind is ErrorKind.USAGE


def test_pairs_that_cannot_be_mounted_are_struck_out_before() -> None:
    here = world()
    opened = here.open

    def refuse(options: str, read_ahead_kb: int | None, token: CancelToken) -> Mount:
        if "rsize=32768" in options and "nconnect=4" in options:
            raise AppError(ErrorKind.OPTION_REJECTED, "The kernel refuses it.")
        return opened(options, read_ahead_kb, token)

    here.open = refuse  # type: ignore[method-assign]
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
    monkeypatch.setattr("app.bench.experiment.candidates._PROBING", 0.0)
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


def test_two_that_come_out_the_same_are_counted_once() -> None:
    """With the small size there is never more than one connection, which nothing but trying tells."""
    here = world()
    opened = here.open

    def alike(options: str, read_ahead_kb: int | None, token: CancelToken) -> Mount:
        mount = opened(options, read_ahead_kb, token)
        if "rsize=32768" in options:
            mount.effective["nconnect"] = "1"
        return mount

    here.open = alike  # type: ignore[method-assign]
    result, events = search(here)
    struck = [one for one in told(events)[0].struck if len(one.levels) == 2]
    assert [one.levels for one in struck] == [
        {"transfer_size": "32768", "nconnect": count} for count in ("2", "4", "8")
    ]
    assert all(one.same_as == {"nconnect": "default"} for one in struck)
    assert result.answer.candidates == 36 - 9


@pytest.mark.parametrize("direction", ["both", "read"])
def test_a_clear_loser_is_dropped_on_the_way(direction: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each copy tells ten samples; one that is dropped has not copied all."""
    here = world()
    here.speed = lambda values: 1e7 if values["nconnect"] == "8" else 1e5
    copied: list[int] = []

    def copy(mount: Mount, spec: object, token: CancelToken, emit: Callable[[TestEvent], None],
             link: object = None, **round_trip: bool) -> object:  # fmt: skip
        copied.append(0)
        speed = here.speed(mount.effective)
        for way in ("write", "read") if direction != "write" else ("write",):
            for part in range(1, 11):
                sample = Sample(t_s=part * 2**20 / speed, bytes=0, server_bytes=part * 2**20)
                emit(TestEvent(direction=way, phase=way, sample=sample))  # type: ignore[arg-type]
                token.check()
                copied[-1] += 1
        return run_whole(mount, spec, token, emit, link, **round_trip)  # type: ignore[arg-type]

    run_whole = Mount.run_test
    monkeypatch.setattr(Mount, "run_test", copy)
    result, events = search(here, direction=direction, size=10 * 2**20, budget_s=60.0)
    dropped = [one for one in told(events)[1] if one.state == "skipped"]
    assert dropped
    assert all(one.figures[REACHED] <= 1e5 * (2.01 if direction == "both" else 1.01) for one in dropped)
    assert all("could not win" in one.note for one in dropped)
    assert {one.levels["nconnect"] for one in dropped} <= {"default", "2", "4"}
    assert min(copied) < max(copied)
    assert result.answer.winner.levels["nconnect"] == "8"
    assert here.closed == len(here.opened)

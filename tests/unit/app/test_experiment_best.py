"""The search for the best setting: within its time, and against a world whose best is known."""

from __future__ import annotations

import pytest
from experiment_world import World

from app.bench.experiment.best import find_best
from app.bench.experiment.model import BestArgs, BestResult, ExperimentEvent, Factor
from app.errors import AppError
from app.tasks import CancelledError, CancelToken

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


def test_the_current_setting_is_measured_as_what_comes_out_the_same() -> None:
    result, _ = search(world(), options="rsize=1048576,wsize=1048576")
    assert result.answer.current is not None
    assert result.answer.current == result.answer.default


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

"""Searches for the best setting in the world in memory, which may refuse and die as told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiment_world import Mount, World

from app.errors import AppError, ErrorKind
from app.experiment.model import (
    BestSettings,
    ExperimentEvent,
    ExperimentPlan,
    ExperimentRunArgs,
    Factor,
    SearchArgs,
)
from app.experiment.search import resume_search, run_search
from app.tasks import CancelToken

if TYPE_CHECKING:
    from advisor.experiment.measurements import TrialOutcome

#: What is varied where a test says nothing else.
FACTORS = [
    Factor(name="transfer_size", levels=["32768", "131072", "1048576"]),
    Factor(name="nconnect", levels=["2", "4", "8"]),
    Factor(name="read_ahead_kb", levels=["1024", "8192"]),
]


def world() -> World:
    """Return a world whose best is known: eight connections and requests of 128 KiB."""
    made = World()
    made.speed = lambda values: 1e6 * int(values["nconnect"]) * (2 if values["rsize"] == "131072" else 1)
    return made


def dying(here: World, trials: int) -> None:
    """Let the server die after so many trials."""

    def die(world: World) -> None:
        world.dead = len(world.specs) > trials

    here.before_test = die


def refusing(here: World, *parts: str) -> None:
    """Have the kernel refuse each mount whose options have all of these in them."""
    opened = here.open

    def refuse(options: str, read_ahead_kb: int | None, token: CancelToken) -> Mount:
        if all(part in options for part in parts):
            raise AppError(ErrorKind.OPTION_REJECTED, "The kernel refuses it.")
        return opened(options, read_ahead_kb, token)

    here.open = refuse  # type: ignore[method-assign]


def search(world: World, **args: object) -> tuple[BestSettings, list[ExperimentEvent]]:
    """Search in this world, and return what was told on the way, too."""
    events: list[ExperimentEvent] = []
    fields: dict[str, object] = {"share": "nas:/x", "factors": FACTORS, "budget_s": 120.0, **args}
    return run_search(SearchArgs(**fields), world.context(), CancelToken(), events.append), events  # type: ignore[arg-type]


def told(events: list[ExperimentEvent]) -> tuple[ExperimentPlan, list[TrialOutcome]]:
    """Return what the history would have of a search."""
    (plan,) = [event.plan for event in events if event.plan is not None]
    return plan, [event.outcome for event in events if event.outcome is not None]


def searched(outcomes: list[TrialOutcome]) -> list[TrialOutcome]:
    """Return the trials of the search itself."""
    return [one for one in outcomes if not one.retest]


def retests(outcomes: list[TrialOutcome]) -> list[TrialOutcome]:
    """Return the trials of its re-test."""
    return [one for one in outcomes if one.retest]


def resume(
    here: World, plan: ExperimentPlan, done: list[TrialOutcome], budget_s: float | None = None
) -> tuple[BestSettings, list[TrialOutcome]]:
    """Go on with a search of which these trials are done, and return those that it added."""
    events: list[ExperimentEvent] = []
    args = ExperimentRunArgs(plan=plan, done=done, budget_s=budget_s)
    result = resume_search(args, here.context(), CancelToken(), events.append)
    assert all(event.plan is None for event in events)
    return result, [event.outcome for event in events if event.outcome is not None]

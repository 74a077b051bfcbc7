"""Searches with the fake server, which may refuse mounts and fail."""

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

#: Default factors of a search in these tests.
FACTORS = [
    Factor(name="transfer_size", levels=["32768", "131072", "1048576"]),
    Factor(name="nconnect", levels=["2", "4", "8"]),
    Factor(name="read_ahead_kb", levels=["1024", "8192"]),
]


def world() -> World:
    """Return a world whose best set is known: eight connections and requests of 128 KiB."""
    made = World()
    made.speed = lambda values: 1e6 * int(values["nconnect"]) * (2 if values["rsize"] == "131072" else 1)
    return made


def fail_after(server: World, trials: int) -> None:
    """Make the server stop answering after a number of trials."""

    def die(world: World) -> None:
        world.dead = len(world.specs) > trials

    server.before_test = die


def refuse_options(server: World, *parts: str) -> None:
    """Make the kernel refuse each mount whose options contain all of these strings."""
    opened = server.open

    def refuse(options: str, read_ahead_kb: int | None, token: CancelToken) -> Mount:
        if all(part in options for part in parts):
            raise AppError(ErrorKind.OPTION_REJECTED, "The kernel refuses it.")
        return opened(options, read_ahead_kb, token)

    server.open = refuse  # type: ignore[method-assign]


def search(world: World, **args: object) -> tuple[BestSettings, list[ExperimentEvent]]:
    """Run a search in this world; return its result and events."""
    events: list[ExperimentEvent] = []
    fields: dict[str, object] = {"share": "nas:/x", "factors": FACTORS, "budget_s": 120.0, **args}
    return run_search(SearchArgs(**fields), world.context(), CancelToken(), events.append), events  # type: ignore[arg-type]


def told(events: list[ExperimentEvent]) -> tuple[ExperimentPlan, list[TrialOutcome]]:
    """Return the plan and the outcomes reported by a search, as the history stores them."""
    (plan,) = [event.plan for event in events if event.plan is not None]
    return plan, [event.outcome for event in events if event.outcome is not None]


def search_outcomes(outcomes: list[TrialOutcome]) -> list[TrialOutcome]:
    """Return the trials of the search without the re-test."""
    return [one for one in outcomes if not one.retest]


def retests(outcomes: list[TrialOutcome]) -> list[TrialOutcome]:
    """Return the trials of the re-test."""
    return [one for one in outcomes if one.retest]


def resume(
    server: World, plan: ExperimentPlan, done: list[TrialOutcome], budget_s: float | None = None
) -> tuple[BestSettings, list[TrialOutcome]]:
    """Resume a search with these outcomes; return its result and the added outcomes."""
    events: list[ExperimentEvent] = []
    args = ExperimentRunArgs(plan=plan, done=done, budget_s=budget_s)
    result = resume_search(args, server.context(), CancelToken(), events.append)
    assert all(event.plan is None for event in events)
    return result, [event.outcome for event in events if event.outcome is not None]

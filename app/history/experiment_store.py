"""Saved experiments: saving, listing and loading.

Each call opens and closes the database and may block, so it does not belong in the thread of the window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from app.errors import AppError
from app.experiment.model import SEARCH_NAME, ExperimentPlan, counted_outcomes
from app.history.store import HistoryStore
from app.text.errors import ErrorCode
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.experiment.measurements import TrialOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredExperiment:
    """Saved experiment with its decoded plan.

    Attributes:
        number: number in the history.
        started_at: start time, UTC, ISO 8601.
        plan: plan of the trials.
        outcomes: outcomes of the trials so far, in the order of the trials.
        origin: name of the file that it was imported from, "" if it ran on this computer.
    """

    number: int
    started_at: str
    plan: ExperimentPlan
    outcomes: list[TrialOutcome]
    origin: str = ""

    @property
    def done(self) -> int:
        """Number of trials that succeeded."""
        return _done_count(self.outcomes)

    @property
    def resumable(self) -> bool:
        """Whether this computer can run the rest: trials are left, and it was not imported."""
        return not self.origin and is_unfinished(self.plan, self.outcomes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentSummary:
    """Saved experiment as a list shows it.

    Attributes:
        number: number in the history.
        started_at: start time, UTC, ISO 8601.
        title: title of the recipe.
        done: number of trials that succeeded.
        planned: number of planned trials, 0 for a search or an unreadable plan.
        unfinished: whether this computer can run the rest of the experiment.
    """

    number: int
    started_at: str
    title: str
    done: int
    planned: int
    unfinished: bool = False


def is_unfinished(plan: ExperimentPlan, outcomes: Sequence[TrialOutcome]) -> bool:
    """Return whether trials of an experiment, or time of a search, are left.

    Args:
        plan: plan of the experiment or search.
        outcomes: outcomes so far, in the order of the trials.
    """
    if plan.experiment.recipe != SEARCH_NAME:
        return _done_count(outcomes) < plan.trials
    counted = counted_outcomes(outcomes)
    return not counted or bool(counted[-1].left_s)


def _done_count(outcomes: Sequence[TrialOutcome]) -> int:
    return sum(outcome.state != "failed" for outcome in outcomes)


def start_experiment(plan: ExperimentPlan) -> int:
    """Save a new experiment; return its number in the history."""
    experiment = plan.experiment
    with HistoryStore.open() as store:
        return store.start_experiment(
            msgspec.json.encode(plan),
            experiment.share,
            experiment.seed,
            name=experiment.recipe,
            environment=plan.environment,
        )


def save_outcome(number: int, outcome: TrialOutcome) -> None:
    """Save the outcome of a trial of an experiment."""
    with HistoryStore.open() as store:
        store.add_outcome(number, outcome)


def experiments_of_share(share: str) -> list[ExperimentSummary]:
    """Return the experiments on a share, newest first; an unreadable one has a title with that note."""
    with HistoryStore.open() as store:
        rows = [row for row in store.experiments() if row.share == share]
        found: list[ExperimentSummary] = []
        for row in rows:
            try:
                record = store.experiment(row.id)
            except AppError:  # loading it shows the reason; the others are listed all the same
                title = f"{row.name or 'Experiment'}: cannot be read"
                summary = ExperimentSummary(
                    number=row.id, started_at=row.started_at, title=title, done=row.done, planned=0
                )
                found.append(summary)
                continue
            plan = _decode_plan(bytes(record.spec))
            found.append(
                ExperimentSummary(
                    number=row.id,
                    started_at=row.started_at,
                    title=(plan.experiment.title if plan is not None else "") or row.name,
                    done=_done_count(record.outcomes),
                    planned=plan.trials if plan is not None else 0,
                    unfinished=plan is not None
                    and not record.origin
                    and is_unfinished(plan, record.outcomes),
                )
            )
    return found


def load_experiment(number: int) -> StoredExperiment:
    """Return an experiment with its plan and all outcomes.

    Raises:
        AppError: USAGE if no experiment has this number; IO if its plan or outcomes cannot be read.
    """
    with HistoryStore.open() as store:
        record = store.experiment(number)
    plan = _decode_plan(bytes(record.spec))
    if plan is None:
        raise AppError(ErrorCode.PLAN_NOT_READ, number=number)
    return StoredExperiment(
        number=number, started_at=record.started_at, plan=plan, outcomes=record.outcomes, origin=record.origin
    )


def _decode_plan(spec: bytes) -> ExperimentPlan | None:
    try:
        return from_json(spec, ExperimentPlan)
    except msgspec.DecodeError:
        return None

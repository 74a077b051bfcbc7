"""Experiments of the history: saved, listed, loaded and locked to be resumed.

Each call opens the database and closes it, for a thread that may wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from app.errors import AppError, ErrorKind
from app.experiment.model import SEARCH_NAME, ExperimentPlan, counted_outcomes
from app.history.experiment_lock import lock_experiment
from app.history.store import HistoryStore
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.experiment.measurements import TrialOutcome
    from app.history.experiment_lock import ExperimentLock


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredExperiment:
    """An experiment of the history.

    Attributes:
        number: in it.
        started_at: UTC, ISO 8601.
        plan: as it was made.
        outcomes: of the trials that are done, in their order.
        origin: the file that it was imported from, "" if it ran here.
    """

    number: int
    started_at: str
    plan: ExperimentPlan
    outcomes: list[TrialOutcome]
    origin: str = ""

    @property
    def done(self) -> int:
        """Trials that need not run again."""
        return _done_count(self.outcomes)

    @property
    def resumable(self) -> bool:
        """Whether something is left to run here."""
        return not self.origin and is_unfinished(self.plan, self.outcomes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentSummary:
    """One experiment in a list.

    Attributes:
        number: in the history.
        started_at: UTC, ISO 8601.
        title: of its recipe.
        done: trials that need not run again.
        planned: trials in all, 0 of a search, or if its plan cannot be read.
        unfinished: whether something is left to run here.
    """

    number: int
    started_at: str
    title: str
    done: int
    planned: int
    unfinished: bool = False


def is_unfinished(plan: ExperimentPlan, outcomes: Sequence[TrialOutcome]) -> bool:
    """Return whether something is left to run: trials of an experiment, or time of a search.

    Args:
        plan: of either.
        outcomes: so far.
    """
    if plan.experiment.recipe != SEARCH_NAME:
        return _done_count(outcomes) < plan.trials
    left = counted_outcomes(outcomes)
    return not left or bool(left[-1].left_s)


def _done_count(outcomes: Sequence[TrialOutcome]) -> int:
    return sum(outcome.state != "failed" for outcome in outcomes)


def start_experiment(plan: ExperimentPlan) -> int:
    """Keep a new experiment; return its number."""
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
    """Keep a finished trial."""
    with HistoryStore.open() as store:
        store.add_outcome(number, outcome)


def experiments_of_share(share: str) -> list[ExperimentSummary]:
    """Return the experiments on a share, the newest first; of one that cannot be read, that it cannot."""
    with HistoryStore.open() as store:
        rows = [row for row in store.experiments() if row.share == share]
        found: list[ExperimentSummary] = []
        for row in rows:
            try:
                kept = store.experiment(row.id)
            except AppError:  # it is told when it is opened, and is no reason to hide the others
                title = f"{row.name or 'Experiment'}: cannot be read"
                line = ExperimentSummary(
                    number=row.id, started_at=row.started_at, title=title, done=row.done, planned=0
                )
                found.append(line)
                continue
            plan = _decode_plan(bytes(kept.spec))
            found.append(
                ExperimentSummary(
                    number=row.id,
                    started_at=row.started_at,
                    title=(plan.experiment.title if plan is not None else "") or row.name,
                    done=_done_count(kept.outcomes),
                    planned=plan.trials if plan is not None else 0,
                    unfinished=plan is not None and not kept.origin and is_unfinished(plan, kept.outcomes),
                )
            )
    return found


def load_experiment(number: int) -> StoredExperiment:
    """Return an experiment with all outcomes.

    Raises:
        AppError: IO if its plan is of another version of the program; else as the history says.
    """
    with HistoryStore.open() as store:
        kept = store.experiment(number)
    plan = _decode_plan(bytes(kept.spec))
    if plan is None:
        raise AppError(
            ErrorKind.IO,
            f"The plan of experiment {number} cannot be read.",
            hint="Another version of this program may have made it. Run the recipe anew.",
        )
    return StoredExperiment(
        number=number, started_at=kept.started_at, plan=plan, outcomes=kept.outcomes, origin=kept.origin
    )


def lock_and_load(number: int) -> tuple[ExperimentLock, StoredExperiment]:
    """Claim an experiment, to go on with it, and return it as it is now.

    Raises:
        AppError: BUSY if it runs already; else as for :func:`load_experiment`.
    """
    claimed = lock_experiment(number)
    try:
        return claimed, load_experiment(number)
    except BaseException:
        claimed.release()
        raise


def _decode_plan(spec: bytes) -> ExperimentPlan | None:
    try:
        return from_json(spec, ExperimentPlan)
    except msgspec.DecodeError:
        return None

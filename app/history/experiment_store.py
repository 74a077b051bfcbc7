"""What the window asks of the history about experiments; each call opens it, for a thread that may wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from app.errors import AppError, ErrorKind
from app.experiment.model import SEARCH, ExperimentPlan, counted
from app.history.experiment_lock import claim
from app.history.store import HistoryStore
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.experiment.measurements import Outcome
    from app.history.experiment_lock import Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptExperiment:
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
    outcomes: list[Outcome]
    origin: str = ""

    @property
    def done(self) -> int:
        """Trials that need not run again."""
        return _done(self.outcomes)

    @property
    def resumable(self) -> bool:
        """Whether something is left to run here."""
        return not self.origin and unfinished(self.plan, self.outcomes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentLine:
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


def unfinished(plan: ExperimentPlan, outcomes: Sequence[Outcome]) -> bool:
    """Return whether something is left to run: trials of an experiment, or time of a search.

    Args:
        plan: of either.
        outcomes: so far.
    """
    if plan.experiment.recipe != SEARCH:
        return _done(outcomes) < plan.trials
    left = counted(outcomes)
    return not left or bool(left[-1].left_s)


def _done(outcomes: Sequence[Outcome]) -> int:
    return sum(outcome.state != "failed" for outcome in outcomes)


def begin(plan: ExperimentPlan) -> int:
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


def keep(number: int, outcome: Outcome) -> None:
    """Keep a finished trial."""
    with HistoryStore.open() as store:
        store.add_outcome(number, outcome)


def of_share(share: str) -> list[ExperimentLine]:
    """Return the experiments on a share, the newest first; of one that cannot be read, that it cannot."""
    with HistoryStore.open() as store:
        rows = [row for row in store.experiments() if row.share == share]
        found: list[ExperimentLine] = []
        for row in rows:
            try:
                kept = store.experiment(row.id)
            except AppError:  # it is told when it is opened, and is no reason to hide the others
                title = f"{row.name or 'Experiment'}: cannot be read"
                line = ExperimentLine(
                    number=row.id, started_at=row.started_at, title=title, done=row.done, planned=0
                )
                found.append(line)
                continue
            plan = _plan(bytes(kept.spec))
            found.append(
                ExperimentLine(
                    number=row.id,
                    started_at=row.started_at,
                    title=(plan.experiment.title if plan is not None else "") or row.name,
                    done=_done(kept.outcomes),
                    planned=plan.trials if plan is not None else 0,
                    unfinished=plan is not None and not kept.origin and unfinished(plan, kept.outcomes),
                )
            )
    return found


def load(number: int) -> KeptExperiment:
    """Return an experiment with all outcomes.

    Raises:
        AppError: IO if its plan is of another version of the program; else as the history says.
    """
    with HistoryStore.open() as store:
        kept = store.experiment(number)
    plan = _plan(bytes(kept.spec))
    if plan is None:
        raise AppError(
            ErrorKind.IO,
            f"The plan of experiment {number} cannot be read.",
            hint="Another version of this program may have made it. Run the recipe anew.",
        )
    return KeptExperiment(
        number=number, started_at=kept.started_at, plan=plan, outcomes=kept.outcomes, origin=kept.origin
    )


def take_up(number: int) -> tuple[Claim, KeptExperiment]:
    """Claim an experiment, to go on with it, and return it as it is now.

    Raises:
        AppError: BUSY if it runs already; else as for :func:`load`.
    """
    claimed = claim(number)
    try:
        return claimed, load(number)
    except BaseException:
        claimed.release()
        raise


def _plan(spec: bytes) -> ExperimentPlan | None:
    try:
        return from_json(spec, ExperimentPlan)
    except msgspec.DecodeError:
        return None

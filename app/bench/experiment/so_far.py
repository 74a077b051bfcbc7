"""What a search has found so far: of one that was stopped, or stands in the history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.experiment.model import BestResult, counted
from app.experiment.search import retested
from app.experiment.search_state import raced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.experiment.measurements import Outcome
    from app.experiment.model import ExperimentPlan


def best_so_far(plan: ExperimentPlan, outcomes: Sequence[Outcome]) -> BestResult | None:
    """Return the answer of a search from its outcomes alone, None if no trial gave a figure.

    Args:
        plan: as the search told it.
        outcomes: of its trials.
    """
    kept = counted(outcomes)
    race = raced(plan, kept, plan.seconds)
    try:
        answer = race.answer()
    except ValueError:
        return None
    winner = race.set_of(answer.winner.levels)
    return BestResult(
        plan=plan,
        answer=answer,
        options=winner.options,
        read_ahead_kb=winner.read_ahead_kb,
        retest=retested(plan, kept, answer),
        struck=list(race.struck.values()),
    )

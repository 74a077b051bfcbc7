"""Whether server and network were the same from the first trial to the last: the baseline tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.analysis import interval, median
from advisor.trials import READ, WRITE
from app.bench.experiment.model import Drift

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.trials import Outcome

#: Fewer values than this in a half tell nothing.
_FEWEST = 2
#: A smaller change is not worth a word.
_WORTH = 0.05


def baseline_drift(outcomes: Sequence[Outcome]) -> list[Drift]:
    """Return how the baseline's figures moved; [] if it ran too seldom to tell.

    Notable is a change of the median from the first half to the second by more than 5 %, if the intervals of
    the two medians do not overlap.

    Args:
        outcomes: of the whole run; those of the baseline's levels and first workload are looked at.
    """
    watching = [outcome for outcome in outcomes if outcome.baseline]
    if not watching:
        return []
    levels, workload = watching[0].levels, watching[0].workload
    same = sorted(
        (one for one in outcomes if (one.levels, one.workload, one.state) == (levels, workload, "ok")),
        key=lambda outcome: outcome.order,
    )
    found: list[Drift] = []
    for figure in (WRITE, READ):
        values = [outcome.figures[figure] for outcome in same if figure in outcome.figures]
        half = len(values) // 2
        if half >= _FEWEST:
            found.append(_drift(figure, values, half))
    return found


def _drift(figure: str, values: list[float], half: int) -> Drift:
    first, second = values[:half], values[-half:]
    before, after = interval(first), interval(second)
    change = median(second) / max(median(first), 1e-9) - 1
    apart = before.high < after.low or after.high < before.low
    return Drift(figure=figure, values=values, change=change, notable=apart and abs(change) > _WORTH)

"""Why tests of one share differ although its options are the same: what else was not the same in them."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from advisor.speeds import format_speed
from app.speedtest.model import SPEEDS
from app.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.speedtest.model import TestResult, Transfer
    from app.speedtest.result_comparison import Comparison

#: Speeds that are further apart than this, as a fraction, need an explanation.
_APART = 0.2
#: The processors' load explains something from this difference on, and retransmissions from this one.
_LOAD, _LOST = 0.2, 0.005
#: Repeats and round trips explain something from this ratio on.
_RATIO = 1.5
_WAYS = {"write": "to the server", "read": "from the server", "small-read": "of small reads"}


def explained(
    before: Sequence[TestResult],
    after: Sequence[TestResult],
    comparisons: Sequence[Comparison],
    differing: Sequence[str],
) -> list[str]:
    """Return a sentence for each speed that is not the same although the options in use are.

    Args:
        before: the tests of one side.
        after: those of the other.
        comparisons: of their figures.
        differing: what of the tests and of their environment is known to differ, as phrases.
    """
    if any(one.effective != before[0].effective for one in (*before, *after)):
        return []
    found: list[str] = []
    for item in comparisons:
        apart = abs(item.after / item.before - 1) if item.before else 0.0
        if item.figure not in SPEEDS or apart <= _APART:
            continue
        why = [*differing, *_measured(before, after, item.figure)]
        text = f"The speed {_WAYS[item.figure]} differs by {100 * apart:.0f} % with equal options. "
        if why:
            found.append(f"{text}What differs: {', '.join(why)}.")
        else:
            found.append(f"{text}The cause is unknown: {_spreads(before, after, item.figure)}.")
    return found


def _measured(before: Sequence[TestResult], after: Sequence[TestResult], figure: str) -> list[str]:
    """Return what the tests themselves measured of load, loss and distance, where it differs enough."""
    sides = [[_transfer(one, figure) for one in side] for side in (before, after)]
    looks: tuple[tuple[str, Callable[[Transfer], float | None], bool], ...] = (
        ("busy processors", lambda one: one.load.cpu if one.load is not None else None, False),
        ("retransmitted segments", _lost, False),
        ("round-trip time of the idle link", lambda one: one.load.network_s if one.load else None, True),
    )
    found: list[str] = []
    for name, look, ratio in looks:
        pair = [_median([look(one) for one in side if one is not None]) for side in sides]
        old, new = pair
        if old is None or new is None:
            continue
        least = _LOST if look is _lost else _LOAD
        if ratio and min(old, new) > 0 and max(old, new) >= _RATIO * min(old, new):
            found.append(f"{name} ({format_duration(old)} → {format_duration(new)})")
        elif not ratio and abs(new - old) >= least:
            found.append(f"{name} ({100 * old:.2g} % → {100 * new:.2g} %)")
    old_count, new_count = (_repeats(side, figure) for side in (before, after))
    if max(old_count, new_count) >= _RATIO * min(old_count, new_count):
        found.append(f"repeats ({old_count} → {new_count})")
    return found


def _transfer(result: TestResult, figure: str) -> Transfer | None:
    return {"write": result.write, "read": result.read}.get(figure, result.small_read)


def _lost(transfer: Transfer) -> float | None:
    load = transfer.load
    return load.again / load.segments if load is not None and load.segments else None


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _repeats(side: Sequence[TestResult], figure: str) -> int:
    return max(1, sum(len(_values(one, figure)) for one in side))


def _values(result: TestResult, figure: str) -> list[float]:
    found = result.figures.get(figure)
    transfer = _transfer(result, figure)
    return found.values if found is not None else [transfer.bytes_per_s] if transfer is not None else []


def _spreads(before: Sequence[TestResult], after: Sequence[TestResult], figure: str) -> str:
    """Return how far the repeats of each side are apart."""
    texts: list[str] = []
    for name, side in (("before", before), ("after", after)):
        values = [value for one in side for value in _values(one, figure)]
        spread = f"{format_speed(min(values))} to {format_speed(max(values))}"
        texts.append(
            f"{name}, {spread} ({len(values)} repeats)" if len(values) > 1 else f"{name}, one repeat"
        )
    return f"the spread was {'; '.join(texts)}"

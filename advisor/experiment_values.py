"""The figures of an experiment's outcomes: what counts, what is counted in, and what belongs together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from advisor.experiment.measurements import (
    QUANTITIES,
    READ,
    READ_BYTES,
    READ_S,
    READ_TIMEOUTS,
    READ_TOTAL_S,
    RETRANSMISSIONS,
    SYNC_S,
    TIMEOUTS,
    UNMOUNT_S,
    WRITE,
    WRITE_BYTES,
    WRITE_CALLS,
    WRITE_S,
    WRITE_TIMEOUTS,
    WRITE_TOTAL_S,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from advisor.experiment.measurements import Outcome

#: The levels of a set in the order of their factors' names.
Key = tuple[tuple[str, str], ...]

_WHOLE: dict[str, Callable[[Outcome], int]] = {
    TIMEOUTS: lambda outcome: outcome.timeouts,
    RETRANSMISSIONS: lambda outcome: outcome.retransmissions,
}
#: Of what each speed is.
_SPEEDS = {WRITE: WRITE_BYTES, READ: READ_BYTES, WRITE_CALLS: WRITE_BYTES}
_TOTALS = {WRITE_TOTAL_S: WRITE, READ_TOTAL_S: READ}
#: Figures of reading: after a trial that has written too, sync and unmount belong to what was written.
_READING = frozenset({READ, READ_S, READ_TOTAL_S})
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kKmMgGtT]?)")
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


class Chance(Protocol):
    """A source of chance, such as random.Random."""

    def random(self) -> float:
        """Return a number from 0 up to 1."""
        ...


def key_of(levels: dict[str, str]) -> Key:
    """Return what names an option set."""
    return tuple(sorted(levels.items()))


def lower_is_better(figure: str) -> bool:
    """Return whether less of it is better; of a figure without a name that is known, more is."""
    quantity = QUANTITIES.get(figure)
    return quantity is not None and quantity.lower_is_better


def value(outcome: Outcome, figure: str, *, counted: bool = False) -> float | None:
    """Return a figure of an outcome, or None if the outcome has none.

    Args:
        outcome: of a trial.
        figure: a name of advisor.experiment.measurements, also of those that are made of others.
        counted: count the time to sync and to unmount in, where the figure is a speed of a transfer or its
            time. What was written in seconds may take a minute more until the mount can be let go: of seed
            002's 73.20 MB/s remain 3.6.
    """
    if figure in _WHOLE:
        return float(_WHOLE[figure](outcome))
    if figure in _SPEEDS:
        seconds = _seconds(outcome, figure, counted=counted)
        moved = outcome.figures.get(_SPEEDS[figure])
        return moved / seconds if moved and seconds else outcome.figures.get(figure)
    if figure in {*_TOTALS, WRITE_S, READ_S}:
        return _seconds(outcome, figure, counted=counted)
    return outcome.figures.get(figure)


def can_count_in(outcomes: Iterable[Outcome], figure: str) -> bool:
    """Return whether counting the time to sync and to unmount in makes anything else of a figure."""
    return any(value(outcome, figure, counted=True) != value(outcome, figure) for outcome in outcomes)


def timeouts(outcome: Outcome, figure: str) -> float:
    """Return the time-outs of the direction that a figure is of, or of the whole trial if not known apart."""
    name = READ_TIMEOUTS if figure in _READING else WRITE_TIMEOUTS
    return outcome.figures.get(name, float(outcome.timeouts))


def counts(outcome: Outcome) -> bool:
    """Return whether an outcome is a repeat of its set: it ran, with the values of the plan."""
    return outcome.state == "ok" and not outcome.baseline and not outcome.retest


def of_workload(outcomes: Iterable[Outcome], workload: str) -> list[Outcome]:
    """Return those of one workload."""
    return [outcome for outcome in outcomes if outcome.workload == workload]


def having(outcomes: Iterable[Outcome], figure: str, *, counted: bool = False) -> list[Outcome]:
    """Return those that count and have a figure: a read that came from memory ran, and has none."""
    return [
        outcome
        for outcome in outcomes
        if counts(outcome) and value(outcome, figure, counted=counted) is not None
    ]


def values_by_set(
    outcomes: Iterable[Outcome], figure: str, *, counted: bool = False
) -> dict[Key, list[float]]:
    """Return the values of each option set, both in the order in which they come.

    Raises:
        ValueError: if the outcomes are of several workloads, whose figures cannot be compared.
    """
    found: dict[Key, list[float]] = {}
    workloads: set[str] = set()
    for outcome in outcomes:
        number = value(outcome, figure, counted=counted)
        if counts(outcome) and number is not None:
            workloads.add(outcome.workload)
            found.setdefault(key_of(outcome.levels), []).append(number)
    if len(workloads) > 1:
        raise ValueError(f"figures of several workloads cannot be compared: {', '.join(sorted(workloads))}")
    return found


def repeats_of(outcomes: Iterable[Outcome], figure: str, *, counted: bool) -> list[list[float]]:
    """Return the values of each option set, and those that watch for drift: they tell of chance as well.

    Raises:
        ValueError: if the outcomes are of several workloads.
    """
    outcomes = list(outcomes)
    watching: dict[Key, list[float]] = {}
    for outcome in outcomes:
        number = value(outcome, figure, counted=counted)
        if outcome.baseline and outcome.state == "ok" and number is not None:
            watching.setdefault(key_of(outcome.levels), []).append(number)
    return [*values_by_set(outcomes, figure, counted=counted).values(), *watching.values()]


def levels_of(outcomes: Iterable[Outcome]) -> dict[str, list[str]]:
    """Return each factor that was varied, with its levels: sizes and numbers from small to large, then words.

    Factors come in the order in which the outcomes name them.
    """
    found: dict[str, dict[str, None]] = {}
    for outcome in outcomes:
        for factor, level in outcome.levels.items():
            found.setdefault(factor, {})[level] = None
    return {factor: in_order(list(levels)) for factor, levels in found.items() if len(levels) > 1}


def in_order(levels: Sequence[str]) -> list[str]:
    """Return levels with numbers and sizes first, from small to large, and words as they come."""
    numbers = [level for level in levels if number_of(level) is not None]
    words = [level for level in levels if number_of(level) is None]
    return [*sorted(numbers, key=lambda level: number_of(level) or 0.0), *words]


def number_of(level: str) -> float | None:
    """Return the number that a level such as ``3``, ``65536`` or ``64k`` stands for, None if it is a word."""
    match = _SIZE.fullmatch(level)
    return None if match is None else float(match[1]) * 1024.0 ** _POWERS[match[2].lower()]


def _seconds(outcome: Outcome, figure: str, *, counted: bool) -> float | None:
    """Return the time of a transfer that a figure is of, or None if it is not known."""
    speed_name = _TOTALS.get(figure, figure)
    if speed_name in {WRITE, READ}:
        speed, moved = outcome.figures.get(speed_name), outcome.figures.get(_SPEEDS[speed_name])
        found = moved / speed if speed and moved is not None else None
    else:
        found = outcome.figures.get(WRITE_S if figure == WRITE_CALLS else figure)
    return found if found is None or not counted else found + _after(outcome, figure)


def _after(outcome: Outcome, figure: str) -> float:
    """Return the seconds to sync and unmount after what a figure is of."""
    if figure in _READING and WRITE in outcome.figures:
        return 0.0
    return outcome.figures.get(SYNC_S, 0.0) + outcome.figures.get(UNMOUNT_S, 0.0)

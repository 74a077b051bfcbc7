"""Measurements of an experiment: the outcome of each trial, its figures, and their values by option set.

Runner, history and analysis share them. Speeds are in bytes per second, times in seconds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

#: The values in use were as planned; or they were not; or there is no result; or it was given up on the way,
#: since it could not win any more.
TrialState = Literal["ok", "mismatch", "failed", "skipped"]

#: Figures of an outcome. Speeds in bytes a second, until the data is on the server or with the program.
WRITE, READ = "write", "read"
#: File bytes that were moved in each direction.
WRITE_BYTES, READ_BYTES = "write_bytes", "read_bytes"
#: Seconds of the calls alone: what a copy program sees that does not wait for the server.
WRITE_S, READ_S = "write_s", "read_s"
#: Seconds of fsync and close after writing.
WRITE_SYNC_S = "write_sync_s"
#: Seconds of the whole trial: mount, test, sync, unmount, and what lies between.
TRIAL_S = "trial_s"
#: Bytes a second that a trial would have come to that was given up, by what it had reached until then.
PROJECTED_SPEED = "reached"
#: Seconds to mount; to sync the file system when all is done; to unmount.
MOUNT_S, SYNC_S, UNMOUNT_S = "mount_s", "sync_s", "unmount_s"
#: Of small files: operations a second.
CREATE, STAT, DELETE = "create", "stat", "delete"
#: RPC major time-outs of each direction; mean round trip of its requests, seconds.
WRITE_TIMEOUTS, READ_TIMEOUTS = "write_timeouts", "read_timeouts"
WRITE_RTT_S, READ_RTT_S = "write_rtt_s", "read_rtt_s"
#: Made of the others by figure_value: seconds until all is on the server, or with the program;
#: bytes a second of the write calls alone.
WRITE_TOTAL_S, READ_TOTAL_S, WRITE_CALLS = "write_total_s", "read_total_s", "write_calls"
#: Of the whole trial, beside its figures.
TIMEOUTS, RETRANSMISSIONS = "timeouts", "retransmissions"

FigureUnit = Literal["bytes/s", "bytes", "s", "1/s", ""]


class FigureInfo(NamedTuple):
    """What a figure is.

    Attributes:
        label: for people.
        unit: of its values; "" for a count.
        lower_is_better: as times and time-outs are.
    """

    label: str
    unit: FigureUnit
    lower_is_better: bool


FIGURE_INFO: dict[str, FigureInfo] = {
    WRITE: FigureInfo("speed to the server", "bytes/s", lower_is_better=False),
    READ: FigureInfo("speed from the server", "bytes/s", lower_is_better=False),
    WRITE_CALLS: FigureInfo("speed of the write calls alone", "bytes/s", lower_is_better=False),
    WRITE_TOTAL_S: FigureInfo("time to the server", "s", lower_is_better=True),
    READ_TOTAL_S: FigureInfo("time from the server", "s", lower_is_better=True),
    WRITE_S: FigureInfo("time of the write calls alone", "s", lower_is_better=True),
    READ_S: FigureInfo("time of the read calls alone", "s", lower_is_better=True),
    WRITE_SYNC_S: FigureInfo("time of fsync and close", "s", lower_is_better=True),
    WRITE_BYTES: FigureInfo("bytes written", "bytes", lower_is_better=False),
    READ_BYTES: FigureInfo("bytes read", "bytes", lower_is_better=False),
    CREATE: FigureInfo("files made a second", "1/s", lower_is_better=False),
    STAT: FigureInfo("files looked at a second", "1/s", lower_is_better=False),
    DELETE: FigureInfo("files deleted a second", "1/s", lower_is_better=False),
    TRIAL_S: FigureInfo("time of the whole trial", "s", lower_is_better=True),
    PROJECTED_SPEED: FigureInfo("speed that it would have come to", "bytes/s", lower_is_better=False),
    MOUNT_S: FigureInfo("time to mount", "s", lower_is_better=True),
    SYNC_S: FigureInfo("time to sync", "s", lower_is_better=True),
    UNMOUNT_S: FigureInfo("time to unmount", "s", lower_is_better=True),
    WRITE_RTT_S: FigureInfo("round trip of a write request", "s", lower_is_better=True),
    READ_RTT_S: FigureInfo("round trip of a read request", "s", lower_is_better=True),
    WRITE_TIMEOUTS: FigureInfo("time-outs when writing", "", lower_is_better=True),
    READ_TIMEOUTS: FigureInfo("time-outs when reading", "", lower_is_better=True),
    TIMEOUTS: FigureInfo("time-outs", "", lower_is_better=True),
    RETRANSMISSIONS: FigureInfo("retransmissions", "", lower_is_better=True),
}


class TrialOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """One finished trial.

    Attributes:
        levels: factor to level of its option set.
        workload: its name in the experiment.
        block: which repeat, from 0.
        order: its place in the run, from 0; the plan of the run gives the rest by it.
        baseline: it only watches for drift, and is no repeat of the set for the ranking.
        figures: by the names above; those that the workload has.
        timeouts: RPC major time-outs.
        retransmissions: of requests (version 3) or TCP segments (version 4).
        state: ok, mismatch (other values in use than planned), failed, or skipped (given up on the way).
        note: why not ok, or what else a reader must know; one or two sentences.
        effective: option name to value as in use.
        started_at: UTC, ISO 8601.
        left_s: of a search, seconds of its time that are left after this trial, 0 when it has come to its end
            with it; None of an experiment.
        retest: of a search, a trial of its winner or of the present setting that was run after the end, to
            compare the two; it is no part of the search.
    """

    levels: dict[str, str]
    workload: str
    block: int
    order: int
    baseline: bool = False
    figures: dict[str, float] = {}
    timeouts: int = 0
    retransmissions: int = 0
    state: TrialState = "ok"
    note: str = ""
    effective: dict[str, str] = {}
    started_at: str = ""
    left_s: float | None = None
    retest: bool = False


#: The levels of a set in the order of their factors' names.
SetKey = tuple[tuple[str, str], ...]

_TRIAL_COUNTERS: dict[str, Callable[[TrialOutcome], int]] = {
    TIMEOUTS: lambda outcome: outcome.timeouts,
    RETRANSMISSIONS: lambda outcome: outcome.retransmissions,
}
#: Of what each speed is.
_BYTES_OF_SPEED = {WRITE: WRITE_BYTES, READ: READ_BYTES, WRITE_CALLS: WRITE_BYTES}
_SPEED_OF_TOTAL = {WRITE_TOTAL_S: WRITE, READ_TOTAL_S: READ}
#: Figures of reading: after a trial that has written too, sync and unmount belong to what was written.
_READ_FIGURES = frozenset({READ, READ_S, READ_TOTAL_S})
_SIZE_PATTERN = re.compile(r"(\d+(?:\.\d+)?)([kKmMgGtT]?)")
_SIZE_EXPONENTS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


class RandomSource(Protocol):
    """A source of chance, such as random.Random."""

    def random(self) -> float:
        """Return a number from 0 up to 1."""
        ...


def set_key(levels: dict[str, str]) -> SetKey:
    """Return what names an option set."""
    return tuple(sorted(levels.items()))


def lower_is_better(figure: str) -> bool:
    """Return whether less of it is better; of a figure without a name that is known, more is."""
    quantity = FIGURE_INFO.get(figure)
    return quantity is not None and quantity.lower_is_better


def figure_value(outcome: TrialOutcome, figure: str, *, counted: bool = False) -> float | None:
    """Return a figure of an outcome, or None if the outcome has none.

    Args:
        outcome: of a trial.
        figure: a name of advisor.experiment.measurements, also of those that are made of others.
        counted: count the time to sync and to unmount in, where the figure is a speed of a transfer or its
            time. What was written in seconds may take a minute more until the mount can be let go: of seed
            002's 73.20 MB/s remain 3.6.
    """
    if figure in _TRIAL_COUNTERS:
        return float(_TRIAL_COUNTERS[figure](outcome))
    if figure in _BYTES_OF_SPEED:
        seconds = _transfer_seconds(outcome, figure, counted=counted)
        moved = outcome.figures.get(_BYTES_OF_SPEED[figure])
        return moved / seconds if moved and seconds else outcome.figures.get(figure)
    if figure in {*_SPEED_OF_TOTAL, WRITE_S, READ_S}:
        return _transfer_seconds(outcome, figure, counted=counted)
    return outcome.figures.get(figure)


def sync_time_matters(outcomes: Iterable[TrialOutcome], figure: str) -> bool:
    """Return whether counting the time to sync and to unmount in makes anything else of a figure."""
    return any(
        figure_value(outcome, figure, counted=True) != figure_value(outcome, figure) for outcome in outcomes
    )


def direction_timeouts(outcome: TrialOutcome, figure: str) -> float:
    """Return the time-outs of the direction that a figure is of, or of the whole trial if not known apart."""
    name = READ_TIMEOUTS if figure in _READ_FIGURES else WRITE_TIMEOUTS
    return outcome.figures.get(name, float(outcome.timeouts))


def is_repeat(outcome: TrialOutcome) -> bool:
    """Return whether an outcome is a repeat of its set: it ran, with the values of the plan."""
    return outcome.state == "ok" and not outcome.baseline and not outcome.retest


def outcomes_of_workload(outcomes: Iterable[TrialOutcome], workload: str) -> list[TrialOutcome]:
    """Return those of one workload."""
    return [outcome for outcome in outcomes if outcome.workload == workload]


def outcomes_with_figure(
    outcomes: Iterable[TrialOutcome], figure: str, *, counted: bool = False
) -> list[TrialOutcome]:
    """Return those that count and have a figure: a read that came from memory ran, and has none."""
    return [
        outcome
        for outcome in outcomes
        if is_repeat(outcome) and figure_value(outcome, figure, counted=counted) is not None
    ]


def values_by_set(
    outcomes: Iterable[TrialOutcome], figure: str, *, counted: bool = False
) -> dict[SetKey, list[float]]:
    """Return the values of each option set, both in the order in which they come.

    Raises:
        ValueError: if the outcomes are of several workloads, whose figures cannot be compared.
    """
    found: dict[SetKey, list[float]] = {}
    workloads: set[str] = set()
    for outcome in outcomes:
        number = figure_value(outcome, figure, counted=counted)
        if is_repeat(outcome) and number is not None:
            workloads.add(outcome.workload)
            found.setdefault(set_key(outcome.levels), []).append(number)
    if len(workloads) > 1:
        raise ValueError(f"figures of several workloads cannot be compared: {', '.join(sorted(workloads))}")
    return found


def repeats_by_set(outcomes: Iterable[TrialOutcome], figure: str, *, counted: bool) -> list[list[float]]:
    """Return the values of each option set, and those that watch for drift: they tell of chance as well.

    Raises:
        ValueError: if the outcomes are of several workloads.
    """
    outcomes = list(outcomes)
    watching: dict[SetKey, list[float]] = {}
    for outcome in outcomes:
        number = figure_value(outcome, figure, counted=counted)
        if outcome.baseline and outcome.state == "ok" and number is not None:
            watching.setdefault(set_key(outcome.levels), []).append(number)
    return [*values_by_set(outcomes, figure, counted=counted).values(), *watching.values()]


def varied_levels(outcomes: Iterable[TrialOutcome]) -> dict[str, list[str]]:
    """Return each factor that was varied, with its levels: sizes and numbers from small to large, then words.

    Factors come in the order in which the outcomes name them.
    """
    found: dict[str, dict[str, None]] = {}
    for outcome in outcomes:
        for factor, level in outcome.levels.items():
            found.setdefault(factor, {})[level] = None
    return {factor: sorted_levels(list(levels)) for factor, levels in found.items() if len(levels) > 1}


def sorted_levels(levels: Sequence[str]) -> list[str]:
    """Return levels with numbers and sizes first, from small to large, and words as they come."""
    numbers = [level for level in levels if level_number(level) is not None]
    words = [level for level in levels if level_number(level) is None]
    return [*sorted(numbers, key=lambda level: level_number(level) or 0.0), *words]


def level_number(level: str) -> float | None:
    """Return the number that a level such as ``3``, ``65536`` or ``64k`` stands for, None if it is a word."""
    match = _SIZE_PATTERN.fullmatch(level)
    return None if match is None else float(match[1]) * 1024.0 ** _SIZE_EXPONENTS[match[2].lower()]


def _transfer_seconds(outcome: TrialOutcome, figure: str, *, counted: bool) -> float | None:
    """Return the time of a transfer that a figure is of, or None if it is not known."""
    speed_name = _SPEED_OF_TOTAL.get(figure, figure)
    if speed_name in {WRITE, READ}:
        speed, moved = outcome.figures.get(speed_name), outcome.figures.get(_BYTES_OF_SPEED[speed_name])
        found = moved / speed if speed and moved is not None else None
    else:
        found = outcome.figures.get(WRITE_S if figure == WRITE_CALLS else figure)
    return found if found is None or not counted else found + _sync_and_unmount_s(outcome, figure)


def _sync_and_unmount_s(outcome: TrialOutcome, figure: str) -> float:
    """Return the seconds to sync and unmount after what a figure is of."""
    if figure in _READ_FIGURES and WRITE in outcome.figures:
        return 0.0
    return outcome.figures.get(SYNC_S, 0.0) + outcome.figures.get(UNMOUNT_S, 0.0)

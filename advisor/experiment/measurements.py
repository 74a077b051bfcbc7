"""Measurements of an experiment: the outcome of each trial, its figures, and their values by option set.

The runner, the history and the analysis use them. Speeds are in bytes per second, times in seconds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

#: ok: the values in use were as planned. mismatch: they were not. failed: no result. skipped: stopped early
#: because the set could not win any more.
TrialState = Literal["ok", "mismatch", "failed", "skipped"]

#: Speeds in bytes per second, until the data has reached the server (write) or the program (read).
WRITE, READ = "write", "read"
#: File bytes transferred in each direction.
WRITE_BYTES, READ_BYTES = "write_bytes", "read_bytes"
#: Seconds of the read or write calls alone, without fsync and close.
WRITE_S, READ_S = "write_s", "read_s"
#: Seconds of fsync and close after writing.
WRITE_SYNC_S = "write_sync_s"
#: Seconds of the whole trial, from mount to unmount.
TRIAL_S = "trial_s"
#: Projected speed of a trial that was stopped early, from its progress, bytes per second.
PROJECTED_SPEED = "reached"
#: Seconds to mount, to sync the file system after the test, and to unmount.
MOUNT_S, SYNC_S, UNMOUNT_S = "mount_s", "sync_s", "unmount_s"
#: Operations on small files per second.
CREATE, STAT, DELETE = "create", "stat", "delete"
#: RPC major timeouts of each direction, and mean round-trip time of its requests, seconds.
WRITE_TIMEOUTS, READ_TIMEOUTS = "write_timeouts", "read_timeouts"
WRITE_RTT_S, READ_RTT_S = "write_rtt_s", "read_rtt_s"
#: Derived by figure_value: seconds until all data has reached the server (write) or the program (read), and
#: speed of the write calls alone, bytes per second.
WRITE_TOTAL_S, READ_TOTAL_S, WRITE_CALLS = "write_total_s", "read_total_s", "write_calls"
#: Counters of the whole trial, which TrialOutcome holds in fields of their own.
TIMEOUTS, RETRANSMISSIONS = "timeouts", "retransmissions"

FigureUnit = Literal["bytes/s", "bytes", "s", "1/s", ""]


class FigureInfo(NamedTuple):
    """Description of a figure.

    Attributes:
        label: label for display.
        unit: unit of the values; "" for a count.
        lower_is_better: whether smaller values are better, as for times and timeouts.
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
        levels: factor to level of the option set.
        workload: name of the workload in the experiment.
        block: number of the repeat, from 0.
        order: position in the run, from 0; the plan of the run is indexed by it.
        baseline: whether the trial only measures drift and does not count in the ranking.
        figures: figure name to value, for the figures of the workload.
        timeouts: number of RPC major timeouts.
        retransmissions: number of retransmitted requests (version 3) or TCP segments (version 4).
        state: ok, mismatch (other values in use than planned), failed, or skipped (stopped early).
        note: reason for a state other than ok, or a remark; one or two sentences.
        effective: option name to value in use.
        started_at: start time in UTC, ISO 8601.
        left_s: remaining time budget of a search after this trial, seconds; 0 after its last trial; None
            in an experiment.
        retest: whether the trial belongs to the retest after a search, which compares the winner with the
            current setting.
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


#: Key of an option set: pairs of factor and level, sorted by factor.
SetKey = tuple[tuple[str, str], ...]

_TRIAL_COUNTERS: dict[str, Callable[[TrialOutcome], int]] = {
    TIMEOUTS: lambda outcome: outcome.timeouts,
    RETRANSMISSIONS: lambda outcome: outcome.retransmissions,
}
#: Speed to the figure with its bytes.
_BYTES_OF_SPEED = {WRITE: WRITE_BYTES, READ: READ_BYTES, WRITE_CALLS: WRITE_BYTES}
_SPEED_OF_TOTAL = {WRITE_TOTAL_S: WRITE, READ_TOTAL_S: READ}
#: Figures of reading. In a trial that also wrote, sync and unmount times count for the write figures only.
_READ_FIGURES = frozenset({READ, READ_S, READ_TOTAL_S})
_SIZE_PATTERN = re.compile(r"(\d+(?:\.\d+)?)([kKmMgGtT]?)")
_SIZE_EXPONENTS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


class RandomSource(Protocol):
    """Interface of a random number generator, such as random.Random."""

    def random(self) -> float:
        """Return a uniformly distributed number, at least 0 and below 1."""
        ...


def set_key(levels: dict[str, str]) -> SetKey:
    """Return the hashable key of an option set."""
    return tuple(sorted(levels.items()))


def lower_is_better(figure: str) -> bool:
    """Return whether smaller values of a figure are better; False for an unknown figure."""
    quantity = FIGURE_INFO.get(figure)
    return quantity is not None and quantity.lower_is_better


def figure_value(outcome: TrialOutcome, figure: str, *, counted: bool = False) -> float | None:
    """Return a figure of an outcome, or None if the outcome has none.

    Args:
        outcome: outcome of a trial.
        figure: a figure name of this module, derived figures included.
        counted: whether to include the time to sync and unmount in speeds and times of transfers. It can
            exceed the write time by far: seed 002's 73.20 MB/s become 3.6 MB/s.
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
    """Return whether including the time to sync and unmount changes a figure of any outcome."""
    return any(
        figure_value(outcome, figure, counted=True) != figure_value(outcome, figure) for outcome in outcomes
    )


def direction_timeouts(outcome: TrialOutcome, figure: str) -> float:
    """Return the timeouts in the direction of a figure, or of the whole trial if not counted separately."""
    name = READ_TIMEOUTS if figure in _READ_FIGURES else WRITE_TIMEOUTS
    return outcome.figures.get(name, float(outcome.timeouts))


def is_repeat(outcome: TrialOutcome) -> bool:
    """Return whether an outcome counts as a repeat of its set: state ok, no baseline and no retest."""
    return outcome.state == "ok" and not outcome.baseline and not outcome.retest


def outcomes_of_workload(outcomes: Iterable[TrialOutcome], workload: str) -> list[TrialOutcome]:
    """Return the outcomes of one workload."""
    return [outcome for outcome in outcomes if outcome.workload == workload]


def outcomes_with_figure(
    outcomes: Iterable[TrialOutcome], figure: str, *, counted: bool = False
) -> list[TrialOutcome]:
    """Return the repeats that have a figure; a read from the client's cache, for example, has none."""
    return [
        outcome
        for outcome in outcomes
        if is_repeat(outcome) and figure_value(outcome, figure, counted=counted) is not None
    ]


def values_by_set(
    outcomes: Iterable[TrialOutcome], figure: str, *, counted: bool = False
) -> dict[SetKey, list[float]]:
    """Return the values of a figure by option set, in the order of the outcomes.

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
    """Return the values of each option set, and those of the baseline, for an error model.

    Raises:
        ValueError: if the outcomes are of several workloads.
    """
    outcomes = list(outcomes)
    baseline: dict[SetKey, list[float]] = {}
    for outcome in outcomes:
        number = figure_value(outcome, figure, counted=counted)
        if outcome.baseline and outcome.state == "ok" and number is not None:
            baseline.setdefault(set_key(outcome.levels), []).append(number)
    return [*values_by_set(outcomes, figure, counted=counted).values(), *baseline.values()]


def varied_levels(outcomes: Iterable[TrialOutcome]) -> dict[str, list[str]]:
    """Return each varied factor with its levels: numeric levels in ascending order, then other levels.

    The factors have the order of their first appearance in the outcomes.
    """
    found: dict[str, dict[str, None]] = {}
    for outcome in outcomes:
        for factor, level in outcome.levels.items():
            found.setdefault(factor, {})[level] = None
    return {factor: sorted_levels(list(levels)) for factor, levels in found.items() if len(levels) > 1}


def sorted_levels(levels: Sequence[str]) -> list[str]:
    """Return levels with numbers and sizes first, in ascending order, then words in the given order."""
    numbers = [level for level in levels if level_number(level) is not None]
    words = [level for level in levels if level_number(level) is None]
    return [*sorted(numbers, key=lambda level: level_number(level) or 0.0), *words]


def level_number(level: str) -> float | None:
    """Return the number of a level such as ``3``, ``65536`` or ``64k`` (binary units), None for a word."""
    match = _SIZE_PATTERN.fullmatch(level)
    return None if match is None else float(match[1]) * 1024.0 ** _SIZE_EXPONENTS[match[2].lower()]


def _transfer_seconds(outcome: TrialOutcome, figure: str, *, counted: bool) -> float | None:
    """Return the time of the transfer behind a figure, seconds, or None if unknown."""
    speed_name = _SPEED_OF_TOTAL.get(figure, figure)
    if speed_name in {WRITE, READ}:
        speed, moved = outcome.figures.get(speed_name), outcome.figures.get(_BYTES_OF_SPEED[speed_name])
        found = moved / speed if speed and moved is not None else None
    else:
        found = outcome.figures.get(WRITE_S if figure == WRITE_CALLS else figure)
    return found if found is None or not counted else found + _sync_and_unmount_s(outcome, figure)


def _sync_and_unmount_s(outcome: TrialOutcome, figure: str) -> float:
    """Return the time to sync and unmount that belongs to a figure, seconds."""
    if figure in _READ_FIGURES and WRITE in outcome.figures:
        return 0.0
    return outcome.figures.get(SYNC_S, 0.0) + outcome.figures.get(UNMOUNT_S, 0.0)

"""Comparison of saved tests: speeds, options and environment, and possible causes of a different speed.

Two tests are comparable if share, link, workload and settings are the same. Their sizes may differ by a
factor of two. With equal options, possible causes of a different speed are the environment, load,
retransmissions, round-trip time and number of repeats.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from advisor.speeds import SpeedUnit, format_rate, format_speed
from app.errors import AppError
from app.history.model import read_is_cached
from app.speedtest.model import SPEED_FIGURES
from app.speedtest.result_comparison import FigureComparison, compare_results
from app.text.errors import ErrorCode
from app.text.units import format_duration, format_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from app.history.model import Run
    from app.speedtest.model import Environment, TestResult, Transfer

#: Greatest ratio of file sizes, or of numbers of files, whose speeds are compared. A plan chooses them by
#: link and free space. Half or twice the size gives the same speed; a much smaller file is copied too soon.
_SIMILAR_FACTOR = 2
_SIZE, _COUNT, CALL_SIZE = "file size", "number of files", "call size"
_DIRECTIONS = {"write": "to the server", "read": "from the server"}
_SAME_SETTINGS = "Options and environment are the same as then."
_NAMES = {
    "nfs_utils": "nfs-utils", "program": "Mountwright", "memory_bytes": "memory", "rate_bps": "line rate",
    "mtu": "MTU", "rtt_s": "round trip", "emulated_link": "link of the lab", "nfs_version": "NFS version",
    "server_implementation": "server calls itself", "read_ahead_kb": "readahead",
}  # fmt: skip
_FORMATS: dict[str, Callable[[float], str]] = {
    "rate_bps": format_rate,
    "memory_bytes": format_size,
    "rtt_s": format_duration,
    "read_ahead_kb": lambda kib: format_size(1024 * kib),
}
#: Ratio of memory sizes below which they count as the same.
_SAME_MEMORY = 1.05
#: Facts that differ between any two tests: listed as different, but never given as the cause.
_ALWAYS_DIFFERENT = frozenset({_NAMES["rtt_s"]})


class DifferingValue(NamedTuple):
    """Option, fact of the environment or setting of the test that differs between two sets of runs.

    Attributes:
        name: name of the option, fact or setting.
        before: value in the first set, several joined by "or", "—" if unknown.
        after: value in the second set, several joined by "or", "—" if unknown.
    """

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """Comparison of two sets of runs.

    Attributes:
        comparisons: statistical comparison of each figure that all runs measured.
        differing: options and facts of the environment that differ.
        notes: limits of the comparison and possible causes of a difference, one sentence each.
    """

    comparisons: list[FigureComparison]
    differing: list[DifferingValue]
    notes: list[str]


def compare_runs(
    before: Sequence[Run], after: Sequence[Run], unit: SpeedUnit = SpeedUnit.BYTES
) -> RunComparison:
    """Compare two sets of runs: speeds, options and environment.

    Args:
        before: runs before a change.
        after: runs after it.
        unit: unit of the speeds in notes.

    Raises:
        AppError: USAGE if a set is empty, or the workloads differ.
    """
    old, new = [run.result for run in before], [run.result for run in after]
    kinds = {result.workload for result in (*old, *new)}
    if not old or not new or len(kinds) > 1:
        raise AppError(ErrorCode.RUNS_NOT_COMPARABLE)
    tests = _differences(
        [_test_settings(result) for result in old], [_test_settings(result) for result in new]
    )
    notes = [f"The tests themselves differ: {_list_text(tests)}."] if tests else []
    if any(item.name == CALL_SIZE for item in tests):
        notes.append(
            "They were made with other call sizes: a speed follows how much a program asks for at once, "
            "so this compares two kinds of programs as well."
        )
    if any(read_is_cached(result) for result in (*old, *new)):
        notes.append("A read that came at least partly from the client's cache is left out.")
    cells = max(len(result.grid) for result in (*old, *new))
    if cells > 1:
        notes.append(f"Each of {cells} cells is compared for itself: about one of 20 differs by chance.")
    differing = _differences(
        [settings_text(result) for result in old], [settings_text(result) for result in new]
    )
    if _is_same_memory(result.environment for result in (*old, *new)):
        differing = [item for item in differing if item.name != _NAMES["memory_bytes"]]
    comparisons = compare_results(old, new)
    known = [_list_text([item]) for item in (*tests, *differing) if item.name not in _ALWAYS_DIFFERENT]
    notes += explain_differences(old, new, comparisons, known, unit)
    return RunComparison(comparisons=comparisons, differing=differing, notes=notes)


def _is_same_memory(environments: Iterable[Environment | None]) -> bool:
    """Return whether the sizes of the memory differ only by what kernel and firmware reserve."""
    sizes = [one.memory_bytes for one in environments if one is not None and one.memory_bytes]
    return bool(sizes) and max(sizes) <= min(sizes) * _SAME_MEMORY


def compare_with_baseline(baseline: Run, result: TestResult) -> tuple[str, str]:
    """Compare a test with its baseline, and warn if it is significantly slower.

    A test whose settings differ from those of the baseline is not compared with it. In a grid some of the
    many cells differ by chance, so they are compared without a warning.

    Args:
        baseline: baseline of the same share and workload.
        result: result of the new test.

    Returns:
        Warning and comparison. The warning is "" if the test is not significantly slower. The comparison is
        "" if no figure was measured in both; if the settings differ, it lists them.
    """
    when = baseline.result.started_at[:10]
    differs = different_test(baseline.result, result)
    if differs:
        return "", (
            f"It is not compared with the baseline of {when}, which was another test. What of it differs: "
            f"{_list_text(differs)}."
        )
    comparisons = compare_results([baseline.result], [result])
    texts = [f"{item.text()[:1].upper()}{item.text()[1:]}" for item in comparisons]
    compared = f"Compared with the baseline of {when}: {'; '.join(texts)}." if texts else ""
    slow = [item for item in comparisons if item.verdict == "slower"]
    if not slow or result.grid:
        return "", compared
    differing = [
        item
        for item in _differences([settings_text(baseline.result)], [settings_text(result)])
        if item.name not in _ALWAYS_DIFFERENT
    ]
    # The repeats of a test cover a single minute: the interval leaves out how one day differs from another.
    caveat = "This is of these two tests alone: repeat the test to see whether it stays so."
    why = f"What differs: {_list_text(differing[:6])}." if differing else _SAME_SETTINGS
    slower = "; ".join(item.text() for item in slow)
    return f"Slower than the baseline of {when}: {slower}. {caveat} {why}", compared


def similar_sizes(one: float, other: float) -> bool:
    """Return whether the ratio of two sizes is at most two, so that their speeds can be compared."""
    return one <= _SIMILAR_FACTOR * other and other <= _SIMILAR_FACTOR * one


def different_test(old: TestResult, new: TestResult) -> list[DifferingValue]:
    """Return the settings that make two tests incomparable; similar sizes do not count.

    Both tests have the same share, link and workload.
    """
    same: set[str] = set()
    # The speed of many small files depends on their size.
    if new.workload != "files" and similar_sizes(_file_size(old), _file_size(new)):
        same.add(_SIZE)
    if new.workload in {"files", "own"} and similar_sizes(old.count, new.count):
        same.add(_COUNT)
    found = [
        item for item in _differences([_test_settings(old)], [_test_settings(new)]) if item.name not in same
    ]
    before, after = ([cell.name for cell in result.grid] for result in (old, new))
    if before and after and not set(before) & set(after):
        found.append(DifferingValue("cells", _first_name(before), _first_name(after)))
    return found


def _first_name(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]}, and {len(names) - 1} more"


def _test_settings(result: TestResult) -> dict[str, str]:
    """Return the settings of a test: displayed name to displayed text."""
    directions = [text for name, text in _DIRECTIONS.items() if getattr(result, name) is not None]
    size = _file_size(result)
    return {
        "direction": "both ways" if len(directions) > 1 else "".join(directions) or "—",
        "own files": result.source or "—",
        _SIZE: format_size(size) if size else "—",
        _COUNT: str(result.count),
        CALL_SIZE: format_size(result.block_size),
        "O_SYNC": "yes" if result.sync else "no",
        "cache method": result.cache.method if result.cache is not None else "—",
    }


def _file_size(result: TestResult) -> float:
    """Return the mean size of a file in bytes, 0 if unknown."""
    transfer = result.write or result.read
    return transfer.bytes / result.count if transfer is not None else 0.0


def settings_text(result: TestResult) -> dict[str, str]:
    """Return the known options in use and facts of the environment: displayed name to displayed text."""
    found = {name: value or "yes" for name, value in result.effective.items()}
    facts = environment_facts(result.environment)
    if "vers" in found:
        facts.pop(_NAMES["nfs_version"], None)
    return found | facts


def environment_facts(environment: Environment | None) -> dict[str, str]:
    """Return the known facts of an environment: displayed name to displayed text."""
    values = msgspec.structs.asdict(environment) if environment is not None else {}
    return {
        _NAMES.get(name, name.replace("_", " ")): _FORMATS[name](value) if name in _FORMATS else str(value)
        for name, value in values.items()
        if value is not None
    }


def _differences(old: Sequence[dict[str, str]], new: Sequence[dict[str, str]]) -> list[DifferingValue]:
    names = dict.fromkeys(name for values in (*old, *new) for name in values)
    found: list[DifferingValue] = []
    for name in names:
        before, after = ({values.get(name, "—") for values in side} for side in (old, new))
        if before != after:
            found.append(DifferingValue(name, " or ".join(sorted(before)), " or ".join(sorted(after))))
    return found


def _list_text(items: Sequence[DifferingValue]) -> str:
    return ", ".join(f"{item.name} ({item.before} → {item.after})" for item in items)


def speed_text(speed: float | None, *, cached: bool = False, unit: SpeedUnit = SpeedUnit.BYTES) -> str:
    """Return a speed in bytes per second as the text of a table cell, "—" for None."""
    return "—" if speed is None else format_speed(speed, unit) + (" (cached)" if cached else "")


#: Relative difference of two speeds above which a cause is looked for.
_SPEED_DIFFERENCE = 0.2
#: Smallest differences of processor load and of retransmitted segments, as fractions, that may be a cause.
_LOAD_DIFFERENCE, _LOSS_DIFFERENCE = 0.2, 0.005
#: Smallest ratio of round-trip times, or of numbers of repeats, that counts as a cause.
_RTT_RATIO = 1.5
_FIGURE_NAMES = {"write": "to the server", "read": "from the server", "small-read": "of small reads"}


def explain_differences(
    before: Sequence[TestResult],
    after: Sequence[TestResult],
    comparisons: Sequence[FigureComparison],
    differing: Sequence[str],
    unit: SpeedUnit,
) -> list[str]:
    """Return a sentence with possible causes for each speed that differs with equal options in use.

    Args:
        before: results of the first set of tests.
        after: results of the second set of tests.
        comparisons: comparison of each figure of the two sets.
        differing: known differences of the tests and their environments, as phrases.
        unit: unit of speeds.
    """
    if any(one.effective != before[0].effective for one in (*before, *after)):
        return []
    found: list[str] = []
    for item in comparisons:
        difference = abs(item.after / item.before - 1) if item.before else 0.0
        if item.figure not in SPEED_FIGURES or difference <= _SPEED_DIFFERENCE:
            continue
        why = [*differing, *_measured_differences(before, after, item.figure)]
        text = (
            f"The speed {_FIGURE_NAMES[item.figure]} differs by {100 * difference:.0f} % with equal options. "
        )
        if why:
            found.append(f"{text}What differs: {', '.join(why)}.")
        else:
            found.append(f"{text}The cause is unknown: {_spread_text(before, after, item.figure, unit)}.")
    return found


def _measured_differences(
    before: Sequence[TestResult], after: Sequence[TestResult], figure: str
) -> list[str]:
    """Return differences of load, retransmissions, round-trip time and repeats that may be a cause."""
    sides = [[_transfer(one, figure) for one in side] for side in (before, after)]
    measures: tuple[tuple[str, Callable[[Transfer], float | None], bool], ...] = (
        ("busy processors", lambda one: one.load.cpu if one.load is not None else None, False),
        ("retransmitted segments", _loss_ratio, False),
        ("round-trip time of the idle link", lambda one: one.load.network_s if one.load else None, True),
    )
    found: list[str] = []
    for name, measure, ratio in measures:
        pair = [_median([measure(one) for one in side if one is not None]) for side in sides]
        old, new = pair
        if old is None or new is None:
            continue
        threshold = _LOSS_DIFFERENCE if measure is _loss_ratio else _LOAD_DIFFERENCE
        if ratio and min(old, new) > 0 and max(old, new) >= _RTT_RATIO * min(old, new):
            found.append(f"{name} ({format_duration(old)} → {format_duration(new)})")
        elif not ratio and abs(new - old) >= threshold:
            found.append(f"{name} ({100 * old:.2g} % → {100 * new:.2g} %)")
    old_count, new_count = (_repeats(side, figure) for side in (before, after))
    if max(old_count, new_count) >= _RTT_RATIO * min(old_count, new_count):
        found.append(f"repeats ({old_count} → {new_count})")
    return found


def _transfer(result: TestResult, figure: str) -> Transfer | None:
    return {"write": result.write, "read": result.read}.get(figure, result.small_read)


def _loss_ratio(transfer: Transfer) -> float | None:
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


def _spread_text(
    before: Sequence[TestResult], after: Sequence[TestResult], figure: str, unit: SpeedUnit
) -> str:
    """Return the range of the repeats of each set as text."""
    texts: list[str] = []
    for name, side in (("before", before), ("after", after)):
        values = [value for one in side for value in _values(one, figure)]
        spread = f"{format_speed(min(values), unit)} to {format_speed(max(values), unit)}"
        texts.append(
            f"{name}, {spread} ({len(values)} repeats)" if len(values) > 1 else f"{name}, one repeat"
        )
    return f"the spread was {'; '.join(texts)}"

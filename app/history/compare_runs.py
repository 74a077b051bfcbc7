"""Runs beside each other: how much the figures differ, and what else does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from advisor.speeds import format_rate, format_speed
from app.errors import AppError, ErrorKind
from app.history.explaining import explained
from app.history.model import read_is_cached
from app.speedtest.result_comparison import Comparison, compare
from app.units import format_duration, format_size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.history.model import Run
    from app.speedtest.model import Environment, TestResult

#: Sizes and numbers of files that a plan chooses follow the link and the free space. Of half to twice as much
#: the figures are the same; a much smaller file is over before it has begun.
_ALIKE = 2
_SIZE, _COUNT, CALL_SIZE = "file size", "number of files", "call size"
_WAYS = {"write": "to the server", "read": "from the server"}
_NOTHING_DIFFERS = "Options and environment are the same as then."
_NAMES = {
    "nfs_utils": "nfs-utils", "program": "Mountwright", "memory_bytes": "memory", "rate_bps": "line rate",
    "mtu": "MTU", "rtt_s": "round trip", "emulated_link": "link of the lab", "nfs_version": "NFS version",
    "server_implementation": "server calls itself", "read_ahead_kb": "readahead",
}  # fmt: skip
_FORMS: dict[str, Callable[[float], str]] = {
    "rate_bps": format_rate,
    "memory_bytes": format_size,
    "rtt_s": format_duration,
    "read_ahead_kb": lambda kib: format_size(1024 * kib),
}
#: It differs between any two tests: it is told, but never as what made them differ.
_NOISE = frozenset({_NAMES["rtt_s"]})


class Differing(NamedTuple):
    """Something that is not the same in both.

    Attributes:
        name: of the option, or of what of the environment or of the test it is.
        before: values, joined if a side has several; "—" if it is not known.
        after: likewise.
    """

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsCompared:
    """Two sets of runs beside each other.

    Attributes:
        comparisons: of each figure that all runs measured.
        differing: options, environment and server that are not the same.
        notes: what a reader must know before believing the comparison, one sentence each.
    """

    comparisons: list[Comparison]
    differing: list[Differing]
    notes: list[str]


def compare_runs(before: Sequence[Run], after: Sequence[Run]) -> RunsCompared:
    """Return what the runs have to say about each other.

    Raises:
        AppError: USAGE if a side is empty, or they did not do the same.
    """
    old, new = [run.result for run in before], [run.result for run in after]
    kinds = {result.workload for result in (*old, *new)}
    if not old or not new or len(kinds) > 1:
        raise AppError(
            ErrorKind.USAGE,
            "These runs cannot be compared: they did not copy the same kind of files.",
            hint="Compare runs of one file with runs of one file, and many small ones with many small ones.",
        )
    tests = _differing([_test(result) for result in old], [_test(result) for result in new])
    notes = [f"The tests themselves differ: {_listed(tests)}."] if tests else []
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
    differing = _differing([settings_of(result) for result in old], [settings_of(result) for result in new])
    comparisons = compare(old, new)
    known = [_listed([item]) for item in (*tests, *differing) if item.name not in _NOISE]
    notes += explained(old, new, comparisons, known)
    return RunsCompared(comparisons=comparisons, differing=differing, notes=notes)


def slower_than(baseline: Run, result: TestResult) -> tuple[str, str]:
    """Return a warning if a test is significantly slower than the baseline, and the comparison in any case.

    Another test than the baseline's is not compared with it. Of a grid's many cells some differ by chance:
    they are compared, and warned of is none.

    Args:
        baseline: of the same share and kind.
        result: of the test.

    Returns:
        Two texts; the warning is "" if there is nothing to warn of, the comparison if nothing was measured in
        both. If the test is another one, the latter says what of it differs.
    """
    when = baseline.result.started_at[:10]
    differs = unlike(baseline.result, result)
    if differs:
        return "", (
            f"It is not compared with the baseline of {when}, which was another test. What of it differs: "
            f"{_listed(differs)}."
        )
    comparisons = compare([baseline.result], [result])
    texts = [f"{item.text()[:1].upper()}{item.text()[1:]}" for item in comparisons]
    compared = f"Compared with the baseline of {when}: {'; '.join(texts)}." if texts else ""
    slow = [item for item in comparisons if item.verdict == "slower"]
    if not slow or result.grid:
        return "", compared
    differing = [
        item
        for item in _differing([settings_of(baseline.result)], [settings_of(result)])
        if item.name not in _NOISE
    ]
    # Their repeats are of two single minutes: how one day differs from another is not in the interval.
    told = "This is of these two tests alone: repeat the test to see whether it stays so."
    why = f"What differs: {_listed(differing[:6])}." if differing else _NOTHING_DIFFERS
    slower = "; ".join(item.text() for item in slow)
    return f"Slower than the baseline of {when}: {slower}. {told} {why}", compared


def are_alike(one: float, other: float) -> bool:
    """Return whether two sizes are near enough to each other for the same figures: half to twice as much."""
    return one <= _ALIKE * other and other <= _ALIKE * one


def unlike(old: TestResult, new: TestResult) -> list[Differing]:
    """Return what makes it another test of the same share, link and kind; sizes may differ a little."""
    same: set[str] = set()
    # The speed of many small files goes with their size.
    if new.workload != "files" and are_alike(_size(old), _size(new)):
        same.add(_SIZE)
    if new.workload in {"files", "own"} and are_alike(old.count, new.count):
        same.add(_COUNT)
    found = [item for item in _differing([_test(old)], [_test(new)]) if item.name not in same]
    before, after = ([cell.name for cell in result.grid] for result in (old, new))
    if before and after and not set(before) & set(after):
        found.append(Differing("cells", _first_of(before), _first_of(after)))
    return found


def _first_of(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]}, and {len(names) - 1} more"


def _test(result: TestResult) -> dict[str, str]:
    """Return what was done, as a person reads it."""
    ways = [words for way, words in _WAYS.items() if getattr(result, way) is not None]
    size = _size(result)
    return {
        "direction": "both ways" if len(ways) > 1 else "".join(ways) or "—",
        "own files": result.source or "—",
        _SIZE: format_size(size) if size else "—",
        _COUNT: str(result.count),
        CALL_SIZE: format_size(result.block_size),
        "O_SYNC": "yes" if result.sync else "no",
        "cache method": result.cache.method if result.cache is not None else "—",
    }


def _size(result: TestResult) -> float:
    """Return the bytes of a file, 0 if that is not known."""
    transfer = result.write or result.read
    return transfer.bytes / result.count if transfer is not None else 0.0


def settings_of(result: TestResult) -> dict[str, str]:
    """Return options and environment, as a person reads them; what is not known is left out."""
    found = {name: value or "yes" for name, value in result.effective.items()}
    facts = environment_facts(result.environment)
    if "vers" in found:
        facts.pop(_NAMES["nfs_version"], None)
    return found | facts


def environment_facts(environment: Environment | None) -> dict[str, str]:
    """Return where a test ran, as a person reads it; what is not known is left out."""
    values = msgspec.structs.asdict(environment) if environment is not None else {}
    return {
        _NAMES.get(name, name.replace("_", " ")): _FORMS[name](value) if name in _FORMS else str(value)
        for name, value in values.items()
        if value is not None
    }


def _differing(old: Sequence[dict[str, str]], new: Sequence[dict[str, str]]) -> list[Differing]:
    names = dict.fromkeys(name for values in (*old, *new) for name in values)
    found: list[Differing] = []
    for name in names:
        before, after = ({values.get(name, "—") for values in side} for side in (old, new))
        if before != after:
            found.append(Differing(name, " or ".join(sorted(before)), " or ".join(sorted(after))))
    return found


def _listed(items: Sequence[Differing]) -> str:
    return ", ".join(f"{item.name} ({item.before} → {item.after})" for item in items)


def speed_text(speed: float | None, *, cached: bool = False) -> str:
    """Return a speed for a list, "—" for none."""
    return "—" if speed is None else format_speed(speed) + (" (cached)" if cached else "")

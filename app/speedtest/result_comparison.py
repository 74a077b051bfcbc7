"""Comparison of two groups of test results, such as before and after a change: difference and verdict.

Estimator and interval are those of :mod:`advisor.difference`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from advisor.experiment.intervals import MIN_SAMPLE_SIZE, compare_samples, median
from advisor.recommendation import MeasuredOption
from advisor.speeds import SpeedUnit, format_speed
from advisor.transfer_sizes import SMALL_READ_SIZE
from app.speedtest.model import SMALL_READS, SPEED_FIGURES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from advisor.recommendation import Recommendation
    from app.speedtest.model import TestResult

ComparisonVerdict = Literal["faster", "slower", "same", "unknown"]
#: Verdict on a change: "faster" if a figure rose and none fell, "slower" if one fell and none rose, "mixed"
#: if both, "same" without a significant difference, "unknown" if nothing can be compared.
ChangeVerdict = Literal["faster", "slower", "mixed", "same", "unknown"]

#: Minimum number of tests on each side to show a difference between tests.
TESTS_PER_SIDE = MIN_SAMPLE_SIZE
#: Options that affect the throughput of large files, which a quick test measures.
_SPEED_OPTIONS = frozenset(
    {"rsize", "wsize", "nconnect", "read_ahead_kb", "proto", "timeo", "ac", "actimeo", "sync"}
)
#: Compared figures with their phrases for display.
_FIGURE_NAMES = {
    "write": "to the server",
    "read": "from the server",
    SMALL_READS: f"small reads ({SMALL_READ_SIZE // 1024} KiB a call)",
    "create": "creating files",
    "stat": "looking up files",
    "delete": "deleting files",
}
_VERDICTS: dict[str, ComparisonVerdict] = {
    "higher": "faster",
    "lower": "slower",
    "same": "same",
    "unknown": "unknown",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureComparison:
    """Comparison of one figure before and after a change.

    Attributes:
        figure: write, read or small-read (bytes per second), create, stat or delete (files per second), or
            the name of a grid cell (requests per second).
        before: median before the change.
        after: median after the change.
        change: relative difference, (after - before) / before, by the estimator of advisor.difference.
        low: lower end of the interval of `change`.
        high: upper end of the interval of `change`.
        confidence: coverage of the interval.
        verdict: faster, slower, "same" (no significant difference), or "unknown" (too few repeats).
        repeats: number of values before and after.
    """

    figure: str
    before: float
    after: float
    change: float
    low: float
    high: float
    confidence: float
    verdict: ComparisonVerdict
    repeats: tuple[int, int]

    def text(self, unit: SpeedUnit = SpeedUnit.BYTES) -> str:
        """Return the comparison as a phrase, without a full stop; ``unit`` is that of its speeds."""
        name = _FIGURE_NAMES.get(self.figure, f"{self.figure}:")
        figures = f"{self._format(self.before, unit)} before and {self._format(self.after, unit)} after"
        if self.verdict == "unknown":
            few = min(self.repeats)
            return f"{name} too few repeats to say ({figures}; {few} of the {MIN_SAMPLE_SIZE} that it takes)"
        if self.verdict == "same":
            return f"{name} no significant difference ({figures}; {self.interval_text()})"
        return f"{name} {100 * abs(self.change):.0f} % {self.verdict} ({figures}; {self.interval_text()})"

    def interval_text(self) -> str:
        """Return the interval of the difference as a phrase."""
        return f"{100 * self.confidence:.0f} % interval {100 * self.low:+.0f} to {100 * self.high:+.0f} %"

    def _format(self, value: float, unit: SpeedUnit) -> str:
        if self.figure in SPEED_FIGURES:
            return format_speed(value, unit)
        return f"{value:.3g} files/s" if self.figure in _FIGURE_NAMES else f"{value:.4g} requests/s"


def compare_results(before: Sequence[TestResult], after: Sequence[TestResult]) -> list[FigureComparison]:
    """Compare each figure that all tests measured; reads from the cache do not count as measured.

    Repeats within one test share the conditions of that minute. With enough tests on both sides, each counts
    once, by its median. Otherwise the repeats are pooled, and the result is valid only for those minutes.
    """
    comparisons: list[FigureComparison] = []
    for figure in (*_FIGURE_NAMES, *dict.fromkeys(name for item in before for name in _cell_rates(item))):
        old, new = (
            [_repeat_values(item, figure) for item in before],
            [_repeat_values(item, figure) for item in after],
        )
        if old and new and all(old) and all(new):
            comparisons.append(_compare_figure(figure, old, new))
    return comparisons


def change_verdict(comparisons: Iterable[FigureComparison]) -> ChangeVerdict:
    """Return the verdict on a change; only "faster" proves a gain."""
    verdicts = {item.verdict for item in comparisons} - {"unknown"}
    if not verdicts:
        return "unknown"
    if {"faster", "slower"} <= verdicts:
        return "mixed"
    if "faster" in verdicts:
        return "faster"
    return "slower" if "slower" in verdicts else "same"


def measured_recommendations(
    comparisons: Sequence[FigureComparison], recommendations: Iterable[Recommendation]
) -> tuple[MeasuredOption, ...]:
    """Return the measured effect of the accepted recommendations, which were tested together."""
    tried = [
        item
        for item in recommendations
        if item.option in _SPEED_OPTIONS and item.scope != "host" and item.included
    ]
    verdicts = {item.verdict for item in comparisons}
    if not tried or not verdicts:
        return ()
    text = f"Your test: {'; '.join(item.text() for item in comparisons)}."
    if len(tried) > 1:
        text += f" {', '.join(item.option for item in tried)} were tested together."
    text += _small_reads_only_note(comparisons)
    status: Literal["untested", "confirmed", "refuted"] = "untested"
    if "slower" in verdicts:
        status = "refuted"
    elif "faster" in verdicts:
        status = "confirmed"
    return tuple(
        MeasuredOption(option=item.option, value=item.proposed, status=status, text=text) for item in tried
    )


def _small_reads_only_note(comparisons: Sequence[FigureComparison]) -> str:
    """Return a sentence if only the small reads became faster or slower, "" otherwise."""
    verdicts = {item.figure: item.verdict for item in comparisons}
    small = verdicts.pop(SMALL_READS, "unknown")
    if small not in {"faster", "slower"} or {"faster", "slower"} & set(verdicts.values()):
        return ""
    return f" Only small reads are {small}: a copy with cp is not."


def _compare_figure(
    figure: str, old: Sequence[Sequence[float]], new: Sequence[Sequence[float]]
) -> FigureComparison:
    if min(len(old), len(new)) >= MIN_SAMPLE_SIZE:
        before, after = [median(values) for values in old], [median(values) for values in new]
    else:
        before, after = ([value for values in side for value in values] for side in (old, new))
    difference = compare_samples(before, after)
    return FigureComparison(
        figure=figure,
        before=median(before),
        after=median(after),
        change=difference.ratio - 1,
        low=difference.low - 1,
        high=difference.high - 1,
        confidence=difference.confidence,
        verdict=_VERDICTS[difference.verdict],
        repeats=(len(before), len(after)),
    )


def _repeat_values(result: TestResult, figure: str) -> list[float]:
    """Return the values of a figure's repeats, none if it was not measured or came from the cache."""
    if figure == "read" and _read_is_cached(result):
        return []
    if figure == SMALL_READS and (result.small_read is None or result.small_read.cached):
        return []
    if figure in result.figures:
        return [value for value in result.figures[figure].values if value > 0]
    transfer = {"write": result.write, "read": result.read}.get(figure)
    if transfer is not None:
        return [transfer.bytes_per_s] if transfer.bytes_per_s > 0 else []
    return _cell_rates(result).get(figure, [])


def _read_is_cached(result: TestResult) -> bool:
    cached = result.cache is not None and result.cache.cached
    return cached or (result.read is not None and result.read.cached)


def _cell_rates(result: TestResult) -> dict[str, list[float]]:
    """Return the requests per second of each repeat, by name of the grid cell."""
    return {
        cell.name: [run.iops for run in cell.runs]
        for cell in result.grid
        if not (cell.way == "read" and _read_is_cached(result))
    }

"""Tests before and after a change: is there a difference, or is it less than single tests vary?"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Literal

from advisor.recommend import Measured
from app.units import format_speed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from advisor.recommend import Recommendation
    from app.bench.result import TestResult

Way = Literal["write", "read"]
Verdict = Literal["faster", "slower", "same"]

#: Tests on each side. If nothing changed, all three of one side beat all three of the other in one case of
#: ten (2 of the 20 orders), so less than three would say too little.
REPEATS = 3
#: A difference below this is not worth a word, even if every test shows it.
_WORTH = 0.03
#: Options whose aim is the speed of large files, which is what a quick test measures.
_SPEED = frozenset({"rsize", "wsize", "nconnect", "read_ahead_kb", "proto", "timeo"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One way, before and after.

    Attributes:
        way: to the server (write) or from it (read).
        before: median speed, bytes per second.
        after: likewise.
        spread: by which fraction single tests of a side differ at most.
        verdict: faster or slower only if every test after the change was, and by enough.
    """

    way: Way
    before: float
    after: float
    spread: float
    verdict: Verdict

    @property
    def change(self) -> float:
        """Return the difference as a fraction of what it was."""
        return self.after / self.before - 1

    def text(self) -> str:
        """Return it in words, without a full stop."""
        name = "to the server" if self.way == "write" else "from the server"
        figures = f"{format_speed(self.before)} before and {format_speed(self.after)} after"
        if self.verdict == "same":
            return f"{name} no difference ({figures}; single tests differ by up to {100 * self.spread:.0f} %)"
        return f"{name} {100 * abs(self.change):.0f} % {self.verdict} ({figures})"


def compare(before: Sequence[TestResult], after: Sequence[TestResult]) -> list[Comparison]:
    """Return the comparison of each way that all tests measured; a read from the cache is no measurement."""
    found: list[Comparison] = []
    ways: tuple[Way, ...] = ("write", "read")
    for way in ways:
        old, new = _speeds(before, way), _speeds(after, way)
        if len(old) == len(before) and len(new) == len(after) and old and new:
            found.append(_compare(way, old, new))
    return found


def findings(
    comparisons: Sequence[Comparison], recommendations: Iterable[Recommendation]
) -> tuple[Measured, ...]:
    """Return what the tests say of the recommendations that were taken, which are tested together."""
    tried = [item for item in recommendations if item.option in _SPEED and item.scope != "host"]
    verdicts = {item.verdict for item in comparisons}
    if not tried or not verdicts:
        return ()
    text = f"Your test: {'; '.join(item.text() for item in comparisons)}."
    if len(tried) > 1:
        text += f" {', '.join(item.option for item in tried)} were tested together."
    status: Literal["untested", "confirmed", "refuted"] = "untested"
    if "slower" in verdicts:
        status = "refuted"
    elif "faster" in verdicts:
        status = "confirmed"
    return tuple(
        Measured(option=item.option, value=item.proposed, status=status, text=text) for item in tried
    )


def _compare(way: Way, old: Sequence[float], new: Sequence[float]) -> Comparison:
    before, after = median(old), median(new)
    verdict: Verdict = "same"
    if min(new) > max(old) and after > before * (1 + _WORTH):
        verdict = "faster"
    elif max(new) < min(old) and after < before * (1 - _WORTH):
        verdict = "slower"
    spread = max((max(side) - min(side)) / median(side) for side in (old, new))
    return Comparison(way=way, before=before, after=after, spread=spread, verdict=verdict)


def _speeds(results: Sequence[TestResult], way: Way) -> list[float]:
    transfers = [result.write if way == "write" else result.read for result in results]
    return [item.bytes_per_s for item in transfers if item is not None and not item.cached]

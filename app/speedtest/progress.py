"""Progress of a running test: how much of it is done, and how long it probably takes.

The first estimate is that of the plan. From the warm-up on, the repeats so far tell more about this link
and this server than any model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.speedtest.repetitions import another_repeat_fits

if TYPE_CHECKING:
    from app.speedtest.model import TestEvent, TestPhase, TestSpec

#: Phases that copy, in their order within a repeat.
_COPY_PHASES: tuple[TestPhase, ...] = ("write", "read", "small-read")
#: Limits of the factor by which an earlier test corrects the duration of a plan.
_MIN_SLOWNESS, _MAX_SLOWNESS = 0.8, 4.0
#: Fraction of a repeat from which the part that is done tells how long the rest takes.
_TELLING_PART = 0.1


class TestProgress:
    """Progress of one test, from its events. All times are of one monotonic clock, s.

    Args:
        planned_s: estimated duration, s; None if unknown.
        now_s: time of the start.
    """

    __test__ = False  # not a pytest class

    def __init__(self, planned_s: float | None, now_s: float) -> None:
        self._planned_s = planned_s
        self._start_s = now_s
        #: Start of each repeat, the warm-up first.
        self._starts_s: list[float] = []
        #: Bytes of the files in each repeat.
        self._sizes: list[int] = []
        self._phase: TestPhase = "prepare"
        self._part = 0.0

    def take(self, event: TestEvent, spec: TestSpec, now_s: float) -> None:
        """Add an event of the test.

        Args:
            event: the event.
            spec: specification of the test; a slow link reduces its size after the warm-up.
            now_s: time of the event.
        """
        while len(self._starts_s) <= event.round:
            self._starts_s.append(now_s)
            self._sizes.append(spec.total)
            self._part = 0.0
        self._sizes[-1] = spec.total
        self._phase = event.phase
        phases = _phases(spec)
        if event.phase in phases:
            sample, total = event.sample, event.total or spec.total
            done = min(1.0, sample.bytes / total) if sample is not None and total else 0.0
            self._part = max(self._part, (phases.index(event.phase) + done) / len(phases))

    def left_s(self, spec: TestSpec, now_s: float) -> float | None:
        """Return the time that the test probably still takes, s; None if nothing is known."""
        if len(self._starts_s) > 1:
            return self._left_by_repeats_s(spec, now_s)
        elapsed_s = now_s - self._start_s
        if self._starts_s and self._part >= _TELLING_PART:
            in_repeat_s = now_s - self._starts_s[0]
            repeat_s = in_repeat_s / self._part
            # The agent makes the repeats smaller if the warm-up has taken too long.
            rest_s = repeat_s * (spec.rounds - 1)
            if spec.seconds is not None and spec.rounds > 1:
                rest_s = min(rest_s, max(spec.seconds - repeat_s, spec.seconds / 2))
            return max(0.0, repeat_s - in_repeat_s + rest_s)
        return max(0.0, self._planned_s - elapsed_s) if self._planned_s is not None else None

    def slowness(self, now_s: float) -> float | None:
        """Return how much longer a test that ends now took than planned, as a factor; None without a plan.

        The factor is limited, because one test says little about a very different one.
        """
        if not self._planned_s:
            return None
        return min(max((now_s - self._start_s) / self._planned_s, _MIN_SLOWNESS), _MAX_SLOWNESS)

    def part(self, spec: TestSpec, now_s: float) -> float | None:
        """Return the fraction of the test's time that is over, 0 to 1; None if nothing is known."""
        left_s = self.left_s(spec, now_s)
        elapsed_s = now_s - self._start_s
        return None if left_s is None or elapsed_s + left_s <= 0 else elapsed_s / (elapsed_s + left_s)

    def _left_by_repeats_s(self, spec: TestSpec, now_s: float) -> float:
        ends = [*self._starts_s[1:]]
        times_s = [end - start for start, end in zip(self._starts_s, ends, strict=False)]
        sized = [
            time_s * self._sizes[-1] / max(size, 1)
            for time_s, size in zip(times_s, self._sizes, strict=False)
        ]
        measured = sized[1:] or sized  # the warm-up counts while there is nothing else
        repeat_s = sum(measured) / len(measured)
        present_s = now_s - self._starts_s[-1]
        expected = [*times_s, max(repeat_s, present_s)]
        while another_repeat_fits(spec, expected):
            expected.append(repeat_s)
        return max(0.0, sum(expected[len(times_s) :]) - present_s)


def _phases(spec: TestSpec) -> tuple[TestPhase, ...]:
    """Return the copying phases of a repeat."""
    done = {"both": _COPY_PHASES[:2], "write": _COPY_PHASES[:1], "read": _COPY_PHASES[1:2]}[spec.direction]
    return (*done, "small-read") if spec.reads_again else done

"""Repeats of a test: how many fit into the time limit after the warm-up, and how much each copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from advisor.experiment.intervals import MIN_INTERVAL_VALUES
from app.text.units import format_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.speedtest.messages import RepeatResult
    from app.speedtest.model import TestSpec

#: Factor by which the time limit may be exceeded for enough repeats for a 95 % interval.
_OVERTIME_FACTOR = 1.5
#: Slowdown relative to the plan that is tolerated before the repeats are made smaller.
_TOLERATED_SLOWDOWN = 1.25
#: Minimum fraction of the time limit for the repeats, even if the warm-up took all of it.
_MIN_TIME_SHARE = 0.5
#: Minimum size of a shrunk file, also the step of sizes, bytes; minimum number of small files.
_SIZE_STEP, _MIN_FILES = 64 * 1024, 20


def another_repeat_fits(spec: TestSpec, times_s: Sequence[float]) -> bool:
    """Return whether another repeat fits into the time limit.

    Args:
        spec: specification of the test.
        times_s: duration of each repeat so far, the warm-up first, s.
    """
    done = len(times_s)
    if done >= spec.rounds:
        return False
    if spec.seconds is None or done < 2:  # at least one repeat must follow the warm-up
        return True
    tolerance = _OVERTIME_FACTOR if done <= MIN_INTERVAL_VALUES else 1.0
    return sum(times_s[1:]) * done / (done - 1) <= _time_left_s(spec.seconds, times_s[0]) * tolerance


def shrink_to_time(spec: TestSpec, warm_up_s: float) -> TestSpec:
    """Return the test with less data per repeat if the planned amount would take too long.

    A link may be slower than its nominal rate. An interval over many small copies is more informative than
    one large copy.

    Args:
        spec: specification as planned.
        warm_up_s: duration of the warm-up, s.
    """
    if (
        spec.seconds is None
        or spec.repeats < 2
        or spec.workload not in {"file", "files"}
        or spec.server_memory
    ):
        return spec
    needed_s, left_s = warm_up_s * spec.repeats, _time_left_s(spec.seconds, warm_up_s)
    if needed_s <= left_s * _TOLERATED_SLOWDOWN:
        return spec
    fraction = left_s / needed_s
    if spec.workload == "files":
        count = min(spec.count, max(int(spec.count * fraction), _MIN_FILES))
        return msgspec.structs.replace(spec, count=count)
    size = min(spec.size, max(int(spec.size * fraction) // _SIZE_STEP, 1) * _SIZE_STEP)
    return msgspec.structs.replace(spec, size=size)


def shrunk_note(planned: TestSpec, done: TestSpec) -> list[str]:
    """Return a sentence if the repeats copied less than planned."""
    if done.total == planned.total:
        return []
    amount = f"{done.count} files, not {planned.count}"
    if planned.workload == "file":
        amount = f"{format_size(done.size)}, not {format_size(planned.size)}"
    return [f"It was slower than expected: each repeat copied {amount}, for the time to be enough."]


def _time_left_s(seconds: float, warm_up_s: float) -> float:
    return max(seconds - warm_up_s, seconds * _MIN_TIME_SHARE)


def without_warm_up(spec: TestSpec, rounds: list[RepeatResult]) -> list[RepeatResult]:
    """Return the repeats without the warm-up."""
    return rounds[1:] if spec.repeats > 1 else rounds


def fewer_repeats_note(spec: TestSpec, rounds: int) -> list[str]:
    """Return a sentence if there were fewer repeats than requested."""
    if rounds >= spec.rounds:
        return []
    done = max(rounds - 1, 1)
    return [f"The time allowed for {done} of {spec.repeats} repeats only: it was slower than expected."]

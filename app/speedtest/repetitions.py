"""Repeats of a test: how many follow the warm-up in the time allowed, and how much each of them copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from advisor.experiment.intervals import MIN_INTERVAL_VALUES
from app.units import format_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.speedtest.messages import RepeatResult
    from app.speedtest.model import TestSpec

#: A 95 % interval is worth this much more than the time that was left for the repeats.
_OVERTIME_FACTOR = 1.5
#: The plan is believed up to this many times its time; beyond, the repeats are made smaller.
_TOLERATED_SLOWDOWN = 1.25
#: After a warm-up that took all the time, the repeats get this part of it once more.
_MIN_TIME_SHARE = 0.5
#: No file is made smaller than this, and no fewer small files are copied.
_SIZE_STEP, _MIN_FILES = 64 * 1024, 20


def another_repeat_fits(spec: TestSpec, times_s: Sequence[float]) -> bool:
    """Return whether another round is to begin.

    Args:
        spec: the test.
        times_s: seconds that each round so far took, the warm-up first.
    """
    done = len(times_s)
    if done >= spec.rounds:
        return False
    if spec.seconds is None or done < 2:  # a warm-up alone would be no result
        return True
    late = _OVERTIME_FACTOR if done <= MIN_INTERVAL_VALUES else 1.0
    return sum(times_s[1:]) * done / (done - 1) <= _time_left_s(spec.seconds, times_s[0]) * late


def shrink_to_time(spec: TestSpec, warm_up_s: float) -> TestSpec:
    """Return what the repeats are to copy: less than was planned, if that would take too long.

    Not every link carries what it is sold for, and an interval of many small copies says more than one large
    copy.

    Args:
        spec: the test as it was planned.
        warm_up_s: seconds that its warm-up took.
    """
    if (
        spec.seconds is None
        or spec.repeats < 2
        or spec.workload not in {"file", "files"}
        or spec.server_memory
    ):
        return spec
    wanted, left = warm_up_s * spec.repeats, _time_left_s(spec.seconds, warm_up_s)
    if wanted <= left * _TOLERATED_SLOWDOWN:
        return spec
    part = left / wanted
    if spec.workload == "files":
        count = min(spec.count, max(int(spec.count * part), _MIN_FILES))
        return msgspec.structs.replace(spec, count=count)
    size = min(spec.size, max(int(spec.size * part) // _SIZE_STEP, 1) * _SIZE_STEP)
    return msgspec.structs.replace(spec, size=size)


def shrunk_note(planned: TestSpec, done: TestSpec) -> list[str]:
    """Return a sentence if the repeats copied less than was planned."""
    if done.total == planned.total:
        return []
    what = f"{done.count} files, not {planned.count}"
    if planned.workload == "file":
        what = f"{format_size(done.size)}, not {format_size(planned.size)}"
    return [f"It was slower than expected: each repeat copied {what}, for the time to be enough."]


def _time_left_s(seconds: float, warm_up_s: float) -> float:
    return max(seconds - warm_up_s, seconds * _MIN_TIME_SHARE)


def without_warm_up(spec: TestSpec, rounds: list[RepeatResult]) -> list[RepeatResult]:
    """Return the rounds without the warm-up."""
    return rounds[1:] if spec.repeats > 1 else rounds


def fewer_repeats_note(spec: TestSpec, rounds: int) -> list[str]:
    """Return a sentence if there were fewer rounds than asked for."""
    if rounds >= spec.rounds:
        return []
    done = max(rounds - 1, 1)
    return [f"The time allowed for {done} of {spec.repeats} repeats only: it was slower than expected."]

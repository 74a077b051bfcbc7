"""Progress of a test: time left by the plan, by the warm-up, and by the repeats so far."""

from __future__ import annotations

import pytest

from app.speedtest.model import Sample, TestEvent, TestSpec
from app.speedtest.progress import TestProgress

MIB = 2**20


def spec(repeats: int = 6, seconds: float | None = None, size: int = 100 * MIB) -> TestSpec:
    return TestSpec(path="/mnt", size=size, repeats=repeats, seconds=seconds)


def event(phase: str, number: int, moved: int | None = None, total: int = 100 * MIB) -> TestEvent:
    sample = Sample(1.0, moved, moved) if moved is not None else None
    way = "write" if phase == "write" else "read"
    return TestEvent(direction=way, phase=phase, round=number, total=total, sample=sample)  # type: ignore[arg-type]


def test_before_the_first_byte_the_plan_tells() -> None:
    progress = TestProgress(15.0, 100.0)
    assert progress.left_s(spec(), 100.0) == 15.0
    assert progress.left_s(spec(), 104.0) == 11.0
    assert progress.left_s(spec(), 120.0) == 0.0
    assert progress.part(spec(), 103.0) == pytest.approx(0.2)
    assert TestProgress(None, 0.0).left_s(spec(), 1.0) is None
    assert TestProgress(None, 0.0).part(spec(), 1.0) is None


def test_a_test_tells_how_long_the_next_one_takes() -> None:
    assert TestProgress(15.0, 0.0).slowness(24.0) == pytest.approx(1.6)
    assert TestProgress(15.0, 0.0).slowness(1.0) == 0.8
    assert TestProgress(15.0, 0.0).slowness(1000.0) == 4.0
    assert TestProgress(None, 0.0).slowness(24.0) is None


def test_the_warm_up_corrects_the_plan() -> None:
    progress = TestProgress(15.0, 0.0)
    progress.take(event("write", 0), spec(), 0.0)
    progress.take(
        event("write", 0, 50 * MIB), spec(), 5.0
    )  # a quarter of a repeat in 5 s: 20 s for each of 7
    assert progress.left_s(spec(), 5.0) == pytest.approx(135.0)


def test_a_slow_warm_up_leads_to_smaller_repeats_within_the_time() -> None:
    limited = spec(seconds=15.0)
    progress = TestProgress(15.0, 0.0)
    progress.take(event("write", 0, 50 * MIB), limited, 5.0)
    left = progress.left_s(limited, 5.0)
    assert left is not None
    assert left < 30


def test_the_repeats_so_far_tell_how_long_the_others_take() -> None:
    progress = TestProgress(15.0, 0.0)
    starts = (0.0, 4.0, 6.0, 8.0)  # the warm-up takes 4 s, a repeat 2 s
    for number, start_s in enumerate(starts):
        progress.take(event("write", number), spec(), start_s)
    assert progress.left_s(spec(), 8.0) == pytest.approx(8.0)  # the third of six repeats has just begun
    assert progress.left_s(spec(), 9.0) == pytest.approx(7.0)
    assert progress.left_s(spec(), 11.0) == pytest.approx(6.0)  # this one is late
    assert progress.part(spec(), 8.0) == pytest.approx(0.5)


def test_repeats_of_less_data_take_less_time() -> None:
    progress = TestProgress(15.0, 0.0)
    progress.take(event("write", 0), spec(), 0.0)
    progress.take(event("write", 1, total=25 * MIB), spec(size=25 * MIB), 8.0)
    assert progress.left_s(spec(size=25 * MIB), 8.0) == pytest.approx(6 * 2.0)


def test_repeats_that_the_time_does_not_allow_are_not_waited_for() -> None:
    limited = spec(repeats=12, seconds=10.0)
    progress = TestProgress(10.0, 0.0)
    for number, start_s in enumerate((0.0, 2.0, 5.0, 8.0)):
        progress.take(event("write", number), limited, start_s)
    left = progress.left_s(limited, 8.0)
    assert left is not None
    assert left < 9 * 3.0

"""Events of a test become curves and marks."""

from __future__ import annotations

import pytest

from app.bench.result import Sample, TestEvent
from ui.models.timeline import GAP_S, Timeline


def feed(timeline: Timeline, direction: str, speed: float, seconds: float, phase: str | None = None) -> None:
    for step in range(1, int(seconds / 0.05) + 1):
        moment = step * 0.05
        count = int(speed * moment)
        timeline.take(
            TestEvent(direction=direction, phase=phase or direction, sample=Sample(moment, count, count))
        )


def test_nothing_yet() -> None:
    timeline = Timeline()
    assert (timeline.end_s, timeline.peak, timeline.marks) == (0.0, 0.0, [])


def test_speed_is_that_of_the_bytes_exchanged_with_the_server() -> None:
    timeline = Timeline()
    for step in range(1, 41):
        moment = step * 0.05
        timeline.take(TestEvent(direction="write", phase="write",
                                sample=Sample(moment, 10**12, int(5e9 * moment))))  # fmt: skip
    curve = timeline.curves["write"]
    assert curve.speeds == pytest.approx([5e9] * 40)
    assert curve.recent_speed == pytest.approx(5e9)
    assert curve.moved == 10**12


def test_the_read_follows_the_write() -> None:
    timeline = Timeline()
    feed(timeline, "write", 1e6, 2)
    feed(timeline, "read", 2e6, 1)
    assert timeline.curves["read"].start_s == pytest.approx(2 + GAP_S)
    assert timeline.end_s == pytest.approx(3 + GAP_S)
    assert timeline.peak == pytest.approx(2e6, rel=0.01)


def test_fsync_and_close_are_marked_once() -> None:
    timeline = Timeline()
    timeline.take(TestEvent(direction="write", phase="prepare"))
    feed(timeline, "write", 1e6, 1)
    timeline.take(TestEvent(direction="write", phase="fsync"))
    timeline.take(TestEvent(direction="write", phase="fsync", sample=Sample(1.5, 10**6, 10**6)))
    timeline.take(TestEvent(direction="write", phase="close"))
    assert [(mark.phase, round(mark.time_s, 3)) for mark in timeline.marks] == [
        ("fsync", 1.0),
        ("close", 1.5),
    ]


def test_a_counter_that_runs_backwards_is_no_negative_speed() -> None:
    timeline = Timeline()
    timeline.take(TestEvent(direction="read", phase="read", sample=Sample(0.5, 10, 1000)))
    timeline.take(TestEvent(direction="read", phase="read", sample=Sample(1.0, 10, 10)))
    assert min(timeline.curves["read"].speeds) == 0


def test_a_first_sample_at_zero() -> None:
    timeline = Timeline()
    timeline.take(TestEvent(direction="read", phase="read", sample=Sample(0.0, 0, 0)))
    assert timeline.curves["read"].speeds == []
    assert timeline.curves["read"].recent_speed is None

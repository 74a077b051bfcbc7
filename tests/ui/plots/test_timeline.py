"""Timeline: events of a test become curves, phases and loss events."""

from __future__ import annotations

import csv
import io
import math

import pytest

from app.speedtest.model import Sample, TestEvent
from ui.plots.crosshair import readout_text
from ui.plots.timeline import GAP_S, Timeline
from ui.test.save_plot import timeline_csv


def feed(
    timeline: Timeline,
    direction: str,
    speed: float,
    seconds: float,
    *,
    round_: int = 0,
    rtt_s: float | None = None,
) -> None:
    for step in range(1, int(seconds / 0.05) + 1):
        moment = step * 0.05
        count = int(speed * moment)
        timeline.take(
            TestEvent(direction=direction, phase=direction, round=round_,
                      sample=Sample(moment, count, count, rtt_s=rtt_s))
        )  # fmt: skip


def test_nothing_yet() -> None:
    timeline = Timeline()
    assert (timeline.end_s, timeline.peak, timeline.longest_trip_s) == (0.0, 0.0, 0.0)
    assert timeline.phase_intervals == timeline.loss_events == timeline.rounds() == timeline.readings(0) == []
    assert readout_text(timeline, 1.0) == ""


def test_speed_is_that_of_the_bytes_exchanged_with_the_server() -> None:
    timeline = Timeline()
    for step in range(1, 41):
        moment = step * 0.05
        timeline.take(TestEvent(direction="write", phase="write",
                                sample=Sample(moment, 10**12, int(5e9 * moment))))  # fmt: skip
    curve = timeline.latest("write")
    assert curve is not None
    assert curve.speeds == pytest.approx([5e9] * 40)
    assert curve.recent_speed == curve.average == pytest.approx(5e9)
    assert curve.moved == 10**12


def test_the_read_follows_the_write() -> None:
    timeline = Timeline()
    feed(timeline, "write", 1e6, 2)
    feed(timeline, "read", 2e6, 1, rtt_s=0.003)
    assert timeline.curves[1].start_s == pytest.approx(2 + GAP_S)
    assert timeline.end_s == pytest.approx(3 + GAP_S)
    assert timeline.peak == pytest.approx(2e6, rel=0.01)
    assert timeline.longest_trip_s == 0.003
    assert all(math.isnan(trip) for trip in timeline.curves[0].trips_s)


def test_repeats_follow_each_other_and_the_first_does_not_count() -> None:
    timeline = Timeline(warm_up=True)
    for number in range(3):
        feed(timeline, "write", 1e6, 1, round_=number)
        feed(timeline, "read", 2e6, 1, round_=number)
    assert [(one.way, one.round, one.warm_up) for one in timeline.curves] == [
        ("write", 0, True), ("read", 0, True), ("write", 1, False), ("read", 1, False),
        ("write", 2, False), ("read", 2, False),
    ]  # fmt: skip
    starts = [one.start_s for one in timeline.curves]
    assert starts == sorted(starts)
    assert timeline.rounds() == [(starts[0], 0), (starts[2], 1), (starts[4], 2)]
    assert timeline.latest("write") is timeline.curves[4]
    assert timeline.latest("read") is timeline.curves[5]


def test_a_test_without_repeats_has_one_round_that_counts() -> None:
    timeline = Timeline()
    feed(timeline, "write", 1e6, 1)
    assert timeline.rounds() == [(0.0, 1)]
    assert not timeline.curves[0].warm_up


def test_cells_of_a_grid_come_after_each_other_though_each_begins_at_zero() -> None:
    timeline = Timeline()
    for _ in range(2):
        timeline.take(TestEvent(direction="read", phase="read", sample=Sample(0.0, 0, 0)))
        feed(timeline, "read", 1e6, 1)
    assert len(timeline.curves) == 2
    assert timeline.end_s == pytest.approx(2 + GAP_S)


def test_fsync_and_close_last_until_the_next_phase() -> None:
    timeline = Timeline()
    timeline.take(TestEvent(direction="write", phase="prepare"))
    feed(timeline, "write", 1e6, 1)
    timeline.take(TestEvent(direction="write", phase="fsync"))
    timeline.take(TestEvent(direction="write", phase="fsync", sample=Sample(1.5, 10**6, 10**6)))
    timeline.take(TestEvent(direction="write", phase="close"))
    timeline.take(TestEvent(direction="write", phase="close", sample=Sample(1.6, 10**6, 10**6)))
    feed(timeline, "read", 1e6, 1)
    assert [(span.phase, span.start_s, span.end_s) for span in timeline.phase_intervals] == [
        ("fsync", pytest.approx(1.0), pytest.approx(1.5)),
        ("close", pytest.approx(1.5), pytest.approx(1.6)),
    ]


def test_losses_are_told_when_they_happen() -> None:
    timeline = Timeline()
    for moment, timeouts, resent in ((0.5, 0, 0), (1.0, 0, 3), (1.5, 1, 3), (2.0, 1, 4)):
        timeline.take(TestEvent(direction="write", phase="write",
                                sample=Sample(moment, 10, 10, timeouts, resent)))  # fmt: skip
    assert [(one.time_s, one.trouble, one.count) for one in timeline.loss_events] == [
        (1.0, "retransmission", 3), (1.5, "timeout", 1), (2.0, "retransmission", 1),
    ]  # fmt: skip


def test_a_counter_that_runs_backwards_is_no_negative_speed() -> None:
    timeline = Timeline()
    timeline.take(TestEvent(direction="read", phase="read", sample=Sample(0.5, 10, 1000)))
    timeline.take(TestEvent(direction="read", phase="read", sample=Sample(1.0, 10, 10)))
    assert min(timeline.curves[0].speeds) == 0


def test_a_first_sample_at_zero() -> None:
    timeline = Timeline()
    timeline.take(TestEvent(direction="read", phase="read", sample=Sample(0.0, 0, 0)))
    assert timeline.curves[0].speeds == []
    assert timeline.curves[0].recent_speed is None
    assert timeline.curves[0].average is None


def test_what_stands_at_a_moment_in_words() -> None:
    timeline = Timeline(warm_up=True)
    feed(timeline, "write", 1e6, 1, rtt_s=0.002)
    feed(timeline, "write", 2e6, 1, round_=1)
    text = readout_text(timeline, 0.51)
    assert "To the server, warm-up · 1 MB/s · average 1 MB/s · wait per request 2 ms" in text
    assert "repeat 1 · 2 MB/s" in readout_text(timeline, 1 + GAP_S + 0.5)
    assert readout_text(timeline, 1 + GAP_S / 2) == ""


def test_every_sample_is_a_row() -> None:
    timeline = Timeline(warm_up=True)
    feed(timeline, "write", 1e6, 0.1)
    timeline.take(TestEvent(direction="write", phase="fsync"))
    timeline.take(TestEvent(direction="write", phase="fsync", sample=Sample(0.2, 5, 9, 1, 2, 0.25)))
    rows = list(csv.DictReader(io.StringIO(timeline_csv(timeline))))
    assert len(rows) == 3
    assert rows[0]["phase"] == "write"
    assert rows[0]["round_trip_seconds"] == ""
    last = rows[-1]
    assert (last["phase"], last["bytes_called"], last["bytes_with_server"]) == ("fsync", "5", "9")
    assert (last["round_trip_seconds"], last["timeouts"], last["retransmissions"]) == ("0.25", "1", "2")
    assert (last["repeat"], last["warm_up"], last["direction"]) == ("0", "1", "write")

"""Repeats of a test: a warm-up that is not counted, then as many as fit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from app.bench.messages import Round
from app.bench.verdict import cache_report

if TYPE_CHECKING:
    from app.bench.messages import Stage
    from app.bench.meter import Meter, Way
    from app.bench.result import TestSpec
    from app.bench.workload import Workload


def another_fits(spec: TestSpec, done: int, elapsed_s: float) -> bool:
    """Return whether another round is to begin.

    Args:
        spec: the test.
        done: rounds done, the warm-up among them.
        elapsed_s: seconds that they took.
    """
    if done >= spec.rounds:
        return False
    # A warm-up alone would be no result.
    return spec.seconds is None or done < 2 or elapsed_s * (done + 1) / done <= spec.seconds


def counted(spec: TestSpec, rounds: list[Round]) -> list[Round]:
    """Return the rounds without the warm-up."""
    return rounds[1:] if spec.repeats > 1 else rounds


def cut_note(spec: TestSpec, rounds: int) -> list[str]:
    """Return a sentence if there were fewer rounds than asked for."""
    if rounds >= spec.rounds:
        return []
    done = max(rounds - 1, 1)
    return [f"The time allowed for {done} of {spec.repeats} repeats only: it was slower than expected."]


def run_rounds(spec: TestSpec, stage: Stage, workload: Workload, meter: Meter) -> list[Round]:
    """Run a stage, a whole test as often as it is to be repeated; return all rounds.

    Raises:
        AppError: IO if what was read is not what was written.
        OSError: from any file operation.
        StoppedError: if told to end.
    """
    rounds: list[Round] = []
    began = time.monotonic()
    while True:
        meter.round = len(rounds)
        rounds.append(_one_round(spec, stage, workload, meter))
        if stage != "whole" or not another_fits(spec, len(rounds), time.monotonic() - began):
            break
        workload.clear()
    if stage != "keep":
        meter.phase("write" if spec.direction == "write" else "read", "clean-up")
    return rounds


def _one_round(spec: TestSpec, stage: Stage, workload: Workload, meter: Meter) -> Round:
    first: Way = "read" if spec.direction == "read" or stage == "kept" else "write"
    meter.phase(first, "prepare")
    workload.rates = {}
    write = read = cache = None
    if stage != "kept":
        if spec.direction == "read":
            workload.prepare()
        else:
            write = workload.write()
    if spec.direction != "write" and stage != "keep":
        read, method = workload.read()
        cache = cache_report(read, method, None)
        read = msgspec.structs.replace(read, cached=cache.cached)
    if stage != "keep":
        workload.measure_operations()
    return Round(write=write, read=read, cache=cache, rates=workload.rates)

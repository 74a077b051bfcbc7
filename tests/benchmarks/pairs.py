"""Paired runs of our copy engine and fio in one directory, and what their ratio says.

Both write a new file of the same size with the same block size from memory and end with fsync, or read one
back after its pages were dropped with fadvise. The order within a pair alternates, so that what warms up or
wears out meets both alike. Each program's own clock counts: its start-up does not.
"""

from __future__ import annotations

import json
import random
import statistics
from typing import Literal

import msgspec

from app.bench.result import TestSpec
from app.bench.run import run_test
from app.process import find_program, run
from app.tasks import CancelToken

Direction = Literal["write", "read"]
RESAMPLES = 10_000
DEADLINE_S = 600.0


class PairArgs(msgspec.Struct, frozen=True, kw_only=True):
    """What to compare: a direction in a directory, so many pairs after one that does not count."""

    path: str
    direction: Direction
    size: int
    block_size: int
    pairs: int


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Speeds in bytes per second, pair by pair, and the ratio of their medians, ours over fio's.

    ``low`` and ``high`` are the bounds of its 95 % bootstrap interval over pairs.
    """

    direction: Direction
    size: int
    block_size: int
    ours: list[float]
    fio: list[float]
    ratio: float
    low: float
    high: float


def compare(args: PairArgs) -> Comparison:
    """Run the pairs."""
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(args.pairs + 1):
        for mine in (True, False) if number % 2 else (False, True):
            (ours if mine else theirs).append(our_speed(args) if mine else fio_speed(args))
    ours, theirs = ours[1:], theirs[1:]
    low, high = interval(ours, theirs)
    return Comparison(
        direction=args.direction, size=args.size, block_size=args.block_size, ours=ours, fio=theirs,
        ratio=statistics.median(ours) / statistics.median(theirs), low=low, high=high,
    )  # fmt: skip


def our_speed(args: PairArgs) -> float:
    """Run our engine once, sampler and worker included, and return its headline figure."""
    spec = TestSpec(path=args.path, direction=args.direction, size=args.size, block_size=args.block_size)
    result = run_test(spec, CancelToken(), lambda _event: None)
    transfer = result.write if args.direction == "write" else result.read
    if transfer is None or transfer.cached:
        raise RuntimeError(f"not a fair run: {result.notes}")
    return transfer.bytes_per_s


def fio_speed(args: PairArgs) -> float:
    """Run fio once and return its figure."""
    program = find_program("fio")
    if program is None:
        raise RuntimeError("fio is not installed; it is in the package fio.")
    command = [
        program, "--name=copy", f"--directory={args.path}", "--filename=mountwright-fio",
        f"--rw={args.direction}", f"--bs={args.block_size}", f"--size={args.size}", "--ioengine=psync",
        "--fallocate=none", "--unlink=1", "--invalidate=1", "--create_fsync=1", "--end_fsync=1",
        "--fsync_on_close=1", "--output-format=json",
    ]  # fmt: skip
    outcome = run(command, timeout=DEADLINE_S)
    if not outcome.ok:
        raise RuntimeError(f"fio failed: {outcome.stderr}{outcome.stdout}")
    job = json.loads(outcome.stdout[outcome.stdout.index("{") :])["jobs"][0]
    if job[args.direction]["io_bytes"] != args.size:
        raise RuntimeError("fio moved another number of bytes")
    return float(job[args.direction]["bw_bytes"])


def interval(ours: list[float], theirs: list[float]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the ratio of medians, resampling pairs."""
    chance = random.Random(1)
    pairs = list(zip(ours, theirs, strict=True))
    ratios = []
    for _ in range(RESAMPLES):
        chosen = chance.choices(pairs, k=len(pairs))
        ratios.append(statistics.median(a for a, _ in chosen) / statistics.median(b for _, b in chosen))
    ratios.sort()
    return ratios[int(0.025 * RESAMPLES)], ratios[int(0.975 * RESAMPLES) - 1]

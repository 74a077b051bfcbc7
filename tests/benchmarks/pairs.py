"""Paired runs of our copy engine and fio in one directory, and what their ratio says.

Both write a new file of the same size with the same block size from memory and end with fsync; or both read
the same file, after its pages were dropped with fadvise. The order within a pair alternates, so that what
warms up or wears out meets both alike. Each program's own clock counts: its start-up does not.

On a memory file system the speed of a read depends by a quarter on which process wrote the file and how long
ago (the processor's caches), so that reading two files would compare those.
"""

from __future__ import annotations

import json
import os
import random
import statistics
from pathlib import Path
from typing import Literal

import msgspec

from app.process import find_program, run
from app.speedtest.model import TestSpec, Transfer
from app.speedtest.runner import run_test
from app.tasks import CancelToken

Direction = Literal["write", "read"]
RESAMPLES = 10_000
DEADLINE_S = 600.0
FIO_FILE = "mountwright-fio"


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
    pair = write_pair if args.direction == "write" else read_pair
    speeds = [pair(args, bool(number % 2)) for number in range(args.pairs + 1)][1:]
    ours, theirs = [mine for mine, _ in speeds], [fios for _, fios in speeds]
    low, high = interval(ours, theirs)
    return Comparison(
        direction=args.direction, size=args.size, block_size=args.block_size, ours=ours, fio=theirs,
        ratio=statistics.median(ours) / statistics.median(theirs), low=low, high=high,
    )  # fmt: skip


def write_pair(args: PairArgs, ours_first: bool) -> tuple[float, float]:
    """Write with both; return our speed and fio's."""
    spec = TestSpec(path=args.path, direction="write", size=args.size, block_size=args.block_size)

    def ours() -> float:
        return headline(run_test(spec, CancelToken(), lambda _event: None).write)

    if ours_first:
        return ours(), fio_speed(args)
    theirs = fio_speed(args)
    return ours(), theirs


def read_pair(args: PairArgs, ours_first: bool) -> tuple[float, float]:
    """Read one file with both; return our speed and fio's."""
    spec = TestSpec(
        path=args.path, direction="read", size=args.size, block_size=args.block_size, cache="fresh-mount"
    )
    theirs: list[float] = []

    def between(_where: object) -> None:
        # Our engine has written its file and will read it; fio gets it under a name of its own.
        (data,) = Path(args.path).glob(".mountwright-*/data")
        Path(args.path, FIO_FILE).hardlink_to(data)
        if not ours_first:
            theirs.append(fio_speed(args, unlink=False))
        drop(data)

    try:
        result = run_test(spec, CancelToken(), lambda _event: None, remount=between)
        if ours_first:
            theirs.append(fio_speed(args, unlink=False))
    finally:
        Path(args.path, FIO_FILE).unlink(missing_ok=True)
    return headline(result.read), theirs[0]


def drop(path: Path) -> None:
    """Drop a file's pages from the client's cache, as fio's invalidate does."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)


def headline(transfer: Transfer | None) -> float:
    """Return the engine's figure, sampler and worker included."""
    if transfer is None or transfer.cached:
        raise RuntimeError("not a fair run")
    return transfer.bytes_per_s


def fio_speed(args: PairArgs, *, unlink: bool = True) -> float:
    """Run fio once and return its figure."""
    program = find_program("fio")
    if program is None:
        raise RuntimeError("fio is not installed; it is in the package fio.")
    command = [
        program, "--name=copy", f"--directory={args.path}", f"--filename={FIO_FILE}",
        f"--rw={args.direction}", f"--bs={args.block_size}", f"--size={args.size}", "--ioengine=psync",
        "--fallocate=none", f"--unlink={int(unlink)}", "--invalidate=1", "--create_fsync=1", "--end_fsync=1",
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

"""A grid of fio runs: patterns, record sizes, queue depths and jobs, and what each cell of it measured."""

from __future__ import annotations

from typing import Literal

import msgspec

from advisor.bottleneck import Bottleneck, Load, Way  # noqa: TC001 - msgspec reads the annotations at run time
from app.units import format_size

Pattern = Literal["seqread", "seqwrite", "randread", "randwrite"]
PATTERNS: tuple[Pattern, ...] = ("seqwrite", "seqread", "randwrite", "randread")
#: The bounds of each: fio takes more, a mount shows no more.
MIN_RECORD, MAX_RECORD = 512, 64 * 2**20
MAX_DEPTH, MAX_JOBS, MAX_CELLS = 256, 64, 1000


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured: every combination is a cell.

    Attributes:
        patterns: sequential or random, read or write.
        records: bytes of each request.
        depths: requests that a job has under way at once.
        jobs: jobs at once, each in a part of the file of its own.
        cell_s: seconds that a cell is measured for, after a warm-up of a quarter of that.
    """

    patterns: tuple[Pattern, ...] = PATTERNS
    records: tuple[int, ...] = (4096, 65536, 2**20)
    depths: tuple[int, ...] = (1, 16)
    jobs: tuple[int, ...] = (1,)
    cell_s: float = 2.0

    @property
    def warm_up_s(self) -> float:
        """Seconds that begin a cell and do not count."""
        return self.cell_s / 4

    def cells(self) -> list[GridCell]:
        """Return the cells without results, in the order that they are measured in."""
        return [
            GridCell(pattern=pattern, record=record, depth=depth, jobs=jobs)
            for pattern in self.patterns
            for record in self.records
            for jobs in self.jobs
            for depth in self.depths
        ]

    def problem(self, size: int) -> str:
        """Return why it cannot be run on a file of this size, "" if it can."""
        wrong = (
            (not all((self.patterns, self.records, self.depths, self.jobs)), "The grid has no cells."),
            (not _within(self.records, MIN_RECORD, MAX_RECORD), "A record must have 512 bytes to 64 MiB."),
            (not _within(self.depths, 1, MAX_DEPTH), f"A queue depth must be between 1 and {MAX_DEPTH}."),
            (not _within(self.jobs, 1, MAX_JOBS), f"The number of jobs must be between 1 and {MAX_JOBS}."),
            (not 0.2 <= self.cell_s <= 3600, "A cell must be measured for 0.2 seconds to an hour."),
            (len(self.cells()) > MAX_CELLS, f"The grid has more than {MAX_CELLS} cells."),
            (
                size < max(self.records, default=0) * max(self.jobs, default=0),
                "The file is too small: each job needs room for a record.",
            ),
        )
        return next((text for bad, text in wrong if bad), "")


def _within(values: tuple[int, ...], low: int, high: int) -> bool:
    return all(low <= value <= high for value in values)


class GridRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a cell, without its warm-up.

    Attributes:
        iops: requests answered a second.
        bytes_per_s: of them.
        latency_s: mean time of a request, from its submission to its end.
        p95_s: 95 of 100 took no longer, None if fio does not tell.
        p99_s: likewise 99 of 100.
        curve: seconds since the beginning of the run and bytes a second then (fio's bandwidth log).
        load: what it did to the way, the server and this computer, None if not NFS.
    """

    iops: float
    bytes_per_s: float
    latency_s: float
    p95_s: float | None = None
    p99_s: float | None = None
    curve: list[tuple[float, float]] = []
    load: Load | None = None


class GridCell(msgspec.Struct, frozen=True, kw_only=True):
    """One cell with its repeats.

    Attributes:
        pattern: sequential or random, read or write.
        record: bytes of each request.
        depth: requests under way at once, of each job.
        jobs: jobs at once.
        runs: what was measured, one for each repeat.
        bottleneck: what held it back, None if not NFS.
    """

    pattern: Pattern
    record: int
    depth: int
    jobs: int
    runs: list[GridRun] = []
    bottleneck: Bottleneck | None = None

    @property
    def name(self) -> str:
        """What tells it from the others of its grid, for a person."""
        jobs = f"{self.jobs} job" if self.jobs == 1 else f"{self.jobs} jobs"
        return f"{self.pattern} of {format_size(self.record)}, {jobs}, {self.depth} at once"

    @property
    def way(self) -> Way:
        """To the server (write) or from it (read)."""
        return "read" if self.pattern.endswith("read") else "write"

    @property
    def in_order(self) -> bool:
        """Whether each request begins where the one before ends."""
        return self.pattern.startswith("seq")

    @property
    def at_once(self) -> int:
        """Requests that all its jobs together have under way."""
        return self.depth * self.jobs

    @property
    def middle(self) -> GridRun | None:
        """The run with the median number of requests a second, of two in the middle the slower, or None."""
        ordered = sorted(self.runs, key=lambda run: run.iops)
        return ordered[(len(ordered) - 1) // 2] if ordered else None

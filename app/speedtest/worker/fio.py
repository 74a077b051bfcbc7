"""Runs a grid through fio: one job at a time, each for a bounded time, in the worker's process group.

The file is written by this program first, so that there is something to read; fio works in the test's
directory, where its logs are removed with all else. Whoever ends the worker's group ends fio with it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app.bench.fio import LOG_PREFIX, command, missing, read_run
from app.process import DEVNULL, find_program, start, wait
from app.speedtest.testdir import DATA
from app.speedtest.worker.single_file import write_blocks
from app.speedtest.worker.workload import StoppedError

if TYPE_CHECKING:
    from advisor.bottleneck import Load
    from app.bench.data import DataPool
    from app.bench.grid_model import Grid, GridCell, GridRun
    from app.process import Child
    from app.speedtest.model import TestSpec
    from app.speedtest.sampler import Meter
    from app.speedtest.testdir import TestDirectory

_LOOK_S = 0.02
_REAP_S = 1.0
_OUTPUT_LIMIT = 16 * 2**20


class GridRuns:
    """Measures every cell of a test's grid, as often as it is repeated.

    Args:
        spec: the test.
        grid: its cells.
        directory: where the file is.
        pool: its contents.
        meter: shows what the mount does meanwhile.

    Attributes:
        notes: sentences about what was done otherwise than asked.

    Raises:
        AppError: UNAVAILABLE without fio.
    """

    def __init__(
        self, spec: TestSpec, grid: Grid, directory: TestDirectory, pool: DataPool, meter: Meter
    ) -> None:
        self._spec = spec
        self._grid = grid
        self._directory = directory
        self._pool = pool
        self._meter = meter
        self.notes: list[str] = []
        program = find_program("fio")
        if program is None:
            raise missing()
        self._program = program

    def run(self) -> list[GridCell]:
        """Return the cells with what was measured.

        Raises:
            AppError: IO if fio does not answer as it should.
            OSError: from a request.
            StoppedError: if told to end.
        """
        self._write()
        direct = self._direct()
        cells = self._grid.cells()
        for number in range(self._spec.repeats):
            self._meter.round = number
            # A whole grid after the other: what changes with time meets every cell alike.
            for place, cell in enumerate(cells):
                run = self._measure(cell, direct=direct)
                cells[place] = msgspec.structs.replace(cell, runs=[*cell.runs, run])
        self._meter.phase("read", "clean-up")
        return cells

    def _write(self) -> None:
        self._meter.phase("write", "prepare")
        fd = self._directory.create()
        try:
            write_blocks(fd, self._pool, self._spec.size, self._meter.progress)
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)

    def _direct(self) -> bool:
        try:
            os.close(self._directory.open(os.O_DIRECT))
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            self.notes.append(
                "This file system does not take O_DIRECT: the grid shows the client's cache as well."
            )
            return False
        return True

    def _measure(self, cell: GridCell, *, direct: bool) -> GridRun:
        argv = command(self._program, DATA, self._spec.size, cell, self._grid, direct=direct)
        output = os.memfd_create("fio", os.MFD_CLOEXEC)
        try:
            self._meter.begin(cell.way, cell.way, asleep=True)
            child = start(
                argv, stdin=DEVNULL, stdout=output, stderr=output, cwd=self._directory.path, own_session=False
            )
            load = self._wait(child)
            self._meter.finish()
            text = os.pread(output, _OUTPUT_LIMIT, 0).decode(errors="replace")
        finally:
            os.close(output)
        return read_run(text, self._logs(), load)

    def _wait(self, child: Child) -> Load | None:
        """Wait for fio; when the test is to end, end it first. Return what it did while it measured."""
        window = _Window(self._grid, self._meter)
        try:
            while wait(child, _LOOK_S) is None and not self._meter.progress.stopped:
                window.look()
        finally:
            if wait(child, 0) is None:
                os.kill(child.pid, signal.SIGKILL)
                wait(child, _REAP_S)
        if self._meter.progress.stopped:
            raise StoppedError
        return window.end() if self._meter.probe.nfs else None

    def _logs(self) -> list[str]:
        found: list[str] = []
        for path in Path(self._directory.path).glob(f"{LOG_PREFIX}_bw*.log"):
            with contextlib.suppress(OSError):
                found.append(path.read_text(encoding="ascii", errors="replace"))
                path.unlink()
        return found


class _Window:
    """The time of a run that fio counts: from the end of its warm-up, which begins with its first request.

    Args:
        grid: how long both take.
        meter: looks at the mount.
    """

    def __init__(self, grid: Grid, meter: Meter) -> None:
        self._grid = grid
        self._meter = meter
        self._begins: float | None = None
        self._watching = False
        self._load: Load | None = None

    def look(self) -> None:
        """Begin or end if it is time to; to be called often."""
        now = time.monotonic()
        if self._begins is None:
            if self._meter.asked:
                self._begins = now + self._grid.warm_up_s
        elif not self._watching and now >= self._begins:
            self._meter.watch()
            self._watching = True
        elif self._watching and self._load is None and now >= self._begins + self._grid.cell_s:
            self._load = self._meter.watched()

    def end(self) -> Load | None:
        """Return what was done in it, None where the server was not asked for so long."""
        if self._load is None and self._watching:
            self._load = self._meter.watched()
        return self._load

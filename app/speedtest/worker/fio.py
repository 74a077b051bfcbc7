"""Grid of fio runs: command lines, running the cells, and parsing the output (json+ and logs of fio 3).

The test file is written before, so that it can be read. fio works in the test's directory, where its logs are
removed with the other files. It runs in the worker's process group, so that killing the group ends it.

Sources: fio(1); stat.c and iolog.c of fio 3.33 for the formats.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from app.errors import AppError
from app.process import DEVNULL, find_program, start, wait
from app.speedtest.model import GridRun
from app.speedtest.testdir import DATA_FILE
from app.speedtest.worker.single_file import write_blocks
from app.speedtest.worker.workload import StoppedError
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from advisor.bottleneck import TransferLoad
    from app.process import Child
    from app.speedtest.model import Grid, GridCell, TestSpec
    from app.speedtest.sampler import TransferSampler
    from app.speedtest.testdir import TestDirectory
    from app.speedtest.worker.workload import DataPool

_POLL_INTERVAL_S = 0.02
_REAP_S = 1.0
_MAX_OUTPUT_BYTES = 16 * 2**20


class FioGridRunner:
    """Measures every cell of a test's grid in each repeat.

    Args:
        spec: specification of the test.
        grid: cells to measure.
        directory: directory of the test file.
        pool: contents of the file.
        meter: sampler of the transfers.

    Attributes:
        notes: sentences on deviations from the specification.

    Raises:
        AppError: UNAVAILABLE if fio is not installed.
    """

    def __init__(
        self, spec: TestSpec, grid: Grid, directory: TestDirectory, pool: DataPool, meter: TransferSampler
    ) -> None:
        self._spec = spec
        self._grid = grid
        self._directory = directory
        self._pool = pool
        self._meter = meter
        self.notes: list[str] = []
        program = find_program("fio")
        if program is None:
            raise fio_missing_error()
        self._program = program

    def run(self) -> list[GridCell]:
        """Measure the grid and return its cells with their runs.

        Raises:
            AppError: IO if fio's output is unusable.
            OSError: error of a request.
            StoppedError: if the test was cancelled.
        """
        self._write()
        direct = self._supports_direct()
        cells = self._grid.cells()
        for number in range(self._spec.repeats):
            self._meter.round = number
            # Repeat the whole grid instead of each cell, so that drift over time affects all cells equally.
            for index, cell in enumerate(cells):
                run = self._measure(cell, direct=direct)
                cells[index] = msgspec.structs.replace(cell, runs=[*cell.runs, run])
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

    def _supports_direct(self) -> bool:
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
        argv = fio_command(self._program, DATA_FILE, self._spec.size, cell, self._grid, direct=direct)
        output = os.memfd_create("fio", os.MFD_CLOEXEC)
        try:
            self._meter.begin(cell.way, cell.way, asleep=True)
            child = start(
                argv, stdin=DEVNULL, stdout=output, stderr=output, cwd=self._directory.path, own_session=False
            )
            load = self._wait(child)
            self._meter.finish()
            text = os.pread(output, _MAX_OUTPUT_BYTES, 0).decode(errors="replace")
        finally:
            os.close(output)
        return parse_run(text, self._logs(), load)

    def _wait(self, child: Child) -> TransferLoad | None:
        """Wait for fio, or kill it when the test is cancelled; return the load while it measured."""
        window = _MeasurementWindow(self._grid, self._meter)
        try:
            while wait(child, _POLL_INTERVAL_S) is None and not self._meter.progress.stopped:
                window.look()
        finally:
            if wait(child, 0) is None:
                os.kill(child.pid, signal.SIGKILL)
                wait(child, _REAP_S)
        if self._meter.progress.stopped:
            raise StoppedError
        return window.end() if self._meter.probe.nfs else None

    def _logs(self) -> list[str]:
        logs: list[str] = []
        for path in Path(self._directory.path).glob(f"{LOG_PREFIX}_bw*.log"):
            with contextlib.suppress(OSError):
                logs.append(path.read_text(encoding="ascii", errors="replace"))
                path.unlink()
        return logs


class _MeasurementWindow:
    """Measuring time of a run: from the end of its warm-up, which begins with its first request.

    Args:
        grid: grid with the durations of warm-up and measurement.
        meter: sampler of the transfers.
    """

    def __init__(self, grid: Grid, meter: TransferSampler) -> None:
        self._grid = grid
        self._meter = meter
        self._begins: float | None = None
        self._started = False
        self._load: TransferLoad | None = None

    def look(self) -> None:
        """Start or end the measurement when it is time; to be called often."""
        now = time.monotonic()
        if self._begins is None:
            if self._meter.asked:
                self._begins = now + self._grid.warm_up_s
        elif not self._started and now >= self._begins:
            self._meter.watch()
            self._started = True
        elif self._started and self._load is None and now >= self._begins + self._grid.cell_s:
            self._load = self._meter.watched()

    def end(self) -> TransferLoad | None:
        """Return the load during the measurement, None if the run ended before."""
        if self._load is None and self._started:
            self._load = self._meter.watched()
        return self._load


_MODES = {"seqread": "read", "seqwrite": "write", "randread": "randread", "randwrite": "randwrite"}
#: Averaging interval of the bandwidth log, ms.
_LOG_MS = 250
LOG_PREFIX = "grid"


def fio_missing_error() -> AppError:
    """Return the error for a missing fio program."""
    return AppError(ErrorCode.FIO_MISSING)


def fio_command(program: str, file: str, size: int, cell: GridCell, grid: Grid, *, direct: bool) -> list[str]:
    """Return the command that measures a cell in its working directory.

    Args:
        program: path of fio.
        file: name of the test file, which exists with its full size.
        size: bytes of the file, divided among the jobs.
        cell: cell to measure.
        grid: grid with the durations.
        direct: whether to bypass the client's cache with O_DIRECT.
    """
    part = size // cell.jobs // cell.record * cell.record
    return [
        program, "--name=grid", "--output-format=json+", "--eta=never", f"--filename={file}",
        f"--rw={_MODES[cell.pattern]}", f"--bs={cell.record}", f"--size={part}", f"--offset_increment={part}",
        f"--numjobs={cell.jobs}", "--group_reporting=1", "--thread=1",
        f"--ioengine={'libaio' if cell.depth > 1 else 'psync'}", f"--iodepth={cell.depth}",
        f"--direct={int(direct)}", "--time_based=1", f"--runtime={_milliseconds(grid.cell_s)}",
        f"--ramp_time={_milliseconds(grid.warm_up_s)}", "--randrepeat=0", "--norandommap=1",
        "--fallocate=none", "--lat_percentiles=1", "--percentile_list=95:99",
        f"--write_bw_log={LOG_PREFIX}", f"--log_avg_msec={_LOG_MS}",
    ]  # fmt: skip


def parse_run(text: str, logs: Iterable[str] = (), load: TransferLoad | None = None) -> GridRun:
    """Return the measurements of a run.

    Args:
        text: output of fio; lines before the JSON are skipped.
        logs: contents of its bandwidth logs, one for each job.
        load: load during the run. Its bytes and processor time are replaced by those of fio's jobs, because
            the mount's byte counter grows only at the end of each request.

    Raises:
        OSError: error of a request of fio.
        AppError: IO if the output cannot be parsed, or nothing was measured.
    """
    job = _first_job(text)
    if job.get("error"):
        number = int(job["error"])
        raise OSError(number, f"fio ended with error {number}")
    section = _measured_direction(job)
    latency = _dict_of(section, "lat_ns") or _dict_of(section, "clat_ns")
    percentiles = {str(key)[:2]: float(value) / 1e9 for key, value in _dict_of(latency, "percentile").items()}
    return GridRun(
        iops=float(section["iops"]),
        bytes_per_s=float(section["bw_bytes"]),
        latency_s=float(latency.get("mean", 0.0)) / 1e9,
        p95_s=percentiles.get("95"),
        p99_s=percentiles.get("99"),
        curve=parse_bandwidth_logs(logs),
        load=_load_with_fio(job, load, float(section["bw_bytes"])) if load is not None else None,
    )


def parse_bandwidth_logs(logs: Iterable[str]) -> list[tuple[float, float]]:
    """Return pairs of time in s and bytes per second, summed over the jobs' logs.

    A log line is milliseconds, KiB/s, direction, …. The jobs log at slightly different times, so each line
    counts for the interval that it ends.
    """
    sums: dict[int, float] = {}
    for text in logs:
        for line in text.splitlines():
            fields = [word.strip() for word in line.split(",")]
            if len(fields) > 1 and fields[0].isdigit() and fields[1].isdigit():
                index = max(round(int(fields[0]) / _LOG_MS), 1)
                sums[index] = sums.get(index, 0.0) + int(fields[1]) * 1024.0
    return [(index * _LOG_MS / 1e3, sums[index]) for index in sorted(sums)]


def _first_job(text: str) -> dict[str, Any]:
    json_start = text.find("{")
    try:
        parsed: Any = json.JSONDecoder().raw_decode(text, max(json_start, 0))[0]
        job = parsed["jobs"][0]
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise _unreadable_output_error(text, str(error)) from error
    if not isinstance(job, dict):
        raise _unreadable_output_error(text, "no job")
    return cast("dict[str, Any]", job)


def _measured_direction(job: dict[str, Any]) -> dict[str, Any]:
    for name in ("read", "write"):
        section = _dict_of(job, name)
        if section.get("total_ios"):
            return section
    raise AppError(ErrorCode.FIO_MEASURED_NOTHING)


def _load_with_fio(job: dict[str, Any], load: TransferLoad, bytes_per_s: float) -> TransferLoad:
    """Return the load with bytes and processor time of fio's jobs; fio reports the mean time in percent."""
    cpu_percent = float(job.get("usr_cpu", 0.0)) + float(job.get("sys_cpu", 0.0))
    return replace(load, bytes=int(bytes_per_s * load.seconds), worker=cpu_percent / 100)


def _dict_of(values: dict[str, Any], name: str) -> dict[str, Any]:
    value = values.get(name)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _unreadable_output_error(text: str, reason: str) -> AppError:
    return AppError(ErrorCode.FIO_ANSWER_NOT_READ, detail=f"{reason}\n{text[:500]}")


def _milliseconds(seconds: float) -> str:
    return f"{max(round(seconds * 1000), 1)}ms"

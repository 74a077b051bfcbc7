"""fio's command line for one cell of a grid, and its answer (json+ and bandwidth logs), as of fio 3.

Sources: fio(1); stat.c and iolog.c of fio 3.33 for the formats.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from app.bench.grid_model import GridRun
from app.errors import AppError, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from advisor.bottleneck import Load
    from app.bench.grid_model import Grid, GridCell

_RW = {"seqread": "read", "seqwrite": "write", "randread": "randread", "randwrite": "randwrite"}
#: The bandwidth log has a line for so many milliseconds.
_LOG_MS = 250
LOG_PREFIX = "grid"


def missing() -> AppError:
    """Return the error of a computer without fio."""
    return AppError(
        ErrorKind.UNAVAILABLE,
        "The grid is measured by fio, which is not installed on this computer.",
        hint="Install the package fio (apt-get install fio, dnf install fio, zypper install fio or "
        "pacman -S fio). The other tests need nothing but this program.",
    )


def command(program: str, file: str, size: int, cell: GridCell, grid: Grid, *, direct: bool) -> list[str]:
    """Return the command that measures a cell in its working directory.

    Args:
        program: fio's path.
        file: the test file's name, which is there with its whole size.
        size: its bytes, which the jobs divide among themselves.
        cell: what to measure.
        grid: how long.
        direct: past the client's cache.
    """
    part = size // cell.jobs // cell.record * cell.record
    return [
        program, "--name=grid", "--output-format=json+", "--eta=never", f"--filename={file}",
        f"--rw={_RW[cell.pattern]}", f"--bs={cell.record}", f"--size={part}", f"--offset_increment={part}",
        f"--numjobs={cell.jobs}", "--group_reporting=1", "--thread=1",
        f"--ioengine={'libaio' if cell.depth > 1 else 'psync'}", f"--iodepth={cell.depth}",
        f"--direct={int(direct)}", "--time_based=1", f"--runtime={_milliseconds(grid.cell_s)}",
        f"--ramp_time={_milliseconds(grid.warm_up_s)}", "--randrepeat=0", "--norandommap=1",
        "--fallocate=none", "--lat_percentiles=1", "--percentile_list=95:99",
        f"--write_bw_log={LOG_PREFIX}", f"--log_avg_msec={_LOG_MS}",
    ]  # fmt: skip


def read_run(text: str, logs: Iterable[str] = (), load: Load | None = None) -> GridRun:
    """Return what a run measured.

    Args:
        text: fio's output; lines before the JSON are passed over.
        logs: the texts of its bandwidth logs, one for each job.
        load: what was seen of the run. Its bytes and processor time become those of fio's jobs: a server's
            counter steps with each whole request, of which few may end in the time.

    Raises:
        OSError: the error that a request of fio met.
        AppError: IO if it is no answer of fio, or it measured nothing.
    """
    job = _job(text)
    if job.get("error"):
        number = int(job["error"])
        raise OSError(number, f"fio ended with error {number}")
    found = _direction(job)
    latency = _table(found, "lat_ns") or _table(found, "clat_ns")
    shares = {str(key)[:2]: float(value) / 1e9 for key, value in _table(latency, "percentile").items()}
    return GridRun(
        iops=float(found["iops"]),
        bytes_per_s=float(found["bw_bytes"]),
        latency_s=float(latency.get("mean", 0.0)) / 1e9,
        p95_s=shares.get("95"),
        p99_s=shares.get("99"),
        curve=read_logs(logs),
        load=_load_of(job, load, float(found["bw_bytes"])) if load is not None else None,
    )


def read_logs(logs: Iterable[str]) -> list[tuple[float, float]]:
    """Return seconds and bytes a second of all jobs together; a line is milliseconds, KiB/s, direction, ….

    Jobs write their lines at slightly different milliseconds, so each falls into the interval that it ends.
    """
    sums: dict[int, float] = {}
    for text in logs:
        for line in text.splitlines():
            words = [word.strip() for word in line.split(",")]
            if len(words) > 1 and words[0].isdigit() and words[1].isdigit():
                place = max(round(int(words[0]) / _LOG_MS), 1)
                sums[place] = sums.get(place, 0.0) + int(words[1]) * 1024.0
    return [(place * _LOG_MS / 1e3, sums[place]) for place in sorted(sums)]


def _job(text: str) -> dict[str, Any]:
    start = text.find("{")
    try:
        parsed: Any = json.JSONDecoder().raw_decode(text, max(start, 0))[0]
        job = parsed["jobs"][0]
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise _garbled(text, str(error)) from error
    if not isinstance(job, dict):
        raise _garbled(text, "no job")
    return cast("dict[str, Any]", job)


def _direction(job: dict[str, Any]) -> dict[str, Any]:
    for name in ("read", "write"):
        found = _table(job, name)
        if found.get("total_ios"):
            return found
    raise AppError(
        ErrorKind.IO,
        "fio measured nothing: not one request was answered in the time of a cell.",
        hint="Give each cell more time, or look whether the server answers at all.",
    )


def _load_of(job: dict[str, Any], load: Load, bytes_per_s: float) -> Load:
    """Return the load with what fio alone knows; of its jobs' processor time that is the mean, in %."""
    worked = float(job.get("usr_cpu", 0.0)) + float(job.get("sys_cpu", 0.0))
    return replace(load, bytes=int(bytes_per_s * load.seconds), worker=worked / 100)


def _table(values: dict[str, Any], name: str) -> dict[str, Any]:
    found = values.get(name)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _garbled(text: str, why: str) -> AppError:
    return AppError(
        ErrorKind.IO,
        "fio's answer cannot be read.",
        hint="Its version may be too old: version 3 and later are known to work.",
        detail=f"{why}\n{text[:500]}",
    )


def _milliseconds(seconds: float) -> str:
    return f"{max(round(seconds * 1000), 1)}ms"

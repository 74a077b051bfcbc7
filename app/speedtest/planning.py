"""Planning of a test: size, number of files and duration from preset, link rate and free space.

A preset sets duration and repeats: at least the six that a 95% confidence interval of the median needs. For a
grid of fio runs it chooses the cells that fit into the duration, and the time of each cell.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from advisor.facts import ClientFacts, Facts
from advisor.speeds import format_rate
from app.speedtest.estimate import (
    bytes_of_test,
    link_speed,
    seconds_of_test,
    steady_speed,
    usable_space,
)
from app.speedtest.model import SMALL_READS, TestPlan
from app.speedtest.network_measurement import STREAM_S
from app.speedtest.testdir import SPACE_RESERVE
from app.text.units import format_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from advisor.bottleneck import TransferDirection
    from advisor.facts import LinkFacts
    from app.speedtest.messages import UserFilesSize
    from app.speedtest.model import Grid, Preset, TestPlanArgs, TestSpec

#: Duration in s and number of repeats of each preset: at least as many as a 95 % interval needs.
_PRESETS: dict[Preset, tuple[float, int]] = {"quick": (15, 6), "normal": (60, 6), "thorough": (240, 12)}
#: Size of a file relative to the server's memory, so that at least a third is read from disk.
_MEMORY_FACTOR = 1.5
#: Repeats of a grid by preset: few, because its many cells need time; a comparison needs four.
_GRID_REPEATS: dict[Preset, int] = {"quick": 1, "normal": 1, "thorough": 4}
#: Fraction of a repeat for everything but the copy (starting, creating, dropping the cache, removing), and
#: for the lower speed of a copy at its beginning and end.
_OVERHEAD = 0.25
#: Maximum number of passes over a file if the direction from the server is faster than to the server.
_MAX_PASSES = 50
#: Time to start and end fio, s; programs start slowly in the lab.
_FIO_START_S, _FIO_START_IN_LAB_S = 0.4, 1.0
_MIN_FILE_SIZE = 64 * 1024
_MAX_FILE_SIZE = 64 * 2**30
_SIZE_STEP = 64 * 1024
_MIN_FILES, _MAX_PRESET_FILES = 20, 5_000


def plan_test(
    args: TestPlanArgs, free: int | None, link: LinkFacts | None, own: UserFilesSize | None = None
) -> TestPlan:
    """Return the plan of a test.

    Args:
        args: the test, and the preset that selects its sizes.
        free: free bytes of the file system, None if unknown.
        link: facts on the link to the server, None if unknown.
        own: number and size of the user's own files, if they are copied.
    """
    spec, note, limited = args.spec, "", False
    if own is not None:
        spec = msgspec.structs.replace(spec, count=own.files, size=-(-own.bytes // own.files))
        note = _user_files_note(own, free)
    if spec.grid is not None:
        return _grid_plan(args, spec.grid, free, link)
    rate_bps = link.slowest_of(spec.direction) if link is not None else None
    facts = Facts(client=ClientFacts(), link=link)
    if args.preset is not None:
        seconds, repeats = _PRESETS[args.preset]
        spec = msgspec.structs.replace(spec, repeats=repeats, seconds=seconds)
        room = usable_space(free) if free is not None else None
        if spec.workload == "files":
            spec, limited = _choose_count(spec, facts, room)
        elif own is None:
            spec, limited = _choose_size(spec, facts, room)
            spec = msgspec.structs.replace(spec, passes=_read_passes(spec, link))
            if spec.server_memory:
                fitting = int(seconds / _duration_s(spec, facts) * spec.rounds) - 1  # one is the warm-up
                spec = msgspec.structs.replace(spec, repeats=min(max(fitting, 1), repeats))
        if own is None:
            note = _size_note(rate_bps, free if limited else None)
    duration_s = _duration_s(spec, facts)
    if spec.seconds is not None:  # the warm-up and one repeat take place in any case
        duration_s = min(duration_s, max(spec.seconds, 2 * duration_s / spec.rounds))
    if spec.network_alone:
        duration_s += 2 * STREAM_S
        note = f"{note} Then one TCP stream each way, where an iperf3 server answers.".lstrip()
    return TestPlan(
        spec=spec,
        seconds=duration_s if rate_bps else spec.seconds,
        bytes=bytes_of_test(spec),
        free=free,
        note=note,
    )


def _duration_s(spec: TestSpec, facts: Facts) -> float:
    return seconds_of_test(spec, facts, overhead=_OVERHEAD)


def _choose_size(spec: TestSpec, facts: Facts, room: int | None) -> tuple[TestSpec, bool]:
    """Return the test of one file with its size, and whether free space limits the size.

    The size fits the time at the steady speed, or is larger than the server's memory. On a long link it
    takes longer than that, as a copy begins slowly; a smaller one would measure its beginning alone.
    """
    each_s = (spec.seconds or 0) * (1 - _OVERHEAD) * spec.size / bytes_of_test(spec)
    target = min(max(int(steady_speed(spec, facts) * each_s), _MIN_FILE_SIZE), _MAX_FILE_SIZE)
    if spec.server_memory:
        target = max(target, int(spec.server_memory * _MEMORY_FACTOR))
    size = target if room is None else min(target, max(room, _MIN_FILE_SIZE))
    return msgspec.structs.replace(spec, size=max(size // _SIZE_STEP, 1) * _SIZE_STEP), size < target


def _read_passes(spec: TestSpec, link: LinkFacts | None) -> int:
    """Return the number of passes that makes reads last as long as writes on an asymmetric link."""
    rates = (link.rate_of("read"), link.rate_of("write")) if link is not None else (None, None)
    whole = spec.direction == "both" and spec.workload == "file" and not spec.server_memory
    if not whole or not rates[0] or not rates[1]:
        return 1
    return min(max(int(rates[0] / rates[1]), 1), _MAX_PASSES)


def _choose_count(spec: TestSpec, facts: Facts, room: int | None) -> tuple[TestSpec, bool]:
    """Return the test of small files with a count that fits the time, and whether free space limits it."""

    def seconds(count: int) -> float:
        return _duration_s(msgspec.structs.replace(spec, count=count), facts)

    more = range(_MIN_FILES + 1, _MAX_PRESET_FILES + 1)
    target = _MIN_FILES + bisect_right(more, spec.seconds or 0, key=seconds)
    count = target if room is None else min(target, max(room // max(spec.size, 4096), 1))
    return msgspec.structs.replace(spec, count=count), count < target


def predicted_seconds(spec: TestSpec, speeds: Mapping[str, float]) -> float:
    """Return the duration of a test of one file, s, from predicted speeds.

    Args:
        spec: the test.
        speeds: bytes per second by figure; figures that the test does not measure are ignored.
    """
    figures = [figure for figure in ("write", "read") if spec.direction in {"both", figure}]
    figures += [SMALL_READS] if spec.reads_again else []
    copying = sum(spec.size / speeds[figure] for figure in figures if speeds.get(figure))
    return spec.rounds * copying / (1 - _OVERHEAD)


def _grid_plan(args: TestPlanArgs, grid: Grid, free: int | None, link: LinkFacts | None) -> TestPlan:
    """Return the plan of a grid; its bytes are the most that the link can carry in the planned time."""
    grid_link = GridLink(
        write=link_speed(link, "write"),
        read=link_speed(link, "read"),
        rtt_s=(link.rtt_s if link is not None else None) or 0.0,
        start_s=_FIO_START_IN_LAB_S if link is not None and link.emulated else _FIO_START_S,
    )
    spec, note = args.spec, ""
    if args.preset is not None:
        spec = grid_for_preset(
            spec,
            grid,
            grid_link,
            seconds=_PRESETS[args.preset][0],
            repeats=_GRID_REPEATS[args.preset],
            room=usable_space(free) if free is not None else None,
        )
        grid = spec.grid or grid
        note = f" {cells_note(grid)}"
    return TestPlan(
        spec=spec,
        seconds=grid_seconds(spec, grid, grid_link),
        bytes=grid_bytes(spec, grid, grid_link),
        free=free,
        note=f"{grid_note(grid)}{note}",
    )


def _user_files_note(own: UserFilesSize, free: int | None) -> str:
    sentences = [f"Left out: {own.skipped}."] if own.skipped else []
    if free is not None and free < own.bytes * (1 + SPACE_RESERVE):
        sentences.append(f"They do not fit: {format_size(free)} are free.")
    return " ".join(sentences)


def _size_note(rate_bps: float | None, free: int | None) -> str:
    if free is not None:
        return f"Sized for the free space: no more than a quarter of {format_size(free)}."
    if rate_bps is None:
        return "The link's rate is not known; sized as for 1 Gbit/s, and ended in time if it is slower."
    return f"Sized for a link of {format_rate(rate_bps)}."


#: Round trips of opening and closing the file by fio.
_FIO_ROUND_TRIPS = 10
#: Minimum duration of a cell, in s and in round trips.
_MIN_CELL_S, _MIN_CELL_ROUND_TRIPS = 0.4, 4
_RECORDS, _DEPTHS = (4096, 65536, 2**20), (1, 16)
#: Maximum time for the requests under way at the end of a cell, s.
_DRAIN_S = 1.0
#: A preset's duration may be exceeded by this factor before cells are left out.
_MAX_OVERRUN = 1.25
#: Fraction of the duration for writing the file at the beginning, and the maximum size of the file, bytes.
_WRITE_SHARE, _MAX_GRID_FILE_SIZE = 0.1, 2**30
_GRID_SIZE_STEP = 64 * 1024


class GridLink(NamedTuple):
    """Speed and delay of the link to the server, for a grid.

    Attributes:
        write: maximum throughput to the server, bytes per second.
        read: maximum throughput from the server, bytes per second.
        rtt_s: round-trip time of the network, s.
        start_s: time to start and end fio, s.
    """

    write: float
    read: float
    rtt_s: float
    start_s: float

    def speed(self, direction: TransferDirection) -> float:
        """Return the throughput in this direction, bytes per second."""
        return self.write if direction == "write" else self.read


def grid_seconds(spec: TestSpec, grid: Grid, grid_link: GridLink) -> float:
    """Return the minimum duration of a grid in seconds; a slow server extends file creation and drain."""
    each_s = grid.cell_s + grid.warm_up_s + grid_link.start_s + _FIO_ROUND_TRIPS * grid_link.rtt_s
    cells_s = sum(each_s + under_way / speed for under_way, speed in _cell_traffic(grid, grid_link))
    return spec.size / grid_link.write + spec.repeats * cells_s


def grid_bytes(spec: TestSpec, grid: Grid, grid_link: GridLink) -> int:
    """Return the maximum number of bytes that can cross the network during a grid."""
    each_s = grid.cell_s + grid.warm_up_s
    return spec.size + int(
        spec.repeats * sum(each_s * speed + under_way for under_way, speed in _cell_traffic(grid, grid_link))
    )


def grid_note(grid: Grid) -> str:
    """Return a sentence on the measurements of fio."""
    cells = len(grid.cells())
    cells_text = "one cell" if cells == 1 else f"{cells} cells, each"
    return f"fio measures {cells_text} for {grid.cell_s:g} s after a warm-up."


def cells_note(grid: Grid) -> str:
    """Return a sentence on the cells that a preset selected."""
    records = _joined([format_size(record) for record in grid.records])
    return f"Requests of {records}, {_joined([str(depth) for depth in grid.depths])} at once."


def grid_for_preset(
    spec: TestSpec, grid: Grid, grid_link: GridLink, *, seconds: float, repeats: int, room: int | None
) -> TestSpec:
    """Return the test with cells, their durations and the file's size selected for a given duration.

    Args:
        spec: specification of the test.
        grid: grid whose access patterns are used.
        grid_link: speed and delay of the link.
        seconds: target duration, s. It is exceeded if the shortest possible cells take longer.
        repeats: number of repeats of the whole grid.
        room: maximum size of the file, bytes; None if unknown.
    """
    slower = min(grid_link.speed(cell.way) for cell in grid.cells())
    records = [record for record in _RECORDS if record * max(_DEPTHS) <= slower * _DRAIN_S] or [_RECORDS[0]]
    target = min(
        int(grid_link.write * seconds * _WRITE_SHARE),
        _MAX_GRID_FILE_SIZE if room is None else room,
        _MAX_GRID_FILE_SIZE,
    )
    size = max(target // _GRID_SIZE_STEP * _GRID_SIZE_STEP, _GRID_SIZE_STEP, records[-1])
    spec = msgspec.structs.replace(spec, repeats=repeats, size=size)
    least_s = max(_MIN_CELL_S, _MIN_CELL_ROUND_TRIPS * grid_link.rtt_s)
    extremes = list(dict.fromkeys((records[0], records[-1])))
    for chosen, depths in ((records, _DEPTHS), (extremes, _DEPTHS), (extremes, _DEPTHS[-1:])):
        grid = msgspec.structs.replace(
            grid, records=tuple(chosen), depths=depths, jobs=(1,), cell_s=round(least_s, 1)
        )
        duration_s = grid_seconds(spec, grid, grid_link)
        if duration_s <= seconds * _MAX_OVERRUN:
            break
    extra_s = (seconds - duration_s) / (repeats * len(grid.cells())) / (1 + grid.warm_up_s / grid.cell_s)
    longer = msgspec.structs.replace(grid, cell_s=round(grid.cell_s + max(extra_s, 0), 1))
    return msgspec.structs.replace(spec, grid=longer)


def _cell_traffic(grid: Grid, grid_link: GridLink) -> Iterator[tuple[int, float]]:
    """Yield the bytes that each cell has under way at once, and the throughput of its direction."""
    for cell in grid.cells():
        yield cell.at_once * cell.record, grid_link.speed(cell.way)


def _joined(texts: Sequence[str]) -> str:
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last

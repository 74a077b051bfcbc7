"""Size and duration of a test: chosen from the preset, the link's rate and the free space.

A preset fixes the seconds and the repeats: at least the six that a 95% confidence interval of the median
needs. A grid of fio runs gets the cells that fit, and the time of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from advisor.facts import payload_rate_bps
from advisor.speeds import format_rate
from app.speedtest.model import TestPlan
from app.speedtest.network_measurement import STREAM_S
from app.speedtest.testdir import SPACE_RESERVE
from app.units import format_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from advisor.bottleneck import TransferDirection
    from advisor.facts import LinkFacts
    from app.speedtest.messages import UserFilesSize
    from app.speedtest.model import Grid, Preset, TestPlanArgs, TestSpec

#: Of each preset the seconds that it may take and its repeats: at least as many as a 95 % interval needs.
_PRESETS: dict[Preset, tuple[float, int]] = {"quick": (15, 6), "normal": (60, 6), "thorough": (240, 12)}
#: A file so many times as large as the server's memory is read from its disk for a third or more.
_MEMORY_FACTOR = 1.5
#: How often each measures a grid, of whose many cells each needs its time: as often as comparing two takes.
_GRID_REPEATS: dict[Preset, int] = {"quick": 1, "normal": 1, "thorough": 4}
#: What starting, making, dropping and removing take of a repeat beside the copying, and what a copy lacks of
#: the link's payload rate at its beginning and its end.
_OVERHEAD = 0.25
#: A way from the server that is so many times as quick as the one to it is read through as often.
_MAX_PASSES = 50
#: Taken for a link whose rate nobody tells; the time limit of the test holds if it is slower.
_ASSUMED_LINK_BPS = 1e9
#: A test must leave others their room: it takes this part of the free space at most.
_MAX_FREE_SPACE_SHARE = 0.25
#: What starting and ending fio takes, and what in the lab, where programs start slowly.
_FIO_START_S, _FIO_START_IN_LAB_S = 0.4, 1.0
_MIN_FILE_SIZE = 64 * 1024
_MAX_FILE_SIZE = 64 * 2**30
_SIZE_STEP = 64 * 1024
#: What a small file costs at least beside its bytes, to and from: round trips of the calls, and the server.
_WRITE_ROUND_TRIPS, _READ_ROUND_TRIPS, _STAT_ROUND_TRIPS = 3, 2, 2
_CALL_S = 0.0005
_MIN_FILES, _MAX_PRESET_FILES = 20, 5_000


def plan_test(
    args: TestPlanArgs, free: int | None, link: LinkFacts | None, own: UserFilesSize | None = None
) -> TestPlan:
    """Return what a test will do.

    Args:
        args: the test, and the preset that chooses its sizes.
        free: bytes free where it copies, None if the file system does not tell.
        link: what is known of the way to the server, None for nothing.
        own: how much the person's own files are, if they are what is copied.
    """
    spec, note, limited = args.spec, "", False
    if own is not None:
        spec = msgspec.structs.replace(spec, count=own.files, size=-(-own.bytes // own.files))
        note = _user_files_note(own, free)
    if spec.grid is not None:
        return _grid_plan(args, spec.grid, free, link)
    rate_bps = link.slowest_of(spec.direction) if link is not None else None
    speed = payload_rate_bps(rate_bps or _ASSUMED_LINK_BPS) / 8
    rtt_s = (link.rtt_s if link is not None else None) or 0.0
    if args.preset is not None:
        seconds, repeats = _PRESETS[args.preset]
        spec = msgspec.structs.replace(spec, repeats=repeats, seconds=seconds)
        room = _usable_space(free)
        if spec.workload == "files":
            spec, limited = _choose_count(spec, speed, rtt_s, room)
        elif own is None:
            spec, limited = _choose_size(spec, speed, room)
            if spec.server_memory:
                spec, limited = _larger_than_memory(spec, room)
                fitting = int(seconds / _repeat_s(spec, speed, rtt_s)) - 1  # one is the warm-up
                spec = msgspec.structs.replace(spec, repeats=min(max(fitting, 1), repeats))
            spec = msgspec.structs.replace(spec, passes=_read_passes(spec, link))
        if own is None:
            note = _size_note(rate_bps, free if limited else None)
    took = spec.rounds * _repeat_s(spec, speed, rtt_s) + (spec.size / speed if _written_once(spec) else 0.0)
    if spec.network_alone:
        took += 2 * STREAM_S
        note = f"{note} Then one TCP stream each way, where an iperf3 server answers.".lstrip()
    if own is not None and spec.seconds is not None:
        took = min(took, max(spec.seconds, 2 * took / spec.rounds))
    return TestPlan(
        spec=spec,
        seconds=took if rate_bps else spec.seconds,
        bytes=spec.total * (_crossings(spec) + spec.rounds * (spec.passes - 1) * (1 + spec.reads_again)),
        free=free,
        note=note,
    )


def _choose_size(spec: TestSpec, speed: float, room: int | None) -> tuple[TestSpec, bool]:
    """Return the test of one file with a size that fits the time, and whether the free space limits it."""
    each_s = (spec.seconds or 0) * (1 - _OVERHEAD) / _crossings(spec)
    wanted = min(max(int(speed * each_s), _MIN_FILE_SIZE), _MAX_FILE_SIZE)
    size = wanted if room is None else min(wanted, max(room, _MIN_FILE_SIZE))
    return msgspec.structs.replace(spec, size=max(size // _SIZE_STEP, 1) * _SIZE_STEP), size < wanted


def _larger_than_memory(spec: TestSpec, room: int | None) -> tuple[TestSpec, bool]:
    """Return the test with a file that the server's memory cannot hold, and whether the room limits it."""
    wanted = max(spec.size, int(spec.server_memory * _MEMORY_FACTOR))
    size = wanted if room is None else min(wanted, max(room, _MIN_FILE_SIZE))
    return msgspec.structs.replace(spec, size=max(size // _SIZE_STEP, 1) * _SIZE_STEP), size < wanted


def _read_passes(spec: TestSpec, link: LinkFacts | None) -> int:
    """Return how often a file that crosses the slower way is read, to last as long on the quicker one."""
    rates = (link.rate_of("read"), link.rate_of("write")) if link is not None else (None, None)
    whole = spec.direction == "both" and spec.workload == "file" and not spec.server_memory
    if not whole or not rates[0] or not rates[1]:
        return 1
    return min(max(int(rates[0] / rates[1]), 1), _MAX_PASSES)


def _choose_count(spec: TestSpec, speed: float, rtt_s: float, room: int | None) -> tuple[TestSpec, bool]:
    """Return the test of small files with as many as fit the time, and whether the free space limits them."""
    round_s = (spec.seconds or 0) * (1 - _OVERHEAD) / spec.rounds
    fitting = int(round_s / _file_s(spec, speed, rtt_s))
    wanted = min(max(fitting, _MIN_FILES), _MAX_PRESET_FILES)
    count = wanted if room is None else min(wanted, max(room // max(spec.size, 4096), 1))
    return msgspec.structs.replace(spec, count=count), count < wanted


def _repeat_s(spec: TestSpec, speed: float, rtt_s: float) -> float:
    if spec.workload in {"files", "own"}:
        copying = spec.count * _file_s(spec, speed, rtt_s)
    else:
        copying = _crossings_per_repeat(spec) * spec.size / speed
    return copying / (1 - _OVERHEAD)


def _file_s(spec: TestSpec, speed: float, rtt_s: float) -> float:
    """Return the seconds that one small file takes in a repeat."""
    trips = _STAT_ROUND_TRIPS
    trips += _WRITE_ROUND_TRIPS if spec.direction != "read" else 0
    trips += _READ_ROUND_TRIPS if spec.direction != "write" else 0
    return trips * (rtt_s + _CALL_S) + _crossings_per_repeat(spec) * spec.size / speed


def _crossings(spec: TestSpec) -> int:
    """Return how often each byte crosses the network in all repeats."""
    return spec.rounds * _crossings_per_repeat(spec) + int(_written_once(spec))


def _written_once(spec: TestSpec) -> bool:
    """Whether the file is written before the first repeat only, so that there is something to read."""
    return spec.direction == "read" and spec.workload == "file"


def _crossings_per_repeat(spec: TestSpec) -> int:
    """Return how often each byte crosses the network in a repeat."""
    return (1 if spec.direction == "write" or _written_once(spec) else 2) + int(spec.reads_again)


def _grid_plan(args: TestPlanArgs, grid: Grid, free: int | None, link: LinkFacts | None) -> TestPlan:
    """Return the plan of a grid: its time is known, its bytes are the most that the link can carry then."""
    rates = (link.rate_of("write"), link.rate_of("read")) if link is not None else (None, None)
    rtt_s = (link.rtt_s if link is not None else None) or 0.0
    write, read = (payload_rate_bps(rate or _ASSUMED_LINK_BPS) / 8 for rate in rates)
    way = GridLink(
        write, read, rtt_s, _FIO_START_IN_LAB_S if link is not None and link.emulated else _FIO_START_S
    )
    spec, note = args.spec, ""
    if args.preset is not None:
        spec = grid_for_preset(
            spec,
            grid,
            way,
            seconds=_PRESETS[args.preset][0],
            repeats=_GRID_REPEATS[args.preset],
            room=_usable_space(free),
        )
        grid = spec.grid or grid
        note = f" {cells_note(grid)}"
    return TestPlan(
        spec=spec,
        seconds=grid_seconds(spec, grid, way),
        bytes=grid_bytes(spec, grid, way),
        free=free,
        note=f"{grid_note(grid)}{note}",
    )


def _usable_space(free: int | None) -> int | None:
    return None if free is None else int(free * _MAX_FREE_SPACE_SHARE)


def _user_files_note(own: UserFilesSize, free: int | None) -> str:
    words = [f"Left out: {own.skipped}."] if own.skipped else []
    if free is not None and free < own.bytes * (1 + SPACE_RESERVE):
        words.append(f"They do not fit: {format_size(free)} are free.")
    return " ".join(words)


def _size_note(rate_bps: float | None, free: int | None) -> str:
    if free is not None:
        return f"Sized for the free space: no more than a quarter of {format_size(free)}."
    if rate_bps is None:
        return "The link's rate is not known; sized as for 1 Gbit/s, and ended in time if it is slower."
    return f"Sized for a link of {format_rate(rate_bps)}."


#: Round trips of fio's opening and closing of the file.
_FIO_ROUND_TRIPS = 10
#: A cell is measured for so long at least, and for so many round trips.
_MIN_CELL_S, _MIN_CELL_ROUND_TRIPS = 0.4, 4
_RECORDS, _DEPTHS = (4096, 65536, 2**20), (1, 16)
#: A cell ends with its last request: what is under way at once must not take longer than this.
_DRAIN_S = 1.0
#: Rather a few cells less than so many times what the preset says.
_MAX_OVERRUN = 1.25
#: The part of the time in which the file is written first, and the largest that fio needs.
_WRITE_SHARE, _MAX_GRID_FILE_SIZE = 0.1, 2**30
_GRID_SIZE_STEP = 64 * 1024


class GridLink(NamedTuple):
    """The way to the server and back.

    Attributes:
        write: bytes a second to it, at best.
        read: likewise from it.
        rtt_s: of the network.
        start_s: what starting and ending fio takes.
    """

    write: float
    read: float
    rtt_s: float
    start_s: float

    def speed(self, way: TransferDirection) -> float:
        """Return the bytes a second of this direction."""
        return self.write if way == "write" else self.read


def grid_seconds(spec: TestSpec, grid: Grid, way: GridLink) -> float:
    """Return how long a grid takes at least: a slow server makes the file later, and fio end later."""
    each_s = grid.cell_s + grid.warm_up_s + way.start_s + _FIO_ROUND_TRIPS * way.rtt_s
    cells_s = sum(each_s + under_way / speed for under_way, speed in _cell_traffic(grid, way))
    return spec.size / way.write + spec.repeats * cells_s


def grid_bytes(spec: TestSpec, grid: Grid, way: GridLink) -> int:
    """Return the most that can cross the network meanwhile."""
    each_s = grid.cell_s + grid.warm_up_s
    return spec.size + int(
        spec.repeats * sum(each_s * speed + more for more, speed in _cell_traffic(grid, way))
    )


def grid_note(grid: Grid) -> str:
    """Return what fio measures, as a sentence."""
    cells = len(grid.cells())
    what = "one cell" if cells == 1 else f"{cells} cells, each"
    return f"fio measures {what} for {grid.cell_s:g} s after a warm-up."


def cells_note(grid: Grid) -> str:
    """Return which cells a preset chose, as a sentence."""
    records = _joined([format_size(record) for record in grid.records])
    return f"Requests of {records}, {_joined([str(depth) for depth in grid.depths])} at once."


def grid_for_preset(
    spec: TestSpec, grid: Grid, way: GridLink, *, seconds: float, repeats: int, room: int | None
) -> TestSpec:
    """Return the test with cells, their time and the file's size chosen, so that it takes about so long.

    Args:
        spec: the test.
        grid: whose patterns are kept.
        way: what is known of the link.
        seconds: that it may take. It takes longer where a few cells of the least time do.
        repeats: of the whole grid.
        room: bytes that the file may have, None if that is not known.
    """
    slower = min(way.speed(cell.way) for cell in grid.cells())
    records = [record for record in _RECORDS if record * max(_DEPTHS) <= slower * _DRAIN_S] or [_RECORDS[0]]
    wanted = min(
        int(way.write * seconds * _WRITE_SHARE),
        _MAX_GRID_FILE_SIZE if room is None else room,
        _MAX_GRID_FILE_SIZE,
    )
    size = max(wanted // _GRID_SIZE_STEP * _GRID_SIZE_STEP, _GRID_SIZE_STEP, records[-1])
    spec = msgspec.structs.replace(spec, repeats=repeats, size=size)
    least_s = max(_MIN_CELL_S, _MIN_CELL_ROUND_TRIPS * way.rtt_s)
    ends = list(dict.fromkeys((records[0], records[-1])))
    for chosen, depths in ((records, _DEPTHS), (ends, _DEPTHS), (ends, _DEPTHS[-1:])):
        grid = msgspec.structs.replace(
            grid, records=tuple(chosen), depths=depths, jobs=(1,), cell_s=round(least_s, 1)
        )
        takes_s = grid_seconds(spec, grid, way)
        if takes_s <= seconds * _MAX_OVERRUN:
            break
    more_s = (seconds - takes_s) / (repeats * len(grid.cells())) / (1 + grid.warm_up_s / grid.cell_s)
    longer = msgspec.structs.replace(grid, cell_s=round(grid.cell_s + max(more_s, 0), 1))
    return msgspec.structs.replace(spec, grid=longer)


def _cell_traffic(grid: Grid, way: GridLink) -> Iterator[tuple[int, float]]:
    """Give the bytes that each cell has under way at once, and how many a second cross."""
    for cell in grid.cells():
        yield cell.at_once * cell.record, way.speed(cell.way)


def _joined(texts: Sequence[str]) -> str:
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last

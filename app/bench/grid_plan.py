"""How long a grid takes and what it moves; and which cells a preset has measured, for how long."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from app.units import format_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from advisor.bottleneck import Way
    from app.bench.grid_model import Grid
    from app.speedtest.model import TestSpec

#: Round trips of fio's opening and closing of the file.
_FIO_TRIPS = 10
#: A cell is measured for so long at least, and for so many round trips.
_LEAST_S, _LEAST_TRIPS = 0.4, 4
_RECORDS, _DEPTHS = (4096, 65536, 2**20), (1, 16)
#: A cell ends with its last request: what is under way at once must not take longer than this.
_DRAIN_S = 1.0
#: Rather a few cells less than so many times what the preset says.
_AT_MOST = 1.25
#: The part of the time in which the file is written first, and the largest that fio needs.
_WRITING, _MOST = 0.1, 2**30
_GRAIN = 64 * 1024


class GridWay(NamedTuple):
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

    def speed(self, way: Way) -> float:
        """Return the bytes a second of this direction."""
        return self.write if way == "write" else self.read


def grid_seconds(spec: TestSpec, grid: Grid, way: GridWay) -> float:
    """Return how long a grid takes at least: a slow server makes the file later, and fio end later."""
    each_s = grid.cell_s + grid.warm_up_s + way.start_s + _FIO_TRIPS * way.rtt_s
    cells_s = sum(each_s + under_way / speed for under_way, speed in _cells(grid, way))
    return spec.size / way.write + spec.repeats * cells_s


def grid_bytes(spec: TestSpec, grid: Grid, way: GridWay) -> int:
    """Return the most that can cross the network meanwhile."""
    each_s = grid.cell_s + grid.warm_up_s
    return spec.size + int(spec.repeats * sum(each_s * speed + more for more, speed in _cells(grid, way)))


def grid_note(grid: Grid) -> str:
    """Return what fio measures, as a sentence."""
    cells = len(grid.cells())
    what = "one cell" if cells == 1 else f"{cells} cells, each"
    return f"fio measures {what} for {grid.cell_s:g} s after a warm-up."


def cells_note(grid: Grid) -> str:
    """Return which cells a preset chose, as a sentence."""
    records = _listed([format_size(record) for record in grid.records])
    return f"Requests of {records}, {_listed([str(depth) for depth in grid.depths])} at once."


def for_preset(
    spec: TestSpec, grid: Grid, way: GridWay, *, seconds: float, repeats: int, room: int | None
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
    wanted = min(int(way.write * seconds * _WRITING), _MOST if room is None else room, _MOST)
    size = max(wanted // _GRAIN * _GRAIN, _GRAIN, records[-1])
    spec = msgspec.structs.replace(spec, repeats=repeats, size=size)
    least_s = max(_LEAST_S, _LEAST_TRIPS * way.rtt_s)
    ends = list(dict.fromkeys((records[0], records[-1])))
    for chosen, depths in ((records, _DEPTHS), (ends, _DEPTHS), (ends, _DEPTHS[-1:])):
        grid = msgspec.structs.replace(
            grid, records=tuple(chosen), depths=depths, jobs=(1,), cell_s=round(least_s, 1)
        )
        takes_s = grid_seconds(spec, grid, way)
        if takes_s <= seconds * _AT_MOST:
            break
    more_s = (seconds - takes_s) / (repeats * len(grid.cells())) / (1 + grid.warm_up_s / grid.cell_s)
    longer = msgspec.structs.replace(grid, cell_s=round(grid.cell_s + max(more_s, 0), 1))
    return msgspec.structs.replace(spec, grid=longer)


def _cells(grid: Grid, way: GridWay) -> Iterator[tuple[int, float]]:
    """Give the bytes that each cell has under way at once, and how many a second cross."""
    for cell in grid.cells():
        yield cell.at_once * cell.record, way.speed(cell.way)


def _listed(texts: Sequence[str]) -> str:
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last

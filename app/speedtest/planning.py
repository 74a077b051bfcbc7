"""How large a test becomes: chosen from the link's rate and the free space, and said before it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from advisor.facts import payload_rate_bps
from advisor.speeds import format_rate
from app.bench.grid_plan import GridWay, cells_note, for_preset, grid_bytes, grid_note, grid_seconds
from app.speedtest.model import TestPlan
from app.speedtest.network_measurement import STREAM_S
from app.speedtest.testdir import RESERVE
from app.units import format_size

if TYPE_CHECKING:
    from advisor.facts import LinkFacts
    from app.bench.grid_model import Grid
    from app.speedtest.messages import OwnSize
    from app.speedtest.model import Preset, TestPlanArgs, TestSpec

#: Of each preset the seconds that it may take and its repeats: at least as many as a 95 % interval needs.
_PRESETS: dict[Preset, tuple[float, int]] = {"quick": (15, 6), "normal": (60, 6), "thorough": (240, 12)}
#: A file so many times as large as the server's memory is read from its disk for a third or more.
_BEYOND_MEMORY = 1.5
#: How often each measures a grid, of whose many cells each needs its time: as often as comparing two takes.
_GRIDS: dict[Preset, int] = {"quick": 1, "normal": 1, "thorough": 4}
#: What starting, making, dropping and removing take of a repeat beside the copying, and what a copy lacks of
#: the link's payload rate at its beginning and its end.
_OVERHEAD = 0.25
#: A way from the server that is so many times as quick as the one to it is read through as often.
_MOST_PASSES = 50
#: Taken for a link whose rate nobody tells; the time limit of the test holds if it is slower.
_GUESS_BPS = 1e9
#: A test must leave others their room: it takes this part of the free space at most.
_SHARE_OF_FREE = 0.25
#: What starting and ending fio takes, and what in the lab, where programs start slowly.
_FIO_S, _FIO_IN_LAB_S = 0.4, 1.0
_LEAST = 64 * 1024
_MOST = 64 * 2**30
_GRAIN = 64 * 1024
#: What a small file costs at least beside its bytes, to and from: round trips of the calls, and the server.
_TRIPS_TO, _TRIPS_FROM, _TRIPS_RATES = 3, 2, 2
_CALL_S = 0.0005
_FEWEST_FILES, _MOST_FILES = 20, 5_000


def plan_test(
    args: TestPlanArgs, free: int | None, link: LinkFacts | None, own: OwnSize | None = None
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
        note = _own_note(own, free)
    if spec.grid is not None:
        return _grid_plan(args, spec.grid, free, link)
    rate_bps = link.slowest_of(spec.direction) if link is not None else None
    speed = payload_rate_bps(rate_bps or _GUESS_BPS) / 8
    rtt_s = (link.rtt_s if link is not None else None) or 0.0
    if args.preset is not None:
        seconds, repeats = _PRESETS[args.preset]
        spec = msgspec.structs.replace(spec, repeats=repeats, seconds=seconds)
        room = _room(free)
        if spec.workload == "files":
            spec, limited = _choose_count(spec, speed, rtt_s, room)
        elif own is None:
            spec, limited = _choose_size(spec, speed, room)
            if spec.server_memory:
                spec, limited = _beyond_memory(spec, room)
                fitting = int(seconds / _round_s(spec, speed, rtt_s)) - 1  # one is the warm-up
                spec = msgspec.structs.replace(spec, repeats=min(max(fitting, 1), repeats))
            spec = msgspec.structs.replace(spec, passes=_passes(spec, link))
        if own is None:
            note = _note(rate_bps, free if limited else None)
    took = spec.rounds * _round_s(spec, speed, rtt_s) + (spec.size / speed if _written_once(spec) else 0.0)
    if spec.network_alone:
        took += 2 * STREAM_S
        note = f"{note} Then one TCP stream each way, where an iperf3 server answers.".lstrip()
    if own is not None and spec.seconds is not None:
        took = min(took, max(spec.seconds, 2 * took / spec.rounds))
    return TestPlan(
        spec=spec,
        seconds=took if rate_bps else spec.seconds,
        bytes=spec.total * (_copies(spec) + spec.rounds * (spec.passes - 1) * (1 + spec.reads_again)),
        free=free,
        note=note,
    )


def _choose_size(spec: TestSpec, speed: float, room: int | None) -> tuple[TestSpec, bool]:
    """Return the test of one file with a size that fits the time, and whether the free space limits it."""
    each_s = (spec.seconds or 0) * (1 - _OVERHEAD) / _copies(spec)
    wanted = min(max(int(speed * each_s), _LEAST), _MOST)
    size = wanted if room is None else min(wanted, max(room, _LEAST))
    return msgspec.structs.replace(spec, size=max(size // _GRAIN, 1) * _GRAIN), size < wanted


def _beyond_memory(spec: TestSpec, room: int | None) -> tuple[TestSpec, bool]:
    """Return the test with a file that the server's memory cannot hold, and whether the room limits it."""
    wanted = max(spec.size, int(spec.server_memory * _BEYOND_MEMORY))
    size = wanted if room is None else min(wanted, max(room, _LEAST))
    return msgspec.structs.replace(spec, size=max(size // _GRAIN, 1) * _GRAIN), size < wanted


def _passes(spec: TestSpec, link: LinkFacts | None) -> int:
    """Return how often a file that crosses the slower way is read, to last as long on the quicker one."""
    rates = (link.rate_of("read"), link.rate_of("write")) if link is not None else (None, None)
    whole = spec.direction == "both" and spec.workload == "file" and not spec.server_memory
    if not whole or not rates[0] or not rates[1]:
        return 1
    return min(max(int(rates[0] / rates[1]), 1), _MOST_PASSES)


def _choose_count(spec: TestSpec, speed: float, rtt_s: float, room: int | None) -> tuple[TestSpec, bool]:
    """Return the test of small files with as many as fit the time, and whether the free space limits them."""
    round_s = (spec.seconds or 0) * (1 - _OVERHEAD) / spec.rounds
    fitting = int(round_s / _file_s(spec, speed, rtt_s))
    wanted = min(max(fitting, _FEWEST_FILES), _MOST_FILES)
    count = wanted if room is None else min(wanted, max(room // max(spec.size, 4096), 1))
    return msgspec.structs.replace(spec, count=count), count < wanted


def _round_s(spec: TestSpec, speed: float, rtt_s: float) -> float:
    if spec.workload in {"files", "own"}:
        copying = spec.count * _file_s(spec, speed, rtt_s)
    else:
        copying = _ways(spec) * spec.size / speed
    return copying / (1 - _OVERHEAD)


def _file_s(spec: TestSpec, speed: float, rtt_s: float) -> float:
    """Return the seconds that one small file takes in a repeat."""
    trips = _TRIPS_RATES
    trips += _TRIPS_TO if spec.direction != "read" else 0
    trips += _TRIPS_FROM if spec.direction != "write" else 0
    return trips * (rtt_s + _CALL_S) + _ways(spec) * spec.size / speed


def _copies(spec: TestSpec) -> int:
    """Return how often each byte crosses the network in all repeats."""
    return spec.rounds * _ways(spec) + int(_written_once(spec))


def _written_once(spec: TestSpec) -> bool:
    """Whether the file is written before the first repeat only, so that there is something to read."""
    return spec.direction == "read" and spec.workload == "file"


def _ways(spec: TestSpec) -> int:
    """Return how often each byte crosses the network in a repeat."""
    return (1 if spec.direction == "write" or _written_once(spec) else 2) + int(spec.reads_again)


def _grid_plan(args: TestPlanArgs, grid: Grid, free: int | None, link: LinkFacts | None) -> TestPlan:
    """Return the plan of a grid: its time is known, its bytes are the most that the link can carry then."""
    rates = (link.rate_of("write"), link.rate_of("read")) if link is not None else (None, None)
    rtt_s = (link.rtt_s if link is not None else None) or 0.0
    write, read = (payload_rate_bps(rate or _GUESS_BPS) / 8 for rate in rates)
    way = GridWay(write, read, rtt_s, _FIO_IN_LAB_S if link is not None and link.emulated else _FIO_S)
    spec, note = args.spec, ""
    if args.preset is not None:
        spec = for_preset(
            spec, grid, way, seconds=_PRESETS[args.preset][0], repeats=_GRIDS[args.preset], room=_room(free)
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


def _room(free: int | None) -> int | None:
    return None if free is None else int(free * _SHARE_OF_FREE)


def _own_note(own: OwnSize, free: int | None) -> str:
    words = [f"Left out: {own.skipped}."] if own.skipped else []
    if free is not None and free < own.bytes * (1 + RESERVE):
        words.append(f"They do not fit: {format_size(free)} are free.")
    return " ".join(words)


def _note(rate_bps: float | None, free: int | None) -> str:
    if free is not None:
        return f"Sized for the free space: no more than a quarter of {format_size(free)}."
    if rate_bps is None:
        return "The link's rate is not known; sized as for 1 Gbit/s, and ended in time if it is slower."
    return f"Sized for a link of {format_rate(rate_bps)}."

"""Command "watch": prints the operations, speeds and times of a mount at an interval."""

from __future__ import annotations

import argparse
import contextlib
import threading
from typing import TYPE_CHECKING

from advisor.speeds import format_speed
from app.errors import AppError
from app.service.protocol import MountArgs
from app.speedtest.model import TestSpec
from app.stats.rates import MIN_INTERVAL_S
from app.text.units import format_duration, format_size

if TYPE_CHECKING:
    from collections.abc import Generator

    from app.service.client import Host
    from app.stats.model import StatsSample

#: Lines between two headers; they fit on a small terminal.
_HEADER_EVERY = 20
#: Longest interval between two lines, s.
_LONGEST_S = 86_400
#: File size in bytes and repeats of the test that loads the lab; it outlasts any use of "watch".
_LAB_SIZE, _LAB_REPEATS = 16 * 2**20, 1000
#: Longest wait for that test to start, and to end, s.
_LAB_WAIT_S = 30.0
#: Headings and widths of the columns, characters.
_COLUMNS = (
    ("TIME", 7), ("READ", 10), ("WRITE", 10), ("OPS/S", 8), ("ROUND TRIP", 10), ("QUEUE", 9),
    ("TIMEOUTS", 9), ("RPC AGAIN", 9), ("TCP AGAIN", 9), ("DISORDER", 8), ("ERRORS", 6), ("BUSIEST", 0),
)  # fmt: skip


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of watch."""
    command.add_argument(
        "mount_point",
        metavar="MOUNTPOINT",
        nargs="?",
        default="",
        help="needed unless --lab: the lab's share is mounted, and used for copies during the watch",
    )
    command.add_argument(
        "--interval",
        type=_interval,
        default=1.0,
        metavar="SECONDS",
        help="seconds between lines (default: 1)",
    )
    command.add_argument("--count", type=_count, default=0, help="stop after this many lines")
    command.add_argument("--operations", action="store_true", help="add a table of all operations")


@contextlib.contextmanager
def lab_with_load(host: Host, share: str, mount_point: str) -> Generator[None]:
    """Mount the lab's share, and run a test on it during the body, so that there is traffic to watch.

    Args:
        host: guest of the lab.
        share: share that the lab exports.
        mount_point: directory to mount it at.

    Raises:
        AppError: if the share cannot be mounted.
    """
    host.submit("mounts.mount", MountArgs(share=share, mount_point=mount_point)).result()
    spec = TestSpec(path=mount_point, size=_LAB_SIZE, repeats=_LAB_REPEATS)
    copying = threading.Event()
    load = host.submit("test.run", spec, lambda event: copying.set() if event.sample is not None else None)
    try:
        copying.wait(_LAB_WAIT_S)
        yield
    finally:
        load.cancel()
        with contextlib.suppress(AppError, TimeoutError):
            load.result(_LAB_WAIT_S)


class WatchText:
    """Formats samples of a mount as lines of text.

    Args:
        operations: whether to add a table of all operations below each line.
    """

    def __init__(self, *, operations: bool) -> None:
        self._operations = operations
        self._lines = 0

    def lines(self, sample: StatsSample) -> list[str]:
        """Return the lines of a sample, with a header above at intervals."""
        found: list[str] = []
        if self._lines % _HEADER_EVERY == 0 or self._operations:
            found.append(_row([name for name, _ in _COLUMNS]))
        self._lines += 1
        busiest = "  ".join(
            f"{operation.name} {operation.ops_per_s:.0f}/s" for operation in sample.operations[:3]
        )
        cells = [
            f"{sample.t_s:.0f} s", format_speed(sample.read_bytes_per_s),
            format_speed(sample.write_bytes_per_s), f"{sample.ops_per_s:.0f}", _time(sample.rtt_s),
            _time(sample.queue_s), str(sample.timeouts), str(sample.retransmissions),
            *(_number(count) for count in (sample.segments, sample.disordered, sample.errors)), busiest,
        ]  # fmt: skip
        found.append(_row(cells))
        if self._operations:
            found += self._table(sample)
        return found

    def _table(self, sample: StatsSample) -> list[str]:
        rows = [
            f"  {'OPERATION':<16} {'OPS/S':>8} {'SPEED':>11} {'QUEUE':>9} {'ROUND TRIP':>10} {'TOTAL':>9}"
        ]
        rows += [
            f"  {operation.name:<16} {operation.ops_per_s:>8.0f} {format_speed(operation.bytes_per_s):>11} "
            f"{_time(operation.queue_s):>9} {_time(operation.rtt_s):>10} {_time(operation.execute_s):>9}"
            for operation in sample.operations
        ]
        for number, transport in enumerate(sample.transports, 1):
            waiting = (
                "" if transport.waiting is None else f", {transport.waiting:.1f} requests waiting for a slot"
            )
            rows.append(
                f"  connection {number} ({transport.kind}): {transport.sends_per_s:.0f} sent, "
                f"{transport.receives_per_s:.0f} answered a second{waiting}"
            )
        if sample.read_ahead_kb is not None:
            rows.append(f"  readahead {format_size(sample.read_ahead_kb * 1024)}")
        return [*rows, ""]


def _row(cells: list[str]) -> str:
    padded = [f"{cell:>{width}}" for cell, (_, width) in zip(cells[:-1], _COLUMNS[:-1], strict=True)]
    return "  ".join([*padded, cells[-1]]).rstrip()


def _interval(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not MIN_INTERVAL_S <= seconds <= _LONGEST_S:
        raise argparse.ArgumentTypeError(
            f"“{text}” is not a number of seconds from {MIN_INTERVAL_S:g} to {_LONGEST_S}"
        )
    return seconds


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"“{text}” is not a number of at least one")
    return int(text)


def _number(count: int | None) -> str:
    return "—" if count is None else str(count)


def _time(seconds: float | None) -> str:
    return "—" if seconds is None else format_duration(seconds)

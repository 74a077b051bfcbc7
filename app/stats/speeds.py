"""Speeds of all NFS mounts, read at low cost from /proc/self/mountstats (the verb ``stats.speeds``).

A computer may have hundreds of mounts, each with a hundred lines in mountstats. This module parses only the
few lines needed for the speeds; :mod:`app.kernel.mountstats` parses whole blocks.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from app.errors import printable
from app.kernel.mountstats import unescape_path
from app.stats.model import MountSpeed, SpeedsSample

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.tasks import CancelToken

#: Shortest interval between two samples, s.
MIN_INTERVAL_S = 0.25
#: Largest part of one processor's time spent on reading; thousands of mounts are read less often.
_SHARE_OF_TIME = 0.02

_NEXT = b"\ndevice "
_NFS = b" with fstype nfs"
_BYTES = b"\n\tbytes:\t"
#: Leading space and trailing colon keep a name from matching inside another.
_OPERATIONS = (b" READ: ", b" READ_PLUS: ", b" WRITE: ")
#: Numbers on the line of an operation, at least (statvers 1.0).
_OPERATION_FIELDS = 8


class MountCounters(NamedTuple):
    """Counters of one mount, which only grow while it stays mounted.

    Attributes:
        share: source as printed by the kernel, escaped.
        server_read: payload bytes from the server.
        server_written: payload bytes to the server.
        calls: READ, READ_PLUS (used by NFS 4.2) and WRITE requests.
        rtt_ms: sum of the round-trip times of these requests, ms.
        timeouts: major timeouts of these requests.
    """

    share: bytes
    server_read: int
    server_written: int
    calls: int
    rtt_ms: int
    timeouts: int


def read_bytes(root: str = "/") -> bytes:
    """Return /proc/self/mountstats, b"" if it does not exist because the NFS module is not loaded.

    Args:
        root: directory that contains proc.
    """
    try:
        return Path(root, "proc/self/mountstats").read_bytes()
    except FileNotFoundError:
        return b""


def parse_counters(data: bytes) -> dict[bytes, MountCounters]:
    """Return the counters of each NFS mount by escaped mount point; truncated blocks are skipped.

    Of several mounts on one mount point, the last is returned, because it is the visible one.
    """
    found: dict[bytes, MountCounters] = {}
    for block in (b"\n" + data).split(_NEXT)[1:]:
        head, _, _rest = block.partition(b"\n")
        mounted, nfs, _version = head.partition(_NFS)
        share, on, point = mounted.partition(b" mounted on ")
        numbers = _numbers(block, _BYTES, 0) if nfs and on else []
        if len(numbers) < 6:
            continue
        start = block.find(b"\tper-op", len(head))
        calls = rtt_ms = timeouts = 0
        for name in _OPERATIONS if start >= 0 else ():
            operation = _numbers(block, name, start)
            if len(operation) >= _OPERATION_FIELDS:
                calls += operation[0]
                timeouts += operation[2]
                rtt_ms += operation[6]
        found[point] = MountCounters(share, numbers[4], numbers[5], calls, rtt_ms, timeouts)
    return found


def mount_speeds(
    before: dict[bytes, MountCounters], now: dict[bytes, MountCounters], elapsed_s: float
) -> dict[str, MountSpeed]:
    """Return the speeds of the mounts active between two readings, without those mounted again.

    Args:
        before: counters of the previous reading, by escaped mount point.
        now: counters of the present reading, by escaped mount point.
        elapsed_s: time between the readings, s.
    """
    found: dict[str, MountSpeed] = {}
    for point, new in now.items():
        old = before.get(point)
        if old is None or old == new or old.share != new.share:
            continue
        read, written, calls, rtt_ms, timeouts = (b - a for a, b in zip(old[1:], new[1:], strict=True))
        if (
            min(read, written, calls, rtt_ms, timeouts) < 0
        ):  # the share was mounted again, or the text was damaged
            continue
        found[printable(unescape_path(os.fsdecode(point)))] = MountSpeed(
            read_bytes_per_s=read / elapsed_s,
            write_bytes_per_s=written / elapsed_s,
            transfers_per_s=calls / elapsed_s,
            rtt_s=rtt_ms / calls / 1000 if calls else None,
            timeouts=timeouts,
        )
    return found


def watch_speeds(
    interval_s: float, token: CancelToken, emit: Callable[[SpeedsSample], None], root: str = "/"
) -> None:
    """Send the speeds of all mounts at every interval until cancelled, even if there are no mounts.

    Args:
        interval_s: interval between samples, s; raised to MIN_INTERVAL_S, and where reading is expensive.
        token: ends the watch.
        emit: receives each sample, the first one after one interval.
        root: directory that contains proc.

    Raises:
        CancelledError: when the token is set.
    """
    began = read_at = time.monotonic()
    before = parse_counters(read_bytes(root))
    while True:
        cost = time.monotonic() - read_at
        token.wait(max(interval_s, MIN_INTERVAL_S, cost / _SHARE_OF_TIME))
        elapsed = -read_at
        read_at = time.monotonic()
        elapsed += read_at
        now = parse_counters(read_bytes(root))
        emit(SpeedsSample(t_s=read_at - began, mounts=mount_speeds(before, now, elapsed)))
        before = now


def _numbers(block: bytes, name: bytes, start: int) -> list[int]:
    """Return the integers after a name, [] if it is missing or its line is truncated."""
    at = block.find(name, start)
    end = block.find(b"\n", at + len(name))
    if at < 0 or end < 0:
        return []
    try:
        return [int(word) for word in block[at + len(name) : end].split()]
    except ValueError:
        return []

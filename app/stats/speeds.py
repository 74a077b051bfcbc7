"""Speeds of all NFS mounts at little cost (the verb ``stats.speeds``).

A computer may have hundreds of mounts, and each one's block in mountstats has a hundred lines. Only the few
lines that say how busy a mount is are looked for and parsed; :mod:`app.kernel.mountstats` parses whole
blocks.
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

MIN_INTERVAL_S = 0.25
#: Of one processor: with thousands of mounts, looks are taken less often.
_SHARE_OF_TIME = 0.02

_NEXT = b"\ndevice "
_NFS = b" with fstype nfs"
_BYTES = b"\n\tbytes:\t"
#: With the space before and the colon after, no name is found inside of another.
_OPERATIONS = (b" READ: ", b" READ_PLUS: ", b" WRITE: ")
#: The fewest numbers of an operation's line (statvers 1.0).
_OPERATION_FIELDS = 8


class MountCounters(NamedTuple):
    """What is looked at of one mount. All but the share only grow while it stays mounted.

    Attributes:
        share: source as the kernel prints it, escaped.
        server_read: payload bytes from the server.
        server_written: payload bytes to the server.
        calls: READ, READ_PLUS (a 4.2 client may use either) and WRITE requests.
        rtt_ms: sum of their round trips.
        timeouts: their major time-outs.
    """

    share: bytes
    server_read: int
    server_written: int
    calls: int
    rtt_ms: int
    timeouts: int


def read_bytes(root: str = "/") -> bytes:
    """Return this process's mountstats, b"" if there is none (the client's module is not loaded)."""
    try:
        return Path(root, "proc/self/mountstats").read_bytes()
    except FileNotFoundError:
        return b""


def parse_counters(data: bytes) -> dict[bytes, MountCounters]:
    """Return each NFS mount by its escaped mount point; torn blocks are passed over.

    Of mounts stacked on one point the last counts, which is the one that is seen.
    """
    found: dict[bytes, MountCounters] = {}
    for block in (b"\n" + data).split(_NEXT)[1:]:
        head, _, _rest = block.partition(b"\n")
        place, nfs, _version = head.partition(_NFS)
        share, on, point = place.partition(b" mounted on ")
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
    """Return the mounts that were busy in between; one that was mounted anew is left out this time."""
    found: dict[str, MountSpeed] = {}
    for point, new in now.items():
        old = before.get(point)
        if old is None or old == new or old.share != new.share:
            continue
        read, written, calls, rtt_ms, timeouts = (b - a for a, b in zip(old[1:], new[1:], strict=True))
        if min(read, written, calls, rtt_ms, timeouts) < 0:  # it began anew, or the text was damaged
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
    """Send the speeds of all mounts every interval until the token is set; never fails for want of mounts.

    Args:
        interval_s: seconds, at least MIN_INTERVAL_S; longer by itself where a look costs much.
        token: ends the watch.
        emit: gets each sample; the first comes after one interval.
        root: of the /proc that is read.

    Raises:
        CancelledError: when the token is set.
    """
    began = looked = time.monotonic()
    before = parse_counters(read_bytes(root))
    while True:
        cost = time.monotonic() - looked
        token.wait(max(interval_s, MIN_INTERVAL_S, cost / _SHARE_OF_TIME))
        elapsed = -looked
        looked = time.monotonic()
        elapsed += looked
        now = parse_counters(read_bytes(root))
        emit(SpeedsSample(t_s=looked - began, mounts=mount_speeds(before, now, elapsed)))
        before = now


def _numbers(block: bytes, name: bytes, start: int) -> list[int]:
    """Return the whole numbers behind a name, [] if it is not there or its line is torn."""
    at = block.find(name, start)
    end = block.find(b"\n", at + len(name))
    if at < 0 or end < 0:
        return []
    try:
        return [int(word) for word in block[at + len(name) : end].split()]
    except ValueError:
        return []

"""Kernel log, /dev/kmsg: since when the NFS client says that a server does not respond.

The NFS client writes "nfs: server NAME not responding, still trying" at a major timeout and "nfs: server
NAME OK" with the next reply (net/sunrpc/clnt.c). /dev/kmsg (Documentation/ABI/testing/dev-kmsg) tells that
only those who may read the log; with kernel.dmesg_restrict=1 that is root. It can begin later than the
silence.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

_LINE = re.compile(
    rb"\d+,\d+,(\d+),[^;]*;(?:nfs|nfs4|NFS): server (\S+) (not responding|OK)", re.ASCII
)  # priority, number, microseconds, flags; text
_MAX_RECORDS = 100_000


def unresponsive_servers(root: str = "/") -> dict[str, float]:
    """Return the servers of which the log's last word is that they do not respond, with when (Unix time).

    They are named as the share names them. Nothing is returned where the log may not be read.
    """
    try:
        lines = _records(Path(root, "dev/kmsg"))
    except OSError:
        return {}
    return parse_records(lines, time.time() - time.monotonic())


def parse_records(lines: list[bytes], boot: float) -> dict[str, float]:
    """Return what these records say.

    Args:
        lines: of the log, each one record.
        boot: Unix time at which the log's clock was 0.
    """
    found: dict[str, float] = {}
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        server = match[2].decode(errors="replace")
        if match[3] == b"OK":
            found.pop(server, None)
        else:
            found.setdefault(server, boot + int(match[1]) / 1e6)
    return found


def _records(path: Path) -> list[bytes]:
    """Return the records that are there now; each read(2) gives one."""
    found: list[bytes] = []
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        while len(found) < _MAX_RECORDS:
            try:
                piece = os.read(fd, 8192)
            except BlockingIOError:
                break
            except BrokenPipeError:  # overwritten before it was read: go on with the next
                continue
            if not piece:
                break
            found += piece.splitlines()
    finally:
        os.close(fd)
    return found

"""Kernel log, /dev/kmsg: servers that the NFS client reports as not responding, and since when.

The NFS client logs "nfs: server NAME not responding, still trying" at a major timeout and "nfs: server NAME
OK" with the next reply (net/sunrpc/clnt.c). With kernel.dmesg_restrict=1 only root may read /dev/kmsg
(Documentation/ABI/testing/dev-kmsg). The log may have lost the first message.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

_LINE = re.compile(
    rb"\d+,\d+,(\d+),[^;]*;(?:nfs|nfs4|NFS): server (\S+) (not responding|OK)", re.ASCII
)  # priority, sequence number, time in microseconds, flags; text
#: Largest number of records to read.
_MAX_RECORDS = 100_000


def unresponsive_servers(root: str = "/") -> dict[str, float]:
    """Return the servers that do not respond according to the log, with the Unix time since when.

    Servers have the names used in the shares. The result is empty if this user may not read the log.
    """
    try:
        lines = _records(Path(root, "dev/kmsg"))
    except OSError:
        return {}
    return parse_records(lines, time.time() - time.monotonic())


def parse_records(lines: list[bytes], boot: float) -> dict[str, float]:
    """Return the servers that do not respond according to these records, with the Unix time since when.

    Args:
        lines: records of the log.
        boot: Unix time at which the clock of the log was 0, seconds.
    """
    since: dict[str, float] = {}
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        server = match[2].decode(errors="replace")
        if match[3] == b"OK":
            since.pop(server, None)
        else:
            since.setdefault(server, boot + int(match[1]) / 1e6)
    return since


def _records(path: Path) -> list[bytes]:
    """Return the present records; each read(2) returns one."""
    records: list[bytes] = []
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        while len(records) < _MAX_RECORDS:
            try:
                piece = os.read(fd, 8192)
            except BlockingIOError:
                break
            except BrokenPipeError:  # the record was overwritten: continue with the next one
                continue
            if not piece:
                break
            records += piece.splitlines()
    finally:
        os.close(fd)
    return records

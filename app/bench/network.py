"""The network alone, measured beside a test: the round trip of an RPC that does nothing.

NULL (procedure 0) touches neither disk nor file system, so its answer takes the way there and back, and what
the server's threads need to look at it.
"""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING

from app.discovery.rpc import NULL_PROCEDURE, Connection, Deadline
from app.errors import AppError

if TYPE_CHECKING:
    from app.kernel.mount_of_path import Where

_NFS_PROGRAM = 100003
_CALLS = 7
#: No further call after this, and no waiting for one beyond that.
_ENOUGH_S, _LIMIT_S = 0.5, 2.0


def null_round_trip(where: Where) -> float | None:
    """Return the median round trip of NULL calls to the server of a mount, seconds, None without an answer.

    Args:
        where: the mount; the connection is one of its own, from an ordinary port.
    """
    address, port = where.server
    if not address:
        return None
    times: list[float] = []
    began = time.monotonic()
    try:
        with Connection(address, port, "tcp", Deadline(_LIMIT_S)) as connection:
            while len(times) < _CALLS and time.monotonic() - began < _ENOUGH_S:
                called = time.monotonic()
                connection.call(_NFS_PROGRAM, 4 if where.v4 else 3, NULL_PROCEDURE)
                times.append(time.monotonic() - called)
    except AppError:
        pass  # it may answer privileged ports only, or RDMA only: what was measured counts
    return median(times) if times else None

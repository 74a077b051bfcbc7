"""Rates of a mount over one interval, and speeds of all mounts of a host: the structs."""

from __future__ import annotations

import msgspec


class WatchArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``stats.watch``: rates of a mount, one event an interval, until cancelled."""

    mount_point: str
    interval_s: float = 1.0


class OperationRate(msgspec.Struct, frozen=True, kw_only=True):
    """One RPC procedure over one interval; only those that were called are told.

    Attributes:
        name: READ, WRITE, GETATTR, ….
        ops_per_s: calls that were answered.
        bytes_per_s: sent and received, RPC headers included.
        queue_s: mean wait before it was sent.
        rtt_s: mean round trip, as far as the kernel counts it.
        execute_s: mean time from the call to its end: queue, round trip and what lies between.
        timeouts: major time-outs.
        retransmissions: transmissions beyond the first.
        errors: replies with an error status, the harmless "no such file" of a look-up included; None where
            the kernel does not count them (statvers 1.0).
    """

    name: str
    ops_per_s: float
    bytes_per_s: float
    queue_s: float
    rtt_s: float
    execute_s: float
    timeouts: int
    retransmissions: int
    errors: int | None


class ConnectionRate(msgspec.Struct, frozen=True, kw_only=True):
    """One transport over one interval.

    Attributes:
        kind: tcp, udp, rdma or local.
        sends_per_s: requests sent.
        receives_per_s: replies received.
        reconnections: connections made in the interval.
        waiting: mean number of requests that waited for a slot, None if none was sent.
    """

    kind: str
    sends_per_s: float
    receives_per_s: float
    reconnections: int
    waiting: float | None


class StatsSample(msgspec.Struct, frozen=True, kw_only=True):
    """Rates over one interval; None where nothing happened.

    Attributes:
        t_s: seconds since the watch began (monotonic).
        read_bytes_per_s: from the server.
        write_bytes_per_s: to the server.
        ops_per_s: RPC operations of this mount.
        rtt_s: mean RPC round trip.
        queue_s: mean time a request waited to be sent.
        timeouts: major time-outs in the interval.
        retransmissions: RPC requests sent again in the interval. Over TCP that is 0, whatever is lost, while
            the connection lives.
        connections: xprt lines.
        execute_s: mean time from call to end.
        errors: replies with an error status, None where the kernel does not count them.
        read_ahead_kb: of the mount's bdi, None if it is not known.
        operations: the procedures that were called, the busiest first.
        transports: one for each connection, in the kernel's order; empty if their number has changed.
        segments: TCP segments sent again in the interval on the connections to the mount's server, which all
            mounts of that server share; None where it is not TCP, or the kernel does not tell.
        disordered: TCP segments received out of order on them, likewise: those that the server sent again are
            among them.
    """

    t_s: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    ops_per_s: float
    rtt_s: float | None
    queue_s: float | None
    timeouts: int
    retransmissions: int
    connections: int
    execute_s: float | None = None
    errors: int | None = None
    read_ahead_kb: int | None = None
    operations: list[OperationRate] = []
    transports: list[ConnectionRate] = []
    segments: int | None = None
    disordered: int | None = None


class SpeedsArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``stats.speeds``: how busy each mount is, one event an interval, until cancelled."""

    interval_s: float = 1.0


class MountSpeed(msgspec.Struct, frozen=True, kw_only=True):
    """How busy one mount was.

    Attributes:
        read_bytes_per_s: payload from the server.
        write_bytes_per_s: payload to the server.
        transfers_per_s: READ, READ_PLUS and WRITE requests.
        rtt_s: their mean round trip, None if there was none.
        timeouts: their major time-outs in the interval.
    """

    read_bytes_per_s: float
    write_bytes_per_s: float
    transfers_per_s: float
    rtt_s: float | None
    timeouts: int


class SpeedsSample(msgspec.Struct, frozen=True, kw_only=True):
    """All mounts over one interval.

    Attributes:
        t_s: seconds since the watch began (monotonic).
        mounts: by mount point; one that did nothing is not among them.
    """

    t_s: float
    mounts: dict[str, MountSpeed]

"""Mount statistics: data types for the rates of one mount and the speeds of all mounts."""

from __future__ import annotations

import msgspec


class WatchArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``stats.watch``: send the rates of a mount as one event per ``interval_s`` seconds, until cancelled."""

    mount_point: str
    interval_s: float = 1.0


class OperationRate(msgspec.Struct, frozen=True, kw_only=True):
    """Rates of one RPC procedure over one interval.

    Attributes:
        name: procedure, for example READ, WRITE or GETATTR.
        ops_per_s: answered calls per second.
        bytes_per_s: bytes sent and received per second, RPC headers included.
        queue_s: mean time in the send queue, s.
        rtt_s: mean round-trip time as counted by the kernel, s.
        execute_s: mean time from call to completion, s, which includes queue and round trip.
        timeouts: major timeouts in the interval.
        retransmissions: transmissions beyond the first of each call, in the interval.
        errors: replies with an error status in the interval, including harmless "no such file" replies to
            lookups; None where the kernel does not count them (statvers 1.0).
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
    """Rates of one transport over one interval.

    Attributes:
        kind: tcp, udp, rdma or local.
        sends_per_s: requests sent per second.
        receives_per_s: replies received per second.
        reconnections: connections established in the interval.
        waiting: mean number of requests that waited for a slot, None if no request was sent.
    """

    kind: str
    sends_per_s: float
    receives_per_s: float
    reconnections: int
    waiting: float | None


class StatsSample(msgspec.Struct, frozen=True, kw_only=True):
    """Rates of one mount over one interval; means are None where no request was made.

    Attributes:
        t_s: time since the watch began, s (monotonic clock).
        read_bytes_per_s: payload bytes per second from the server.
        write_bytes_per_s: payload bytes per second to the server.
        ops_per_s: RPC calls per second.
        rtt_s: mean RPC round-trip time, s.
        queue_s: mean time of a request in the send queue, s.
        timeouts: major timeouts in the interval.
        retransmissions: retransmitted RPC requests in the interval. Over TCP it stays 0 while the connection
            lasts, because TCP itself retransmits lost segments.
        connections: number of transports (xprt lines of mountstats).
        execute_s: mean time from call to completion, s.
        errors: replies with an error status in the interval, None where the kernel does not count them.
        read_ahead_kb: readahead of the mount's backing device (bdi), KiB; None if it is not known.
        operations: procedures called in the interval, the busiest first.
        transports: rates of each connection, in the kernel's order; empty if their number has changed.
        segments: TCP segments retransmitted in the interval on the connections to the server, which all its
            mounts share. None without TCP or without kernel support.
        disordered: TCP segments received out of order in the interval on these connections, including those
            that the server retransmitted. None without TCP or without kernel support.
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
    """``stats.speeds``: send the speeds of all mounts as one event per interval, until cancelled."""

    interval_s: float = 1.0


class MountSpeed(msgspec.Struct, frozen=True, kw_only=True):
    """Speeds of one mount over one interval.

    Attributes:
        read_bytes_per_s: payload bytes per second from the server.
        write_bytes_per_s: payload bytes per second to the server.
        transfers_per_s: READ, READ_PLUS and WRITE requests per second.
        rtt_s: mean round-trip time of these requests, s; None if there was none.
        timeouts: major timeouts of these requests in the interval.
    """

    read_bytes_per_s: float
    write_bytes_per_s: float
    transfers_per_s: float
    rtt_s: float | None
    timeouts: int


class SpeedsSample(msgspec.Struct, frozen=True, kw_only=True):
    """Speeds of all mounts over one interval.

    Attributes:
        t_s: time since the watch began, s (monotonic clock).
        mounts: speeds by mount point, without idle mounts.
    """

    t_s: float
    mounts: dict[str, MountSpeed]

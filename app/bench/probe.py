"""One look at all counters of the mount under test: mountstats and its TCP connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from app.kernel.mountstats import parse_one, read_text
from app.kernel.tcp_info import RetransCounter, SockDiag
from app.stats.totals import COMMIT_OPS, READ_OPS, WRITE_OPS, sum_ops, totals

if TYPE_CHECKING:
    from app.kernel.mount_of_path import Where
    from app.kernel.mountstats import MountStats
    from app.kernel.tcp_info import Connection


class Look(NamedTuple):
    """Counters at one moment; all zero where the directory is not on NFS.

    Attributes:
        server_read: payload bytes from the server.
        server_written: payload bytes to it.
        timeouts: RPC major time-outs.
        rpc_retransmissions: transmissions minus operations.
        tcp_retransmissions: segments sent again on the mount's connections since the probe was made.
        read_ops: READ and READ_PLUS requests answered.
        read_rtt_ms: sum of their round trips.
        write_ops: WRITE requests answered.
        write_rtt_ms: sum of their round trips.
        calls: requests of any kind answered.
        tcp_bytes: bytes acknowledged and received by the connections: whether the server is there at all.
        rtt_ms: sum of the round trips of all requests.
        queue_ms: sum of their waits before they were sent.
        commit_ms: sum of the round trips of COMMIT.
        segments: TCP segments with data sent.
        segments_received: TCP segments with data received.
        disordered: TCP segments received out of order.
        window_us: time that the server's window kept TCP from sending.
    """

    server_read: int = 0
    server_written: int = 0
    timeouts: int = 0
    rpc_retransmissions: int = 0
    tcp_retransmissions: int = 0
    read_ops: int = 0
    read_rtt_ms: int = 0
    write_ops: int = 0
    write_rtt_ms: int = 0
    calls: int = 0
    tcp_bytes: int = 0
    rtt_ms: int = 0
    queue_ms: int = 0
    commit_ms: int = 0
    segments: int = 0
    segments_received: int = 0
    disordered: int = 0
    window_us: int = 0

    def since(self, before: Look) -> Look:
        """Return what was added since an earlier look; a counter that began anew counts as 0."""
        return Look(*(max(new - old, 0) for new, old in zip(self, before, strict=True)))


class Probe:
    """Looks at the mount of a directory.

    Args:
        where: the mount, or None if it is not known.

    Attributes:
        nfs: whether there are counters at all.
        tcp: whether the mount is over TCP and its connections can be asked.
        tcp_s: TCP's smoothed round trip at the last look, mean of the connections; 0 without any.
        unsent: bytes that waited in this computer to be sent at the last look.
    """

    def __init__(self, where: Where | None) -> None:
        self._where = where
        self.nfs = where is not None and where.nfs
        self._address, self._port = where.server if where is not None and where.nfs else ("", 0)
        self._retransmissions = RetransCounter()
        self._connections: list[Connection] = []
        self.tcp_s = 0.0
        self.unsent = 0
        self._diag: SockDiag | None = None
        if where is not None and where.tcp and self._address:
            try:
                self._diag = SockDiag()
                self._look_at_connections()
            except (OSError, ValueError):
                # A sandbox without netlink: the test runs all the same, without these figures.
                self._drop_diag()

    @property
    def tcp(self) -> bool:
        """Whether the TCP connections can be asked."""
        return self._diag is not None

    def look(self) -> Look:
        """Return the counters as they are now."""
        stats = self._stats()
        if stats is None:
            return Look()
        try:
            self._look_at_connections()
        except OSError:
            self._drop_diag()
        sums = totals(stats)
        reads, writes = sum_ops(stats, READ_OPS), sum_ops(stats, WRITE_OPS)
        connections = self._connections
        return Look(
            server_read=sums.server_read,
            server_written=sums.server_written,
            timeouts=sums.timeouts,
            rpc_retransmissions=sums.retransmissions,
            tcp_retransmissions=self._retransmissions.segments,
            read_ops=sum(op.ops for op in reads),
            read_rtt_ms=sum(op.rtt_ms for op in reads),
            write_ops=sum(op.ops for op in writes),
            write_rtt_ms=sum(op.rtt_ms for op in writes),
            calls=sums.ops,
            tcp_bytes=sum(item.bytes_acked + item.bytes_received for item in connections),
            rtt_ms=sums.rtt_ms,
            queue_ms=sums.queue_ms,
            commit_ms=sum(op.rtt_ms for op in sum_ops(stats, COMMIT_OPS)),
            segments=sum(item.data_segs_out for item in connections),
            segments_received=sum(item.data_segs_in for item in connections),
            disordered=sum(item.disordered for item in connections),
            window_us=sum(item.window_us for item in connections),
        )

    def close(self) -> None:
        """Close the netlink socket."""
        self._drop_diag()

    def _stats(self) -> MountStats | None:
        if not self.nfs or self._where is None:
            return None
        try:
            return parse_one(read_text(), self._where.mount_point)
        except OSError:
            return None

    def _look_at_connections(self) -> None:
        if self._diag is None:
            return
        connections = self._connections = self._diag.connections(self._address, self._port)
        self._retransmissions.update(connections)
        self.tcp_s = sum(item.rtt_us for item in connections) / max(len(connections), 1) / 1e6
        self.unsent = sum(item.unsent_bytes for item in connections)

    def _drop_diag(self) -> None:
        if self._diag is not None:
            self._diag.close()
            self._diag = None

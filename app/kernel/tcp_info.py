"""Kernel statistics of TCP connections: NETLINK_SOCK_DIAG with INET_DIAG_INFO, without privilege.

NFS does not retransmit requests while its TCP connection lives, so lost packets show only in these counters.
Sources: sock_diag(7), linux/inet_diag.h (struct inet_diag_req_v2, inet_diag_msg), linux/tcp.h (struct
tcp_info).
"""

from __future__ import annotations

import ipaddress
import socket
import struct
from typing import TYPE_CHECKING, NamedTuple, Self

from app.kernel.netlink import DONE, DUMP, ERROR, REQUEST, attributes, message, messages

if TYPE_CHECKING:
    from collections.abc import Iterator

NFS_PORT = 2049

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_INET_DIAG_INFO = 2
_TCP_ESTABLISHED = 1

_REQUEST = struct.Struct("=BBBxI")  # struct inet_diag_req_v2, before its sockid
_SOCKET_ID = struct.Struct(">HH16s16s")  # struct inet_diag_sockid: ports and addresses
_SOCKET_ID_REST = struct.Struct("=III")  # interface and cookie
_MESSAGE_SIZE = 72  # struct inet_diag_msg
_RECEIVE_SIZE = 256 * 1024

#: Offsets in struct tcp_info, bytes. They never change; fields that an older kernel lacks read as 0.
_U8 = {"probes": 3}
_U32 = {
    "unacked": 24, "last_data_ms": 52, "last_ack_ms": 56, "rtt_us": 68, "cwnd": 80, "total_retrans": 100,
    "segs_out": 136, "unsent_bytes": 144, "data_segs_in": 152, "data_segs_out": 156, "disordered": 224,
}  # fmt: skip
_U64 = {
    "bytes_acked": 120, "bytes_received": 128, "delivery_rate": 160, "window_us": 176, "bytes_retrans": 208,
}  # fmt: skip


class TcpConnection(NamedTuple):
    """Statistics of one established TCP connection (struct tcp_info).

    Attributes:
        cookie: the kernel's identifier of the socket, unique until the next boot.
        source_port: local port.
        destination: address of the server as text.
        rtt_us: smoothed round-trip time, microseconds.
        cwnd: congestion window, segments.
        total_retrans: segments retransmitted since the connection was opened.
        segs_out: segments sent.
        bytes_acked: bytes that the server acknowledged.
        bytes_received: bytes received from the server.
        delivery_rate: recent delivery rate, bytes per second.
        bytes_retrans: bytes retransmitted.
        unsent_bytes: bytes written by programs and not yet sent.
        data_segs_in: received segments with data.
        data_segs_out: sent segments with data.
        disordered: segments received out of order (Linux 5.4).
        window_us: time in which the receive window of the server limited sending, microseconds.
        unacked: segments sent and not acknowledged, without window probes.
        probes: unanswered keepalive or window probes in a row.
        last_data_ms: time since data arrived from the server, or since the connection was opened, ms.
        last_ack_ms: time since the last acknowledgment, including one of a probe, ms.
    """

    cookie: int
    source_port: int
    destination: str
    rtt_us: int = 0
    cwnd: int = 0
    total_retrans: int = 0
    segs_out: int = 0
    bytes_acked: int = 0
    bytes_received: int = 0
    delivery_rate: int = 0
    bytes_retrans: int = 0
    unsent_bytes: int = 0
    data_segs_in: int = 0
    data_segs_out: int = 0
    disordered: int = 0
    window_us: int = 0
    unacked: int = 0
    probes: int = 0
    last_data_ms: int = 0
    last_ack_ms: int = 0

    @property
    def is_waiting(self) -> bool:
        """Whether a segment or a probe is not acknowledged."""
        return self.unacked > 0 or self.probes > 0

    @property
    def heard_ms(self) -> int:
        """Time since the last segment from the server, milliseconds."""
        return min(self.last_data_ms, self.last_ack_ms)


class SockDiag:
    """An open netlink socket for repeated queries; a context manager."""

    def __init__(self) -> None:
        """Open the socket.

        Raises:
            OSError: if the kernel or a sandbox refuses.
        """
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG)
        self._socket.settimeout(1.0)
        self._sequence = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def connections(self, address: str, port: int = NFS_PORT) -> list[TcpConnection]:
        """Return the established connections to a server.

        Args:
            address: IPv4 or IPv6 address as text, without brackets; a zone (``%eth0``) is ignored.
            port: TCP port of the server.

        Raises:
            OSError: if the kernel refuses the query.
            ValueError: if the text is not an address.
        """
        wanted = ipaddress.ip_address(address.partition("%")[0])
        family = socket.AF_INET if isinstance(wanted, ipaddress.IPv4Address) else socket.AF_INET6
        text = str(wanted)
        return [item for item in self._dump(family, port) if item.destination == text]

    def _dump(self, family: int, port: int) -> Iterator[TcpConnection]:
        self._sequence += 1
        body = (
            _REQUEST.pack(family, socket.IPPROTO_TCP, 1 << (_INET_DIAG_INFO - 1), 1 << _TCP_ESTABLISHED)
            + _SOCKET_ID.pack(0, port, b"", b"")
            + _SOCKET_ID_REST.pack(0, 0xFFFFFFFF, 0xFFFFFFFF)
        )
        self._socket.send(message(_SOCK_DIAG_BY_FAMILY, REQUEST | DUMP, body, self._sequence))
        while True:
            data = self._socket.recv(_RECEIVE_SIZE)
            for kind, sequence, payload in messages(data):
                if sequence != self._sequence:
                    continue  # part of an earlier answer that timed out
                if kind == DONE:
                    return
                if kind == ERROR:
                    _raise_error(payload)
                    return
                if len(payload) >= _MESSAGE_SIZE:
                    yield parse_connection(payload)
            if not data:
                return


def parse_connection(payload: bytes) -> TcpConnection:
    """Return the connection in one inet_diag_msg with its attributes."""
    source_port, _, _, destination = _SOCKET_ID.unpack_from(payload, 4)
    _, cookie_low, cookie_high = _SOCKET_ID_REST.unpack_from(payload, 4 + _SOCKET_ID.size)
    if payload[0] == socket.AF_INET:
        address = str(ipaddress.IPv4Address(destination[:4]))
    else:
        address = str(ipaddress.IPv6Address(destination))
    info = attributes(payload[_MESSAGE_SIZE:]).get(_INET_DIAG_INFO, b"")
    numbers = {name: _unpack(info, offset, "=I") for name, offset in _U32.items()}
    numbers |= {name: _unpack(info, offset, "=Q") for name, offset in _U64.items()}
    numbers |= {name: _unpack(info, offset, "=B") for name, offset in _U8.items()}
    return TcpConnection(cookie_high << 32 | cookie_low, source_port, address, **numbers)


class RetransCounter:
    """Sums the retransmissions of all connections to one server, including connections that ended.

    The counters of the first update are the baseline. A connection that appears later counts from its start.

    Attributes:
        segments: segments retransmitted since the first update.
        disordered: segments received out of order since the first update.
    """

    def __init__(self) -> None:
        self._seen: dict[int, tuple[int, int]] = {}
        self._started = False
        self.segments = 0
        self.disordered = 0

    def update(self, connections: list[TcpConnection]) -> int:
        """Add the present counters; return the segments retransmitted since the first update."""
        for connection in connections:
            now = connection.total_retrans, connection.disordered
            before = self._seen.get(connection.cookie, (0, 0) if self._started else now)
            self.segments += max(now[0] - before[0], 0)
            self.disordered += max(now[1] - before[1], 0)
            self._seen[connection.cookie] = max(now[0], before[0]), max(now[1], before[1])
        self._started = True
        return self.segments


def _unpack(info: bytes, offset: int, shape: str) -> int:
    if offset + struct.calcsize(shape) > len(info):
        return 0
    (value,) = struct.unpack_from(shape, info, offset)
    return int(value)


def _raise_error(payload: bytes) -> None:
    (code,) = struct.unpack_from("=i", payload)
    if code:
        raise OSError(-code, "the kernel refused a sock_diag request")

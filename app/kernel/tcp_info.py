"""TCP connections as the kernel sees them: NETLINK_SOCK_DIAG with INET_DIAG_INFO, without privilege.

NFS over a living TCP connection does not repeat requests, so a lost packet shows only here. Sources:
sock_diag(7), linux/inet_diag.h (struct inet_diag_req_v2, inet_diag_msg), linux/tcp.h (struct tcp_info).
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

#: Offsets in struct tcp_info, stable since each field was added; a shorter struct of an older kernel reads 0.
_U8 = {"probes": 3}
_U32 = {
    "unacked": 24, "last_data_ms": 52, "last_ack_ms": 56, "rtt_us": 68, "cwnd": 80, "total_retrans": 100,
    "segs_out": 136, "unsent_bytes": 144, "data_segs_in": 152, "data_segs_out": 156, "disordered": 224,
}  # fmt: skip
_U64 = {
    "bytes_acked": 120, "bytes_received": 128, "delivery_rate": 160, "window_us": 176, "bytes_retrans": 208,
}  # fmt: skip


class TcpConnection(NamedTuple):
    """One established connection.

    Attributes:
        cookie: the kernel's identity of the socket, never used again while the machine runs.
        source_port: local port.
        destination: the server's address as text.
        rtt_us: smoothed round trip, microseconds.
        cwnd: congestion window, segments.
        total_retrans: segments sent again since it was opened.
        segs_out: segments sent.
        bytes_acked: bytes that the server has acknowledged.
        bytes_received: bytes that came from the server.
        delivery_rate: recent rate, bytes per second.
        bytes_retrans: bytes sent again.
        unsent_bytes: bytes that programs have written and TCP has not sent yet.
        data_segs_in: segments with data received.
        data_segs_out: segments with data sent.
        disordered: segments received out of order (Linux 5.4).
        window_us: time in which the other side's window kept TCP from sending, microseconds.
        unacked: segments sent that the other side has not acknowledged; probes of a closed window are none.
        probes: sent in a row without an answer, whether the other side is still there (keepalive), or takes
            data again.
        last_data_ms: since data came from the server, or the connection was made.
        last_ack_ms: since anything was acknowledged, a probe too.
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
        """Whether something was sent that nothing has come back for."""
        return self.unacked > 0 or self.probes > 0

    @property
    def heard_ms(self) -> int:
        """Time since anything came from the server."""
        return min(self.last_data_ms, self.last_ack_ms)


class SockDiag:
    """An open netlink socket that is asked again and again; a context manager."""

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
            port: its TCP port.

        Raises:
            OSError: if the kernel refuses.
            ValueError: if it is not an address.
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
                    continue  # the rest of an answer that timed out
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
    """Return the connection of one inet_diag_msg with its attributes."""
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
    """Adds up what the connections to one server sent again, however they come and go.

    Connections of the first look are the baseline; one that appears later counts from its beginning.

    Attributes:
        segments: sent again since the first look.
        disordered: received out of order since then.
    """

    def __init__(self) -> None:
        self._seen: dict[int, tuple[int, int]] = {}
        self._started = False
        self.segments = 0
        self.disordered = 0

    def update(self, connections: list[TcpConnection]) -> int:
        """Take a look and return the segments retransmitted since the first one."""
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

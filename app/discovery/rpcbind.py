"""rpcbind client (RFC 1833): finds the ports of RPC services and the server's time.

It uses version 2 (portmapper) over IPv4, and version 3 over IPv6 and for the time.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from app.discovery.rpc import Deadline, RpcConnection, Transport, XdrError, decode, opaque, u32
from app.errors import AppError
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from app.discovery.rpc import Unpacker

PROGRAM = 100000
_PORTMAPPER, _RPCBIND = 2, 3
_GET, _DUMP, _GET_TIME = 3, 4, 6
_TRANSPORTS: dict[int, Transport] = {6: "tcp", 17: "udp"}
_NUMBERS = {name: number for number, name in _TRANSPORTS.items()}
#: Address family and transport of the network IDs (netid(5)) that are reachable over the network.
_NETIDS: dict[str, tuple[int, Transport]] = {
    "tcp": (4, "tcp"),
    "udp": (4, "udp"),
    "tcp6": (6, "tcp"),
    "udp6": (6, "udp"),
}
_MAX_ROWS = 1024
_MAX_TEXT = 256


class Registration(NamedTuple):
    """One registered service.

    Attributes:
        program: RPC program number.
        version: version of the program.
        transport: tcp or udp.
        port: port number.
        family: IP version, 4 or 6.
    """

    program: int
    version: int
    transport: Transport
    port: int
    family: int = 4


def find_port(address: str, rpcbind_port: int, program: int, version: int, deadline: Deadline) -> int:
    """Return the TCP port of a program, 0 if it is not registered.

    Raises:
        AppError: if rpcbind does not answer.
    """
    with RpcConnection(address, rpcbind_port, "tcp", deadline) as rpcbind:
        if ":" not in address:
            arguments = u32(program, version, _NUMBERS["tcp"], 0)
            port = decode(rpcbind.call(PROGRAM, _PORTMAPPER, _GET, arguments), lambda reply: reply.u32())
        else:
            arguments = u32(program, version) + opaque(b"tcp6") + opaque(b"") + opaque(b"")
            port = decode(
                rpcbind.call(PROGRAM, _RPCBIND, _GET, arguments),
                lambda reply: _port_of(reply.opaque(_MAX_TEXT)),
            )
    if port > 0xFFFF:
        raise AppError(ErrorCode.RPCBIND_PORT_IMPOSSIBLE, port=port)
    return port


def registered(address: str, rpcbind_port: int, deadline: Deadline) -> list[Registration]:
    """Return the services registered for the address family of ``address``.

    Raises:
        AppError: if rpcbind does not answer.
    """
    family = 6 if ":" in address else 4
    version, read = (_RPCBIND, _rpcbind_row) if family == 6 else (_PORTMAPPER, _portmapper_row)
    with RpcConnection(address, rpcbind_port, "tcp", deadline) as rpcbind:
        body = rpcbind.call(PROGRAM, version, _DUMP)
    rows = decode(body, lambda reply: reply.chain(read, _MAX_ROWS))
    return sorted({row for row in rows if row is not None and row.family == family})


def clock_ahead_s(address: str, rpcbind_port: int, deadline: Deadline) -> float:
    """Return the server's clock minus this computer's, in whole seconds (RPCBPROC_GETTIME).

    Raises:
        AppError: if rpcbind does not answer, or has no version 3.
    """
    with RpcConnection(address, rpcbind_port, "tcp", deadline) as rpcbind:
        before = time.time()
        server_time = decode(rpcbind.call(PROGRAM, _RPCBIND, _GET_TIME), lambda reply: reply.u32())
        after = time.time()
    # The server sends its time rounded down to whole seconds.
    return float(round(server_time + 0.5 - (before + after) / 2))


def _portmapper_row(reply: Unpacker) -> Registration | None:
    program, version, number, port = reply.u32(), reply.u32(), reply.u32(), reply.u32()
    transport = _TRANSPORTS.get(number)
    if transport is None or not 0 < port <= 0xFFFF:
        return None
    return Registration(program, version, transport, port)


def _rpcbind_row(reply: Unpacker) -> Registration | None:
    program, version = reply.u32(), reply.u32()
    netid = _NETIDS.get(reply.opaque(_MAX_TEXT).decode(errors="replace"))
    universal_address = reply.opaque(_MAX_TEXT)
    reply.opaque(_MAX_TEXT)  # its owner
    if netid is None:
        return None
    family, transport = netid
    return Registration(program, version, transport, _port_of(universal_address), family)


def _port_of(universal: bytes) -> int:
    """Return the port of a universal address, "host.high.low" (RFC 5665 §5.2.3); 0 for an empty one."""
    if not universal:
        return 0
    parts = universal.rsplit(b".", 2)[-2:]
    if len(parts) < 2 or not all(part.isdigit() and len(part) <= 3 and int(part) < 256 for part in parts):
        raise XdrError("an address without a port.")
    return int(parts[0]) << 8 | int(parts[1])

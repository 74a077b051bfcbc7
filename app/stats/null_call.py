"""NULL call over TCP: tests whether an NFS server replies (RFC 1813 §3.3.0, RFC 7530 §15.1, RFC 5531).

Any reply counts, even an RPC error, because only a working server sends one. The timeout consists of slices
that each count at most their nominal length. So a pause of this program does not look like a timeout.
"""

from __future__ import annotations

import errno
import os
import select
import socket
from typing import TYPE_CHECKING

from app.discovery.rpc import socket_address, u32
from app.errors import AppError

if TYPE_CHECKING:
    from app.mounts.model import TroubleReason

#: Length of a time slice of the timeout, s.
_SLICE_S = 0.1
_NFS_PROGRAM = 100003
_LAST_FRAGMENT = 0x8000_0000
_REPLY = 1
_HEAD = 12  # bytes of record mark, transaction ID (xid) and message type
_UNREACHABLE = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN,
                          errno.EADDRNOTAVAIL})  # fmt: skip


def null_call(address: str, port: int, version: int, timeout_s: float, ports: set[int]) -> TroubleReason:
    """Call the NULL procedure over TCP; return "" for any reply, else the reason of the failure.

    Args:
        address: numeric address of the server, IPv6 without brackets.
        port: TCP port of the server.
        version: NFS version, 3 or 4.
        timeout_s: timeout for connection and reply together, s.
        ports: set that contains the local port during the call.
    """
    try:
        family, server_address = socket_address(address, port)
        connection = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    except (AppError, OSError):
        return "unreachable"
    with connection:
        local = 0
        try:
            connection.bind(("", 0))
            local = connection.getsockname()[1]
            ports.add(local)
            return _call(connection, server_address, version, max(1, round(timeout_s / _SLICE_S)))
        except OSError as error:
            return _reason(error.errno or 0)
        finally:
            ports.discard(local)


def _call(
    connection: socket.socket, server_address: tuple[str | int | bytes, ...], version: int, slices: int
) -> TroubleReason:
    number = connection.connect_ex(server_address)
    if number not in {0, errno.EINPROGRESS}:
        return _reason(number)
    slices = _wait(connection, select.POLLOUT, slices)
    number = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if number:
        return _reason(number)
    if slices < 0:
        return "silent"
    xid = os.urandom(4)
    call = xid + u32(0, 2, _NFS_PROGRAM, version, 0, 0, 0, 0, 0)
    connection.send(u32(_LAST_FRAGMENT | len(call)) + call)
    reply = b""
    while len(reply) < _HEAD:
        slices = _wait(connection, select.POLLIN, slices)
        if slices < 0:
            return "silent"
        data = connection.recv(4096)
        if not data:
            return "refused"
        reply += data
    return "" if reply[4:_HEAD] == xid + u32(_REPLY) else "silent"


def _wait(connection: socket.socket, event: int, slices: int) -> int:
    """Wait for a poll event on the socket; return the remaining time slices, -1 after the timeout."""
    poll = select.poll()
    poll.register(connection, event)
    for remaining_slices in range(slices, 0, -1):
        if poll.poll(_SLICE_S * 1000):
            return remaining_slices
    return -1


def _reason(number: int) -> TroubleReason:
    if number in {errno.ECONNREFUSED, errno.ECONNRESET, errno.EPIPE}:
        return "refused"
    return "unreachable" if number in _UNREACHABLE else "silent"

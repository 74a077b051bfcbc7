"""NULL call to an NFS server: whether it answers at all.

Sources: RFC 1813 §3.3.0, RFC 7530 §15.1, RFC 5531. Any reply counts, a refusal too: only a server at work
can write one. It is waited for in slices that each count for no more than their length, so that a program
that is not scheduled for a while does not miss the reply.
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

_SLICE_S = 0.1
_NFS_PROGRAM = 100003
_LAST_FRAGMENT = 0x8000_0000
_REPLY = 1
_HEAD = 12  # record mark, number of the call, kind of message
_UNREACHABLE = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN,
                          errno.EADDRNOTAVAIL})  # fmt: skip


def null_call(address: str, port: int, version: int, timeout_s: float, ports: set[int]) -> TroubleReason:
    """Call the NULL procedure over TCP; return "" if there is a reply, else why there is none.

    Args:
        address: of the server, numeric, an IPv6 one without brackets.
        port: its TCP port.
        version: of NFS, 3 or 4.
        timeout_s: for connecting and the reply together.
        ports: holds the local port while the call lasts.
    """
    try:
        family, where = socket_address(address, port)
        link = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    except (AppError, OSError):
        return "unreachable"
    with link:
        local = 0
        try:
            link.bind(("", 0))
            local = link.getsockname()[1]
            ports.add(local)
            return _call(link, where, version, max(1, round(timeout_s / _SLICE_S)))
        except OSError as error:
            return _reason(error.errno or 0)
        finally:
            ports.discard(local)


def _call(
    link: socket.socket, where: tuple[str | int | bytes, ...], version: int, slices: int
) -> TroubleReason:
    number = link.connect_ex(where)
    if number not in {0, errno.EINPROGRESS}:
        return _reason(number)
    slices = _wait(link, select.POLLOUT, slices)
    number = link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if number:
        return _reason(number)
    if slices < 0:
        return "silent"
    xid = os.urandom(4)
    call = xid + u32(0, 2, _NFS_PROGRAM, version, 0, 0, 0, 0, 0)
    link.send(u32(_LAST_FRAGMENT | len(call)) + call)
    reply = b""
    while len(reply) < _HEAD:
        slices = _wait(link, select.POLLIN, slices)
        if slices < 0:
            return "silent"
        piece = link.recv(4096)
        if not piece:
            return "refused"
        reply += piece
    return "" if reply[4:_HEAD] == xid + u32(_REPLY) else "silent"


def _wait(link: socket.socket, event: int, slices: int) -> int:
    """Wait for the socket; return the slices that are left, -1 if the time is over."""
    poll = select.poll()
    poll.register(link, event)
    for left in range(slices, 0, -1):
        if poll.poll(_SLICE_S * 1000):
            return left
    return -1


def _reason(number: int) -> TroubleReason:
    if number in {errno.ECONNREFUSED, errno.ECONNRESET, errno.EPIPE}:
        return "refused"
    return "unreachable" if number in _UNREACHABLE else "silent"

"""The kernel's own answer to which way an address is reached (rtnetlink(7)); root is not needed."""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import NamedTuple

# linux/netlink.h, linux/rtnetlink.h
_REQUEST, _GETROUTE, _NEWROUTE = 1, 26, 24
_DST, _OIF, _GATEWAY, _VIA = 1, 4, 5, 18
#: struct nlmsghdr, struct rtmsg, struct rtattr.
_HEADER, _ROUTE, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=8BI"), struct.Struct("=HH")
_ANSWER_S = 0.2


class Way(NamedTuple):
    """How the kernel would send to an address.

    Attributes:
        interface: name of the interface.
        gateway: whether a router is asked to pass the packets on.
    """

    interface: str
    gateway: bool


def kernel_way(address: str, zone: str = "") -> Way | None:
    """Return the way to an address, or None if there is none or the kernel does not say.

    Args:
        address: without a zone.
        zone: interface of a link-local address, "" otherwise.
    """
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0) as kernel:
            kernel.settimeout(_ANSWER_S)
            kernel.sendto(question(address, socket.if_nametoindex(zone) if zone else 0), (0, 0))
            found = read_answer(kernel.recv(65536))
            return Way(socket.if_indextoname(found[0]), found[1]) if found is not None else None
    except OSError:
        return None


def question(address: str, index: int = 0) -> bytes:
    """Return the message that asks for the route to an address.

    Raises:
        OSError: if it is no address.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    packed = socket.inet_pton(family, address)
    body = _ROUTE.pack(family, len(packed) * 8, 0, 0, 0, 0, 0, 0, 0) + _attribute(_DST, packed)
    if index:
        body += _attribute(_OIF, struct.pack("=I", index))
    return _HEADER.pack(_HEADER.size + len(body), _GETROUTE, _REQUEST, 1, 0) + body


def read_answer(message: bytes) -> tuple[int, bool] | None:
    """Return the number of the interface and whether there is a gateway, or None for an error."""
    with contextlib.suppress(struct.error):
        length, kind, *_rest = _HEADER.unpack_from(message)
        found: dict[int, bytes] = {}
        place, end = _HEADER.size + _ROUTE.size, min(length, len(message))
        while kind == _NEWROUTE and place + _ATTRIBUTE.size <= end:
            size, name = _ATTRIBUTE.unpack_from(message, place)
            if size < _ATTRIBUTE.size:
                break
            found[name] = message[place + _ATTRIBUTE.size : place + size]
            place += (size + 3) & ~3
        if _OIF in found:
            return struct.unpack("=I", found[_OIF])[0], bool({_GATEWAY, _VIA} & set(found))
    return None


def _attribute(name: int, value: bytes) -> bytes:
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), name) + value + bytes(-len(value) % 4)

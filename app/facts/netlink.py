"""What the kernel answers over netlink(7) without root: the route to an address, and its generic families."""

from __future__ import annotations

import contextlib
import errno
import socket
import struct
from typing import NamedTuple

# linux/netlink.h, linux/rtnetlink.h
_REQUEST, _GETROUTE, _NEWROUTE = 1, 26, 24
_DST, _OIF, _GATEWAY, _VIA = 1, 4, 5, 18
#: struct nlmsghdr, struct rtmsg, struct rtattr.
_HEADER, _ROUTE, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=8BI"), struct.Struct("=HH")
#: linux/genetlink.h: NETLINK_GENERIC, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME.
_GENERIC, _CONTROL, _GET_FAMILY, _FAMILY_NAME = 16, 16, 3, 2
_GENERIC_HEADER, _ERROR = struct.Struct("=BBH"), 2
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


def has_generic_family(name: str) -> bool | None:
    """Return whether the kernel has a family of generic netlink, or None if it does not say.

    Args:
        name: for example "handshake", which Linux 6.4 brought with CONFIG_NET_HANDSHAKE.
    """
    body = _GENERIC_HEADER.pack(_GET_FAMILY, 1, 0) + _attribute(_FAMILY_NAME, name.encode() + b"\0")
    message = _HEADER.pack(_HEADER.size + len(body), _CONTROL, _REQUEST, 1, 0) + body
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _GENERIC) as kernel:
            kernel.settimeout(_ANSWER_S)
            kernel.sendto(message, (0, 0))
            return family_answer(kernel.recv(65536))
    except OSError:
        return None


def family_answer(message: bytes) -> bool | None:
    """Return what an answer of the kernel to :func:`has_generic_family` says."""
    with contextlib.suppress(struct.error):
        _length, kind, *_rest = _HEADER.unpack_from(message)
        if kind == _CONTROL:
            return True
        if kind == _ERROR and struct.unpack_from("=i", message, _HEADER.size)[0] == -errno.ENOENT:
            return False
    return None


def _attribute(name: int, value: bytes) -> bytes:
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), name) + value + bytes(-len(value) % 4)

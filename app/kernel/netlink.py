"""What the kernel answers over netlink(7) without root: the route to an address, and its generic families.

Messages and attributes are packed and read here for all families (linux/netlink.h).
"""

from __future__ import annotations

import contextlib
import errno
import socket
import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

#: linux/netlink.h: NLM_F_REQUEST, NLM_F_DUMP, NLMSG_ERROR, NLMSG_DONE.
REQUEST, DUMP, ERROR, DONE = 1, 0x300, 2, 3
#: struct nlmsghdr, struct nlattr.
_HEADER, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=HH")
#: NLA_TYPE_MASK: without the bits for nested attributes and for the byte order.
_TYPE = 0x3FFF
# linux/rtnetlink.h
_GETROUTE, _NEWROUTE = 26, 24
_DST, _OIF, _GATEWAY, _VIA = 1, 4, 5, 18
_ROUTE = struct.Struct("=8BI")  # struct rtmsg
#: linux/genetlink.h: NETLINK_GENERIC, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME.
GENERIC, CONTROL, GET_FAMILY, FAMILY_NAME = 16, 16, 3, 2
GENERIC_HEADER = struct.Struct("=BBH")  # struct genlmsghdr
ANSWER_S = 0.2


def message(kind: int, flags: int, body: bytes, sequence: int = 1) -> bytes:
    """Return a message to the kernel."""
    return _HEADER.pack(_HEADER.size + len(body), kind, flags, sequence, 0) + body


def messages(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield type, sequence number and payload of each message; a torn one ends it."""
    offset = 0
    while offset + _HEADER.size <= len(data):
        length, kind, _, sequence, _ = _HEADER.unpack_from(data, offset)
        if length < _HEADER.size or offset + length > len(data):
            return
        yield kind, sequence, data[offset + _HEADER.size : offset + length]
        offset += _aligned(length)


def attribute(name: int, value: bytes) -> bytes:
    """Return an attribute, filled up to a multiple of four."""
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), name) + value + bytes(-len(value) % 4)


def attributes(data: bytes) -> dict[int, bytes]:
    """Return type to value of attributes that follow each other; a torn one ends it."""
    found: dict[int, bytes] = {}
    offset = 0
    while offset + _ATTRIBUTE.size <= len(data):
        size, name = _ATTRIBUTE.unpack_from(data, offset)
        if size < _ATTRIBUTE.size:
            break
        found[name & _TYPE] = data[offset + _ATTRIBUTE.size : offset + size]
        offset += _aligned(size)
    return found


def generic_message(family: int, flags: int, command: int, name: int, value: bytes) -> bytes:
    """Return a message of generic netlink with one attribute."""
    return message(family, flags, GENERIC_HEADER.pack(command, 1, 0) + attribute(name, value))


def _aligned(length: int) -> int:
    return (length + 3) & ~3


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
            kernel.settimeout(ANSWER_S)
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
    body = _ROUTE.pack(family, len(packed) * 8, 0, 0, 0, 0, 0, 0, 0) + attribute(_DST, packed)
    if index:
        body += attribute(_OIF, struct.pack("=I", index))
    return message(_GETROUTE, REQUEST, body)


def read_answer(answer: bytes) -> tuple[int, bool] | None:
    """Return the number of the interface and whether there is a gateway, or None for an error."""
    with contextlib.suppress(struct.error):
        length, kind, *_rest = _HEADER.unpack_from(answer)
        if kind == _NEWROUTE:
            found = attributes(answer[_HEADER.size + _ROUTE.size : length])
            if _OIF in found:
                return struct.unpack("=I", found[_OIF])[0], bool({_GATEWAY, _VIA} & set(found))
    return None


def has_generic_family(name: str) -> bool | None:
    """Return whether the kernel has a family of generic netlink, or None if it does not say.

    Args:
        name: for example "handshake", which Linux 6.4 brought with CONFIG_NET_HANDSHAKE.
    """
    request = generic_message(CONTROL, REQUEST, GET_FAMILY, FAMILY_NAME, name.encode() + b"\0")
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, GENERIC) as kernel:
            kernel.settimeout(ANSWER_S)
            kernel.sendto(request, (0, 0))
            return family_answer(kernel.recv(65536))
    except OSError:
        return None


def family_answer(answer: bytes) -> bool | None:
    """Return what an answer of the kernel to :func:`has_generic_family` says."""
    with contextlib.suppress(struct.error):
        _length, kind, *_rest = _HEADER.unpack_from(answer)
        if kind == CONTROL:
            return True
        if kind == ERROR and struct.unpack_from("=i", answer, _HEADER.size)[0] == -errno.ENOENT:
            return False
    return None

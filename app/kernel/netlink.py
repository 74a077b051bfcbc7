"""Netlink (netlink(7)) without root: route to an address, generic families, bit rate of a wireless link.

This module packs and parses messages and attributes of all families. The numbers are those of
linux/netlink.h, linux/rtnetlink.h, linux/genetlink.h and linux/nl80211.h. The bit rate comes from the
wireless stack (nl80211), which replaces the ioctl of older kernels.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import struct
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

#: linux/netlink.h: NLM_F_REQUEST, NLM_F_DUMP, NLMSG_ERROR, NLMSG_DONE.
REQUEST, DUMP, ERROR, DONE = 1, 0x300, 2, 3
#: struct nlmsghdr, struct nlattr.
_HEADER, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=HH")
#: NLA_TYPE_MASK: masks the flags for nested attributes and for the byte order.
_TYPE = 0x3FFF
# linux/rtnetlink.h
_GETROUTE, _NEWROUTE = 26, 24
_DST, _OIF, _GATEWAY, _VIA = 1, 4, 5, 18
_ROUTE = struct.Struct("=8BI")  # struct rtmsg
#: linux/genetlink.h: NETLINK_GENERIC, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME.
GENERIC, CONTROL, GET_FAMILY, FAMILY_NAME = 16, 16, 3, 2
GENERIC_HEADER = struct.Struct("=BBH")  # struct genlmsghdr
#: Longest wait for an answer of the kernel, seconds.
ANSWER_S = 0.2


def message(kind: int, flags: int, body: bytes, sequence: int = 1) -> bytes:
    """Return a packed netlink message (struct nlmsghdr and body)."""
    return _HEADER.pack(_HEADER.size + len(body), kind, flags, sequence, 0) + body


def messages(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield type, sequence number and payload of each message, up to a truncated one."""
    offset = 0
    while offset + _HEADER.size <= len(data):
        length, kind, _, sequence, _ = _HEADER.unpack_from(data, offset)
        if length < _HEADER.size or offset + length > len(data):
            return
        yield kind, sequence, data[offset + _HEADER.size : offset + length]
        offset += _aligned(length)


def attribute(name: int, value: bytes) -> bytes:
    """Return a packed attribute, padded to a multiple of four bytes."""
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), name) + value + bytes(-len(value) % 4)


def attributes(data: bytes) -> dict[int, bytes]:
    """Return the values of consecutive attributes by type, up to a truncated one."""
    values: dict[int, bytes] = {}
    offset = 0
    while offset + _ATTRIBUTE.size <= len(data):
        size, name = _ATTRIBUTE.unpack_from(data, offset)
        if size < _ATTRIBUTE.size:
            break
        values[name & _TYPE] = data[offset + _ATTRIBUTE.size : offset + size]
        offset += _aligned(size)
    return values


def generic_message(family: int, flags: int, command: int, name: int, value: bytes) -> bytes:
    """Return a packed generic netlink message with one attribute."""
    return message(family, flags, GENERIC_HEADER.pack(command, 1, 0) + attribute(name, value))


def _aligned(length: int) -> int:
    return (length + 3) & ~3


class KernelRoute(NamedTuple):
    """The kernel's route to an address.

    Attributes:
        interface: name of the interface.
        gateway: whether the route has a gateway.
    """

    interface: str
    gateway: bool


def kernel_route(address: str, zone: str = "") -> KernelRoute | None:
    """Return the kernel's route to an address, None if there is none or the kernel does not answer.

    Args:
        address: IPv4 or IPv6 address without a zone.
        zone: interface of a link-local address, "" for other addresses.
    """
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0) as kernel:
            kernel.settimeout(ANSWER_S)
            kernel.sendto(route_request(address, socket.if_nametoindex(zone) if zone else 0), (0, 0))
            route = parse_route(kernel.recv(65536))
            return KernelRoute(socket.if_indextoname(route[0]), route[1]) if route is not None else None
    except OSError:
        return None


def route_request(address: str, index: int = 0) -> bytes:
    """Return the RTM_GETROUTE message for an address.

    Args:
        address: IPv4 or IPv6 address.
        index: index of the interface, 0 for any.

    Raises:
        OSError: if the text is not an address.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    packed = socket.inet_pton(family, address)
    body = _ROUTE.pack(family, len(packed) * 8, 0, 0, 0, 0, 0, 0, 0) + attribute(_DST, packed)
    if index:
        body += attribute(_OIF, struct.pack("=I", index))
    return message(_GETROUTE, REQUEST, body)


def parse_route(answer: bytes) -> tuple[int, bool] | None:
    """Return the index of the interface and whether there is a gateway, None for an error."""
    with contextlib.suppress(struct.error):
        length, kind, *_rest = _HEADER.unpack_from(answer)
        if kind == _NEWROUTE:
            found = attributes(answer[_HEADER.size + _ROUTE.size : length])
            if _OIF in found:
                return struct.unpack("=I", found[_OIF])[0], bool({_GATEWAY, _VIA} & set(found))
    return None


def has_generic_family(name: str) -> bool | None:
    """Return whether the kernel has a generic netlink family, None if it does not answer.

    Args:
        name: name of the family, for example "handshake" (Linux 6.4, CONFIG_NET_HANDSHAKE).
    """
    request = generic_message(CONTROL, REQUEST, GET_FAMILY, FAMILY_NAME, name.encode() + b"\0")
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, GENERIC) as kernel:
            kernel.settimeout(ANSWER_S)
            kernel.sendto(request, (0, 0))
            return parse_family_presence(kernel.recv(65536))
    except OSError:
        return None


def parse_family_presence(answer: bytes) -> bool | None:
    """Return whether the answer to CTRL_CMD_GETFAMILY reports a family, None for an unknown answer."""
    with contextlib.suppress(struct.error):
        _length, kind, *_rest = _HEADER.unpack_from(answer)
        if kind == CONTROL:
            return True
        if kind == ERROR and struct.unpack_from("=i", answer, _HEADER.size)[0] == -errno.ENOENT:
            return False
    return None


_FAMILY_ID = 1
_GET_STATION, _INTERFACE, _STATION = 17, 3, 21
#: NL80211_STA_INFO_RX_BITRATE, then TX_BITRATE: the receive rate limits reads, so it comes first.
_RATES = (14, 8)
#: NL80211_RATE_INFO_BITRATE32 and BITRATE: 32 and 16 bits, unit 100 kbit/s.
_RATE_32, _RATE_16 = 5, 1


def station_rate_bps(interface: str) -> float | None:
    """Return the bit rate from the access point to this interface, bits per second; None if unknown."""
    try:
        index = struct.pack("=I", socket.if_nametoindex(interface))
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, GENERIC) as kernel:
            kernel.settimeout(ANSWER_S)
            kernel.sendto(generic_message(CONTROL, REQUEST, GET_FAMILY, FAMILY_NAME, b"nl80211\0"), (0, 0))
            family = parse_family_number(kernel.recv(65536))
            if family is None:
                return None
            kernel.sendto(generic_message(family, REQUEST | DUMP, _GET_STATION, _INTERFACE, index), (0, 0))
            return parse_station_rate(kernel.recv(65536))
    except OSError:
        return None


def parse_family_number(answer: bytes) -> int | None:
    """Return the family number in an answer to CTRL_CMD_GETFAMILY, None for an error."""
    for body in _bodies(answer):
        number = attributes(body).get(_FAMILY_ID, b"")
        if number:
            return int.from_bytes(number, sys.byteorder)
    return None


def parse_station_rate(answer: bytes) -> float | None:
    """Return the bit rate of the first station in an answer, bits per second, None if there is none."""
    for body in _bodies(answer):
        station = attributes(attributes(body).get(_STATION, b""))
        for direction in _RATES:
            rate = attributes(station.get(direction, b""))
            for name in (_RATE_32, _RATE_16):
                number = int.from_bytes(rate.get(name, b""), sys.byteorder)
                if number:
                    return number * 1e5
    return None


def _bodies(answer: bytes) -> Iterator[bytes]:
    """Yield the attributes of each message, up to an error or the end of the dump."""
    for kind, _sequence, payload in messages(answer):
        if kind in {ERROR, DONE}:
            return
        yield payload[GENERIC_HEADER.size :]

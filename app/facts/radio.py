"""The bit rate of a radio from the kernel's wireless stack (nl80211), where the older ioctl is gone.

Numbers are those of linux/genetlink.h and linux/nl80211.h; whoever is not root may ask, too.
"""

from __future__ import annotations

import socket
import struct
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_GENERIC = 16
_CONTROL, _GET_FAMILY, _FAMILY_ID, _FAMILY_NAME = 16, 3, 1, 2
_GET_STATION, _INTERFACE, _STATION = 17, 3, 21
#: What arrives here comes first: reading is what waits for it.
_RATES = (14, 8)
#: In 100 kbit/s, of 32 and of 16 bits.
_RATE_32, _RATE_16 = 5, 1
_REQUEST, _DUMP, _ERROR, _DONE = 1, 0x300, 2, 3
_HEADER, _GENERIC_HEADER, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BBH"), struct.Struct("=HH")
_NESTED = 0x3FFF
_ANSWER_S = 0.2


def station_rate_bps(interface: str) -> float | None:
    """Return the bit rate from the access point to this radio, bits per second; None if nobody says."""
    try:
        index = struct.pack("=I", socket.if_nametoindex(interface))
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _GENERIC) as kernel:
            kernel.settimeout(_ANSWER_S)
            kernel.sendto(_message(_CONTROL, _REQUEST, _GET_FAMILY, _FAMILY_NAME, b"nl80211\0"), (0, 0))
            family = family_of(kernel.recv(65536))
            if family is None:
                return None
            kernel.sendto(_message(family, _REQUEST | _DUMP, _GET_STATION, _INTERFACE, index), (0, 0))
            return rate_of(kernel.recv(65536))
    except OSError:
        return None


def family_of(answer: bytes) -> int | None:
    """Return the number of a family that the control family was asked for, or None for an error."""
    for body in _bodies(answer):
        number = _attributes(body).get(_FAMILY_ID, b"")
        if number:
            return int.from_bytes(number, sys.byteorder)
    return None


def rate_of(answer: bytes) -> float | None:
    """Return the rate of the first station in an answer, bits per second, or None if there is none."""
    for body in _bodies(answer):
        station = _attributes(_attributes(body).get(_STATION, b""))
        for direction in _RATES:
            rate = _attributes(station.get(direction, b""))
            for name in (_RATE_32, _RATE_16):
                number = int.from_bytes(rate.get(name, b""), sys.byteorder)
                if number:
                    return number * 1e5
    return None


def _message(family: int, flags: int, command: int, name: int, value: bytes) -> bytes:
    body = _GENERIC_HEADER.pack(command, 1, 0) + _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), name)
    body += value + bytes(-len(value) % 4)
    return _HEADER.pack(_HEADER.size + len(body), family, flags, 1, 0) + body


def _bodies(answer: bytes) -> Iterator[bytes]:
    """Yield what stands behind the headers of each message that is neither an error nor the end."""
    place = 0
    while place + _HEADER.size <= len(answer):
        length, kind, *_rest = _HEADER.unpack_from(answer, place)
        if length < _HEADER.size or kind in {_ERROR, _DONE}:
            return
        yield answer[place + _HEADER.size + _GENERIC_HEADER.size : place + length]
        place += (length + 3) & ~3


def _attributes(data: bytes) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    place = 0
    while place + _ATTRIBUTE.size <= len(data):
        size, name = _ATTRIBUTE.unpack_from(data, place)
        if size < _ATTRIBUTE.size:
            break
        found[name & _NESTED] = data[place + _ATTRIBUTE.size : place + size]
        place += (size + 3) & ~3
    return found

"""The bit rate of a radio from the kernel's wireless stack (nl80211), where the older ioctl is gone.

Numbers are those of linux/genetlink.h and linux/nl80211.h; whoever is not root may ask, too.
"""

from __future__ import annotations

import socket
import struct
import sys
from typing import TYPE_CHECKING

from app.kernel.netlink import (
    ANSWER_S,
    CONTROL,
    DONE,
    DUMP,
    ERROR,
    FAMILY_NAME,
    GENERIC,
    GENERIC_HEADER,
    GET_FAMILY,
    REQUEST,
    attributes,
    generic_message,
    messages,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_FAMILY_ID = 1
_GET_STATION, _INTERFACE, _STATION = 17, 3, 21
#: What arrives here comes first: reading is what waits for it.
_RATES = (14, 8)
#: In 100 kbit/s, of 32 and of 16 bits.
_RATE_32, _RATE_16 = 5, 1


def station_rate_bps(interface: str) -> float | None:
    """Return the bit rate from the access point to this radio, bits per second; None if nobody says."""
    try:
        index = struct.pack("=I", socket.if_nametoindex(interface))
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, GENERIC) as kernel:
            kernel.settimeout(ANSWER_S)
            kernel.sendto(generic_message(CONTROL, REQUEST, GET_FAMILY, FAMILY_NAME, b"nl80211\0"), (0, 0))
            family = family_of(kernel.recv(65536))
            if family is None:
                return None
            kernel.sendto(generic_message(family, REQUEST | DUMP, _GET_STATION, _INTERFACE, index), (0, 0))
            return rate_of(kernel.recv(65536))
    except OSError:
        return None


def family_of(answer: bytes) -> int | None:
    """Return the number of a family that the control family was asked for, or None for an error."""
    for body in _bodies(answer):
        number = attributes(body).get(_FAMILY_ID, b"")
        if number:
            return int.from_bytes(number, sys.byteorder)
    return None


def rate_of(answer: bytes) -> float | None:
    """Return the rate of the first station in an answer, bits per second, or None if there is none."""
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
    """Yield what stands behind the headers of each message, up to an error or the end."""
    for kind, _sequence, payload in messages(answer):
        if kind in {ERROR, DONE}:
            return
        yield payload[GENERIC_HEADER.size :]

"""What only the driver of a network port knows: its receive ring, and a radio's present bit rate (ioctl)."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct

# linux/sockios.h, linux/ethtool.h, linux/wireless.h
_SIOCETHTOOL = 0x8946
_ETHTOOL_GRINGPARAM = 0x10
_SIOCGIWRATE = 0x8B21
#: struct ethtool_ringparam: cmd, four greatest values, then rx, rx_mini, rx_jumbo and tx as they are.
_RING = struct.Struct("9I")
#: struct ifreq: the name, then a union of 24 bytes.
_REQUEST = struct.Struct("16s24s")


def receive_ring(interface: str) -> int | None:
    """Return how many packets a port can hold for the kernel, or None if its driver does not say."""
    ring = bytearray(_RING.pack(_ETHTOOL_GRINGPARAM, *[0] * 8))
    if not _ask_driver(interface, _SIOCETHTOOL, ring):
        return None
    return _RING.unpack(ring)[5] or None


def radio_rate_bps(interface: str) -> float | None:
    """Return the bit rate that a radio uses now, bits per second, or None (wireless.h: struct iw_param)."""
    request = bytearray(_REQUEST.pack(interface.encode(), b""))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
        try:
            fcntl.ioctl(probe, _SIOCGIWRATE, request)
        except OSError:
            return None
    rate = struct.unpack_from("i", request, 16)[0]
    return float(rate) if rate > 0 else None


def _ask_driver(interface: str, number: int, data: bytearray) -> bool:
    """Pass a buffer to a driver; its address stands in the ifreq."""
    # ctypes knows where a bytearray is; the buffer must not move while the kernel writes to it.
    buffer = (ctypes.c_char * len(data)).from_buffer(data)
    request = _REQUEST.pack(interface.encode(), struct.pack("P", ctypes.addressof(buffer)))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
        try:
            fcntl.ioctl(probe, number, request)
        except OSError:
            return False
    return True

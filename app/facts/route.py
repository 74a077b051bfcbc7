"""Route to a server: the interface that leads there, its MTU, and the round-trip time by TCP connections."""

from __future__ import annotations

import errno
import ipaddress
import math
import socket
import statistics
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import psutil

from app.kernel.netlink import kernel_route
from app.mounts.reachability import connect_tcp

if TYPE_CHECKING:
    from collections.abc import Callable

NFS_PORT = 2049
#: So many make a 95th percentile: the last but one of them.
_CONNECTS = 20
#: So many will do for a median where each takes long, and so long is waited for more, seconds.
_FEW, _FEW_S = 7, 1.0
# linux/in.h, linux/in6.h
_IP_MTU, _IPV6_MTU = 14, 24


@dataclass(frozen=True, slots=True)
class Route:
    """The way to an address.

    Attributes:
        source: this machine's address on it.
        interface: the interface that the kernel sends through, or None.
        same_subnet: whether the server is in the interface's own network; None if that is not known.
        path_mtu: largest packet of the route, bytes, as far as the kernel has learned (ip(7), IP_MTU).
    """

    source: str
    interface: str | None
    same_subnet: bool | None
    path_mtu: int | None = None


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """The round trips that were measured by TCP connections, seconds.

    Attributes:
        times: of each connection that was answered, refused ones included.
        error: errno of the last one, 0 if it was accepted, ETIMEDOUT for silence.
    """

    times: tuple[float, ...]
    error: int

    @property
    def reachable(self) -> bool:
        """Whether the port accepts connections."""
        return self.error == 0

    @property
    def median_s(self) -> float | None:
        """The median."""
        return statistics.median(self.times) if self.times else None

    @property
    def p95_s(self) -> float | None:
        """The 95th percentile by nearest rank, None where so few have none."""
        count = len(self.times)
        return sorted(self.times)[math.ceil(0.95 * count) - 1] if count >= _CONNECTS else None


def find_route(address: str) -> Route | None:
    """Return the way to an address, or None if there is none; no packet is sent.

    A connected UDP socket has the source address that the kernel's routing chose, and netlink tells the
    interface: two of them may have the same address, and one may have none.
    """
    host, _, zone = address.partition("%")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        scope = socket.if_nametoindex(zone) if zone else 0
        target = (host, NFS_PORT) if family == socket.AF_INET else (host, NFS_PORT, 0, scope)
        with socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as probe:
            probe.connect(target)
            source = str(probe.getsockname()[0])
            path_mtu = _path_mtu(probe)
    except OSError:
        return None
    found = replace(_match(source.partition("%")[0], host, zone), path_mtu=path_mtu)
    way = kernel_route(host, zone)
    if way is None:
        return found
    return replace(found, interface=way.interface, same_subnet=False if way.gateway else found.same_subnet)


def _path_mtu(probe: socket.socket) -> int | None:
    level, option = (socket.IPPROTO_IP, _IP_MTU)
    if probe.family == socket.AF_INET6:
        level, option = (socket.IPPROTO_IPV6, _IPV6_MTU)
    try:
        return probe.getsockopt(level, option) or None
    except OSError:
        return None


def _match(source: str, host: str, zone: str) -> Route:
    interface: str | None = None
    same_subnet: bool | None = None
    own = False
    for name, entries in psutil.net_if_addrs().items():
        for entry in entries:
            plain = entry.address.partition("%")[0]
            own = own or plain == host
            if plain == source and (not zone or zone == name) and interface is None:
                interface = name
                same_subnet = _in_network(plain, entry.netmask, host)
    # Packets to an address of one's own take the loopback, whichever interface has the address.
    return Route(source, "lo", same_subnet=True) if own else Route(source, interface, same_subnet)


def _in_network(address: str, netmask: str | None, host: str) -> bool | None:
    if not netmask:
        return None
    # psutil writes the masks of both families as addresses.
    bits = int(ipaddress.ip_address(netmask)).bit_count()
    return ipaddress.ip_address(host) in ipaddress.ip_network(f"{address}/{bits}", strict=False)


def measure_round_trip(
    address: str,
    deadline_s: float,
    *,
    port: int = NFS_PORT,
    clock: Callable[[], float] = time.monotonic,
    try_connect: Callable[[str, int, float], int] = connect_tcp,
) -> RoundTrip:
    """Connect up to twenty times and time each; stop at the deadline or at the first silence.

    Seven will do if that took a second.

    A TCP connection is made in one round trip. A refusal takes one too, and says that no NFS is there.

    Args:
        address: of the server.
        deadline_s: seconds for all of it.
        port: TCP port.
        clock: returns seconds.
        try_connect: address, port and seconds to errno.
    """
    began = clock()
    end = began + deadline_s
    times: list[float] = []
    error = errno.ETIMEDOUT
    for _ in range(_CONNECTS):
        start = clock()
        if start >= end or (len(times) >= _FEW and start - began >= _FEW_S):
            break
        number = try_connect(address, port, end - start)
        if number not in {0, errno.ECONNREFUSED}:
            # Silence after answers is the deadline, not the server.
            error = error if times else number
            break
        error = number
        times.append(clock() - start)
    return RoundTrip(tuple(times), error)

"""Route to a server: outgoing interface, path MTU, and round-trip time measured by TCP connections."""

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
#: Number of connections; of 20 values, the 19th is the 95th percentile.
_CONNECTS = 20
#: Number of connections that suffice for a median on a slow link, and the time after which they do, s.
_FEW, _FEW_S = 7, 1.0
# linux/in.h, linux/in6.h
_IP_MTU, _IPV6_MTU = 14, 24


@dataclass(frozen=True, slots=True)
class Route:
    """Route to an address.

    Attributes:
        source: source address of this computer.
        interface: outgoing interface, None if unknown.
        same_subnet: whether the address is in the interface's subnet, None if unknown.
        path_mtu: path MTU known to the kernel (ip(7), IP_MTU), bytes; None if unknown.
    """

    source: str
    interface: str | None
    same_subnet: bool | None
    path_mtu: int | None = None


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Round-trip times measured by TCP connections.

    Attributes:
        times: duration of each accepted or refused connection, s.
        error: errno of the last connection, 0 if it was accepted, ETIMEDOUT without an answer.
    """

    times: tuple[float, ...]
    error: int

    @property
    def reachable(self) -> bool:
        """Whether the last connection was accepted."""
        return self.error == 0

    @property
    def median_s(self) -> float | None:
        """Median of the times, s; None if there are none."""
        return statistics.median(self.times) if self.times else None

    @property
    def p95_s(self) -> float | None:
        """95th percentile of the times by nearest rank, s; None for fewer than 20 times."""
        count = len(self.times)
        return sorted(self.times)[math.ceil(0.95 * count) - 1] if count >= _CONNECTS else None


def find_route(address: str) -> Route | None:
    """Return the route to an address, None if there is none; sends no packet.

    The source address comes from a connected UDP socket. The interface comes from netlink, because addresses
    do not identify it: two interfaces may share an address, and an interface may have none.
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
    route = replace(_route_by_source(source.partition("%")[0], host, zone), path_mtu=path_mtu)
    known = kernel_route(host, zone)
    if known is None:
        return route
    same_subnet = False if known.gateway else route.same_subnet
    return replace(route, interface=known.interface, same_subnet=same_subnet)


def _path_mtu(probe: socket.socket) -> int | None:
    level, option = (socket.IPPROTO_IP, _IP_MTU)
    if probe.family == socket.AF_INET6:
        level, option = (socket.IPPROTO_IPV6, _IPV6_MTU)
    try:
        return probe.getsockopt(level, option) or None
    except OSError:
        return None


def _route_by_source(source: str, host: str, zone: str) -> Route:
    interface: str | None = None
    same_subnet: bool | None = None
    is_own_address = False
    for name, entries in psutil.net_if_addrs().items():
        for entry in entries:
            plain = entry.address.partition("%")[0]
            is_own_address = is_own_address or plain == host
            if plain == source and (not zone or zone == name) and interface is None:
                interface = name
                same_subnet = _in_network(plain, entry.netmask, host)
    # Packets to an address of this computer use the loopback, whichever interface has the address.
    return Route(source, "lo", same_subnet=True) if is_own_address else Route(source, interface, same_subnet)


def _in_network(address: str, netmask: str | None, host: str) -> bool | None:
    if not netmask:
        return None
    # psutil returns netmasks of both families as addresses.
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
    """Measure the round-trip time by up to 20 TCP connections, each of which takes one round trip.

    A refused connection takes one round trip too. The measurement stops at the deadline, at the first
    connection without an answer, or after seven connections if they took 1 s.

    Args:
        address: numeric address of the server.
        deadline_s: time limit of the measurement, s.
        port: TCP port.
        clock: function that returns a time, s.
        try_connect: function that connects to an address and port with a timeout (s) and returns errno.
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
            # A missing answer after others means that the deadline cut the connection off.
            error = error if times else number
            break
        error = number
        times.append(clock() - start)
    return RoundTrip(tuple(times), error)

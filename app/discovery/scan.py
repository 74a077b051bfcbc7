"""Subnet scan: the addresses of attached networks are asked on the port of NFS.

Only after the person has agreed to it: to whoever watches the network it looks like an attack. At most 1,022
addresses, the most of one /22, are asked, 200 a second, with a connection to TCP port 2049 and, where one
comes about, the NULL call of NFS (RFC 1813, RFC 7530).
"""

from __future__ import annotations

import errno
import ipaddress
import select
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from app.discovery.host_names import leads_to, reverse_name
from app.discovery.model import NFS_PORT, KnownServer, ServersEvent, Subnet, Subnets
from app.discovery.nfs4 import NFS_PROGRAM
from app.discovery.rpc import (
    NULL_PROCEDURE,
    Deadline,
    ProgramMissingError,
    RpcConnection,
    VersionMismatchError,
)
from app.errors import AppError, ErrorKind
from app.tasks import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

#: Of one network, and of all together: the hosts of a /22.
MAX_PREFIX = 22
MAX_ADDRESSES = 1022
_PER_SECOND = 200
_AT_ONCE = 128
_CONNECT_S = 1.0
_CALL_S = 1.5
_NAME_S = 1.0
_PROGRESS_S = 0.25
#: All of it, also on a machine that is very busy.
SCAN_S = 20.0


def subnets(net: str = "/sys/class/net") -> Subnets:
    """Return the networks that may be scanned, those of physical adapters first, and what is left out.

    Args:
        net: where the kernel lists the interfaces.
    """
    states = psutil.net_if_stats()
    found: list[Subnet] = []
    for name, addresses in psutil.net_if_addrs().items():
        if name in states and not states[name].isup:
            continue
        for entry in addresses:
            if entry.family == socket.AF_INET and entry.netmask:
                subnet = subnet_of(name, entry.address, entry.netmask)
                if subnet is not None:
                    found.append(subnet)
    found.sort(key=lambda subnet: (not Path(net, subnet.interface, "device").exists(), subnet.count))
    chosen: list[Subnet] = []
    left_out: list[Subnet] = []
    for subnet in found:
        if any(subnet.network == other.network for other in chosen):
            continue
        room = MAX_ADDRESSES - sum(other.count for other in chosen)
        (chosen if subnet.count <= room else left_out).append(subnet)
    return Subnets(subnets=chosen, left_out=[subnet.network for subnet in left_out])


def subnet_of(interface: str, address: str, netmask: str) -> Subnet | None:
    """Return the network around an own address, None where there is nothing to scan.

    A network that is larger than a /22 is cut down to the /22 around the address.
    """
    try:
        own = ipaddress.IPv4Interface(f"{address}/{netmask}")
    except ValueError:
        return None
    if own.is_loopback or own.is_link_local or own.is_multicast or own.network.prefixlen > 30:
        return None
    network = own.network
    if network.prefixlen < MAX_PREFIX:
        network = ipaddress.IPv4Network(f"{address}/{MAX_PREFIX}", strict=False)
    return Subnet(
        interface=interface,
        network=str(network),
        first=str(network[1]),
        last=str(network[-2]),
        count=network.num_addresses - 2,
        cut_from=str(own.network) if network != own.network else "",
    )


def chosen_subnets(wanted: list[str]) -> list[Subnet]:
    """Return the subnets that the person has agreed to, all if none is named.

    Raises:
        AppError: UNAVAILABLE if this computer is not attached to one, or to none at all.
    """
    known = subnets().subnets
    chosen = [subnet for subnet in known if not wanted or subnet.network in wanted]
    missing = set(wanted) - {subnet.network for subnet in chosen}
    if missing:
        raise AppError(
            ErrorKind.UNAVAILABLE,
            f"This computer is not attached to the network {min(missing)}.",
            hint="Only networks that it is attached to are scanned. Look again which ones there are.",
        )
    if not chosen:
        raise AppError(
            ErrorKind.UNAVAILABLE,
            "This computer is attached to no network with IPv4 addresses that could be scanned.",
            hint="Connect it to a network, or enter the server's name or address.",
        )
    return chosen


def scan(
    networks: list[str],
    tell: Callable[[ServersEvent], None],
    *,
    port: int = NFS_PORT,
    seconds: float = SCAN_S,
) -> list[KnownServer]:
    """Return the NFS servers on these networks, in the order of their addresses.

    Args:
        networks: as :func:`subnets` names them.
        tell: is told of each server as soon as it is known, and how far the scan is.
        port: of NFS.
        seconds: for all of it; what has not answered by then is left out.
    """
    addresses = [str(address) for text in networks for address in ipaddress.IPv4Network(text).hosts()]
    return _Scan(addresses[:MAX_ADDRESSES], tell, port, Deadline(seconds)).run()


class _Scan:
    """One scan: connections that are being made, and calls that are under way on threads."""

    def __init__(
        self, addresses: list[str], tell: Callable[[ServersEvent], None], port: int, deadline: Deadline
    ) -> None:
        self._addresses = addresses
        self._tell = tell
        self._port = port
        self._deadline = deadline
        self._poll = select.poll()
        self._open: dict[int, tuple[socket.socket, str, float]] = {}
        self._calls: list[Future[KnownServer | None]] = []
        self._found: list[KnownServer] = []
        self._decided = 0
        self._told_at = 0.0

    def run(self) -> list[KnownServer]:
        """Ask every address."""
        began, started = time.monotonic(), 0
        while (started < len(self._addresses) or self._open or self._calls) and self._deadline.left():
            due = int((time.monotonic() - began) * _PER_SECOND) + 1
            while started < min(due, len(self._addresses)) and len(self._open) < _AT_ONCE:
                self._start(self._addresses[started])
                started += 1
            for number, _ in self._poll.poll(1000 / _PER_SECOND):
                link, address, _end = self._open[number]
                self._decide(number, link.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), address)
            self._give_up()
            self._collect()
        for link, _, _ in self._open.values():
            link.close()
        self._say([], last=True)
        return sorted(self._found, key=lambda server: ipaddress.ip_address(server.address))

    def _start(self, address: str) -> None:
        link = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        self._open[link.fileno()] = (link, address, time.monotonic() + _CONNECT_S)
        self._poll.register(link, select.POLLOUT)
        try:
            number = link.connect_ex((address, self._port))
        except OSError as error:
            number = error.errno or errno.EIO
        if number != errno.EINPROGRESS:
            self._decide(link.fileno(), number, address)

    def _decide(self, descriptor: int, number: int, address: str) -> None:
        self._poll.unregister(descriptor)
        self._open.pop(descriptor)[0].close()
        self._decided += 1
        if number == 0:
            self._calls.append(run_in_thread("scan", lambda: ask_address(address, self._port)))

    def _give_up(self) -> None:
        now = time.monotonic()
        for number, (_link, address, end) in list(self._open.items()):
            if end < now:
                self._decide(number, errno.ETIMEDOUT, address)

    def _collect(self) -> None:
        done = [call for call in self._calls if call.done()]
        self._calls = [call for call in self._calls if call not in done]
        found = [server for call in done if (server := call.result()) is not None]
        self._found += found
        self._say(found)

    def _say(self, found: list[KnownServer], *, last: bool = False) -> None:
        now = time.monotonic()
        if found or last or now - self._told_at >= _PROGRESS_S:
            self._told_at = now
            self._tell(ServersEvent(servers=found, asked=self._decided, total=len(self._addresses)))


def ask_address(address: str, port: int = NFS_PORT) -> KnownServer | None:
    """Return the server at an address, None if what listens there is no NFS."""
    if not is_nfs(address, port):
        return None
    naming = run_in_thread("name", lambda: _name_of(address))
    try:
        name = naming.result(_NAME_S)
    except TimeoutError:
        name = ""
    return KnownServer(name=name or address, sources=["scan"], exports=[], address=address)


def is_nfs(address: str, port: int = NFS_PORT) -> bool:
    """Whether NFS answers its NULL call there, in whatever version."""
    try:
        with RpcConnection(address, port, "tcp", Deadline(_CALL_S)) as connection:
            connection.call(NFS_PROGRAM, 4, NULL_PROCEDURE)
    except VersionMismatchError:
        return True
    except ProgramMissingError:
        return False
    except AppError as error:
        return error.kind is ErrorKind.ACCESS_DENIED  # it is RPC, and wants to know who asks
    return True


def _name_of(address: str) -> str:
    """Return the name of an address, "" unless it leads back to it."""
    name = reverse_name(address)
    return name if name and leads_to(name, address) else ""

"""Subnet scan: finds NFS servers by connecting to each address of the attached networks.

It runs only with the user's consent, because network monitors may take it for an attack. It covers at most
1,022 addresses, the hosts of a /22, at 200 addresses per second. Each address gets a connection to TCP port
2049 and, if that succeeds, the NULL call of NFS (RFC 1813, RFC 7530).
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
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

#: Largest network, as a prefix length, and most addresses of all networks: the hosts of a /22.
MAX_PREFIX = 22
MAX_ADDRESSES = 1022
_PER_SECOND = 200
_AT_ONCE = 128
_CONNECT_S = 1.0
_CALL_S = 1.5
_NAME_S = 1.0
_PROGRESS_S = 0.25
#: Time limit of a scan, s, also on a very busy computer.
SCAN_S = 20.0


def subnets(net: str = "/sys/class/net") -> Subnets:
    """Return the networks that can be scanned, those of physical adapters first, and those left out.

    Args:
        net: directory in which the kernel lists the interfaces.
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
        remaining = MAX_ADDRESSES - sum(other.count for other in chosen)
        (chosen if subnet.count <= remaining else left_out).append(subnet)
    return Subnets(subnets=chosen, left_out=[subnet.network for subnet in left_out])


def subnet_of(interface: str, address: str, netmask: str) -> Subnet | None:
    """Return the network of an interface's address, None if it has no other hosts to scan.

    A network larger than a /22 is reduced to the /22 around the address.
    """
    try:
        interface_address = ipaddress.IPv4Interface(f"{address}/{netmask}")
    except ValueError:
        return None
    if (
        interface_address.is_loopback
        or interface_address.is_link_local
        or interface_address.is_multicast
        or interface_address.network.prefixlen > 30
    ):
        return None
    network = interface_address.network
    if network.prefixlen < MAX_PREFIX:
        network = ipaddress.IPv4Network(f"{address}/{MAX_PREFIX}", strict=False)
    return Subnet(
        interface=interface,
        network=str(network),
        first=str(network[1]),
        last=str(network[-2]),
        count=network.num_addresses - 2,
        cut_from=str(interface_address.network) if network != interface_address.network else "",
    )


def chosen_subnets(wanted: list[str]) -> list[Subnet]:
    """Return the subnets with these names, all if ``wanted`` is empty.

    Raises:
        AppError: UNAVAILABLE if this computer is not attached to one of them, or to no network at all.
    """
    known = subnets().subnets
    chosen = [subnet for subnet in known if not wanted or subnet.network in wanted]
    missing = set(wanted) - {subnet.network for subnet in chosen}
    if missing:
        raise AppError(ErrorCode.NETWORK_NOT_ATTACHED, network=min(missing))
    if not chosen:
        raise AppError(ErrorCode.NO_NETWORK_TO_SCAN)
    return chosen


def scan(
    networks: list[str],
    listener: Callable[[ServersEvent], None],
    *,
    port: int = NFS_PORT,
    seconds: float = SCAN_S,
) -> list[KnownServer]:
    """Scan networks and return their NFS servers, in the order of their addresses.

    Args:
        networks: networks in CIDR notation, as in ``Subnet.network``.
        listener: receives events with each server and the progress.
        port: NFS port.
        seconds: time limit of the whole scan, s; later answers are ignored.
    """
    addresses = [str(address) for text in networks for address in ipaddress.IPv4Network(text).hosts()]
    return _Scan(addresses[:MAX_ADDRESSES], listener, port, Deadline(seconds)).run()


class _Scan:
    """One scan: running connection attempts, and NULL calls on threads."""

    def __init__(
        self, addresses: list[str], listener: Callable[[ServersEvent], None], port: int, deadline: Deadline
    ) -> None:
        self._addresses = addresses
        self._listener = listener
        self._port = port
        self._deadline = deadline
        self._poll = select.poll()
        self._open: dict[int, tuple[socket.socket, str, float]] = {}
        self._calls: list[Future[KnownServer | None]] = []
        self._found: list[KnownServer] = []
        self._decided = 0
        self._reported_at = 0.0

    def run(self) -> list[KnownServer]:
        """Scan every address and return the servers found."""
        began, started = time.monotonic(), 0
        while (started < len(self._addresses) or self._open or self._calls) and self._deadline.left():
            due = int((time.monotonic() - began) * _PER_SECOND) + 1
            while started < min(due, len(self._addresses)) and len(self._open) < _AT_ONCE:
                self._start(self._addresses[started])
                started += 1
            for number, _ in self._poll.poll(1000 / _PER_SECOND):
                connection, address, _end = self._open[number]
                self._finish_connect(
                    number, connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), address
                )
            self._time_out_connects()
            self._collect_calls()
        for connection, _, _ in self._open.values():
            connection.close()
        self._report([], last=True)
        return sorted(self._found, key=lambda server: ipaddress.ip_address(server.address))

    def _start(self, address: str) -> None:
        connection = socket.socket(
            socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC
        )
        self._open[connection.fileno()] = (connection, address, time.monotonic() + _CONNECT_S)
        self._poll.register(connection, select.POLLOUT)
        try:
            number = connection.connect_ex((address, self._port))
        except OSError as error:
            number = error.errno or errno.EIO
        if number != errno.EINPROGRESS:
            self._finish_connect(connection.fileno(), number, address)

    def _finish_connect(self, descriptor: int, number: int, address: str) -> None:
        self._poll.unregister(descriptor)
        self._open.pop(descriptor)[0].close()
        self._decided += 1
        if number == 0:
            self._calls.append(run_in_thread("scan", lambda: ask_address(address, self._port)))

    def _time_out_connects(self) -> None:
        now = time.monotonic()
        for number, (_link, address, end) in list(self._open.items()):
            if end < now:
                self._finish_connect(number, errno.ETIMEDOUT, address)

    def _collect_calls(self) -> None:
        done = [call for call in self._calls if call.done()]
        self._calls = [call for call in self._calls if call not in done]
        found = [server for call in done if (server := call.result()) is not None]
        self._found += found
        self._report(found)

    def _report(self, found: list[KnownServer], *, last: bool = False) -> None:
        now = time.monotonic()
        if found or last or now - self._reported_at >= _PROGRESS_S:
            self._reported_at = now
            self._listener(ServersEvent(servers=found, asked=self._decided, total=len(self._addresses)))


def ask_address(address: str, port: int = NFS_PORT) -> KnownServer | None:
    """Return the server at an address, None if it is not an NFS server."""
    if not is_nfs(address, port):
        return None
    naming = run_in_thread("name", lambda: _name_of(address))
    try:
        name = naming.result(_NAME_S)
    except TimeoutError:
        name = ""
    return KnownServer(name=name or address, sources=["scan"], exports=[], address=address)


def is_nfs(address: str, port: int = NFS_PORT) -> bool:
    """Return whether an NFS service of any version answers a NULL call at the address."""
    try:
        with RpcConnection(address, port, "tcp", Deadline(_CALL_S)) as connection:
            connection.call(NFS_PROGRAM, 4, NULL_PROCEDURE)
    except VersionMismatchError:
        return True
    except ProgramMissingError:
        return False
    except AppError as error:
        return error.kind is ErrorKind.ACCESS_DENIED  # an RPC service that requires authentication
    return True


def _name_of(address: str) -> str:
    """Return the reverse lookup name of an address, "" unless the name resolves to the address."""
    name = reverse_name(address)
    return name if name and leads_to(name, address) else ""

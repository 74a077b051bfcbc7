"""mDNS: NFS servers that announce themselves on the local network, _nfs._tcp by DNS-SD (RFC 6763, 6762).

zeroconf speaks the protocol: it reads packets that anybody on the network may have sent, and so is a library
that many use. Here only what it made of them is looked at. Avahi is not asked: it need not run, and answers
no more than its packets do.
"""

from __future__ import annotations

import queue
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from app.discovery.host_names import is_host_name, leads_to
from app.discovery.model import KnownServer
from app.discovery.rpc import readable
from app.tasks import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from zeroconf import ServiceInfo

_SERVICE = "_nfs._tcp.local."
#: How long one announcement may take to tell its host and path.
_DETAILS_S = 0.6
#: How long the name service may take to know the name that was announced.
_NAME_S = 0.8
#: More announcements than any network has are somebody's trick.
_MAX_ANNOUNCEMENTS = 200
_MAX_PATHS = 50


@dataclass(frozen=True, slots=True)
class Announcement:
    """What is used of one announcement.

    Attributes:
        host: name of the host, without the root's dot.
        address: the first of its addresses, or "".
        path: what the TXT record calls the path of the export, or "".
    """

    host: str
    address: str
    path: str


def browse(seconds: float, found: Callable[[KnownServer], None]) -> list[KnownServer]:
    """Return who announces an NFS service, after listening for this long.

    Args:
        seconds: to listen; what was announced last takes a second and a half more at most.
        found: is told of a server as soon as it is known, and again when more is known of it.

    Raises:
        OSError: there is no network that could be listened to.
    """
    # Half a second to import, and only needed here.
    from zeroconf import ServiceBrowser, Zeroconf

    # Names that were announced, and what became of each: one that tells nothing must not hold up the others.
    events: queue.SimpleQueue[str | _Named | None] = queue.SimpleQueue()

    def note(name: str, **_change: object) -> None:
        events.put(name)

    def look(name: str) -> None:
        events.put(_named(read(network.get_service_info(_SERVICE, name, int(_DETAILS_S * 1000)))))

    servers = _Servers(found)
    end = time.monotonic() + seconds
    seen: set[str] = set()
    pending = 0
    with Zeroconf() as network:
        browser = ServiceBrowser(network, _SERVICE, handlers=[note])
        while (left := end + (_DETAILS_S + _NAME_S if pending else 0.0) - time.monotonic()) > 0:
            try:
                event = events.get(timeout=left)
            except queue.Empty:
                break
            if not isinstance(event, str):
                pending -= 1
                if event is not None:
                    servers.add(event)
            elif event not in seen and len(seen) < _MAX_ANNOUNCEMENTS and time.monotonic() < end:
                seen.add(event)
                pending += 1
                run_in_thread("announcement", partial(look, event))
        browser.cancel()
        return servers.all()


def read(service: ServiceInfo | None) -> Announcement | None:
    """Return what is used of an announcement, None if it names no host that could be mounted from."""
    if service is None or not service.server:
        return None
    host = service.server.rstrip(".")
    addresses = service.parsed_addresses()
    if not is_host_name(host):
        host = ""
    if not host and not addresses:
        return None
    path = service.properties.get(b"path") or b""
    # A text has 255 bytes at most, so no path is too long to be shown.
    shown = readable(path) if path.startswith(b"/") else ""
    return Announcement(host, addresses[0] if addresses else "", shown)


class _Named(NamedTuple):
    """An announcement, and the name or address that a mount can use."""

    name: str
    announcement: Announcement


def _named(one: Announcement | None) -> _Named | None:
    """Return the name where it is known here, else the address.

    Names below .local are known only where the name service asks by mDNS too (nss-mdns, systemd-resolved).
    """
    if one is None:
        return None
    if not one.host or not one.address:
        return _Named(one.host or one.address, one)
    known: Future[bool] = run_in_thread("name", lambda: leads_to(one.host, one.address))
    try:
        return _Named(one.host if known.result(_NAME_S) else one.address, one)
    except TimeoutError:
        return _Named(one.address, one)


class _Servers:
    """One entry a host, told as it grows."""

    def __init__(self, found: Callable[[KnownServer], None]) -> None:
        self._found = found
        self._known: dict[str, KnownServer] = {}

    def add(self, named: _Named) -> None:
        """Take an announcement."""
        one = named.announcement
        key = named.name.casefold()
        before = self._known.get(key)
        paths = set(before.exports if before is not None else [])
        if one.path and len(paths) < _MAX_PATHS:
            paths.add(one.path)
        server = KnownServer(
            name=before.name if before is not None else named.name,
            sources=["mdns"],
            exports=sorted(paths),
            address=one.address,
            calls_itself=one.host if key != one.host.casefold() else "",
        )
        if server != before:
            self._known[key] = server
            self._found(server)

    def all(self) -> list[KnownServer]:
        """Return the servers in alphabetical order."""
        return [self._known[name] for name in sorted(self._known)]

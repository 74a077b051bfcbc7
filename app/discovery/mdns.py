"""mDNS: finds NFS servers announced on the local network as _nfs._tcp (DNS-SD, RFC 6763; mDNS, RFC 6762).

The library zeroconf implements the protocol, because it parses packets from untrusted computers and is
widely tested. This module reads only its results. Avahi is not used: it may not run, and knows no more than
its packets contain.
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
#: Time to resolve the host and path of one announcement, s.
_DETAILS_S = 0.6
#: Timeout of the forward lookup of an announced name, s.
_NAME_S = 0.8
#: Most announcements handled; a larger number is probably an attack.
_MAX_ANNOUNCEMENTS = 200
_MAX_PATHS = 50


@dataclass(frozen=True, slots=True)
class Announcement:
    """Data of one announcement.

    Attributes:
        host: host name without trailing dot, "" if it is invalid.
        address: first address of the host, "" if there is none.
        path: path of the export from the TXT record, "" if there is none.
    """

    host: str
    address: str
    path: str


def browse(seconds: float, found: Callable[[KnownServer], None]) -> list[KnownServer]:
    """Listen for announcements of NFS services and return the servers.

    Args:
        seconds: time to listen, s; resolving the last announcements takes at most 1.5 s more.
        found: receives each server as soon as it is found, and again with each additional export.

    Raises:
        OSError: if there is no network to listen on.
    """
    # Imported here because the import takes half a second.
    from zeroconf import ServiceBrowser, Zeroconf

    # Announced names and, later, their resolved data; threads keep a slow announcement from delaying others.
    events: queue.SimpleQueue[str | _Named | None] = queue.SimpleQueue()

    def on_announcement(name: str, **_change: object) -> None:
        events.put(name)

    def resolve(name: str) -> None:
        events.put(_named(read(network.get_service_info(_SERVICE, name, int(_DETAILS_S * 1000)))))

    servers = _Servers(found)
    end = time.monotonic() + seconds
    seen: set[str] = set()
    pending = 0
    with Zeroconf() as network:
        browser = ServiceBrowser(network, _SERVICE, handlers=[on_announcement])
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
                run_in_thread("announcement", partial(resolve, event))
        browser.cancel()
        return servers.all()


def read(service: ServiceInfo | None) -> Announcement | None:
    """Return the data of an announcement, None if it has neither a valid host name nor an address."""
    if service is None or not service.server:
        return None
    host = service.server.rstrip(".")
    addresses = service.parsed_addresses()
    if not is_host_name(host):
        host = ""
    if not host and not addresses:
        return None
    path = service.properties.get(b"path") or b""
    # A TXT string has at most 255 bytes, so every path is short enough to display.
    shown = readable(path) if path.startswith(b"/") else ""
    return Announcement(host, addresses[0] if addresses else "", shown)


class _Named(NamedTuple):
    """An announcement with the name or address that a mount can use."""

    name: str
    announcement: Announcement


def _named(announcement: Announcement | None) -> _Named | None:
    """Return the announcement with its host name if that resolves on this computer, else with its address.

    Names below .local resolve only with mDNS in the name service (nss-mdns, systemd-resolved).
    """
    if announcement is None:
        return None
    if not announcement.host or not announcement.address:
        return _Named(announcement.host or announcement.address, announcement)
    resolves: Future[bool] = run_in_thread("name", lambda: leads_to(announcement.host, announcement.address))
    try:
        return _Named(announcement.host if resolves.result(_NAME_S) else announcement.address, announcement)
    except TimeoutError:
        return _Named(announcement.address, announcement)


class _Servers:
    """Servers found so far, one entry per host; reports each change."""

    def __init__(self, found: Callable[[KnownServer], None]) -> None:
        self._found = found
        self._known: dict[str, KnownServer] = {}

    def add(self, named: _Named) -> None:
        """Add an announcement to the entry of its host."""
        announcement = named.announcement
        key = named.name.casefold()
        before = self._known.get(key)
        paths = set(before.exports if before is not None else [])
        if announcement.path and len(paths) < _MAX_PATHS:
            paths.add(announcement.path)
        server = KnownServer(
            name=before.name if before is not None else named.name,
            sources=["mdns"],
            exports=sorted(paths),
            address=announcement.address,
            calls_itself=announcement.host if key != announcement.host.casefold() else "",
        )
        if server != before:
            self._known[key] = server
            self._found(server)

    def all(self) -> list[KnownServer]:
        """Return the servers in alphabetical order."""
        return [self._known[name] for name in sorted(self._known)]

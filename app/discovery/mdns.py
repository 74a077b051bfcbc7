"""Servers that announce themselves on the local network: _nfs._tcp by DNS-SD over mDNS (RFC 6763, 6762)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from app.discovery.model import KnownServer
from app.discovery.xdr import readable

if TYPE_CHECKING:
    from zeroconf import ServiceInfo

_SERVICE = "_nfs._tcp.local."
#: How long one announcement may take to tell its host and path, in milliseconds.
_DETAILS_MS = 600
_MAX_SERVERS = 200


def browse(seconds: float) -> list[KnownServer]:
    """Return who announces an NFS service, after listening for this long.

    Raises:
        OSError: there is no network that could be listened to.
    """
    # Half a second to import, and only needed here.
    from zeroconf import ServiceBrowser, Zeroconf

    names: set[str] = set()

    def note(name: str, **_change: object) -> None:
        if len(names) < _MAX_SERVERS:
            names.add(name)

    with Zeroconf() as network:
        browser = ServiceBrowser(network, _SERVICE, handlers=[note])
        threading.Event().wait(seconds)
        browser.cancel()
        return merge([network.get_service_info(_SERVICE, name, _DETAILS_MS) for name in sorted(names)])


def merge(services: list[ServiceInfo | None]) -> list[KnownServer]:
    """Return one entry a host, with the paths that its announcements name (TXT record "path")."""
    exports: dict[str, set[str]] = {}
    for service in services:
        if service is None or not service.server:
            continue
        name = readable(service.server.rstrip(".").encode())
        paths = exports.setdefault(name, set())
        path = service.properties.get(b"path")
        if path and path.startswith(b"/"):
            paths.add(readable(path))
    return [
        KnownServer(name=name, sources=["mdns"], exports=sorted(exports[name]))
        for name in sorted(exports, key=str.casefold)
    ]

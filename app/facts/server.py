"""Facts of a server: its name, kind and mounts, known without asking it, and the NFS versions it offers.

The versions are asked for while everything else is found out: an answer that comes late counts as unknown.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from advisor.identify import identify_server
from advisor.share import Share, ShareError
from app.discovery.client import ask_versions
from app.errors import AppError
from app.kernel import mountinfo
from app.kernel.mountstats import read_mountstats
from app.tasks import CancelToken, run_in_thread

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future

    from advisor.facts import ServerFacts
    from app.discovery.model import ProbeResult


class ServerMounts(NamedTuple):
    """What the kernel tells of a server that is mounted.

    Attributes:
        points: where.
        implementation: what an NFS 4.1 server calls itself, or "".
    """

    points: tuple[str, ...]
    implementation: str


def server_mounts(host: str, address: str = "", root: str = "/") -> ServerMounts:
    """Return the mounts of a server, known by the same name or address; nothing on NFS is touched."""
    at_address = {
        row.mount_point
        for row in mountinfo.read(root).rows
        if address and row.fstype in {"nfs", "nfs4"} and f"addr={address}" in row.super_options.split(",")
    }
    points: list[str] = []
    implementation = ""
    for stats in read_mountstats(root):
        if stats.mount_point in at_address or _host(stats.share) == host:
            points.append(stats.mount_point)
            implementation = implementation or _implementation(stats.impl_id)
    return ServerMounts(tuple(points), implementation)


def _host(share: str) -> str:
    try:
        return Share.parse(share).host
    except ShareError:
        return ""


def with_identity(
    server: ServerFacts, export: str, mounts: ServerMounts, ports: Mapping[str, int] | None = None
) -> ServerFacts:
    """Return the server with its kind and what it calls itself, or why they are not known.

    Args:
        server: as far as it is known.
        export: the path on it.
        mounts: that it serves already.
        ports: of its RPC services, if it was asked for them.
    """
    found = identify_server(
        host=server.name, export=export, implementation=mounts.implementation, ports=ports
    )
    told = "mountstats: implementation id" if mounts.implementation else "NFS 4.1 tells it of what is mounted"
    kind = found[1] if found is not None else "neither its name nor what it tells is one that is known here"
    return replace(
        server,
        kind=found[0] if found is not None else None,
        implementation=mounts.implementation or None,
        sources=server.sources | {"kind": kind, "implementation": told},
    )


def _implementation(impl_id: str) -> str:
    """Return name and domain of ``name='…',domain='…',date='…'`` (fs/nfs/super.c: show_implementation_id)."""
    words = [part.partition("=")[2].strip("'") for part in impl_id.split("',")[:2]]
    return ", ".join(word for word in words if word)


_CLOCK = "the server's rpcbind, if it tells its time"
_REVERSE = "the name service, for the server's address"


class VersionQuery:
    """A question that is under way; :meth:`answer` ends it, in time or not.

    Args:
        host: the server.
        end: moment (monotonic) by which the answer must be there.
    """

    def __init__(self, host: str, end: float) -> None:
        self._end = end
        self._token = CancelToken()
        seconds = max(0.1, end - time.monotonic())
        #: RPC services of the server and the port of each, once it has answered.
        self.ports: dict[str, int] = {}
        self._future: Future[ProbeResult] = run_in_thread(
            "versions", lambda: ask_versions(host, self._token, seconds=seconds)
        )

    def answer(self, server: ServerFacts) -> ServerFacts:
        """Return the server with its versions, or why they are not known."""
        try:
            result = self._future.result(max(0.0, self._end - time.monotonic()))
        except TimeoutError:
            self._token.cancel()
            return _unknown(server, "the server did not answer in time")
        except AppError as error:
            return _unknown(server, error.message)
        self.ports = {service.name: service.port for service in result.services or () if service.name}
        found = {
            transport: [
                offer.version for offer in result.versions if offer.transport == transport and offer.offered
            ]
            for transport in ("tcp", "udp")
        }
        asked = {
            transport: any(
                offer.offered is not None for offer in result.versions if offer.transport == transport
            )
            for transport in ("tcp", "udp")
        }
        how = "NULL calls and empty COMPOUNDs"
        silent = "the server did not answer in time"
        return replace(
            server,
            tcp_versions=tuple(found["tcp"]) if asked["tcp"] else None,
            udp_versions=tuple(found["udp"]) if asked["udp"] else None,
            clock_ahead_s=result.clock_ahead_s,
            reverse_name=result.reverse_name,
            sources=server.sources
            | {f"{name}_versions": how if asked[name] else silent for name in ("tcp", "udp")}
            | {"clock_ahead_s": _CLOCK, "reverse_name": _REVERSE},
        )


def _unknown(server: ServerFacts, why: str) -> ServerFacts:
    return replace(server, sources=server.sources | dict.fromkeys(("tcp_versions", "udp_versions"), why))

"""Server facts: name, kind and mounts, known without a query, and the NFS versions offered.

The version query runs in parallel with the other queries; a late answer counts as unknown.
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
    """Active mounts of one server.

    Attributes:
        points: mount points.
        implementation: implementation ID sent by the server (NFS 4.1 and later), "" if unknown.
    """

    points: tuple[str, ...]
    implementation: str


def server_mounts(host: str, address: str = "", root: str = "/") -> ServerMounts:
    """Return the mounts of a server, matched by name or address, without accessing them.

    Args:
        host: server name as in the share.
        address: numeric address of the server, "" to match by name alone.
        root: directory that contains proc.
    """
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
    """Add the kind of server and its implementation ID, or the reasons why they are unknown.

    Args:
        server: facts known so far.
        export: path of the share on the server.
        mounts: active mounts of the server.
        ports: port of each RPC service by name, None if they were not queried.
    """
    identity = identify_server(
        host=server.name, export=export, implementation=mounts.implementation, ports=ports
    )
    implementation_source = (
        "mountstats: implementation id" if mounts.implementation else "NFS 4.1 tells it of what is mounted"
    )
    kind_source = (
        identity[1]
        if identity is not None
        else "neither its name nor what it tells is one that is known here"
    )
    return replace(
        server,
        kind=identity[0] if identity is not None else None,
        implementation=mounts.implementation or None,
        sources=server.sources | {"kind": kind_source, "implementation": implementation_source},
    )


def _implementation(impl_id: str) -> str:
    """Return name and domain of ``name='…',domain='…',date='…'`` (fs/nfs/super.c, show_implementation_id)."""
    values = [part.partition("=")[2].strip("'") for part in impl_id.split("',")[:2]]
    return ", ".join(word for word in values if word)


_CLOCK = "the server's rpcbind, if it tells its time"
_REVERSE = "the name service, for the server's address"


class VersionQuery:
    """A running query of a server's NFS versions; :meth:`answer` waits for its result.

    Args:
        host: name or address of the server.
        end: deadline on the monotonic clock, s.

    Attributes:
        ports: port of each RPC service by name, filled by :meth:`answer`.
    """

    def __init__(self, host: str, end: float) -> None:
        self._end = end
        self._token = CancelToken()
        seconds = max(0.1, end - time.monotonic())
        self.ports: dict[str, int] = {}
        self._future: Future[ProbeResult] = run_in_thread(
            "versions", lambda: ask_versions(host, self._token, seconds=seconds)
        )

    def answer(self, server: ServerFacts) -> ServerFacts:
        """Add the NFS versions, clock and reverse name, or the reasons why they are unknown."""
        try:
            result = self._future.result(max(0.0, self._end - time.monotonic()))
        except TimeoutError:
            self._token.cancel()
            return _unknown(server, "the server did not answer in time")
        except AppError as error:
            return _unknown(server, error.message)
        self.ports = {service.name: service.port for service in result.services or () if service.name}
        offered = {
            transport: [
                offer.version for offer in result.versions if offer.transport == transport and offer.offered
            ]
            for transport in ("tcp", "udp")
        }
        answered = {
            transport: any(
                offer.offered is not None for offer in result.versions if offer.transport == transport
            )
            for transport in ("tcp", "udp")
        }
        source = "NULL calls and empty COMPOUNDs"
        timeout_reason = "the server did not answer in time"
        return replace(
            server,
            tcp_versions=tuple(offered["tcp"]) if answered["tcp"] else None,
            udp_versions=tuple(offered["udp"]) if answered["udp"] else None,
            clock_ahead_s=result.clock_ahead_s,
            reverse_name=result.reverse_name,
            sources=server.sources
            | {f"{name}_versions": source if answered[name] else timeout_reason for name in ("tcp", "udp")}
            | {"clock_ahead_s": _CLOCK, "reverse_name": _REVERSE},
        )


def _unknown(server: ServerFacts, why: str) -> ServerFacts:
    return replace(server, sources=server.sources | dict.fromkeys(("tcp_versions", "udp_versions"), why))

"""What is known of a server without asking it: its name, its path, and the mounts that it serves already."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from advisor.identify import identify_server
from advisor.share import Share, ShareError
from app.kernel import mountinfo
from app.kernel.mountstats import read_mountstats

if TYPE_CHECKING:
    from collections.abc import Mapping

    from advisor.facts import ServerFacts


class MountsOfServer(NamedTuple):
    """What the kernel tells of a server that is mounted.

    Attributes:
        points: where.
        implementation: what an NFS 4.1 server calls itself, or "".
    """

    points: tuple[str, ...]
    implementation: str


def mounts_of(host: str, address: str = "", root: str = "/") -> MountsOfServer:
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
            implementation = implementation or _told(stats.impl_id)
    return MountsOfServer(tuple(points), implementation)


def _host(share: str) -> str:
    try:
        return Share.parse(share).host
    except ShareError:
        return ""


def identified(
    server: ServerFacts, export: str, mounts: MountsOfServer, ports: Mapping[str, int] | None = None
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


def _told(impl_id: str) -> str:
    """Return name and domain of ``name='…',domain='…',date='…'`` (fs/nfs/super.c: show_implementation_id)."""
    words = [part.partition("=")[2].strip("'") for part in impl_id.split("',")[:2]]
    return ", ".join(word for word in words if word)

"""Names for the server field, from fstab, the kernel's list of mounts, earlier mounts and the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from advisor.share import Share, ShareError
from app.discovery.client import ask_network
from app.discovery.model import KnownServer, ServersResult
from app.discovery.recent import recent_servers
from app.errors import AppError
from app.mounts.table import read_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.discovery.model import ServersEvent
    from app.tasks import CancelToken


def find_servers(
    token: CancelToken,
    tell: Callable[[ServersEvent], None] = lambda _event: None,
    *,
    browse: bool = True,
) -> ServersResult:
    """Return the servers of mounts, earlier ones too, and those that announce themselves.

    What fails is a warning.

    Args:
        token: ends it early.
        tell: is told of each server that announces itself as soon as it is known.
        browse: listen on the network.
    """
    known = _with_recent(known_servers())
    if not browse:
        return known
    try:
        announced = ask_network(token, tell)
    except AppError as error:
        token.check()
        return msgspec.structs.replace(known, warnings=[*known.warnings, error.message])
    return msgspec.structs.replace(known, servers=join([*known.servers, *announced]))


def _with_recent(known: ServersResult) -> ServersResult:
    try:
        recent = recent_servers()
    except AppError as error:
        return msgspec.structs.replace(known, warnings=[*known.warnings, error.message])
    return msgspec.structs.replace(known, servers=join([*known.servers, *recent]))


def join(servers: list[KnownServer]) -> list[KnownServer]:
    """Return one entry a name, with what all of that name know."""
    found: dict[str, KnownServer] = {}
    for server in servers:
        key = server.name.casefold()
        same = found.get(key)
        if same is not None:
            found[key] = KnownServer(
                name=same.name,
                sources=sorted({*same.sources, *server.sources}),
                exports=sorted({*same.exports, *server.exports}),
                address=same.address or server.address,
                calls_itself=same.calls_itself or server.calls_itself,
            )
        else:
            found[key] = server
    return [found[key] for key in sorted(found)]


def known_servers(root: str = "/") -> ServersResult:
    """Return the servers of configured and active mounts, with their exports that are known from there.

    Args:
        root: where to look for etc/fstab and proc; tests give a folder of recorded files.
    """
    table = read_table(root)
    sources: dict[str, set[str]] = {}
    exports: dict[str, set[str]] = {}
    for mount in table.mounts:
        shares = [
            ("fstab", mount.configured.share if mount.configured else ""),
            ("mounted", mount.active.share if mount.active else ""),
        ]
        for source, text in shares:
            try:
                share = Share.parse(text)
            except ShareError:
                continue
            sources.setdefault(share.host, set()).add(source)
            exports.setdefault(share.host, set()).update({share.export} - {""})
    servers = [
        KnownServer(name=name, sources=sorted(sources[name]), exports=sorted(exports[name]))
        for name in sorted(sources, key=str.casefold)
    ]
    return ServersResult(servers=servers, warnings=table.warnings)

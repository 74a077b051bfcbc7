"""Known servers: from fstab, the mount table, shares mounted recently, and announcements on the network.

The shares mounted recently are a file in the person's state directory.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import msgspec

from advisor.share import Share, ShareError
from app.discovery.client import browse_network
from app.discovery.model import KnownServer, ServersResult
from app.errors import AppError
from app.files.state_files import read_state_file, remove_state_file, write_state_file
from app.files.user_directories import state_directory
from app.mounts.table import read_table
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
        announced = browse_network(token, tell)
    except AppError as error:
        token.check()
        return msgspec.structs.replace(known, warnings=[*known.warnings, error.message])
    return msgspec.structs.replace(known, servers=merge_servers([*known.servers, *announced]))


def _with_recent(known: ServersResult) -> ServersResult:
    try:
        recent = recent_servers()
    except AppError as error:
        return msgspec.structs.replace(known, warnings=[*known.warnings, error.message])
    return msgspec.structs.replace(known, servers=merge_servers([*known.servers, *recent]))


def merge_servers(servers: list[KnownServer]) -> list[KnownServer]:
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


#: Older ones are forgotten.
_MAX_SHARES = 30
_MAX_BYTES = 64 * 1024
_WHAT = "The list of servers used recently"
_file_lock = threading.Lock()


def state_file() -> Path:
    """Return where the shares are kept."""
    return state_directory() / "recent-shares.json"


def recent_shares() -> list[str]:
    """Return the shares, the latest first; a file that is damaged counts as empty.

    Raises:
        AppError: NOT_RESPONDING or IO if the file cannot be read.
    """
    text = read_state_file(state_file(), _WHAT, _MAX_BYTES)
    try:
        return from_json(text, list[str])[:_MAX_SHARES]
    except (msgspec.DecodeError, UnicodeEncodeError):
        return []


def record_recent_share(share: str) -> None:
    """Put a share first.

    Raises:
        AppError: NOT_RESPONDING or IO if it cannot be written.
    """
    with _file_lock:
        shares = [share, *(known for known in recent_shares() if known != share)]
        write_state_file(state_file(), _WHAT, msgspec.json.encode(shares[:_MAX_SHARES]))


def clear_recent_shares() -> None:
    """Forget every share.

    Raises:
        AppError: NOT_RESPONDING or IO if it cannot be written.
    """
    with _file_lock:
        remove_state_file(state_file(), _WHAT)


def recent_servers() -> list[KnownServer]:
    """Return one entry a share; errors as above."""
    found: list[KnownServer] = []
    for text in recent_shares():
        try:
            share = Share.parse(text)
        except ShareError:
            continue
        found.append(
            KnownServer(name=share.host, sources=["recent"], exports=[share.export] if share.export else [])
        )
    return found

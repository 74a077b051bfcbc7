"""Known servers: from fstab, the mount table, recently mounted shares, and mDNS announcements.

The recently mounted shares are stored in a file in the user's state directory.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import msgspec

from advisor.share import Share, ShareError
from app.discovery.client import browse_network
from app.discovery.model import KnownServer, ServersResult, merge_servers
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
    report: Callable[[ServersEvent], None] = lambda _event: None,
    *,
    browse: bool = True,
) -> ServersResult:
    """Return the servers of present and recent mounts, and those announced by mDNS.

    A source that fails adds a warning to the result.

    Args:
        token: cancels the search.
        report: receives an event with each announced server as soon as it is found.
        browse: whether to listen for mDNS announcements.
    """
    known = _with_recent(known_servers())
    if not browse:
        return known
    try:
        announced = browse_network(token, report)
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


def known_servers(root: str = "/") -> ServersResult:
    """Return the servers of configured and active mounts, with the exports used by these mounts.

    Args:
        root: directory that contains etc/fstab and proc; tests pass a directory of recorded files.
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


#: Number of recent shares stored.
_MAX_SHARES = 30
_MAX_BYTES = 64 * 1024
#: Name of the file in error messages.
_FILE_TITLE = "The list of servers used recently"
_file_lock = threading.Lock()


def state_file() -> Path:
    """Return the path of the file with the recently mounted shares."""
    return state_directory() / "recent-shares.json"


def recent_shares() -> list[str]:
    """Return the recently mounted shares, the latest first; a damaged file counts as empty.

    Raises:
        AppError: NOT_RESPONDING or IO if the file cannot be read.
    """
    text = read_state_file(state_file(), _FILE_TITLE, _MAX_BYTES)
    try:
        return from_json(text, list[str])[:_MAX_SHARES]
    except (msgspec.DecodeError, UnicodeEncodeError):
        return []


def record_recent_share(share: str) -> None:
    """Record a share as the most recent one.

    Raises:
        AppError: NOT_RESPONDING or IO if it cannot be written.
    """
    with _file_lock:
        shares = [share, *(known for known in recent_shares() if known != share)]
        write_state_file(state_file(), _FILE_TITLE, msgspec.json.encode(shares[:_MAX_SHARES]))


def clear_recent_shares() -> None:
    """Clear the list of recently mounted shares.

    Raises:
        AppError: NOT_RESPONDING or IO if it cannot be written.
    """
    with _file_lock:
        remove_state_file(state_file(), _FILE_TITLE)


def recent_servers() -> list[KnownServer]:
    """Return one server entry for each recently mounted share.

    Raises:
        AppError: NOT_RESPONDING or IO if the file cannot be read.
    """
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

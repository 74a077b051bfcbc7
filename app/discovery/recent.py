"""Shares that were mounted lately, remembered for the server field in the person's state folder."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import msgspec

from advisor.share import Share, ShareError
from app.discovery.model import KnownServer
from app.files.state_files import read_state_file, remove_state_file, write_state_file
from app.files.user_directories import state_directory
from resources.decoding import from_json

if TYPE_CHECKING:
    from pathlib import Path

#: Older ones are forgotten.
_MAX_SHARES = 30
_MAX_BYTES = 64 * 1024
_WHAT = "The list of servers used recently"
_one_at_a_time = threading.Lock()


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


def remember(share: str) -> None:
    """Put a share first.

    Raises:
        AppError: NOT_RESPONDING or IO if it cannot be written.
    """
    with _one_at_a_time:
        shares = [share, *(known for known in recent_shares() if known != share)]
        write_state_file(state_file(), _WHAT, msgspec.json.encode(shares[:_MAX_SHARES]))


def forget_all() -> None:
    """Forget every share.

    Raises:
        AppError: NOT_RESPONDING or IO if it cannot be written.
    """
    with _one_at_a_time:
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

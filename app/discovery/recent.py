"""Shares that were mounted lately, remembered for the server field in the person's state folder.

The folder may be on a file server that has died: children with a deadline read and write it (see DESIGN §3).
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

import msgspec

from advisor.share import Share, ShareError
from app.discovery.model import KnownServer
from app.errors import AppError, ErrorKind
from app.process import find_program, run
from resources.decoding import from_json

_TIMEOUT_S = 2.0
#: Older ones are forgotten.
_MAX_SHARES = 30
_MAX_BYTES = 64 * 1024
#: Renaming makes the change whole or none (rename(2)); only the person may read where they mount from.
_WRITE = (
    'umask 077 && mkdir -p "$(dirname "$1")" && cat > "$1.$$" && mv -f "$1.$$" "$1"'
    ' || { rm -f "$1.$$"; exit 1; }'
)
_READ = f'[ ! -e "$1" ] || head -c {_MAX_BYTES} "$1"'
_one_at_a_time = threading.Lock()


def state_file() -> Path:
    """Return where the shares are kept (XDG Base Directory Specification: a relative path is ignored)."""
    folder = Path(os.environ.get("XDG_STATE_HOME", ""))
    if not folder.is_absolute():
        folder = Path(os.environ.get("HOME", "/")) / ".local/state"
    return folder / "mountwright/recent-shares.json"


def recent_shares() -> list[str]:
    """Return the shares, the latest first; a file that is damaged counts as empty.

    Raises:
        AppError: NOT_RESPONDING or IO if the file cannot be read.
    """
    text = _sh(_READ, "read")
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
        _sh(_WRITE, "written", msgspec.json.encode(shares[:_MAX_SHARES]).decode())


def forget_all() -> None:
    """Forget every share.

    Raises:
        AppError: NOT_RESPONDING or IO if it cannot be written.
    """
    with _one_at_a_time:
        _sh('rm -f "$1"', "removed")


def recent_servers() -> list[KnownServer]:
    """Return one entry a share; errors as above."""
    found: list[KnownServer] = []
    for text in recent_shares():
        try:
            share = Share.parse(text)
        except ShareError:
            continue
        found.append(KnownServer(name=share.host, sources=["recent"], exports=[share.export]))
    return found


def _sh(script: str, done: str, text: str = "") -> str:
    shell, path = find_program("sh"), str(state_file())
    if shell is None:
        raise AppError(ErrorKind.UNAVAILABLE, "There is no shell on this computer.")
    outcome = run([shell, "-c", script, "sh", path], timeout=_TIMEOUT_S, input_text=text, cwd="/")
    if not outcome.ok:
        raise AppError(
            ErrorKind.NOT_RESPONDING if outcome.timed_out else ErrorKind.IO,
            f"The list of servers used recently could not be {done}.",
            hint=f"It is kept in {path}.",
            detail=outcome.stderr.strip(),
        )
    return outcome.stdout

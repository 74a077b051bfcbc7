"""libmount's record of mounts, /run/mount/utab: the options as requested.

An entry may remain after an unmount, and a mount made without libmount has none. So an entry counts only if
it agrees with mountinfo.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.options import MountOptions
from app.helper.mountinfo import plain_share, unquote

if TYPE_CHECKING:
    from app.kernel.mountinfo import MountRow

__all__ = ["UtabEntry", "parse", "plain_share", "read", "recorded_options"]

#: Options that mount.nfs adds to the requested ones.
_ADDED = ("addr", "clientaddr")


@dataclass(frozen=True, slots=True)
class UtabEntry:
    """One entry of utab.

    Attributes:
        source: source of the mount; the share for NFS.
        target: mount point.
        attributes: options for the mount program of the file system (mount.nfs), with those that it added.
        options: options that only mount(8) interprets, such as _netdev.
        mount_id: mount id, None if an older libmount wrote the entry.
    """

    source: str
    target: str
    attributes: str
    options: str
    mount_id: int | None


def read(root: str = "/") -> list[UtabEntry]:
    """Return the entries in the order of the file; none if it is missing or cannot be read."""
    try:
        return parse(Path(root, "run/mount/utab").read_bytes())
    except OSError:
        return []


def parse(raw: bytes) -> list[UtabEntry]:
    """Return the entries in the order of the file; lines without a target are skipped."""
    entries: list[UtabEntry] = []
    for line in raw.split(b"\n"):
        pairs = [field.partition(b"=") for field in line.split(b" ")]
        values = {key: unquote(value) for key, equals, value in pairs if equals}
        mount_id = values.get(b"ID", "")
        if b"TARGET" in values:
            entries.append(
                UtabEntry(
                    source=values.get(b"SRC", ""),
                    target=values[b"TARGET"],
                    attributes=values.get(b"ATTRS", ""),
                    options=values.get(b"OPTS", ""),
                    mount_id=int(mount_id) if mount_id.isascii() and mount_id.isdigit() else None,
                )
            )
    return entries


def recorded_options(entries: list[UtabEntry], row: MountRow) -> str | None:
    """Return the requested options of an NFS mount, or None if no entry agrees with it."""
    for entry in reversed(entries):
        if entry.target == row.mount_point and _agrees(entry, row):
            options = MountOptions.parse(",".join(text for text in (entry.attributes, entry.options) if text))
            for name in _ADDED:
                options.remove(name)
            return str(options)
    return None


def _agrees(entry: UtabEntry, row: MountRow) -> bool:
    if entry.mount_id is not None and entry.mount_id != row.mount_id:
        return False
    if plain_share(entry.source) != plain_share(row.source):
        return False
    recorded, live = MountOptions.parse(entry.attributes), MountOptions.parse(row.super_options)
    return all(recorded.get(name) in {None, live.get(name)} for name in ("vers", "addr")) or (
        recorded.get("vers") == "4" and (live.get("vers") or "").startswith("4")
    )

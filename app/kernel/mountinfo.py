"""Mount table of this process, as the kernel has it: /proc/self/mountinfo (proc(5)).

Reading it is safe with a dead server. Paths are looked up in the table alone: nothing here touches a mount.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.options import MountOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

NFS_TYPES = frozenset({"nfs", "nfs4"})
_ESCAPE = re.compile(rb"\\([0-7]{3})")
#: Stands for the parent of mounts whose parent is not in the table, such as the root of a chroot.
_NOWHERE = -1


@dataclass(frozen=True, slots=True)
class MountRow:
    """One line of mountinfo.

    Attributes:
        mount_id: unique while the mount lasts.
        parent_id: the mount that it sits on.
        device: major:minor; mounts with the same one share a superblock, and its options and cache.
        root: the directory inside the file system that is mounted; always / for NFS.
        mount_point: absolute path, unescaped; bytes that are not UTF-8 become surrogates.
        mount_options: of this mount alone (ro, nosuid, relatime…).
        propagation: shared:N, master:N and so on.
        fstype: file system type.
        source: the share, for NFS.
        super_options: of the superblock, the NFS options among them.
    """

    mount_id: int
    parent_id: int
    device: str
    root: str
    mount_point: str
    mount_options: str
    propagation: tuple[str, ...]
    fstype: str
    source: str
    super_options: str

    @property
    def options(self) -> str:
        """Mount and superblock options in one string; read-only if either is."""
        words = [*MountOptions.parse(self.mount_options), *MountOptions.parse(self.super_options)]
        access = "ro" if "ro" in words else "rw"
        rest = (word for word in words if word and word not in {"ro", "rw"})
        return ",".join(dict.fromkeys([access, *rest]))


class MountInfo:
    """The whole table, and the way the kernel walks it."""

    def __init__(self, rows: Sequence[MountRow]) -> None:
        self.rows = tuple(rows)
        known = {row.mount_id for row in rows}
        self._at: dict[tuple[int, str], MountRow] = {}
        for row in rows:
            parent = row.parent_id if row.parent_id in known - {row.mount_id} else _NOWHERE
            self._at[parent, row.mount_point] = row

    def nfs_rows(self) -> list[MountRow]:
        """Return the NFS mounts in the kernel's order, covered ones included."""
        return [row for row in self.rows if row.fstype in NFS_TYPES]

    def mount_of_path(self, path: str) -> MountRow | None:
        """Return the mount that a path lies on, or None for a path that is not absolute.

        Walks the table as the kernel walks the path, so that covered mounts are passed over. Symbolic links
        are not followed and the path need not exist: nothing outside the table is looked at.
        """
        if not path.startswith("/"):
            return None
        current: MountRow | None = None
        for place in _prefixes(posixpath.normpath("/" + path.lstrip("/"))):
            found = self._at.get((_NOWHERE, place))
            current = found or current
            while current is not None and (above := self._at.get((current.mount_id, place))) is not None:
                current = above
        return current

    def is_visible(self, row: MountRow) -> bool:
        """Whether the mount can be reached by its mount point: no other mount covers it."""
        return self.mount_of_path(row.mount_point) is row


def read(root: str = "/") -> MountInfo:
    """Return the table of this process's mount namespace.

    Raises:
        OSError: if there is none.
    """
    return parse(Path(root, "proc/self/mountinfo").read_bytes())


def parse(raw: bytes) -> MountInfo:
    """Return the table; a line that is not one of mountinfo is passed over."""
    return MountInfo([row for line in raw.split(b"\n") if (row := _parse_line(line)) is not None])


def _parse_line(line: bytes) -> MountRow | None:
    # Blanks inside a field are escaped, and the separator cannot be a field: the first one is the right one.
    head, separator, tail = line.partition(b" - ")
    fields, rest = head.split(b" "), tail.split(b" ")
    if not separator or len(fields) < 6 or len(rest) < 3:
        return None
    if not (_is_number(fields[0]) and _is_number(fields[1])):
        return None
    return MountRow(
        mount_id=int(fields[0]),
        parent_id=int(fields[1]),
        device=unescape(fields[2]),
        root=unescape(fields[3]),
        mount_point=unescape(fields[4]),
        mount_options=unescape(fields[5]),
        propagation=tuple(unescape(field) for field in fields[6:]),
        fstype=unescape(rest[0]),
        source=unescape(rest[1]),
        super_options=unescape(rest[2]),
    )


def _is_number(field: bytes) -> bool:
    return field.isdigit() and len(field) <= 20


def unescape(field: bytes) -> str:
    r"""Return a field of mountinfo, fstab or utab with its ``\ooo`` escapes read."""
    if b"\\" in field:
        field = _ESCAPE.sub(lambda match: bytes([int(match[1], 8) & 0xFF]), field)
    return field.decode(errors="surrogateescape")


def _prefixes(path: str) -> list[str]:
    places = ["/"]
    for part in path.split("/"):
        if part:
            places.append(posixpath.join(places[-1], part))
    return places

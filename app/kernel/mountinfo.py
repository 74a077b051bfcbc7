"""Mount table of this process: /proc/self/mountinfo (proc(5)).

Reading it never blocks on a dead server. Paths are resolved by the table alone, so no mount is accessed.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from advisor.options import MountOptions
from app.helper.mountinfo import NFS_TYPES, unquote

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Id for the parent of a mount whose parent is not in the table, such as the root of a chroot.
_NO_PARENT = -1


@dataclass(frozen=True, slots=True)
class MountRow:
    """One line of mountinfo.

    Attributes:
        mount_id: id of the mount, unique while it exists.
        parent_id: id of the mount that contains the mount point.
        device: major:minor; equal for mounts that share a superblock with its options and cache.
        root: mounted directory inside the file system; always / for NFS.
        mount_point: absolute path, unescaped; bytes that are not UTF-8 become surrogates.
        mount_options: options of this mount only (ro, nosuid, relatime…).
        propagation: optional fields: shared:N, master:N and others.
        fstype: file system type.
        source: source of the mount; the share for NFS.
        super_options: options of the superblock, which include the NFS options.
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
        """Mount and superblock options in one string; ro if either of them has ro."""
        words = [*MountOptions.parse(self.mount_options), *MountOptions.parse(self.super_options)]
        access = "ro" if "ro" in words else "rw"
        rest = (word for word in words if word and word not in {"ro", "rw"})
        return ",".join(dict.fromkeys([access, *rest]))


class MountInfo:
    """The mount table, with path resolution as in the kernel.

    Args:
        rows: the rows in the order of the file.
    """

    def __init__(self, rows: Sequence[MountRow]) -> None:
        self.rows = tuple(rows)
        known = {row.mount_id for row in rows}
        self._by_parent_and_point: dict[tuple[int, str], MountRow] = {}
        for row in rows:
            parent = row.parent_id if row.parent_id in known - {row.mount_id} else _NO_PARENT
            self._by_parent_and_point[parent, row.mount_point] = row

    def nfs_rows(self) -> list[MountRow]:
        """Return all NFS mounts in the order of the kernel, including those hidden by other mounts."""
        return [row for row in self.rows if row.fstype in NFS_TYPES]

    def mount_of_path(self, path: str) -> MountRow | None:
        """Return the mount that contains a path, or None for a path that is not absolute.

        The table is walked as the kernel walks the path, so hidden mounts are skipped. Only the table is
        read: symbolic links are not followed, and the path need not exist.
        """
        if not path.startswith("/"):
            return None
        current: MountRow | None = None
        for prefix in _prefixes(posixpath.normpath("/" + path.lstrip("/"))):
            found = self._by_parent_and_point.get((_NO_PARENT, prefix))
            current = found or current
            while (
                current is not None
                and (above := self._by_parent_and_point.get((current.mount_id, prefix))) is not None
            ):
                current = above
        return current

    def is_visible(self, row: MountRow) -> bool:
        """Whether the mount is accessible at its mount point, because no other mount hides it."""
        return self.mount_of_path(row.mount_point) is row


def read(root: str = "/") -> MountInfo:
    """Return the mount table of this process's mount namespace.

    Raises:
        OSError: if /proc/self/mountinfo cannot be read.
    """
    return parse(Path(root, "proc/self/mountinfo").read_bytes())


def parse(raw: bytes) -> MountInfo:
    """Return the parsed table; lines of another format are skipped."""
    return MountInfo([row for line in raw.split(b"\n") if (row := _parse_line(line)) is not None])


def _parse_line(line: bytes) -> MountRow | None:
    # Blanks inside a field are escaped and no field is “-”, so the first “ - ” is the separator.
    head, separator, tail = line.partition(b" - ")
    fields, rest = head.split(b" "), tail.split(b" ")
    if not separator or len(fields) < 6 or len(rest) < 3:
        return None
    if not (_is_number(fields[0]) and _is_number(fields[1])):
        return None
    return MountRow(
        mount_id=int(fields[0]),
        parent_id=int(fields[1]),
        device=unquote(fields[2]),
        root=unquote(fields[3]),
        mount_point=unquote(fields[4]),
        mount_options=unquote(fields[5]),
        propagation=tuple(unquote(field) for field in fields[6:]),
        fstype=unquote(rest[0]),
        source=unquote(rest[1]),
        super_options=unquote(rest[2]),
    )


def _is_number(field: bytes) -> bool:
    return field.isdigit() and len(field) <= 20


def _prefixes(path: str) -> list[str]:
    prefixes = ["/"]
    for part in path.split("/"):
        if part:
            prefixes.append(posixpath.join(prefixes[-1], part))
    return prefixes

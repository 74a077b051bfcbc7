"""Mount table: parsing of /proc/self/mountinfo (proc(5)). Reading it never waits for an NFS server."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

_OCTAL = re.compile(rb"\\([0-7]{3})")
NFS_TYPES = frozenset({"nfs", "nfs4"})


class MountRow(NamedTuple):
    """One row of the mount table.

    Attributes:
        mount_id: id of the mount, unique while it exists.
        parent_id: id of the mount that contains the mount point.
        device: device number of the superblock, "major:minor".
        mount_point: absolute path.
        options: options of this mount alone, such as ro and nosuid.
        fstype: file system type.
        source: mounted device; for NFS, the share.
        super_options: comma-separated options of the superblock.
    """

    mount_id: int
    parent_id: int
    device: str
    mount_point: str
    options: tuple[str, ...]
    fstype: str
    source: str
    super_options: str


def parse(raw: bytes) -> list[MountRow]:
    """Return the rows in the kernel's order; malformed lines are skipped."""
    rows: list[MountRow] = []
    for line in raw.split(b"\n"):
        head, separator, tail = line.partition(b" - ")
        fields, rest = head.split(b" "), tail.split(b" ")
        if not separator or len(fields) < 6 or len(rest) < 2:
            continue
        rows.append(MountRow(
            mount_id=int(fields[0]), parent_id=int(fields[1]), device=fields[2].decode("ascii"),
            mount_point=unquote(fields[4]), options=tuple(unquote(fields[5]).split(",")),
            fstype=unquote(rest[0]), source=unquote(rest[1]),
            super_options=unquote(rest[2]) if len(rest) > 2 else "",
        ))  # fmt: skip
    return rows


def read() -> list[MountRow]:
    """Return the mount table of this process's mount namespace."""
    with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123
        return parse(file.read())


def unquote(field: bytes) -> str:
    r"""Decode the ``\ooo`` escapes of a field of mountinfo, fstab or utab."""
    # Few fields have an escape, and tables are read often.
    return os.fsdecode(_OCTAL.sub(lambda m: bytes([int(m[1], 8) & 0xFF]), field) if b"\\" in field else field)


def topmost(rows: list[MountRow], path: str) -> MountRow | None:
    """Return the topmost mount at exactly this path, None if nothing is mounted there."""
    return next((row for row in reversed(rows) if row.mount_point == path), None)


def is_within(path: str, folder: str) -> bool:
    """Whether a path is the directory or lies below it; both must be normalized absolute paths."""
    return folder in {"/", path} or path.startswith(folder + "/")


def plain_share(share: str) -> str:
    """Return a share in a form for comparison: host in lower case, no empty parts in the export.

    The kernel shows ``//srv//a/`` as ``/srv/a`` for NFS 4, and as written for NFS 3.
    """
    host, colon, export = share.partition("]:/" if share.startswith("[") else ":/")
    if not colon:
        return share
    return f"{host.lower()}{colon}{'/'.join(part for part in export.split('/') if part)}"

"""The table of mounts (proc(5), /proc/self/mountinfo). Reading it never touches a server."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

_OCTAL = re.compile(rb"\\([0-7]{3})")
NFS_TYPES = frozenset({"nfs", "nfs4"})


class MountRow(NamedTuple):
    """One mount.

    Attributes:
        mount_id: unique while it lasts.
        parent_id: the mount it sits on.
        device: major:minor.
        mount_point: absolute path.
        options: of this mount alone.
        fstype: file system type.
        source: the share, for NFS.
        super_options: of the superblock.
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
    """Return the rows in the kernel's order; a line that is not one is left out."""
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
    """Return the mounts of this process's namespace."""
    with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123
        return parse(file.read())


def unquote(field: bytes) -> str:
    r"""Return a field of mountinfo or fstab with its ``\ooo`` escapes read."""
    return os.fsdecode(_OCTAL.sub(lambda m: bytes([int(m[1], 8) & 0xFF]), field))


def topmost(rows: list[MountRow], path: str) -> MountRow | None:
    """Return the topmost mount at exactly this path."""
    return next((row for row in reversed(rows) if row.mount_point == path), None)


def is_within(path: str, folder: str) -> bool:
    """Whether the path is the folder or lies below it (both in plain form)."""
    return folder in {"/", path} or path.startswith(folder + "/")


def plain_share(share: str) -> str:
    """Return a share for comparing: version 4 prints ``//srv//a/`` as ``/srv/a``, version 3 as written."""
    host, colon, export = share.partition("]:/" if share.startswith("[") else ":/")
    if not colon:
        return share
    return f"{host.lower()}{colon}{'/'.join(part for part in export.split('/') if part)}"

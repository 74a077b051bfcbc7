"""Mount of an open directory: its row in /proc/self/mountinfo, found by the mount id in /proc/self/fdinfo.

Source: proc(5). Opening a directory may hang on a dead server, so only child processes that can be abandoned
open it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from app.errors import printable
from app.kernel.mountstats import unescape_path
from app.kernel.tcp_info import NFS_PORT

_OPTIONAL_FIELDS = 6  # mountinfo: the fields before the optional ones (proc(5))


class MountOfPath(msgspec.Struct, frozen=True, kw_only=True):
    """One row of mountinfo.

    Attributes:
        mount_id: mount id, the first field.
        device: major:minor.
        mount_point: absolute path.
        share: source, as the kernel prints it.
        fstype: file system type.
        options: options of the mount and of the file system.
    """

    mount_id: int
    device: str
    mount_point: str
    share: str
    fstype: str
    options: str

    def printable(self) -> MountOfPath:
        """Return the row with bytes that are not UTF-8 escaped, so that JSON can encode it."""
        return msgspec.structs.replace(
            self,
            mount_point=printable(self.mount_point),
            share=printable(self.share),
            options=printable(self.options),
        )

    @property
    def nfs(self) -> bool:
        """Whether it is NFS."""
        return self.fstype in {"nfs", "nfs4"}

    @property
    def values(self) -> dict[str, str]:
        """The options by name; a flag without a value has the value ""."""
        pairs = (word.partition("=") for word in self.options.split(",") if word)
        return {name: value for name, _, value in pairs}

    @property
    def server(self) -> tuple[str, int]:
        """Address and port of the server; the address is "" if the kernel shows none."""
        values = self.values
        port = values.get("port", "")
        return values.get("addr", ""), int(port) if port.isdigit() and int(port) else NFS_PORT

    @property
    def tcp(self) -> bool:
        """Whether the mount uses TCP (netids tcp and tcp6)."""
        return self.values.get("proto", "").startswith("tcp")

    @property
    def v4(self) -> bool:
        """Whether it is NFS version 4."""
        return self.values.get("vers", "").startswith("4")


def mount_of_directory(directory_fd: int, root: str = "/") -> MountOfPath | None:
    """Return the mount of an open directory by its mount id, None if it cannot be determined."""
    try:
        info = Path(root, f"proc/self/fdinfo/{directory_fd}").read_text(encoding="ascii", errors="replace")
        table = Path(root, "proc/self/mountinfo").read_bytes().decode(errors="surrogateescape")
    except OSError:
        return None
    for line in info.splitlines():
        name, _, value = line.partition(":")
        if name == "mnt_id":
            return mount_by_id(table, value.strip())
    return None


def mount_by_id(table: str, mount_id: str) -> MountOfPath | None:
    """Return the row with this mount id in the text of mountinfo, or None."""
    for line in table.splitlines():
        left, dash, right = line.partition(" - ")
        fields, kind = left.split(" "), right.split(" ")
        if not dash or fields[0] != mount_id or len(fields) < _OPTIONAL_FIELDS or len(kind) < 3:
            continue
        options = ",".join(part for part in (fields[5], *kind[2:3]) if part)
        return MountOfPath(
            mount_id=int(mount_id),
            device=fields[2],
            mount_point=unescape_path(fields[4]),
            share=unescape_path(kind[1]),
            fstype=kind[0],
            options=options,
        )
    return None

"""Where something may be mounted; :mod:`app.helper.directories` walks there.

The safety of a mount point comes from its parents: mount.nfs resolves the path by itself once more, so
nobody but root may be able to change it meanwhile. Every ancestor is therefore opened without following
links and looked at through its descriptor.

Two callers are told apart:

* An ordinary user, through polkit. Only below the folders for mounts, or a mount that root declared in
  fstab; every ancestor belongs to root and is writable by root alone.
* Root, directly. Any directory outside the system's own. An ancestor may belong to another user (whom
  root then trusts with this path, as with mount(8)), but may be writable by the group or by everybody
  only if it is sticky. The lab's guest depends on this: it sees the files of the host with the host's owners.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import NamedTuple

from app.helper import table, validate
from app.helper.errors import Refusal

OWN_ROOT = "/run/mountwright"
#: Where ordinary users may have their mounts; roots.conf adds to it.
ROOTS = ("/mnt", "/media", "/srv")
ROOTS_FILE = "/etc/mountwright/roots.conf"
FSTAB = "/etc/fstab"
#: Nothing is ever mounted in these, nor on them.
_FORBIDDEN = frozenset({
    "/bin", "/boot", "/dev", "/efi", "/etc", "/lib", "/lib32", "/lib64", "/libexec", "/libx32", "/lost+found",
    "/proc", "/sbin", "/sys",
})  # fmt: skip
#: Nothing is mounted on these; below them only what root declared in fstab.
_SYSTEM = ("/root", "/run", "/tmp", "/usr", "/var")  # noqa: S108 - not used as a place to write
#: Only what root declared in fstab is mounted on these; below them is free for root.
_SHARED = ("/home", "/opt")
#: File systems that may not answer, or that their user controls. A walk does not enter them.
_FOREIGN = frozenset({"nfs", "nfs4", "autofs", "9p", "cifs", "smb3", "ceph", "afs", "fuse", "fuseblk"})


class Caller(NamedTuple):
    """Who asked: the user of the process that started the helper, and what it may use. Root has uid 0."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()
    limits: tuple[tuple[int, tuple[int, int]], ...] = ()
    nice: int = 0


def read_fstab(path: str = FSTAB) -> set[tuple[str, str]]:
    """Return (share, mount point) of every NFS entry; nothing if the file cannot be read."""
    raw = _read_small(path)
    entries: set[tuple[str, str]] = set()
    for line in raw.split(b"\n"):
        fields = [table.unescaped(part) for part in line.split()]
        if len(fields) >= 3 and not fields[0].startswith("#") and fields[2] in table.NFS_TYPES:
            entries.add((fields[0], fields[1]))
    return entries


def read_roots(path: str = ROOTS_FILE) -> tuple[str, ...]:
    """Return the folders that the administrator added, one path a line; unfit lines are left out."""
    roots: list[str] = []
    for line in _read_small(path).split(b"\n"):
        text = os.fsdecode(line.strip())
        if not text or text.startswith("#"):
            continue
        with contextlib.suppress(Refusal):
            if not _is_system(validate.target(text)):
                roots.append(text)
    return tuple(roots)


def _read_small(path: str) -> bytes:
    """Return a file that only root can have written, at most 1 MiB of it, or nothing."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return b""
    with open(fd, "rb") as file:  # noqa: PTH123 - a descriptor
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != 0 or found.st_mode & 0o022:
            return b""
        return file.read(1 << 20)


def _is_system(path: str) -> bool:
    top = "/" + path.split("/")[1]
    return path == "/" or top in _FORBIDDEN or top in _SYSTEM


def permit_entry(path: str) -> None:
    """Check that fstab may declare an NFS mount there: nowhere where the system itself lives.

    Raises:
        Refusal: with code mount-point-system.
    """
    top = "/" + path.split("/")[1]
    if path == "/" or top in _FORBIDDEN or path in _SYSTEM:
        raise Refusal("mount-point-system", f"“{path}” is a directory of the system.")


def permit_mount(caller: Caller, share: str, path: str) -> None:
    """Check that this share may be mounted there.

    Raises:
        Refusal: with code mount-point-system.
    """
    permit_entry(path)
    if _is_own(caller, path) or (share, path) in read_fstab():
        return
    if _is_system(path) or path in _SHARED:
        raise Refusal("mount-point-system", f"“{path}” is a directory of the system.")
    if caller.uid != 0 and not _below_roots(path):
        raise Refusal(
            "mount-point-system",
            f"“{path}” is outside the folders for mounts: {', '.join((*ROOTS, *read_roots()))}.",
        )


def permit_unmount(caller: Caller, path: str) -> None:
    """Check that an NFS mount there may be removed.

    Root may remove any. An ordinary user may remove what could have been mounted in the same way: below
    the folders for mounts, in the user's own folder, or at a mount point that fstab declares for NFS.
    Another user's own folder is out of reach, and so is what root mounted elsewhere by hand.

    Raises:
        Refusal: with code mount-point-system.
    """
    if caller.uid == 0 or _is_own(caller, path) or _below_roots(path):
        return
    if path not in {mount_point for _share, mount_point in read_fstab()}:
        raise Refusal("mount-point-system", f"The mount at “{path}” belongs to the system.")


def make_own_root() -> None:
    """Make the folder of this program's own mounts, which everybody may enter, if it is not there.

    Raises:
        OSError: if it cannot be made.
    """
    previous = os.umask(0o022)
    try:
        os.makedirs(OWN_ROOT, 0o755, exist_ok=True)  # noqa: PTH103
    finally:
        os.umask(previous)


def _is_own(caller: Caller, path: str) -> bool:
    own = OWN_ROOT if caller.uid == 0 else f"{OWN_ROOT}/{caller.uid}"
    return path != own and table.is_within(path, own) and not table.is_within(path, f"{OWN_ROOT}/made")


def _below_roots(path: str) -> bool:
    return any(path != root and table.is_within(path, root) for root in (*ROOTS, *read_roots()))


def check_table(rows: list[table.Row], path: str) -> None:
    """Check with the table of mounts alone, before the path is touched, that it is free and safe to walk.

    Raises:
        Refusal: with code mount-point-busy or mount-point-invalid.
    """
    for row in rows:
        if row.mount_point == path:
            raise Refusal("mount-point-busy", f"“{path}” is a mount point already.", detail=row.source)
        if table.is_within(row.mount_point, path):
            raise Refusal("mount-point-busy", f"Something is mounted below “{path}”.", detail=row.mount_point)
        # A root file system on NFS is what the machine lives on: it is no worse here than anywhere.
        foreign = row.fstype in _FOREIGN or row.fstype.startswith("fuse.")
        if foreign and row.mount_point != "/" and table.is_within(path, row.mount_point):
            raise Refusal(
                "mount-point-invalid",
                f"“{path}” lies on the {row.fstype} file system at “{row.mount_point}”, not on a local one.",
            )

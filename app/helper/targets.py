"""Where something may be mounted, and the making and unmaking of the directory.

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
from dataclasses import dataclass, field
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
_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Caller(NamedTuple):
    """Who asked: the user of the process that started the helper. Root has uid 0."""

    uid: int
    gid: int


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


@dataclass
class Prepared:
    """A mount point that is an empty directory.

    Attributes:
        made: path, device and inode of the directories made for it, outermost first.
    """

    made: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])

    def undo(self) -> None:
        """Remove the directories that were made, innermost first, if they are still those and empty."""
        for path, device, inode in reversed(self.made):
            remove_directory(path, device, inode)
        self.made.clear()


def prepare(caller: Caller, path: str, *, create: bool) -> Prepared:
    """Walk to the mount point, make what is missing if asked, and check that it is an empty directory.

    Raises:
        Refusal: with a code that begins with mount-point.
    """
    prepared = Prepared()
    parts = path.split("/")[1:]
    fd = os.open("/", _DIRECTORY)
    try:
        for depth, part in enumerate(parts):
            _check_ancestor(caller, os.fstat(fd), "/" + "/".join(parts[:depth]))
            below = _enter(fd, part, "/" + "/".join(parts[: depth + 1]), prepared if create else None, caller)
            os.close(fd)
            fd = below
        _check_empty(fd, path)
    except BaseException:
        prepared.undo()
        raise
    finally:
        os.close(fd)
    return prepared


def _check_ancestor(caller: Caller, found: os.stat_result, path: str) -> None:
    shared = bool(found.st_mode & 0o022)
    strict = caller.uid != 0
    foreign = strict and found.st_uid != 0
    if foreign or (shared and (strict or not found.st_mode & stat.S_ISVTX)):
        raise Refusal(
            "mount-point-system",
            f"Users other than root can change the directory “{path}”, so nothing is mounted in it.",
        )


def _enter(fd: int, part: str, path: str, prepared: Prepared | None, caller: Caller) -> int:
    """Open a directory's entry; with ``prepared``, make it if it is missing and note that."""
    try:
        return os.open(part, _DIRECTORY, dir_fd=fd)
    except FileNotFoundError:
        if prepared is None:
            raise Refusal("mount-point-missing", f"The directory “{path}” does not exist.") from None
    except OSError:
        raise _not_a_directory(fd, part, path) from None
    _make(fd, part, path, caller)
    below = os.open(part, _DIRECTORY, dir_fd=fd)
    found = os.fstat(below)
    if not table.is_within(OWN_ROOT, path):
        prepared.made.append((path, found.st_dev, found.st_ino))
    return below


def _make(fd: int, part: str, path: str, caller: Caller) -> None:
    own = path == f"{OWN_ROOT}/{caller.uid}"
    previous = os.umask(0)
    try:
        os.mkdir(part, 0o750 if own else 0o755, dir_fd=fd)
        if own:
            os.chown(part, 0, caller.gid, dir_fd=fd, follow_symlinks=False)
    except OSError as error:
        raise Refusal(
            "mount-point-missing",
            f"The directory “{path}” does not exist and cannot be made.",
            detail=os.strerror(error.errno or 0),
        ) from None
    finally:
        os.umask(previous)


def _not_a_directory(fd: int, part: str, path: str) -> Refusal:
    with contextlib.suppress(OSError):
        if stat.S_ISLNK(os.stat(part, dir_fd=fd, follow_symlinks=False).st_mode):
            return Refusal("mount-point-invalid", f"“{path}” is a symbolic link.")
    return Refusal("mount-point-is-file", f"“{path}” is not a directory.")


def _check_empty(fd: int, path: str) -> None:
    readable = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=fd)
    try:
        with os.scandir(readable) as entries:
            empty = next(entries, None) is None
    finally:
        os.close(readable)
    if not empty:
        raise Refusal("mount-point-not-empty", f"The directory “{path}” is not empty.")


def remove_directory(path: str, device: int, inode: int) -> bool:
    """Remove an empty directory if it is the very one of that device and inode; return whether it went."""
    *parents, name = path.split("/")[1:]
    fd = os.open("/", _DIRECTORY)
    try:
        for part in parents:
            below = os.open(part, _DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = below
        found = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if (found.st_dev, found.st_ino) != (device, inode) or not stat.S_ISDIR(found.st_mode):
            return False
        os.rmdir(name, dir_fd=fd)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True

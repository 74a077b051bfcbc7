"""Policy of mount points: where an NFS share may be mounted, now or at boot.

:func:`place_of` assigns every path to one of four classes, the same for mounts now and for mounts at boot:

* FORBIDDEN: programs that root runs, and files that root reads as configuration. A mount there would let the
  NFS server act as root, so it is refused to every user, root included.
* OWN: the program's own directories, one for each user.
* ROOTS: below /mnt, /media, /srv and the directories of roots.conf. The ordinary actions may use these.
* RESTRICTED: every other place, such as /home or /data. Root may use it. An ordinary user needs a system
  action, which an administrator approves each time (:attr:`app.helper.callers.Caller.system`).

The directories above a mount point must be safe too. mount.nfs resolves the path a second time, so only root
may be able to change it in between. :mod:`app.helper.safe_path` opens every ancestor without following links
and checks its descriptor:

* For an ordinary user, with an administrator's approval or without: every ancestor belongs to root and is
  writable by root alone.
* For root: an ancestor may belong to another user, whom root then trusts with this path, as in mount(8). It
  may be writable by its group or by others only if it is sticky. The lab's guest needs this rule, because it
  sees the files of the host with the host's owners.
"""

from __future__ import annotations

import contextlib
import os
import re
from enum import Enum, auto
from typing import TYPE_CHECKING

from app.helper import mountinfo, validate
from app.helper.callers import OWN_ROOT, read_small
from app.helper.errors import Refusal

if TYPE_CHECKING:
    from app.helper.callers import Caller

#: Directories below which ordinary users may mount; ROOTS_FILE adds others.
ROOTS = ("/mnt", "/media", "/srv")
ROOTS_FILE = "/etc/mountwright/roots.conf"
FSTAB = "/etc/fstab"
#: Directory trees with programs that root runs, or with root's configuration (hier(7), FHS 3.0, databases of
#: package managers). Nothing is mounted on them, in them, or on a directory above them. /usr/local has its
#: own list below.
FORBIDDEN = (
    "/bin", "/boot", "/dev", "/efi", "/etc", "/gnu", "/lib", "/lib32", "/lib64", "/libexec",
    "/libx32", "/lost+found", "/nix", "/ostree", "/proc", "/root", "/run", "/sbin", "/snap", "/sys",
    "/sysroot", "/tmp",  # noqa: S108 - not to write
    "/usr", "/var/cache/ldconfig", "/var/db", "/var/lib/AccountsService", "/var/lib/NetworkManager",
    "/var/lib/alternatives", "/var/lib/apt", "/var/lib/dbus", "/var/lib/dpkg", "/var/lib/flatpak",
    "/var/lib/mountwright", "/var/lib/pacman", "/var/lib/pam", "/var/lib/polkit-1", "/var/lib/rpm",
    "/var/lib/snapd", "/var/lib/sudo", "/var/lib/systemd", "/var/lock", "/var/run",
    "/var/spool/anacron", "/var/spool/at", "/var/spool/atjobs", "/var/spool/cron", "/var/tmp",  # noqa: S108 - not to write
)  # fmt: skip
#: The only part of /usr that is not FORBIDDEN as a whole; the administrator decides about it.
_LOCAL = "/usr/local"
#: Directory trees in /usr/local with programs that root runs, or with root's configuration.
_FORBIDDEN_LOCAL = tuple(
    f"{_LOCAL}/{name}"
    for name in ("bin", "etc", "games", "lib", "lib32", "lib64", "libexec", "libx32", "sbin", "share/dbus-1",
                 "share/polkit-1")
)  # fmt: skip
_OWN = re.compile(r"/(0|[1-9][0-9]*)/.")
#: Types of file systems that may not answer, or that a user controls. No mount point may lie inside one.
_FOREIGN = frozenset({"nfs", "nfs4", "autofs", "9p", "cifs", "smb3", "ceph", "afs", "fuse", "fuseblk"})


#: Option words of fstab that let users mount (mount(8)).
_FOR_USERS = frozenset({"user", "users", "owner", "group"})


class Place(Enum):
    """Class of a path, which decides who may mount there; the module docstring describes each class."""

    FORBIDDEN = auto()
    RESTRICTED = auto()
    ROOTS = auto()
    OWN = auto()


def read_fstab(path: str = FSTAB) -> set[tuple[str, str]]:
    """Return (share, mount point) of each NFS entry of fstab; empty if the file cannot be read."""
    return {entry[:2] for entry in fstab_entries(path)}


def fstab_entries(path: str = FSTAB, *, nfs: bool = True) -> list[tuple[str, str, str]]:
    """Return (source, mount point, options) of entries of fstab; empty if the file cannot be read.

    Args:
        path: fstab; it is read only if root alone can write it.
        nfs: whether to return the NFS entries, or all others.
    """
    entries: list[tuple[str, str, str]] = []
    for line in read_small(path).split(b"\n"):
        fields = [mountinfo.unquote(part) for part in line.split()]
        if len(fields) >= 3 and not fields[0].startswith("#") and (fields[2] in mountinfo.NFS_TYPES) is nfs:
            entries.append((fields[0], fields[1], fields[3] if len(fields) > 3 else ""))
    return entries


def read_roots(path: str = ROOTS_FILE) -> tuple[str, ...]:
    """Return the directories listed in roots.conf; FORBIDDEN and malformed ones are skipped."""
    roots: list[str] = []
    for line in read_small(path).split(b"\n"):
        text = os.fsdecode(line.strip())
        if not text or text.startswith("#"):
            continue
        with contextlib.suppress(Refusal):
            if not _is_forbidden(validate.target(text)):
                roots.append(text)
    return tuple(roots)


def place_of(path: str, roots: tuple[str, ...] | None = None) -> Place:
    """Return the class of a normalized path.

    Args:
        path: absolute path that :func:`app.helper.validate.target` accepts.
        roots: directories below which the class is ROOTS; None for the constant ROOTS and roots.conf.
    """
    if path.startswith(f"{OWN_ROOT}/") and _OWN.match(path, len(OWN_ROOT)):
        return Place.OWN
    if _is_forbidden(path):
        return Place.FORBIDDEN
    roots = (*ROOTS, *read_roots()) if roots is None else roots
    if any(path != root and mountinfo.is_within(path, root) for root in roots):
        return Place.ROOTS
    return Place.RESTRICTED


def _is_forbidden(path: str) -> bool:
    if mountinfo.is_within(path, _LOCAL):
        return any(mountinfo.is_within(path, tree) for tree in _FORBIDDEN_LOCAL)
    return path == "/" or any(
        mountinfo.is_within(path, tree) or mountinfo.is_within(tree, path) for tree in FORBIDDEN
    )


def permit_entry(path: str) -> None:
    """Check that a path is not FORBIDDEN.

    Raises:
        Refusal: code mount-point-system.
    """
    if place_of(path, ROOTS) is Place.FORBIDDEN:
        raise Refusal(
            "mount-point-system",
            f"“{path}” is a directory of the system: root would run, or obey, what is mounted there.",
        )


def permit_place(caller: Caller, path: str) -> None:
    """Check that the caller may mount at a path, or configure a mount there for the next boot.

    Raises:
        Refusal: code mount-point-system; mount-point-restricted if only root or a system action may.
    """
    permit_entry(path)
    place = place_of(path)
    if place is Place.OWN:
        if caller.uid != 0 and not path.startswith(f"{OWN_ROOT}/{caller.uid}/"):
            raise Refusal("mount-point-system", f"“{path}” is a directory of another user.")
        return
    if caller.administers:
        return
    home = home_of(caller, path)
    if home and (place is Place.RESTRICTED or home == caller.home):
        raise Refusal(
            "mount-point-restricted",
            f"“{path}” lies in the home directory “{home}”, and whoever owns that can change what is there.",
            data={"home": home},
        )
    if place is Place.RESTRICTED:
        raise Refusal(
            "mount-point-restricted",
            f"“{path}” is outside the directories for mounts: {', '.join((*ROOTS, *read_roots()))}.",
            data={"home": ""},
        )


def home_of(caller: Caller, path: str) -> str:
    """Return the home directory that contains the path: the caller's, or one in /home; "" for none."""
    own = "" if any(mountinfo.is_within(root, caller.home) for root in (*ROOTS, "/home")) else caller.home
    parts = path.split("/")
    for home in (own, "/".join(parts[:3]) if parts[1] == "home" and len(parts) > 3 else ""):
        if home and path != home and mountinfo.is_within(path, home):
            return home
    return ""


def check_walk(rows: list[mountinfo.MountRow], path: str) -> None:
    """Check in the mount table that the path lies in no file system of the types in _FOREIGN.

    Raises:
        Refusal: code mount-point-invalid.
    """
    for row in rows:
        # A root file system on NFS is accepted, because the whole system depends on it anyway.
        foreign = row.fstype in _FOREIGN or row.fstype.startswith("fuse.")
        inside = path != row.mount_point and mountinfo.is_within(path, row.mount_point)
        if foreign and row.mount_point != "/" and inside:
            raise Refusal(
                "mount-point-invalid",
                f"“{path}” lies on the {row.fstype} file system at “{row.mount_point}”, not on a local one.",
            )


def check_disks(rows: list[mountinfo.MountRow], path: str) -> None:
    """Check in the mount table that the path lies on no disk that users can unmount.

    A user could replace such a disk, and the path would lead elsewhere when mount.nfs or the next boot
    resolves it. A disk that udisks or an fstab entry lets users mount has nosuid or nodev.

    Raises:
        Refusal: code mount-point-system.
    """
    kept = {
        point for _disk, point, words in fstab_entries(nfs=False) if not _FOR_USERS & set(words.split(","))
    }
    for row in rows:
        loose = row.source.startswith("/dev/") and {"nosuid", "nodev"} & set(row.options)
        inside = path != row.mount_point and mountinfo.is_within(path, row.mount_point)
        if loose and inside and row.mount_point not in {"/", *kept}:
            raise Refusal(
                "mount-point-system",
                f"“{path}” lies on the disk at “{row.mount_point}”, which users can take away.",
            )

"""Policy of mount points: where an NFS share may be mounted, now or at boot.

:func:`place_of` puts every path into one of four classes, the same for mounting and for declaring:

* FORBIDDEN: what root runs, or reads as its configuration. Whatever covers it makes the NFS server root here,
  so nobody may, root included.
* OWN: this program's own directories, one for each user.
* ROOTS: below /mnt, /media, /srv and the directories of roots.conf. The ordinary actions are for these.
* RESTRICTED: every other place, /home or /data for example. Root may use it, and an ordinary user by an
  action that asks an administrator each time (a system role, :attr:`Caller.system`).

The safety of a mount point comes from its parents: mount.nfs resolves the path by itself once more, so
nobody but root may be able to change it meanwhile. Every ancestor is therefore opened without following
links and looked at through its descriptor:

* For an ordinary user, with an administrator's approval or without: every ancestor belongs to root and is
  writable by root alone.
* For root, directly: an ancestor may belong to another user (whom root then trusts with this path, as with
  mount(8)), but may be writable by the group or by everybody only if it is sticky. The lab's guest depends on
  this: it sees the files of the host with the host's owners.
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

#: Where ordinary users may have their mounts; roots.conf adds to it.
ROOTS = ("/mnt", "/media", "/srv")
ROOTS_FILE = "/etc/mountwright/roots.conf"
FSTAB = "/etc/fstab"
#: Directory trees of programs that root runs and of what root reads as configuration (hier(7), FHS 3.0, the
#: databases of package managers): nothing is mounted on them, in them, or on a directory above them. For
#: /usr/local, which the administrator lays out, see below.
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
#: Of /usr, only this is the administrator's own to lay out,
_LOCAL = "/usr/local"
#: apart from what root runs and reads there.
_FORBIDDEN_LOCAL = tuple(
    f"{_LOCAL}/{name}"
    for name in ("bin", "etc", "games", "lib", "lib32", "lib64", "libexec", "libx32", "sbin", "share/dbus-1",
                 "share/polkit-1")
)  # fmt: skip
_OWN = re.compile(r"/(0|[1-9][0-9]*)/.")
#: File systems that may not answer, or that their user controls. A walk does not enter them.
_FOREIGN = frozenset({"nfs", "nfs4", "autofs", "9p", "cifs", "smb3", "ceph", "afs", "fuse", "fuseblk"})


#: Words of fstab that let users mount (mount(8)).
_FOR_USERS = frozenset({"user", "users", "owner", "group"})


class Place(Enum):
    """The classes of places; see the module."""

    FORBIDDEN = auto()
    RESTRICTED = auto()
    ROOTS = auto()
    OWN = auto()


def read_fstab(path: str = FSTAB) -> set[tuple[str, str]]:
    """Return (share, mount point) of every NFS entry; nothing if the file cannot be read."""
    return {entry[:2] for entry in fstab_entries(path)}


def fstab_entries(path: str = FSTAB, *, nfs: bool = True) -> list[tuple[str, str, str]]:
    """Return share, mount point and options of every NFS entry; nothing if the file cannot be read.

    Without ``nfs``, of every entry of another type.
    """
    entries: list[tuple[str, str, str]] = []
    for line in read_small(path).split(b"\n"):
        fields = [mountinfo.unquote(part) for part in line.split()]
        if len(fields) >= 3 and not fields[0].startswith("#") and (fields[2] in mountinfo.NFS_TYPES) is nfs:
            entries.append((fields[0], fields[1], fields[3] if len(fields) > 3 else ""))
    return entries


def read_roots(path: str = ROOTS_FILE) -> tuple[str, ...]:
    """Return the directories that the administrator added, one path a line; unfit lines are left out."""
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
    """Return the class of a path in its plain form.

    Args:
        path: absolute, as :func:`app.helper.validate.target` takes it.
        roots: directories of ROOTS; None takes ROOTS and roots.conf.
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
    """Check that a mount there may be declared by anybody at all.

    Raises:
        Refusal: with code mount-point-system.
    """
    if place_of(path, ROOTS) is Place.FORBIDDEN:
        raise Refusal(
            "mount-point-system",
            f"“{path}” is a directory of the system: root would run, or obey, what is mounted there.",
        )


def permit_place(caller: Caller, path: str) -> None:
    """Check that the caller may mount there, or declare a mount for the next boot.

    Raises:
        Refusal: mount-point-system, or mount-point-restricted where a system role may.
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
    """Return the home directory that the path lies in: the caller's, or one in /home; "" for none."""
    own = "" if any(mountinfo.is_within(root, caller.home) for root in (*ROOTS, "/home")) else caller.home
    parts = path.split("/")
    for home in (own, "/".join(parts[:3]) if parts[1] == "home" and len(parts) > 3 else ""):
        if home and path != home and mountinfo.is_within(path, home):
            return home
    return ""


def check_walk(rows: list[mountinfo.MountRow], path: str) -> None:
    """Check with the table of mounts alone that the way to the path enters no file system of others.

    Raises:
        Refusal: with code mount-point-invalid.
    """
    for row in rows:
        # A root file system on NFS is what the machine lives on: it is no worse here than anywhere.
        foreign = row.fstype in _FOREIGN or row.fstype.startswith("fuse.")
        inside = path != row.mount_point and mountinfo.is_within(path, row.mount_point)
        if foreign and row.mount_point != "/" and inside:
            raise Refusal(
                "mount-point-invalid",
                f"“{path}” lies on the {row.fstype} file system at “{row.mount_point}”, not on a local one.",
            )


def check_disks(rows: list[mountinfo.MountRow], path: str) -> None:
    """Check with the table of mounts that the way to the path enters no disk that users can take away.

    With another one in its place the path would lead elsewhere before mount.nfs, or the next boot, looks it
    up again. What udisks mounts for a user has nosuid and nodev, and so has an entry of fstab for users.

    Raises:
        Refusal: with code mount-point-system.
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

"""Record of the helper's mounts: the owner of each mount, and the directories created for it.

Each mount point has one file in /run/mountwright/mounts, until the next boot. Only root can write these
files. Every user can read them, so that a preview can show the owner without root. A mount without a record,
or one that differs from its record, belongs to root.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pwd
from typing import TYPE_CHECKING, Any, cast

from app.helper import callers, directories, mount_nfs, mount_permission, mountinfo, utab
from app.helper.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER = f"{callers.OWN_ROOT}/mounts"
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


def add(row: mountinfo.MountRow, uid: int, made: Sequence[tuple[str, int, int]]) -> None:
    """Write the record of a mount. An error is ignored, because the mount itself has succeeded.

    Args:
        row: row of the mount in the mount table.
        uid: user id of the owner.
        made: (path, device, inode) of each directory created for it; see directories.MountDirectory.
    """
    path = row.mount_point
    # After umount(8) and a new mount, the directories of the earlier record are still there.
    kept = [list(item) for item in made] or _read(path).get("made", [])
    record = {**_mount_identity(row), "uid": uid, "made": kept}
    with contextlib.suppress(OSError):
        mount_nfs.make_root()
        previous = os.umask(0o022)
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(FOLDER, 0o755)  # noqa: PTH102
            temporary = f"{FOLDER}/.new-{os.getpid()}"
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)  # noqa: PTH108
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(temporary, flags, 0o644), "w", encoding="ascii") as file:  # noqa: PTH123
                json.dump(record, file)
            os.rename(temporary, _name(path))  # noqa: PTH104
        finally:
            os.umask(previous)


def update(before: mountinfo.MountRow, after: mountinfo.MountRow | None) -> None:
    """Renew the record of a mount after the helper changed its flags, so that the owner stays the same.

    Args:
        before: row of the mount before the change.
        after: row at the mount point after the change, None if nothing is mounted there.
    """
    record = _read(before.mount_point)
    if after is not None and after.mount_id == before.mount_id and _matches(record, before):
        add(after, record["uid"], [])


def owner(row: mountinfo.MountRow) -> int:
    """Return the user id of a mount's owner; 0, root, if no record matches the mount."""
    record = _read(row.mount_point)
    uid = record.get("uid")
    return uid if type(uid) is int and _matches(record, row) else 0


def permit_change(caller: callers.Caller, row: mountinfo.MountRow, *, to_unmount: bool) -> None:
    """Check that the caller may change a mount.

    Args:
        caller: user that asks.
        row: row of the mount in the mount table.
        to_unmount: whether the change is an unmount, which root's fstab entry may permit to users.

    Raises:
        Refusal: code mount-not-yours.
    """
    whose = owner(row)
    if caller.administers or whose == caller.uid or (to_unmount and _is_for_users(caller, row)):
        return
    name = "another user" if whose else "the system"
    raise Refusal(
        "mount-not-yours", f"The mount at “{row.mount_point}” belongs to {name}.", data={"uid": whose}
    )


def _is_for_users(caller: callers.Caller, row: mountinfo.MountRow) -> bool:
    """Whether root's fstab entry of this mount lets the caller unmount it (mount(8), user and users)."""
    for options in mount_permission.root_entry_options(row.source, row.mount_point):
        words = options.split(",")
        by_user = "user" in words and utab.mounted_by(row) == _user(caller.uid)
        if ("users" in words or by_user) and "nouser" not in words:
            return True
    return False


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def remove(path: str, now: mountinfo.MountRow | None) -> None:
    """Delete the record of a mount point, unless it matches the mount that is there now.

    Args:
        path: mount point.
        now: topmost row at the mount point, None if nothing is mounted there.
    """
    if now is None or not _matches(_read(path), now):
        with contextlib.suppress(OSError):
            os.unlink(_name(path))  # noqa: PTH108


def remove_directories(path: str) -> bool:
    """Remove the directories created for a mount; return whether the mount point itself was removed."""
    try:
        made = [(str(p), int(device), int(inode)) for p, device, inode in _read(path).get("made", [])]
    except (TypeError, ValueError):
        return False
    gone = [
        name for name, device, inode in reversed(made) if directories.remove_directory(name, device, inode)
    ]
    return path in gone


def _matches(record: dict[str, Any], row: mountinfo.MountRow) -> bool:
    return record.items() >= _mount_identity(row).items()


def _mount_identity(row: mountinfo.MountRow) -> dict[str, Any]:
    """Return the values that identify a mount; the kernel reuses mount ids and device numbers."""
    return {
        "mount_point": row.mount_point, "mount_id": row.mount_id, "boot_id": _boot_id(),
        "device": row.device, "share": row.source, "flags": sorted(row.options),
    }  # fmt: skip


def _name(path: str) -> str:
    return f"{FOLDER}/{hashlib.sha256(os.fsencode(path)).hexdigest()}"


def _read(path: str) -> dict[str, Any]:
    try:
        found: object = json.loads(callers.read_small(_name(path)))
    except ValueError:
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _boot_id() -> str:
    with open(_BOOT_ID, encoding="ascii") as file:  # noqa: PTH123
        return file.read().strip()

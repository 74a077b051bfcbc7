"""The record of the mounts that this program made: whose each is, and the directories made for it.

One file a mount point under /run/mountwright/mounts, gone with the next boot. Root alone writes them, and
everybody may read them, so that a preview knows without root whose a mount is. What no record names, or what
is not the mount that the record names, is the system's: it belongs to root.
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
    """Remember whose a mount is and what was made for it. Failing to is no reason to fail the mount.

    Args:
        row: the mount.
        uid: whose it is.
        made: the directories made for it, as of :class:`app.helper.directories.MountDirectory`.
    """
    path = row.mount_point
    # Unmounted by umount(8) and mounted once more, it stands on a directory that an earlier record names.
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
    """Let the mount stay its owner's: this program gave it other flags."""
    record = _read(before.mount_point)
    if after is not None and after.mount_id == before.mount_id and _names(record, before):
        add(after, record["uid"], [])


def owner(row: mountinfo.MountRow) -> int:
    """Return whose a mount is: the uid of the record if it names this very mount, else root's."""
    record = _read(row.mount_point)
    uid = record.get("uid")
    return uid if type(uid) is int and _names(record, row) else 0


def permit_change(caller: callers.Caller, row: mountinfo.MountRow, *, to_unmount: bool) -> None:
    """Check that the caller may change the mount, or with ``to_unmount`` that it may take it away.

    Raises:
        Refusal: with code mount-not-yours.
    """
    whose = owner(row)
    if caller.administers or whose == caller.uid or (to_unmount and _is_for_users(caller, row)):
        return
    name = "another user" if whose else "the system"
    raise Refusal(
        "mount-not-yours", f"The mount at “{row.mount_point}” belongs to {name}.", data={"uid": whose}
    )


def _is_for_users(caller: callers.Caller, row: mountinfo.MountRow) -> bool:
    """Whether root's own entry of fstab lets this user unmount the mount, which is the one of that entry."""
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
    """Forget whose the mount at this path was, unless the record names the one that is there now."""
    if now is None or not _names(_read(path), now):
        with contextlib.suppress(OSError):
            os.unlink(_name(path))  # noqa: PTH108


def remove_directories(path: str) -> bool:
    """Remove what was made for the mount that was at this path; return whether the mount point went."""
    try:
        made = [(str(p), int(device), int(inode)) for p, device, inode in _read(path).get("made", [])]
    except (TypeError, ValueError):
        return False
    gone = [
        name for name, device, inode in reversed(made) if directories.remove_directory(name, device, inode)
    ]
    return path in gone


def _names(record: dict[str, Any], row: mountinfo.MountRow) -> bool:
    return record.items() >= _mount_identity(row).items()


def _mount_identity(row: mountinfo.MountRow) -> dict[str, Any]:
    """Return what tells a mount from others: the kernel gives a mount id and a device again."""
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

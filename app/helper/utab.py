"""libmount's table of user space mount data, /run/mount/utab: reads the mounting user, removes entries.

mount.nfs adds an entry at each mount. umount2(2) does not remove it, and a later mount(8) or umount(8) of the
same directory would use the stale entry. Format and lock are those of util-linux (libmount/src/tab_update.c,
lock.c): ``KEY=value`` fields with octal escapes, and flock(2) on utab.lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from typing import TYPE_CHECKING

from app.helper import callers, mountinfo

if TYPE_CHECKING:
    from app.helper.mountinfo import MountRow

FOLDER = "/run/mount"
#: Time to wait for the lock, s.
_LOCK_S = 1.0
#: Most bytes of utab that are read.
_MAX_BYTES = 4 << 20


def mounted_by(row: MountRow, folder: str = FOLDER) -> str:
    """Return the name of the user for whom mount(8) made this NFS mount, "" for root.

    mount(8) stores ``user=NAME`` for an fstab entry with the option ``user`` (libmount/src/context_mount.c).
    """
    name = ""
    for line in callers.read_small(f"{folder}/utab").split(b"\n"):
        pairs = (field.partition(b"=") for field in line.split(b" "))
        fields = {key: value for key, _equals, value in pairs}
        path, share, words = (mountinfo.unquote(fields.get(key, b"")) for key in (b"TARGET", b"SRC", b"OPTS"))
        same = path == row.mount_point and mountinfo.plain_share(share) == mountinfo.plain_share(row.source)
        if same and fields.get(b"ID", b"%d" % row.mount_id) == b"%d" % row.mount_id:
            users = [word.removeprefix("user=") for word in words.split(",") if word.startswith("user=")]
            name = users[0] if users else ""
    return name


def remove_entries(path: str, folder: str = FOLDER) -> bool:
    """Remove the entries of a mount point; return whether there were any.

    Errors are ignored, and so is a lock that is held for longer than _LOCK_S: stale entries do little harm.
    """
    if not os.path.lexists(f"{folder}/utab"):
        return False
    try:
        lock = os.open(f"{folder}/utab.lock", os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError:
        return False
    try:
        return _is_locked(lock) and _rewrite(f"{folder}/utab", b"TARGET=" + _escaped(path))
    except OSError:
        return False
    finally:
        os.close(lock)


def _is_locked(lock: int) -> bool:
    end = time.monotonic() + _LOCK_S
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if time.monotonic() >= end:
            return False
        os.sched_yield()


def _rewrite(name: str, field: bytes) -> bool:
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(fd, "rb") as file:  # noqa: PTH123 - a descriptor
        lines = file.read(_MAX_BYTES).splitlines(keepends=True)
    kept = [line for line in lines if field not in line.split()]
    if len(kept) == len(lines):
        return False
    temporary = f"{name}.mountwright"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)  # noqa: PTH108
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with open(fd, "wb") as file:  # noqa: PTH123
        os.fchmod(fd, 0o644)
        file.writelines(kept)
    os.rename(temporary, name)  # noqa: PTH104
    return True


def _escaped(path: str) -> bytes:
    return re.sub(rb"[ \t\n\\]", lambda m: b"\\%03o" % m[0][0], os.fsencode(path))

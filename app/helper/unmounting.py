"""Unmounting with umount2(2) in an abandonable child; the mount table decides whether it succeeded.

The child resolves the path once, without following links. The result must have the expected mount id
(proc(5), fdinfo). umount2(2) then gets only the last name, relative to the opened parent directory. Renaming
of a directory above it has no effect.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import time
from typing import TYPE_CHECKING

from app.helper import children, mount_users, mountinfo, safe_path
from app.helper.abandonable_child import AbandonableChild
from app.helper.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Collection

    from app.helper.children import Waiter

# umount2(2)
MNT_FORCE, MNT_DETACH, _UMOUNT_NOFOLLOW = 1, 2, 8
#: Time for umount2(2) to return after the mount has left the mount table, s: the kernel writes back data and
#: ends its session with the server.
TIMEOUT_S = 5.0
#: Interval at which the mount table is read, s.
_POLL_S = 0.05
#: Exit status of a child if the path leads to another mount; it is no errno.
MOVED = 254


class NeverCancelled:
    """Waiter for cleanup work: it cannot be cancelled."""

    cancelled = False

    def wait(self, fds: Collection[int], timeout_s: float) -> set[int]:
        """Return the readable descriptors, waiting for one or for the timeout."""
        return set(select.select([*fds], [], [], timeout_s)[0])


def unmount(row: mountinfo.MountRow, flags: int, deadline_s: float, waiter: Waiter) -> bool:
    """Unmount in an abandonable child, and wait until the mount has left the mount table.

    Args:
        row: row of the mount in the mount table.
        flags: MNT_FORCE, MNT_DETACH, both or 0.
        deadline_s: time limit, s.
        waiter: waits for the child and reports a cancellation.

    Returns:
        whether umount2(2) has returned, after its last exchange with the server.

    Raises:
        Refusal: code busy, not-mounted, not-responding or cancelled; the mount is still in the table.
    """
    child = AbandonableChild(lambda: _unmount(row, flags))
    end = time.monotonic() + deadline_s
    status: int | None = None
    try:
        while is_mounted(row):
            status = child.status() if status is None else status
            if status is not None and is_mounted(row):
                raise _not_removed(row, status)
            if waiter.cancelled:
                raise Refusal("cancelled", "Cancelled.")
            if time.monotonic() >= end:
                raise Refusal(
                    "not-responding", f"The mount at “{row.mount_point}” could not be removed in time."
                )
            waiter.wait({child.pidfd}, _POLL_S)
        # Written data is flushed after the mount has left the table; a live server gets time for that.
        return status is not None or children.wait_quietly(child.pidfd, 0.5 if flags else TIMEOUT_S)
    finally:
        child.dispose()


def is_mounted(row: mountinfo.MountRow) -> bool:
    """Whether the mount is still in the mount table."""
    return any(now.mount_id == row.mount_id and now.device == row.device for now in mountinfo.read())


def _not_removed(row: mountinfo.MountRow, status: int) -> Refusal:
    path = row.mount_point
    if status == errno.EBUSY:
        return in_use(path, f"The mount at “{path}” is in use.")
    if status == MOVED:
        return moved(path)
    text = os.strerror(status) if status < MOVED else "the call broke off"
    return Refusal("not-responding", f"The mount at “{path}” could not be removed.", detail=f"umount: {text}")


def moved(path: str) -> Refusal:
    """Return the refusal for a mount whose path leads to another mount."""
    return Refusal(
        "not-mounted",
        f"“{path}” does not lead to that mount any more: it was moved, or another mount hides it.",
    )


def in_use(path: str, message: str) -> Refusal:
    """Return the refusal for a mount in use, with the processes that use it and the mounts below it."""
    found = mount_users.find_users(path)
    below = [row.mount_point for row in mountinfo.read() if row.mount_point.startswith(path + "/")]
    detail = [f"{h['command']} (process {h['pid']}): {h['use']}" for h in found]
    detail += [f"mounted below: {name}" for name in below]
    return Refusal("busy", message, detail="\n".join(detail), data={"holders": found})


def _unmount(row: mountinfo.MountRow, flags: int) -> int:
    """Resolve the path and unmount, in an abandonable child; return an errno, or MOVED."""
    try:
        parent, name = safe_path.open_parent(row.mount_point)
        os.close(open_mount(row, parent, name))
        os.fchdir(parent)
    except (OSError, ValueError):
        return MOVED
    return umount2(os.fsencode(name), flags)


def open_mount(row: mountinfo.MountRow, parent: int, name: str) -> int:
    """Open the root directory of a mount with O_PATH, which does not contact the server.

    Args:
        row: row of the mount in the mount table.
        parent: descriptor of the parent directory of the mount point.
        name: name of the mount point in it.

    Raises:
        OSError: if the name does not exist.
        ValueError: if another mount is there.
    """
    fd = os.open(name, safe_path.DIRECTORY, dir_fd=parent)
    if _mount_id(fd) != row.mount_id:
        os.close(fd)
        raise ValueError("another mount")
    return fd


def _mount_id(fd: int) -> int:
    with open(f"/proc/self/fdinfo/{fd}", "rb") as file:  # noqa: PTH123
        return next((int(line.split()[1]) for line in file if line.startswith(b"mnt_id:")), -1)


def umount2(path: bytes, flags: int) -> int:
    """Unmount with UMOUNT_NOFOLLOW; return an errno. The call may block for ever with a dead server."""
    libc = ctypes.CDLL(None, use_errno=True)
    return 0 if libc.umount2(path, flags | _UMOUNT_NOFOLLOW) == 0 else ctypes.get_errno()

"""Unmounting, in a child that may never come back: the table of mounts decides what happened.

The path of a mount is looked up once, by the child, without following links, and what it leads to is the
mount only if the kernel gives it the same mount id (proc(5), fdinfo). umount2(2) then gets the last name
alone, from the directory that was opened: whoever renames directories above it meanwhile changes nothing.
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
#: After the mount has left the table: how long the kernel may take to say goodbye to the server.
TIMEOUT_S = 5.0
_POLL_S = 0.05
#: Exit status of a child, beside the errnos: the path leads somewhere else by now.
MOVED = 254


class NeverCancelled:
    """A Waiter for clearing up: nothing interrupts it."""

    cancelled = False

    def wait(self, fds: Collection[int], timeout_s: float) -> set[int]:
        """Wait for the descriptors or the time."""
        return set(select.select([*fds], [], [], timeout_s)[0])


def unmount(row: mountinfo.MountRow, flags: int, deadline_s: float, waiter: Waiter) -> bool:
    """Unmount the row's mount in a abandonable child and wait until the table says that it is gone.

    Args:
        row: the mount.
        flags: MNT_FORCE, MNT_DETACH or 0.
        deadline_s: how long to wait for it.
        waiter: waits, and can cancel.

    Returns:
        whether the call itself came back, after its farewell to the server.

    Raises:
        Refusal: it is still there then.
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
        # What was written is flushed after the mount has left the table: a live server gets its time.
        return status is not None or children.wait_quietly(child.pidfd, 0.5 if flags else TIMEOUT_S)
    finally:
        child.dispose()


def is_mounted(row: mountinfo.MountRow) -> bool:
    """Whether the table still has the mount."""
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
    """Return the refusal of a mount that its path does not lead to."""
    return Refusal(
        "not-mounted",
        f"“{path}” does not lead to that mount any more: it was moved, or another mount hides it.",
    )


def in_use(path: str, message: str) -> Refusal:
    """Return the refusal that names who holds the mount at the path, and what is mounted below."""
    found = mount_users.find_users(path)
    below = [row.mount_point for row in mountinfo.read() if row.mount_point.startswith(path + "/")]
    detail = [f"{h['command']} (process {h['pid']}): {h['use']}" for h in found]
    detail += [f"mounted below: {name}" for name in below]
    return Refusal("busy", message, detail="\n".join(detail), data={"holders": found})


def _unmount(row: mountinfo.MountRow, flags: int) -> int:
    """Unmount the row's mount, in a child that may never come back; return an errno, or ELSEWHERE."""
    try:
        parent, name = safe_path.open_parent(row.mount_point)
        os.close(open_mount(row, parent, name))
        os.fchdir(parent)
    except (OSError, ValueError):
        return MOVED
    return umount2(os.fsencode(name), flags)


def open_mount(row: mountinfo.MountRow, parent: int, name: str) -> int:
    """Open the root of the row's mount, of which this is the directory and the name there.

    O_PATH asks no server: what it takes is in the kernel's memory while the mount lasts.

    Raises:
        OSError: if there is nothing of that name.
        ValueError: if it is another mount.
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
    """Unmount, in a child that may never come back; return an errno."""
    libc = ctypes.CDLL(None, use_errno=True)
    return 0 if libc.umount2(path, flags | _UMOUNT_NOFOLLOW) == 0 else ctypes.get_errno()

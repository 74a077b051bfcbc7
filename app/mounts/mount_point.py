"""Mount point: an early check, before the server is contacted.

The helper applies the same rules again and decides. This check reads the mount table first, follows no
symbolic link and enters no file system that might not answer.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
from typing import TYPE_CHECKING

from app.helper import callers, mount_permission, mountinfo, policy, validate
from app.helper.errors import Refusal
from app.helper_client.client import explain_refusal

if TYPE_CHECKING:
    from app.errors import AppError


def this_caller() -> callers.Caller:
    """Return the identity of this process as the helper's Caller: user, groups and home directory."""
    home = ""
    with contextlib.suppress(KeyError):
        home = pwd.getpwuid(os.geteuid()).pw_dir
    return callers.Caller(os.geteuid(), os.getegid(), tuple(os.getgroups()), home=home)


def check_mount_point(share: str, path: str, *, create: bool, approved: bool = False) -> AppError | None:
    """Return the error of a mount point, None if the helper will probably accept it.

    Args:
        share: server:/export; it is checked too, and fstab may declare the mount point for it.
        path: the mount point as the person typed it.
        create: whether a missing directory is created.
        approved: whether an administrator approves this mount point, so that a mount may hide its entries.
    """
    caller = this_caller()._replace(system=approved)
    try:
        validate.share(share)
        validate.target(path)
        try:
            rows = mountinfo.read()
            mount_permission.check_table(rows, path)
            if caller.uid != 0:
                policy.check_disks(rows, path)
        except Refusal:
            # “A directory of the system” is a better message for “/” than “already a mount point”.
            mount_permission.permit_mount(caller, share, path)
            raise
        state = _inspect_directory(path)
        mount_permission.permit_mount(caller, share, path)
    except Refusal as refusal:
        return explain_refusal(refusal.code, refusal.message, refusal.detail)
    if state == "full" and not (approved and policy.place_of(path) is policy.Place.RESTRICTED):
        return explain_refusal("mount-point-not-empty", f"The directory “{path}” is not empty.")
    if state == "missing" and not create:
        return explain_refusal("mount-point-missing", f"The directory “{path}” does not exist.")
    return None


def _inspect_directory(path: str) -> str:
    """Return "empty", "full", "missing" or "unknown" for a directory, without following links.

    "unknown" means that this user may not read it; the helper checks it then.

    Raises:
        Refusal: if the path is not a directory or contains a symbolic link.
    """
    flags = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open("/", os.O_PATH | flags)
    try:
        for part in path.split("/")[1:]:
            below = os.open(part, os.O_PATH | flags, dir_fd=fd)
            os.close(fd)
            fd = below
        readable = os.open(".", os.O_RDONLY | flags, dir_fd=fd)
        try:
            return "full" if os.listdir(readable) else "empty"  # noqa: PTH208 - a descriptor
        finally:
            os.close(readable)
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        if error.errno == errno.ENOTDIR:
            raise Refusal(
                "mount-point-is-file", f"“{path}” is not a directory, or a symbolic link leads to it."
            ) from None
        return "unknown"
    finally:
        os.close(fd)

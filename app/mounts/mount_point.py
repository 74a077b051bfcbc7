"""Mount point: checked before anything else is tried, so that a bad one is told before a bad server.

The helper decides, by the same rules and again by itself. This is only the early answer: it reads the table
of mounts first, follows no link and enters no file system that might not answer.
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
    """Return who this process is, as the helper would see it."""
    home = ""
    with contextlib.suppress(KeyError):
        home = pwd.getpwuid(os.geteuid()).pw_dir
    return callers.Caller(os.geteuid(), os.getegid(), tuple(os.getgroups()), home=home)


def check_mount_point(share: str, path: str, *, create: bool, approved: bool = False) -> AppError | None:
    """Return what is wrong with a mount point, or None if the helper is worth asking.

    Args:
        share: server:/export, checked too; fstab may declare a mount point for it.
        path: as the person wrote it.
        create: whether a missing directory is to be made.
        approved: whether an administrator is asked for this mount point alone, whose entries it may hide.
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
            # That “/” belongs to the system says more than that it is a mount point.
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
    """Walk to the directory without following links; return "empty", "full", "missing" or "unknown".

    Raises:
        Refusal: if it is no directory. What this user may not see is left to the helper.
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

"""Mounting with mount.nfs(8): builds its command, runs it, and verifies the result in the mount table."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from app.helper import callers, children, mountinfo, unmounting
from app.helper.errors import Refusal
from app.helper.options import ALWAYS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from app.helper.children import Waiter
    from app.helper.options import Catalogue

#: Run directly instead of mount(8): one process instead of two, and mount.nfs's own messages and exit code.
MOUNT_NFS = ("/usr/sbin/mount.nfs", "/sbin/mount.nfs")

#: Allowed range of the argument ``timeout_ms``.
MIN_DEADLINE_MS, MAX_DEADLINE_MS = 500, 150_000


def build_options(
    catalogue: Catalogue, asked: list[str], free: Collection[str] = ()
) -> tuple[tuple[str, ...], list[str]]:
    """Return the option words for mount.nfs, and notes on changes to the requested ones.

    Args:
        catalogue: options that every user may set.
        asked: requested option words.
        free: words that may be passed on although the catalogue does not have them.

    Returns:
        the words, nosuid and nodev last; and a list that contains "foreground" if ``bg`` was left out.

    Raises:
        Refusal: code option-invalid or option-reserved.
    """
    notes: list[str] = []
    if "bg" in asked:
        # With bg, mount.nfs would go on after its deadline and could mount at any later time.
        asked = [word for word in asked if word != "bg"]
        notes.append("foreground")
    built = catalogue.build(asked, free)
    if not any(word.startswith("retry=") for word in built):
        # By default mount.nfs retries for two minutes and reports the error only then (nfs(5), retry=).
        built = (*built, "retry=0")
    return (*built, *ALWAYS), notes


def deadline_s(value: object) -> float:
    """Convert the argument ``timeout_ms``, ms, to seconds.

    Raises:
        Refusal: code usage if it is outside MIN_DEADLINE_MS to MAX_DEADLINE_MS.
    """
    if type(value) is not int or not MIN_DEADLINE_MS <= value <= MAX_DEADLINE_MS:
        raise Refusal("usage", "The time limit is out of range.")
    return value / 1000


def make_root() -> None:
    """Create OWN_ROOT, the directory of the program's own mounts (mode 0755), if it is missing.

    Raises:
        OSError: if it cannot be created.
    """
    previous = os.umask(0o022)
    try:
        os.makedirs(callers.OWN_ROOT, 0o755, exist_ok=True)  # noqa: PTH103
    finally:
        os.umask(previous)


def command(share: str, path: str, options: Sequence[str]) -> list[str]:
    """Return the mount.nfs command for a share, a mount point and option words.

    Raises:
        Refusal: code mount-nfs-missing if mount.nfs is not installed.
    """
    program = next((p for p in MOUNT_NFS if os.access(p, os.X_OK)), None)
    if program is None:
        raise Refusal("mount-nfs-missing", "The program mount.nfs is not installed.")
    return [program, share, path, "-o", ",".join(options)]


def run(
    argv: Sequence[str], path: str, before: list[mountinfo.MountRow], deadline_s: float, waiter: Waiter
) -> tuple[mountinfo.MountRow, str]:
    """Run a mount.nfs command; return the new row of the mount table and the output.

    Args:
        argv: command from :func:`command`.
        path: mount point of the command.
        before: mount table before the command.
        deadline_s: longest run time, s.
        waiter: waits for the command and reports a cancellation.

    Raises:
        Refusal: if the mount failed or is not as required; a new mount at the path is removed again.
    """
    try:
        ended = children.run(argv, deadline_s, waiter)
        return _verify(ended, before, path), ended.text
    except BaseException:
        _remove_leftover(before, path)
        raise


def _verify(ended: children.ProcessResult, before: list[mountinfo.MountRow], path: str) -> mountinfo.MountRow:
    """Return the new row of the mount table if it is an NFS mount with nosuid and nodev.

    The source is not compared with the share: with trunking, an NFS 4.1 mount shows the first address of the
    server, and a referral shows another server. The new row is at the requested path, which only root can
    change.

    Raises:
        Refusal: code cancelled or mount-failed.
    """
    if ended.cancelled:
        raise Refusal("cancelled", "Cancelled.")
    if ended.code is None:
        raise _failed("mount.nfs did not end in time.", ended, timed_out=True)
    if ended.code != 0:
        raise _failed("mount.nfs failed.", ended)
    row = _new_row(before, path)
    if row is None:
        raise _failed("mount.nfs ended without an error, but nothing is mounted.", ended)
    if row.fstype not in mountinfo.NFS_TYPES or not {"nosuid", "nodev"} <= set(row.options):
        raise _failed("The mount came out without “nosuid,nodev” and was removed.", ended)
    return row


def _failed(message: str, ended: children.ProcessResult, *, timed_out: bool = False) -> Refusal:
    data: dict[str, object] = {"exit_code": ended.code, "timed_out": timed_out}
    return Refusal("mount-failed", message, detail=ended.text.strip(), data=data)


def _new_row(before: list[mountinfo.MountRow], path: str) -> mountinfo.MountRow | None:
    known = {row.mount_id for row in before}
    return mountinfo.topmost([row for row in mountinfo.read() if row.mount_id not in known], path)


def _remove_leftover(before: list[mountinfo.MountRow], path: str) -> None:
    """Unmount a new NFS mount that a failed or killed mount.nfs left at the path."""
    row = _new_row(before, path)
    if row is not None and row.fstype in mountinfo.NFS_TYPES:
        try:
            unmounting.unmount(row, unmounting.MNT_DETACH, unmounting.TIMEOUT_S, unmounting.NeverCancelled())
        except Refusal:
            return

"""mount.nfs: run it, and believe the table of mounts rather than its exit code."""

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

#: It is run itself, not mount(8): one process instead of two, and its own text and exit code.
MOUNT_NFS = ("/usr/sbin/mount.nfs", "/sbin/mount.nfs")

MIN_DEADLINE_MS, MAX_DEADLINE_MS = 500, 150_000


def build_options(
    catalogue: Catalogue, asked: list[str], free: Collection[str] = ()
) -> tuple[tuple[str, ...], list[str]]:
    """Return all the words for mount.nfs, and notes on what became of those asked for.

    Args:
        catalogue: of the options.
        asked: the words.
        free: those that pass as they are where the catalogue does not have them.

    Raises:
        Refusal: with code option-invalid or option-reserved.
    """
    notes: list[str] = []
    if "bg" in asked:
        # A mount.nfs in the background would outlive its deadline and mount at any later time.
        asked = [word for word in asked if word != "bg"]
        notes.append("foreground")
    built = catalogue.build(asked, free)
    if not any(word.startswith("retry=") for word in built):
        # By default mount.nfs tries for two minutes and says why only at their end.
        built = (*built, "retry=0")
    return (*built, *ALWAYS), notes


def deadline_s(value: object) -> float:
    """Return a time limit given in milliseconds, in seconds.

    Raises:
        Refusal: with code usage.
    """
    if type(value) is not int or not MIN_DEADLINE_MS <= value <= MAX_DEADLINE_MS:
        raise Refusal("usage", "The time limit is out of range.")
    return value / 1000


def make_root() -> None:
    """Make the directory of this program's own mounts, which everybody may enter, if it is not there.

    Raises:
        OSError: if it cannot be made.
    """
    previous = os.umask(0o022)
    try:
        os.makedirs(callers.OWN_ROOT, 0o755, exist_ok=True)  # noqa: PTH103
    finally:
        os.umask(previous)


def command(share: str, path: str, options: Sequence[str]) -> list[str]:
    """Return the command that mounts.

    Raises:
        Refusal: if mount.nfs is not installed.
    """
    program = next((p for p in MOUNT_NFS if os.access(p, os.X_OK)), None)
    if program is None:
        raise Refusal("mount-nfs-missing", "The program mount.nfs is not installed.")
    return [program, share, path, "-o", ",".join(options)]


def run(
    argv: Sequence[str], path: str, before: list[mountinfo.MountRow], deadline_s: float, waiter: Waiter
) -> tuple[mountinfo.MountRow, str]:
    """Run a command that mounts at the path; return the new row and what was printed.

    Args:
        argv: the command.
        path: where it mounts.
        before: the table as it was.
        deadline_s: how long it may take.
        waiter: waits, and can cancel.

    Raises:
        Refusal: nothing new is mounted at the path then.
    """
    try:
        ended = children.run(argv, deadline_s, waiter)
        return _verify(ended, before, path), ended.text
    except BaseException:
        _remove_leftover(before, path)
        raise


def _verify(ended: children.ProcessResult, before: list[mountinfo.MountRow], path: str) -> mountinfo.MountRow:
    """Return the new row of the table if it is the mount that was wanted.

    The source is not compared: a 4.1 server reached by another address shows the first one (trunking),
    and a referral shows another server. The row is new, stands at a path that only root can change, and
    is NFS.

    Raises:
        Refusal: otherwise.
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
    """Take away what a failed or killed mount.nfs left at the path after all."""
    row = _new_row(before, path)
    if row is not None and row.fstype in mountinfo.NFS_TYPES:
        try:
            unmounting.unmount(row, unmounting.MNT_DETACH, unmounting.TIMEOUT_S, unmounting.NeverCancelled())
        except Refusal:
            return

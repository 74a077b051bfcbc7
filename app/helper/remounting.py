"""Remounting: changes the flags of an active NFS mount (mount(2), MS_REMOUNT).

The flags of one mount are changed with MS_REMOUNT | MS_BIND, which involves neither the NFS client nor the
server. Two settings belong to the superblock, and so to every mount that shares it: ``sync``, and ``rw`` if
the superblock is read-only. They are changed with MS_REMOUNT and no option data, which changes nothing else
(kernel fs/nfs/fs_context.c, skip_reconfig_option_check; before 5.6 fs/nfs/super.c, nfs_remount).

The mount is passed to the kernel as a descriptor, not as a path; see :mod:`app.helper.unmounting`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import time
from typing import TYPE_CHECKING, NamedTuple

from app.helper import mountinfo, safe_path, unmounting
from app.helper.abandonable_child import AbandonableChild
from app.helper.errors import Refusal
from app.helper.options import ALWAYS

if TYPE_CHECKING:
    from app.helper.children import Waiter
    from app.helper.options import Catalogue

# linux/mount.h
_RDONLY, _SYNCHRONOUS, _REMOUNT, _BIND, _STRICTATIME = 1, 16, 32, 0x1000, 1 << 24
#: Mount flags by the words that mountinfo shows for them.
_VISIBLE_FLAGS = {
    "ro": _RDONLY, "nosuid": 2, "nodev": 4, "noexec": 8, "nosymfollow": 0x100, "noatime": 0x400,
    "nodiratime": 0x800, "relatime": 1 << 21,
}  # fmt: skip
_TIMES = ("noatime", "relatime")
#: Words that clear flags, each with the words that mountinfo no longer shows then.
_OPPOSITES = {
    "rw": ("ro",), "exec": ("noexec",), "symfollow": ("nosymfollow",), "diratime": ("nodiratime",),
    "atime": _TIMES, "strictatime": _TIMES, "norelatime": _TIMES,
}  # fmt: skip


class NewFlags(NamedTuple):
    """Requested state of a mount's flags after the remount.

    Attributes:
        shown: words that mountinfo must show.
        absent: words that mountinfo must not show.
        sync: requested state of ``sync``; None to leave it unchanged.
    """

    shown: frozenset[str]
    absent: frozenset[str]
    sync: bool | None

    @staticmethod
    def read(words: list[str], catalogue: Catalogue) -> NewFlags:
        """Parse option words into flags.

        Raises:
            Refusal: code option-invalid for a word that a remount does not change, or a repeated one.
        """
        shown: set[str] = set(ALWAYS)
        absent: set[str] = set()
        sync: bool | None = None
        # Catalogue.build refuses repeated and unknown options.
        for word in catalogue.build(words):
            if word not in catalogue.remount:
                raise Refusal("option-invalid", f"The option “{word}” is not changed by a remount.")
            if word in {"sync", "async"}:
                sync = word == "sync"
            elif word in _VISIBLE_FLAGS:
                shown.add(word)
                absent.update(set(_TIMES) - {word} if word in _TIMES else ())
            elif word in _OPPOSITES:
                absent.update(_OPPOSITES[word])
            else:
                raise Refusal("option-invalid", f"The option “{word}” is not changed by this program.")
        return NewFlags(frozenset(shown), frozenset(absent), sync)


def is_of_superblock(row: mountinfo.MountRow, wanted: NewFlags) -> bool:
    """Whether the change affects the superblock, and so every mount that shares it."""
    words = set(row.super_options.split(","))
    syncs = wanted.sync is not None and wanted.sync != ("sync" in words)
    return syncs or ("ro" in words and "ro" in wanted.absent)


def change(row: mountinfo.MountRow, wanted: NewFlags, deadline_s: float, waiter: Waiter) -> dict[str, object]:
    """Remount with new flags, and check the result in the mount table.

    Args:
        row: row of the mount in the mount table.
        wanted: requested flags.
        deadline_s: time limit, s.
        waiter: waits for the child and reports a cancellation.

    Returns:
        ``options`` and ``mount_options`` in use; ``whole``, whether the superblock was remounted.

    Raises:
        Refusal: code busy, not-mounted, option-rejected, not-responding or cancelled.
    """
    super_words = set(row.super_options.split(","))
    flags = _flags((set(row.options) | wanted.shown) - wanted.absent)
    sync = "sync" in super_words if wanted.sync is None else wanted.sync
    whole = "ro" not in super_words or "ro" in wanted.absent
    calls = [flags | _REMOUNT | _BIND]
    if is_of_superblock(row, wanted):
        calls.insert(0, (flags & ~_RDONLY) | (0 if whole else _RDONLY) | sync * _SYNCHRONOUS | _REMOUNT)
    child = AbandonableChild(lambda: _remount(row, calls))
    try:
        status = _wait(child, time.monotonic() + deadline_s, waiter)
    finally:
        child.dispose()
    if status == errno.EBUSY:
        raise unmounting.in_use(row.mount_point, f"Files on “{row.mount_point}” are open for writing.")
    if status == unmounting.MOVED:
        raise unmounting.moved(row.mount_point)
    now = next((r for r in mountinfo.read() if (r.mount_id, r.device) == (row.mount_id, row.device)), None)
    if status or now is None or not _is_done(now, wanted):
        raise Refusal(
            "option-rejected", f"The mount at “{row.mount_point}” was not changed as asked.",
            detail=f"mount: {os.strerror(status) if 0 < status < unmounting.MOVED else 'no error'}",
        )  # fmt: skip
    return {"options": now.super_options, "mount_options": ",".join(now.options), "whole": len(calls) > 1}


def _flags(words: set[str]) -> int:
    flags = sum(flag for word, flag in _VISIBLE_FLAGS.items() if word in words)
    return flags if words & set(_TIMES) else flags | _STRICTATIME


def _wait(child: AbandonableChild, end: float, waiter: Waiter) -> int:
    while (status := child.status()) is None:
        waiter.wait({child.pidfd}, max(0.0, end - time.monotonic()))
        if waiter.cancelled:
            raise Refusal("cancelled", "Cancelled.")
        if time.monotonic() >= end:
            # A remount flushes written data first, which blocks for ever with a dead server.
            raise Refusal("not-responding", "The server did not answer in time for the change of the mount.")
    return status


def _is_done(row: mountinfo.MountRow, wanted: NewFlags) -> bool:
    super_words = set(row.super_options.split(","))
    shown = set(row.options)
    good = wanted.shown <= shown and not wanted.absent & shown
    if "ro" in wanted.absent and "ro" in super_words:
        return False
    return good and (wanted.sync is None or wanted.sync == ("sync" in super_words))


def _remount(row: mountinfo.MountRow, calls: list[int]) -> int:
    """Call mount(2) with each of the flag sets, in an abandonable child.

    Returns:
        the first errno that is not 0; 0 if all succeed; MOVED if the path leads to another mount.
    """
    try:
        fd = unmounting.open_mount(row, *safe_path.open_parent(row.mount_point))
    except (OSError, ValueError):
        return unmounting.MOVED
    path = f"/proc/self/fd/{fd}".encode()
    return next((error for flags in calls if (error := _mount(path, flags))), 0)


def _mount(path: bytes, flags: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    return 0 if libc.mount(None, path, None, ctypes.c_ulong(flags), None) == 0 else ctypes.get_errno()

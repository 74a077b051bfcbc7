"""Settings of a mount before a change, and their restoration after the change was kept.

A change that fails rolls itself back (:mod:`app.mounts.apply`). This module restores what a kept change
replaced: the live options and readahead, the saved entry, and the saved readahead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from advisor.dialects.linux import FSTAB_FILE
from app.mounts.change_model import ApplyArgs, MountSettings, RemoveArgs, RestoreArgs, SaveTarget

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.mounts.model import Configured, Mount


def save_target(configured: Configured | None) -> SaveTarget:
    """Return where this program saves a mount; "nowhere" also for an entry that it may not change."""
    if configured is None or not configured.ours:
        return "nowhere"
    return "fstab" if configured.origin == FSTAB_FILE else "systemd"


def settings_of(mount: Mount) -> MountSettings:
    """Return the present settings of a live mount."""
    configured, active = mount.configured, mount.active
    saved_in = save_target(configured)
    is_saved = configured is not None and saved_in != "nowhere"
    return MountSettings(
        share=mount.share,
        mount_point=mount.mount_point,
        options=mount.requested,
        read_ahead_kb=active.read_ahead_kb if active is not None else None,
        saved_in=saved_in,
        saved_options=configured.options if configured is not None and is_saved else "",
        fstype=configured.fstype if configured is not None and is_saved else "",
        saved_read_ahead_kb=mount.saved_read_ahead_kb,
    )


def restore_settings(
    args: RestoreArgs,
    find: Callable[[str], Mount],
    apply: Callable[[ApplyArgs], object],
    remove: Callable[[RemoveArgs], object],
    save_readahead: Callable[[str, int | None], object],
) -> Mount:
    """Restore the settings of a mount: first the live mount, then what is saved.

    Args:
        args: the settings.
        find: returns the mount at a mount point.
        apply: makes a change, or rolls it back and raises an AppError.
        remove: removes the saved entry of a mount point, with the readahead saved for it.
        save_readahead: saves a readahead (KiB) for a mount point, or removes the saved one for None.

    Returns:
        The mount after the restoration.

    Raises:
        AppError: of the first step that failed; later steps were not tried.
    """
    settings = args.settings
    point = settings.mount_point
    live = ApplyArgs(
        share=settings.share,
        mount_point=point,
        options=settings.options,
        exact=True,
        read_ahead_kb=settings.read_ahead_kb,
        approved=args.approved,
    )
    apply(live)
    now = settings_of(find(point))
    if settings.saved_in == "nowhere" and now.saved_in != "nowhere":
        remove(RemoveArgs(mount_point=point, approved=args.approved))
    elif settings.saved_in != "nowhere" and (now.saved_in, now.saved_options) != (
        settings.saved_in,
        settings.saved_options,
    ):
        saved = msgspec.structs.replace(
            live,
            options=settings.saved_options,
            fstype=settings.fstype,
            keeper=settings.saved_in,
            mount=False,
            read_ahead_kb=None,
        )
        apply(saved)
    if settings_of(find(point)).saved_read_ahead_kb != settings.saved_read_ahead_kb:
        save_readahead(point, settings.saved_read_ahead_kb)
    return find(point)

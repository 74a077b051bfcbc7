"""Permission to mount a share at a mount point, by the class of the place and root's fstab entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.helper import mountinfo, policy, user_entries
from app.helper.errors import Refusal
from app.helper.options import split

if TYPE_CHECKING:
    from app.helper.callers import Caller


def permit_mount(caller: Caller, share: str, path: str) -> None:
    """Check that the caller may mount this share at this path.

    An fstab entry that root wrote permits its share at its mount point, and forbids other shares there.

    Args:
        caller: user that asks for the mount.
        share: server:/export.
        path: mount point.

    Raises:
        Refusal: code mount-point-system or mount-point-restricted.
    """
    policy.permit_entry(path)
    if caller.administers:
        policy.permit_place(caller, path)
        return
    if root_entry_options(share, path):
        return
    policy.permit_place(caller, path)
    declared = sorted(entry[0] for entry in policy.read_fstab() if entry[1] == path)
    if declared and mountinfo.plain_share(share) not in map(mountinfo.plain_share, declared):
        raise Refusal(
            "mount-point-restricted",
            f"fstab keeps “{path}” for “{declared[0]}”, so no other share is mounted there.",
            data={"home": ""},
        )


def root_entry_options(share: str, path: str = "") -> list[str]:
    """Return the option strings of root's fstab entries for a share.

    Args:
        share: server:/export.
        path: mount point of the entries; "" for any mount point.
    """
    return [
        options
        for source, target, options in policy.fstab_entries()
        if path in {"", target}
        and mountinfo.plain_share(source) == mountinfo.plain_share(share)
        and not user_entries.contains(source, target)
    ]


def uncatalogued_options(caller: Caller, words: list[str], share: str, path: str = "") -> list[str]:
    """Return option words that are permitted for mount.nfs although the catalogue does not have them.

    For root and in system actions these are all requested words. For ordinary users these are the words of
    root's fstab entry for the share.

    Args:
        caller: user that asks for the mount.
        words: requested option words.
        share: server:/export.
        path: mount point; "" for a test mount, for which any entry of the share counts.
    """
    found = [words] if caller.administers else map(split, root_entry_options(share, path))
    return [word for some in found for word in some]


def check_table(rows: list[mountinfo.MountRow], path: str) -> None:
    """Check in the mount table, without touching the path, that nothing is mounted on it or below it.

    No file system that may not answer may lie on the path either.

    Args:
        rows: mount table.
        path: mount point.

    Raises:
        Refusal: code mount-point-busy or mount-point-invalid.
    """
    for row in rows:
        if row.mount_point == path:
            raise Refusal("mount-point-busy", f"“{path}” is a mount point already.", detail=row.source)
        if mountinfo.is_within(row.mount_point, path):
            raise Refusal("mount-point-busy", f"Something is mounted below “{path}”.", detail=row.mount_point)
    policy.check_walk(rows, path)

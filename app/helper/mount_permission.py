"""Whether a caller may mount a share at a place now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.helper import mountinfo, policy, user_entries
from app.helper.errors import Refusal
from app.helper.options import split

if TYPE_CHECKING:
    from app.helper.callers import Caller


def permit_mount(caller: Caller, share: str, path: str) -> None:
    """Check that the caller may mount this share there.

    What fstab declares there opens the place for that very share, if root wrote the entry, and closes it for
    any other.

    Raises:
        Refusal: as :func:`app.helper.policy.permit_place`.
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
    """Return the options of each entry of fstab that root wrote for a share at a path, "" for any path."""
    return [
        options
        for source, target, options in policy.fstab_entries()
        if path in {"", target}
        and mountinfo.plain_share(source) == mountinfo.plain_share(share)
        and not user_entries.contains(source, target)
    ]


def uncatalogued_options(caller: Caller, words: list[str], share: str, path: str = "") -> list[str]:
    """Return words that mount.nfs may get though the catalogue does not have them.

    For who administers these are all that are asked for; for others, those of the entry that root wrote.

    Args:
        caller: who asks.
        words: asked for.
        share: server:/export.
        path: mount point; "" for a test mount, where any entry of the share counts.
    """
    found = [words] if caller.administers else map(split, root_entry_options(share, path))
    return [word for some in found for word in some]


def check_table(rows: list[mountinfo.MountRow], path: str) -> None:
    """Check with the table of mounts alone, before the path is touched, that it is free and safe to walk.

    Raises:
        Refusal: with code mount-point-busy or mount-point-invalid.
    """
    for row in rows:
        if row.mount_point == path:
            raise Refusal("mount-point-busy", f"“{path}” is a mount point already.", detail=row.source)
        if mountinfo.is_within(row.mount_point, path):
            raise Refusal("mount-point-busy", f"Something is mounted below “{path}”.", detail=row.mount_point)
    policy.check_walk(rows, path)

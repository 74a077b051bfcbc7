"""Whether a caller may mount a share at a place now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.helper import declarations, places, table
from app.helper.errors import Refusal

if TYPE_CHECKING:
    from app.helper.targets import Caller


def permit_mount(caller: Caller, share: str, path: str) -> None:
    """Check that the caller may mount this share there.

    What fstab declares there opens the place for that very share, if root wrote the entry, and closes it for
    any other.

    Raises:
        Refusal: as :func:`app.helper.places.permit_place`.
    """
    places.permit_entry(path)
    if caller.administers:
        places.permit_place(caller, path)
        return
    declared = {entry for entry in places.read_fstab() if entry[1] == path}
    same = {entry for entry in declared if table.plain_share(entry[0]) == table.plain_share(share)}
    if any(not declarations.has(*entry) for entry in same):
        return
    places.permit_place(caller, path)
    if declared and not same:
        raise Refusal(
            "mount-point-restricted",
            f"fstab keeps “{path}” for “{min(declared)[0]}”, so no other share is mounted there.",
            data={"home": ""},
        )


def check_table(rows: list[table.Row], path: str) -> None:
    """Check with the table of mounts alone, before the path is touched, that it is free and safe to walk.

    Raises:
        Refusal: with code mount-point-busy or mount-point-invalid.
    """
    for row in rows:
        if row.mount_point == path:
            raise Refusal("mount-point-busy", f"“{path}” is a mount point already.", detail=row.source)
        if table.is_within(row.mount_point, path):
            raise Refusal("mount-point-busy", f"Something is mounted below “{path}”.", detail=row.mount_point)
    places.check_walk(rows, path)

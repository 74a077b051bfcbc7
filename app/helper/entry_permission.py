"""Permission to configure a mount for the next boot, checked before fstab or a unit is written.

The writers check the contents of an entry. This module checks its mount point, by the same classes of places
as for mounting (:mod:`app.helper.policy`). No check takes place at boot. The directories above a mount point
must therefore be writable by root alone when an ordinary user configures it.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from app.helper import mountinfo, policy, safe_path, validate
from app.helper.errors import Refusal

if TYPE_CHECKING:
    from app.helper.callers import Caller

    Args = dict[str, object]


def permit_new_entry(caller: Caller, args: Args) -> None:
    """Check that the caller may add an fstab entry or a unit for ``share`` at ``target``.

    Raises:
        Refusal: code share-invalid, or a code that begins with mount-point.
    """
    validate.share(str(args["share"]))
    path = validate.target(str(args["target"]))
    policy.permit_place(caller, path)
    if caller.uid != 0:
        rows = mountinfo.read()
        policy.check_walk(rows, path)
        policy.check_disks(rows, path)
        safe_path.check_ancestors(caller, path, mounted=mountinfo.topmost(rows, path) is not None)


def permit_entry_change(caller: Caller, path: str) -> None:
    """Check that the caller may change or remove the fstab entry or unit at a mount point.

    The class of the place decides, not the author of the entry.

    Raises:
        Refusal: code mount-point-restricted.
    """
    if caller.administers:
        return
    place = policy.place_of(posixpath.normpath(path)) if path.startswith("/") else policy.Place.RESTRICTED
    if place not in {policy.Place.ROOTS, policy.Place.OWN}:
        raise Refusal(
            "mount-point-restricted",
            f"“{path}” is outside the directories for mounts, so its entry stays as it is.",
            data={"home": ""},
        )

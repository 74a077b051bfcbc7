"""Whether a caller may configure a mount for the next boot: decided before fstab or units are written.

The writers know what an entry may say; here it is decided where it may stand, by the same classes as
for mounting (:mod:`app.helper.places`). At boot nobody looks again, so the directories above a mount
point must be root's alone already when an ordinary user configures it.
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
    """Check that the caller may declare ``share`` at ``target``.

    Raises:
        Refusal: if not.
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
    """Check that what is declared there is the caller's to change, whoever wrote it.

    Raises:
        Refusal: if not.
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

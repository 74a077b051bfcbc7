"""What others keep, units that this program did not make and maps of autofs, is shown and left as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.errors import AppError, ErrorKind

if TYPE_CHECKING:
    from app.mounts.change import ApplyArgs
    from app.mounts.model import Mount


def refuse(args: ApplyArgs, rows: list[Mount], *, mounts: bool) -> None:
    """Refuse to write over what others keep, and to mount where autofs does.

    Args:
        args: of the change.
        rows: the mounts of this host.
        mounts: whether something is to be mounted, for the first time or again.

    Raises:
        AppError: FSTAB_REFUSED, with what to do instead.
    """
    places = {args.mount_point, args.replaces or args.mount_point}
    for row in rows:
        configured = row.configured
        if configured is None or configured.ours or row.mount_point not in places:
            continue
        if configured.keeper == "unit" and args.keeper == "systemd":
            raise AppError(
                ErrorKind.FSTAB_REFUSED,
                f"The unit {configured.origin} was not made by this program, so it is not written over.",
                hint="Import the mount into fstab, or edit that unit and have systemd read it again.",
            )
        if configured.keeper == "autofs" and (mounts or args.keeper == "systemd"):
            raise AppError(
                ErrorKind.FSTAB_REFUSED,
                f"autofs mounts {row.mount_point} whenever somebody enters it, with the options that line "
                f"{configured.line} of {configured.origin} has.",
                hint="Change them in that file; or import the mount into fstab without mounting it now, and "
                "take it out of the map.",
            )

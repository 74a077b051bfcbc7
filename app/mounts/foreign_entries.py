"""Foreign entries: units that this program did not make and autofs maps, left alone or imported.

An import writes an entry of this program's own beside it. What the entry cannot say is named, and what only
root may write is the person's to choose: left out, or approved by an administrator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from advisor.options import MountOptions
from app.errors import AppError, ErrorKind
from app.helper import boot_options
from app.helper.errors import Refusal
from app.helper.options import ALWAYS, load

if TYPE_CHECKING:
    from app.mounts.change_model import ApplyArgs
    from app.mounts.model import Mount


class ForeignArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.foreign``: what an import of the entry that others made for a mount point can take over."""

    mount_point: str


class ForeignEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry that others made, as this program can write it.

    Attributes:
        share: server:/export.
        mount_point: absolute path.
        fstype: nfs or nfs4.
        origin: the file in which it stands.
        options: all that can be written, for fstab.
        plain_options: the same without what only root may write.
        reserved: what only root may write, and why, one sentence each.
        lost: what cannot be written at all, one sentence each.
    """

    share: str
    mount_point: str
    fstype: str
    origin: str
    options: str
    plain_options: str
    reserved: list[str]
    lost: list[str]

    @property
    def is_plain(self) -> bool:
        """Whether nothing has to be chosen or told before the import."""
        return not (self.reserved or self.lost)


def foreign_entry(rows: list[Mount], mount_point: str) -> ForeignEntry:
    """Return what an import can take over.

    Raises:
        AppError: NOT_MOUNTED if others configure nothing there; USAGE for an entry of many mounts.
    """
    row = next((one for one in rows if one.mount_point == mount_point and one.configured is not None), None)
    configured = row.configured if row is not None else None
    if configured is None or configured.ours:
        raise AppError(
            ErrorKind.NOT_MOUNTED,
            f"No unit of others and no map of autofs configures {mount_point}.",
            hint="“list” shows the mounts of this computer and where they are configured.",
        )
    if mount_point.endswith("/*") or " " in configured.share or set("$&") & set(configured.share):
        raise AppError(
            ErrorKind.USAGE,
            f"Line {configured.line} of {configured.origin} stands for more than one mount.",
            hint="Import a mount of it while it is mounted, or save a new mount with its share.",
        )
    catalogue = load()
    kept: list[str] = []
    plain: list[str] = []
    reserved: list[str] = []
    lost = list(configured.lost)
    for word in MountOptions.parse(configured.options):
        try:
            why = boot_options.reserved_reason(word, catalogue) if word and word != "defaults" else ""
            if not why and catalogue.has(word.partition("=")[0]):
                catalogue.build([word])
        except Refusal as refusal:
            lost.append(f"{refusal.message} It is left out.")
            continue
        if word in {"", "defaults", *ALWAYS}:
            continue  # this program adds both of the last to every entry
        kept.append(word)
        (reserved if why else plain).append(why or word)
    return ForeignEntry(
        share=configured.share,
        mount_point=mount_point,
        fstype=configured.fstype,
        origin=configured.origin,
        options=",".join(kept),
        plain_options=",".join(plain),
        reserved=reserved,
        lost=lost,
    )


def check_ownership(args: ApplyArgs, rows: list[Mount], *, mounts: bool) -> None:
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
        if configured.keeper == "autofs" and mounts:
            raise AppError(
                ErrorKind.FSTAB_REFUSED,
                f"autofs mounts {row.mount_point} whenever somebody enters it, with the options that line "
                f"{configured.line} of {configured.origin} has.",
                hint="Change them in that file; or import the mount without mounting it now, and "
                "take it out of the map.",
            )

"""Foreign entries: units that this program did not make, and autofs maps; left alone or imported.

An import writes an additional entry of this program. It lists settings that this entry cannot express. For
options that only root may write, the person chooses: leave them out, or ask an administrator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.options import MountOptions
from app.errors import AppError
from app.helper import boot_options
from app.helper.errors import Refusal
from app.helper.options import ALWAYS, load
from app.mounts.change_model import ForeignEntry
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from app.mounts.change_model import ApplyArgs
    from app.mounts.model import Mount


def foreign_entry(rows: list[Mount], mount_point: str) -> ForeignEntry:
    """Return the foreign entry of a mount point, translated to an entry of this program.

    Raises:
        AppError: NOT_MOUNTED if there is no foreign entry; USAGE if it stands for several mounts.
    """
    row = next(
        (mount for mount in rows if mount.mount_point == mount_point and mount.configured is not None), None
    )
    configured = row.configured if row is not None else None
    if configured is None or configured.ours:
        raise AppError(ErrorCode.NO_FOREIGN_ENTRY, mount_point=mount_point)
    if mount_point.endswith("/*") or " " in configured.share or set("$&") & set(configured.share):
        raise AppError(ErrorCode.FOREIGN_ENTRY_AMBIGUOUS, line=configured.line, origin=configured.origin)
    catalogue = load()
    words: list[str] = []
    plain: list[str] = []
    reserved: list[str] = []
    lost = list(configured.lost)
    for word in MountOptions.parse(configured.options):
        try:
            reason = boot_options.reserved_reason(word, catalogue) if word and word != "defaults" else ""
            if not reason and catalogue.has(word.partition("=")[0]):
                catalogue.build([word])
        except Refusal as refusal:
            lost.append(f"{refusal.message} It is left out.")
            continue
        if word in {"", "defaults", *ALWAYS}:
            continue  # this program adds nosuid and nodev to every entry
        words.append(word)
        (reserved if reason else plain).append(reason or word)
    return ForeignEntry(
        share=configured.share,
        mount_point=mount_point,
        fstype=configured.fstype,
        origin=configured.origin,
        options=",".join(words),
        plain_options=",".join(plain),
        reserved=reserved,
        lost=lost,
    )


def check_ownership(args: ApplyArgs, rows: list[Mount], *, mounts: bool) -> None:
    """Check that a change neither overwrites a foreign unit nor mounts where autofs does.

    Args:
        args: the request.
        rows: the mounts of this host.
        mounts: whether the change mounts the share, for the first time or again.

    Raises:
        AppError: FSTAB_REFUSED if it does, with an alternative as the hint.
    """
    points = {args.mount_point, args.replaces or args.mount_point}
    for row in rows:
        configured = row.configured
        if configured is None or configured.ours or row.mount_point not in points:
            continue
        if configured.keeper == "unit" and args.keeper == "systemd":
            raise AppError(ErrorCode.UNIT_OF_OTHERS, origin=configured.origin)
        if configured.keeper == "autofs" and mounts:
            raise AppError(
                ErrorCode.AUTOFS_MOUNTS_IT,
                mount_point=row.mount_point,
                line=configured.line,
                origin=configured.origin,
            )

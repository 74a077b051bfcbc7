"""Approval by an administrator: which changes need a separate one, and why; computed without root.

The helper applies the same rules again and decides: without an approval it refuses these changes. No share is
mounted in a home directory; the program offers a mount elsewhere with a symbolic link to it.
"""

from __future__ import annotations

import posixpath
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from advisor.options import MountOptions, options_for_mount
from app import process
from app.errors import AppError, ErrorKind, printable
from app.helper import boot_options, callers, mount_permission, mount_record, mountinfo, policy, validate
from app.helper.errors import Refusal
from app.helper.options import load
from app.helper_client.client import explain_refusal
from app.mounts import mount_point as points
from app.mounts.change_text import approval_sentences
from app.mounts.model import Approval
from app.mounts.mount_users import find_holders
from app.text.errors import ErrorCode
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.mounts.change_model import ApplyArgs, LiveAction
    from app.mounts.config_store import ConfigStore

#: Effect on the present mount: none, new flags, or an unmount.
ApprovalChange = Literal["none", "remount", "unmount"]

#: Largest number of hidden directory entries to name.
MAX_NAMES = 10
#: Longest time to list a directory, seconds; a disk may have to spin up.
_LIST_TIMEOUT_S = 5.0
#: Prints the number of entries of directory argv[1] and the first argv[2] names. It runs in a child that can
#: be killed, because the directory may be on a server that does not answer.
_LIST_SCRIPT = """
import json, os, sys
names = sorted(os.listdir(sys.argv[1]))
print(json.dumps([len(names), names[: int(sys.argv[2])]]))
"""


def required_approval(
    share: str,
    point: str,
    *,
    mounts: bool = False,
    change: ApprovalChange = "none",
    keeps: bool = False,
    options: MountOptions | None = None,
    written: str = "",
) -> Approval | None:
    """Return the approval that a change needs; None if it needs none, or if this user is root.

    Args:
        share: server:/export; "" for a removal.
        point: mount point.
        mounts: whether the change mounts the share.
        change: effect on the present mount.
        keeps: whether the change writes fstab or units for the mount point.
        options: options of the mount, with ``mounts``.
        written: sentences on the options to write that only root may use, "" for none.

    Raises:
        AppError: if even an administrator cannot approve the change.
    """
    caller = points.this_caller()
    if caller.uid == 0 or _is_invalid_mount_point(point):
        return None
    reasons: list[str] = []
    mount_role = False
    row = mountinfo.topmost(mountinfo.read(), point) if change != "none" else None
    if row is not None and row.fstype in mountinfo.NFS_TYPES:
        unmounts = change == "unmount"
        mount_refusal = _refusal_of(lambda: mount_record.permit_change(caller, row, to_unmount=unmounts))
        if mount_refusal is not None:
            reasons.append(mount_refusal.message)
            mount_role = True
    mount_refusal = (
        _refusal_of(lambda: mount_permission.permit_mount(caller, share, point)) if mounts else None
    )
    place_refusal = _refusal_of(lambda: policy.permit_place(caller, point)) if keeps else None
    reserved = _reserved_reasons(share, point, options) if mounts and options is not None else []
    for reason in (
        *(refusal.message for refusal in (mount_refusal, place_refusal) if refusal is not None),
        *reserved,
        written,
    ):
        if reason and not any(reason in other for other in reasons):
            reasons.append(reason)
    if not reasons:
        return None
    # An existing entry for a mount point in a home directory may be changed and removed.
    new = None if not share or (share, point) in policy.read_fstab() else place_refusal
    _check_home_directory(caller, point, mount_refusal or new)
    if not f"{share}{point}".isprintable() or set(" <>&") & set(f"{share}{point}"):
        raise AppError(ErrorCode.NAME_CANNOT_BE_APPROVED, reasons=" ".join(reasons))
    hides: tuple[list[str], int] = ([], 0)
    if mount_refusal is not None and row is None:
        problem = points.check_mount_point(share, point, create=True, approved=True)
        if problem is not None:
            raise problem
        hides = _entries(point)
    return Approval(
        reasons=reasons,
        mounts=mount_role or mount_refusal is not None or bool(reserved),
        keeps=place_refusal is not None or bool(written),
        words=bool(reserved or written),
        hides=hides[0],
        hidden=hides[1],
        holders=find_holders(point) if hides[1] else [],
    )


def approval_of_change(
    args: ApplyArgs, live_action: LiveAction, kept: ConfigStore | None = None
) -> Approval | None:
    """Return the approval that a requested change needs, None for none.

    Args:
        args: the request.
        live_action: how the live mount changes.
        kept: finds options to write that only root may use; None if nothing is written.

    Raises:
        AppError: if even an administrator cannot approve the change.
    """
    changes: dict[LiveAction, ApprovalChange] = {"remount": "remount", "again": "unmount"}
    return required_approval(
        args.share,
        args.mount_point,
        mounts=live_action in {"mount", "again"},
        change=changes.get(live_action, "none"),
        keeps=args.keeper != "nowhere",
        options=options_for_mount(MountOptions.parse(args.options)),
        written=kept.reserved(args) if kept is not None else "",
    )


def home_link_offer(share: str, point: str) -> tuple[str, str] | None:
    """Return a mount point and a link to replace a mount in a home directory; None for other directories.

    Args:
        share: server:/export.
        point: the requested mount point.
    """
    caller = points.this_caller()
    if caller.uid == 0 or _is_invalid_mount_point(point) or not policy.home_of(caller, point):
        return None
    name = posixpath.basename(point)
    for number in range(1, 100):
        path = f"{policy.ROOTS[0]}/{name}" + (f"-{number}" if number > 1 else "")
        if points.check_mount_point(share, path, create=True) is None:
            return path, point
    return None


def not_approved_error(approval: Approval) -> AppError:
    """Return the error of a request that needs an approval to which the person has not agreed."""
    kind = (
        ErrorKind.MOUNT_POINT_RESTRICTED if approval.hidden or approval.keeps else ErrorKind.MOUNT_NOT_YOURS
    )
    kind = ErrorKind.OPTION_RESERVED if approval.words else kind
    hint = "Agree to ask an administrator (--yes on the command line), or leave it as it is."
    return AppError(kind, " ".join(approval_sentences(approval)), hint=hint)


def move_error(old: str, new: str) -> AppError:
    """Return the error of a move to another mount point: an approval covers only one mount point."""
    return AppError(ErrorCode.MOVE_NEEDS_APPROVAL, old=old, new=new)


def _is_invalid_mount_point(point: str) -> bool:
    """Whether the path is no valid mount point; another check reports that."""
    try:
        validate.target(point)
    except Refusal:
        return True
    return False


def _refusal_of(check: Callable[[], None]) -> Refusal | None:
    """Return the helper's refusal if an approval can lift it, None if the check passes.

    Raises:
        AppError: for a refusal that no approval can lift.
    """
    try:
        check()
    except Refusal as refusal:
        if refusal.code not in {"mount-point-restricted", "mount-not-yours"}:
            raise explain_refusal(refusal.code, refusal.message, refusal.detail) from refusal
        return refusal
    return None


def _reserved_reasons(share: str, point: str, options: MountOptions) -> list[str]:
    """Return one sentence for each option that only root may use, with the reason.

    Raises:
        AppError: for an option that the helper refuses in any case.
    """
    words = [word for word in options if word]
    permitted = mount_permission.uncatalogued_options(points.this_caller(), words, share, point)
    try:
        catalogue = load()
        catalogue.build(words, words)
        return [
            why
            for word in words
            if word not in permitted and (why := boot_options.reserved_reason(word, catalogue))
        ]
    except Refusal as refusal:
        raise explain_refusal(refusal.code, refusal.message, refusal.detail) from refusal


def _check_home_directory(caller: callers.Caller, point: str, refused: Refusal | None) -> None:
    """Refuse a mount point in a home directory, because its owner can replace parts of the path.

    Raises:
        AppError: with a mount elsewhere and a link as the hint.
    """
    home = policy.home_of(caller, point)
    if not home or refused is None:
        return
    name = posixpath.basename(point)
    raise AppError(
        ErrorKind.MOUNT_POINT_RESTRICTED,
        refused.message,
        hint=f"Mount it at {policy.ROOTS[0]}/{name}, and make a link to that: "
        f"ln -s {policy.ROOTS[0]}/{name} {point}",
    )


def _entries(path: str) -> tuple[list[str], int]:
    """Return the first names in a directory and the number of entries, -1 if this user may not list it."""
    done = process.run(
        [sys.executable, "-I", "-S", "-c", _LIST_SCRIPT, path, str(MAX_NAMES)], timeout=_LIST_TIMEOUT_S
    )
    if not done.ok:
        return [], 0 if "FileNotFoundError" in done.stderr else -1
    count, names = from_json(done.stdout.encode(), tuple[int, list[str]])
    return [printable(name) for name in names], count


def make_home_link(path: str, target: str) -> None:
    """Create a symbolic link as this user, unless it exists already.

    Args:
        path: absolute path of the link. An empty directory at this path is removed.
        target: mount point. It is not accessed, because its server may not answer.

    Raises:
        AppError: if the link could not be created.
    """
    link = Path(path)
    try:
        if link.is_symlink() and str(link.readlink()) == target:
            return
        if link.is_dir() and not link.is_symlink():
            link.rmdir()
        link.symlink_to(target)
    except OSError as error:
        raise AppError(
            ErrorCode.HOME_LINK_NOT_MADE, path=path, reason=error.strerror, target=target
        ) from error

"""Approval by an administrator: what needs one, why, and what it touches, found out without root.

The helper decides, by the same rules and again by itself: it refuses the ordinary roles what is said here.
No share is mounted in a home directory: a mount elsewhere with a link to it is offered in its place.
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
from app.mounts.model import Approval
from app.mounts.mount_users import find_holders
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.mounts.change_model import ApplyArgs, LiveAction
    from app.mounts.config_store import ConfigStore

#: What is done to the mount that is there: nothing, new flags, or it is unmounted.
ApprovalChange = Literal["none", "remount", "unmount"]

#: How many names are told of those that a mount hides.
MAX_NAMES = 10
#: A directory of a disk that is spun down takes a moment.
_LIST_TIMEOUT_S = 5.0
#: Prints how many entries argv[1] has, and the first of them. A process of its own, that can be killed: the
#: directory may lie on a server that does not answer.
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
    """Return what has to be approved, None if the ordinary roles will do, or this user is root.

    Args:
        share: server:/export; "" where it only goes.
        point: mount point.
        mounts: whether the share is to be mounted there.
        change: of the mount that is there.
        keeps: whether fstab or units are to change what they say of the mount point.
        options: of the mount, with ``mounts``.
        written: which of the words that fstab or units are to say only root may write, and why.

    Raises:
        AppError: if no approval helps.
    """
    caller = points.this_caller()
    if caller.uid == 0 or _is_no_mount_point(point):
        return None
    reasons: list[str] = []
    mount_role = False
    row = mountinfo.topmost(mountinfo.read(), point) if change != "none" else None
    if row is not None and row.fstype in mountinfo.NFS_TYPES:
        unmounts = change == "unmount"
        refused = _refusal_of(lambda: mount_record.permit_change(caller, row, to_unmount=unmounts))
        if refused is not None:
            reasons.append(refused.message)
            mount_role = True
    refused = _refusal_of(lambda: mount_permission.permit_mount(caller, share, point)) if mounts else None
    kept = _refusal_of(lambda: policy.permit_place(caller, point)) if keeps else None
    given = _reserved(share, point, options) if mounts and options is not None else []
    for reason in (*(found.message for found in (refused, kept) if found is not None), *given, written):
        if reason and not any(reason in other for other in reasons):
            reasons.append(reason)
    if not reasons:
        return None
    # An entry that stands in a home already may be changed and removed.
    new = None if not share or (share, point) in policy.read_fstab() else kept
    _check_home_directory(caller, point, refused or new)
    if not f"{share}{point}".isprintable() or set(" <>&") & set(f"{share}{point}"):
        raise AppError(
            ErrorKind.MOUNT_POINT_RESTRICTED,
            f"{' '.join(reasons)} An administrator cannot approve a name with a blank, “<”, “>” or “&”: it "
            "could be misread.",
            hint="Choose other names, or make the change as root.",
        )
    hides: tuple[list[str], int] = ([], 0)
    if refused is not None and row is None:
        problem = points.check_mount_point(share, point, create=True, approved=True)
        if problem is not None:
            raise problem
        hides = _entries(point)
    return Approval(
        reasons=reasons,
        mounts=mount_role or refused is not None or bool(given),
        keeps=kept is not None or bool(written),
        words=bool(given or written),
        hides=hides[0],
        hidden=hides[1],
        holders=find_holders(point) if hides[1] else [],
    )


def approval_of_change(args: ApplyArgs, way: LiveAction, kept: ConfigStore | None = None) -> Approval | None:
    """Return what has to be approved of a change.

    Args:
        args: of the change.
        way: what becomes of the live mount.
        kept: says what fstab and units may say; None where nothing is written.

    Raises:
        AppError: if no approval helps.
    """
    changes: dict[LiveAction, ApprovalChange] = {"remount": "remount", "again": "unmount"}
    return required_approval(
        args.share,
        args.mount_point,
        mounts=way in {"mount", "again"},
        change=changes.get(way, "none"),
        keeps=args.keeper != "nowhere",
        options=options_for_mount(MountOptions.parse(args.options)),
        written=kept.reserved(args) if kept is not None else "",
    )


def home_link_offer(share: str, point: str) -> tuple[str, str] | None:
    """Return a mount point and a link to it in place of a mount in a home directory, None elsewhere.

    Args:
        share: server:/export.
        point: where the person wants to see it.
    """
    caller = points.this_caller()
    if caller.uid == 0 or _is_no_mount_point(point) or not policy.home_of(caller, point):
        return None
    name = posixpath.basename(point)
    for number in range(1, 100):
        place = f"{policy.ROOTS[0]}/{name}" + (f"-{number}" if number > 1 else "")
        if points.check_mount_point(share, place, create=True) is None:
            return place, point
    return None


def not_approved_error(found: Approval) -> AppError:
    """Return the error of a request that needs an approval and does not say that the person wants one."""
    kind = ErrorKind.MOUNT_POINT_RESTRICTED if found.hidden or found.keeps else ErrorKind.MOUNT_NOT_YOURS
    kind = ErrorKind.OPTION_RESERVED if found.words else kind
    hint = "Agree to ask an administrator (--yes on the command line), or leave it as it is."
    return AppError(kind, " ".join(approval_sentences(found)), hint=hint)


def move_error(old: str, new: str) -> AppError:
    """Return the error of a move: an approval is for one mount point."""
    return AppError(
        ErrorKind.MOUNT_POINT_RESTRICTED,
        "A mount is not moved where an administrator has to approve its mount point by itself.",
        hint=f"Remove {old} first, and then set up {new}.",
    )


def approval_sentences(found: Approval) -> list[str]:
    """Return what a person reads before agreeing."""
    told = [f"An administrator has to approve this by itself. {' '.join(found.reasons)}"]
    if found.hidden:
        names = ", ".join(found.hides)
        more = found.hidden - len(found.hides)
        told.append(
            f"The mount hides what is in the directory now: {names}{f' and {more} more' if more > 0 else ''}."
            if found.hidden > 0
            else "The mount hides what is in the directory now. You may not list it."
        )
    told += [
        f"{one.command} (process {one.pid}, {one.user}) uses the directory: {one.use}."
        for one in found.holders
    ]
    return told


def _is_no_mount_point(point: str) -> bool:
    """Whether it is no mount point at all, which others say."""
    try:
        validate.target(point)
    except Refusal:
        return True
    return False


def _refusal_of(check: Callable[[], None]) -> Refusal | None:
    """Return the refusal that an approval overcomes.

    Raises:
        AppError: for any other.
    """
    try:
        check()
    except Refusal as refusal:
        if refusal.code not in {"mount-point-restricted", "mount-not-yours"}:
            raise explain_refusal(refusal.code, refusal.message, refusal.detail) from refusal
        return refusal
    return None


def _reserved(share: str, point: str, options: MountOptions) -> list[str]:
    """Return which options of a mount only root may give, and why, a sentence each.

    Raises:
        AppError: for one that nobody may.
    """
    words = [word for word in options if word]
    free = mount_permission.uncatalogued_options(points.this_caller(), words, share, point)
    try:
        catalogue = load()
        catalogue.build(words, words)
        return [
            why
            for word in words
            if word not in free and (why := boot_options.reserved_reason(word, catalogue))
        ]
    except Refusal as refusal:
        raise explain_refusal(refusal.code, refusal.message, refusal.detail) from refusal


def _check_home_directory(caller: callers.Caller, point: str, refused: Refusal | None) -> None:
    """Refuse what no approval allows: in a home directory its owner can change the way.

    Raises:
        AppError: with what to do instead.
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
    """Return the first names in a directory and how many there are; -1 if this user may not know."""
    done = process.run(
        [sys.executable, "-I", "-S", "-c", _LIST_SCRIPT, path, str(MAX_NAMES)], timeout=_LIST_TIMEOUT_S
    )
    if not done.ok:
        return [], 0 if "FileNotFoundError" in done.stderr else -1
    count, names = from_json(done.stdout.encode(), tuple[int, list[str]])
    return [printable(name) for name in names], count


def make_home_link(path: str, target: str) -> None:
    """Make a link as this user; one that leads there already is fine.

    Args:
        path: absolute, where the link is to stand. An empty directory there makes room.
        target: mount point. It is not touched: its server may not answer.

    Raises:
        AppError: there is no link then.
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
            ErrorKind.PATH_MISSING,
            f"The link “{path}” could not be made: {error.strerror}.",
            hint=f"Make room for it, then run: ln -s {target} {path}",
        ) from error

"""Removal of a saved mount from fstab or systemd units, with the readahead that is saved for it.

A preview shows it first.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import msgspec

from app.errors import AppError
from app.mounts.approval import not_approved_error, required_approval
from app.mounts.model import SavedEntryReport
from app.mounts.saved_readahead import save_request

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.helper_client.client import HelperClient
    from app.mounts.change_model import RemoveArgs
    from app.mounts.config_store import ConfigStore
    from app.mounts.model import ReadaheadReport
    from app.mounts.saved_readahead import ReadaheadStore
    from app.tasks import CancelToken

    Start = Callable[[str, tuple[str, str, list[tuple[str, dict[str, Any]]]] | None], HelperClient]


def remove_saved_mount(
    args: RemoveArgs, token: CancelToken, kept: ConfigStore, saved: ReadaheadStore, start: Start
) -> SavedEntryReport:
    """Take out the entry or the units of a mount point, and the udev rule, or show what would be taken out.

    Args:
        args: the request.
        token: cancels it.
        kept: fstab and units.
        saved: the rules of readaheads.
        start: action to a helper for it, and for a system action to one for these requests alone.

    Raises:
        AppError: NOT_MOUNTED if there is nothing to take out; else all is as it was then.
    """
    point = args.mount_point
    # One that somebody else changed stays.
    is_saved = saved.read(point).read_ahead_kb is not None
    ahead = saved.change(point, None, None, preview=True, token=token) if is_saved else None
    if ahead is not None and not kept.is_saved(point):
        return _only_readahead(ahead, saved, token, preview=args.preview)
    needed = required_approval("", point, keeps=True)
    if args.preview:
        report = kept.forget(args, token)
        return msgspec.structs.replace(report, approval=needed, readahead=ahead)
    if needed is not None and not args.approved:
        raise not_approved_error(needed)
    with contextlib.ExitStack() as stack:
        helper: HelperClient | None = None
        if needed is not None:
            share, requests = kept.removal_requests(args)
            requests += [save_request(point, None, "")] if ahead is not None else []
            action = "persist-system" if ahead is None else "apply-system"
            helper = stack.enter_context(contextlib.closing(start(action, (share, point, requests))))
        elif ahead is not None:
            # One action for both, so that a person is asked once.
            helper = stack.enter_context(contextlib.closing(start("apply", None)))
        report = kept.forget(args, token, helper)
        return report if ahead is None else _with_readahead(report, ahead, saved, token, helper)


def _only_readahead(
    ahead: ReadaheadReport, saved: ReadaheadStore, token: CancelToken, *, preview: bool
) -> SavedEntryReport:
    if preview:
        return SavedEntryReport(diff="", line="", sha256="", readahead=ahead)
    done = saved.change(ahead.mount_point, None, ahead.sha256, preview=False, token=token)
    return SavedEntryReport(diff="", line="", sha256="", written=True, warnings=done.warnings, readahead=done)


def _with_readahead(
    report: SavedEntryReport,
    ahead: ReadaheadReport,
    saved: ReadaheadStore,
    token: CancelToken,
    helper: HelperClient | None,
) -> SavedEntryReport:
    """Take out the rule of a mount whose entry has gone; one that stays is told, not a failure of all."""
    try:
        done = saved.change(ahead.mount_point, None, ahead.sha256, preview=False, token=token, helper=helper)
    except AppError as error:
        told = f"The saved readahead of {ahead.mount_point} stays: {error.message}"
        return msgspec.structs.replace(report, warnings=[*report.warnings, told])
    return msgspec.structs.replace(report, readahead=done, warnings=[*report.warnings, *done.warnings])

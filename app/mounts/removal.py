"""Removal of a saved mount and its saved readahead: from fstab or systemd units, previewed or written."""

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
    """Remove the entry or the units of a mount point and its udev rule, or preview the removal.

    Args:
        args: the request.
        token: cancels the removal.
        kept: the stores of saved mounts.
        saved: the store of saved readaheads.
        start: starts a helper for an action. A system action also takes the share, the mount point and the
            list of requests that an administrator approves.

    Raises:
        AppError: NOT_MOUNTED if nothing is saved; other kinds if the removal failed and nothing changed.
    """
    point = args.mount_point
    # A rule that another program changed is left alone.
    is_saved = saved.read(point).read_ahead_kb is not None
    readahead = saved.change(point, None, None, preview=True, token=token) if is_saved else None
    if readahead is not None and not kept.is_saved(point):
        return _only_readahead(readahead, saved, token, preview=args.preview)
    needed = required_approval("", point, keeps=True)
    if args.preview:
        report = kept.forget(args, token)
        return msgspec.structs.replace(report, approval=needed, readahead=readahead)
    if needed is not None and not args.approved:
        raise not_approved_error(needed)
    with contextlib.ExitStack() as stack:
        helper: HelperClient | None = None
        if needed is not None:
            share, requests = kept.removal_requests(args)
            requests += [save_request(point, None, "")] if readahead is not None else []
            action = "persist-system" if readahead is None else "apply-system"
            helper = stack.enter_context(contextlib.closing(start(action, (share, point, requests))))
        elif readahead is not None:
            # One action for the entry and the rule, so that polkit asks only once.
            helper = stack.enter_context(contextlib.closing(start("apply", None)))
        report = kept.forget(args, token, helper)
        return report if readahead is None else _with_readahead(report, readahead, saved, token, helper)


def _only_readahead(
    readahead: ReadaheadReport, saved: ReadaheadStore, token: CancelToken, *, preview: bool
) -> SavedEntryReport:
    if preview:
        return SavedEntryReport(diff="", line="", sha256="", readahead=readahead)
    done = saved.change(readahead.mount_point, None, readahead.sha256, preview=False, token=token)
    return SavedEntryReport(diff="", line="", sha256="", written=True, warnings=done.warnings, readahead=done)


def _with_readahead(
    report: SavedEntryReport,
    readahead: ReadaheadReport,
    saved: ReadaheadStore,
    token: CancelToken,
    helper: HelperClient | None,
) -> SavedEntryReport:
    """Remove the rule of a mount after its entry; if that fails, the report gets a warning."""
    try:
        done = saved.change(
            readahead.mount_point, None, readahead.sha256, preview=False, token=token, helper=helper
        )
    except AppError as error:
        warning = f"The saved readahead of {readahead.mount_point} stays: {error.message}"
        return msgspec.structs.replace(report, warnings=[*report.warnings, warning])
    return msgspec.structs.replace(report, readahead=done, warnings=[*report.warnings, *done.warnings])

"""Import of a file of mounts: plan of every entry, and writing the selected entries.

Each entry is applied like any change (app.mounts.apply), so it is written completely or not at all. One
authorization covers all entries that need no separate approval.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from app.errors import AppError, ErrorKind
from app.kernel.utab import plain_share
from app.mounts.change_model import (
    ApplyArgs,
    ImportArgs,
    ImportChoice,
    ImportFinding,
    ImportItem,
    ImportOutcome,
    ImportPlan,
    ImportPlanArgs,
    ImportProgress,
    ImportReport,
    MountEntry,
    SavedIn,
    SaveIn,
)
from app.mounts.mount_point import this_caller
from app.mounts.mounts_file import saved_in
from app.mounts.plan import make_plan
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.mounts.change_model import ApplyPlan, ApplyReport
    from app.mounts.model import Mount
    from app.mounts.plan import HostView
    from app.tasks import CancelToken

#: Errors that stop an import, because every other entry would prompt or fail in the same way.
_STOPPING_ERRORS = frozenset({
    ErrorKind.CANCELLED, ErrorKind.NOT_AUTHORIZED, ErrorKind.POLKIT_AGENT_MISSING, ErrorKind.PKEXEC_MISSING,
    ErrorKind.HELPER_MISSING, ErrorKind.HELPER_UNTRUSTED,
})  # fmt: skip


def plan_import(args: ImportPlanArgs, view: HostView, token: CancelToken) -> ImportPlan:
    """Return the plan of an import.

    Raises:
        CancelledError: if the token is set.
    """
    table = view.table()
    cached_view = replace(view, table=lambda: table)
    seen: dict[str, int] = {}
    items: list[ImportItem] = []
    for number, entry in enumerate(args.entries, 1):
        token.check()
        first_number = seen.setdefault(entry.mount_point, number)
        items.append(_item(entry, args.save_in, cached_view, first_number if first_number != number else 0))
    return ImportPlan(items=items, root=this_caller().uid == 0)


def _item(entry: MountEntry, save_in: SaveIn, view: HostView, first_number: int) -> ImportItem:
    target = save_in or entry.saved_in
    item = ImportItem(entry=entry, status="refused", options=entry.options, saved_in=target)
    rows = [row for row in view.table().mounts if row.mount_point == entry.mount_point]
    try:
        if first_number:
            return msgspec.structs.replace(
                item, error=f"Mount {first_number} of the file has the same mount point.",
                hint="Leave one of the two in the file.",
            )  # fmt: skip
        if _is_already_saved(entry, target, rows):
            return msgspec.structs.replace(item, status="same")
        plan = make_plan(_apply_args(entry, target), view)
    except AppError as error:
        return msgspec.structs.replace(item, error=error.message, hint=error.hint)
    diff = _diff(plan)
    if not diff:
        return msgspec.structs.replace(item, status="same")
    findings = [
        ImportFinding(severity=one.severity, title=one.title, why=one.why)
        for one in plan.findings
        if one.severity != "info"
    ]
    saved = [row for row in rows if row.configured is not None]
    return msgspec.structs.replace(
        item,
        status="differs" if saved else "new",
        options=",".join(filter(None, [entry.options, *plan.for_boot])),
        diff=diff,
        approval=plan.approval,
        findings=findings,
        notes=plan.warnings,
        chosen=all(finding.severity != "error" for finding in findings),
    )


def _apply_args(entry: MountEntry, target: SavedIn) -> ApplyArgs:
    return ApplyArgs(
        share=entry.share, mount_point=entry.mount_point, options=entry.options, fstype=entry.fstype,
        # A saved entry keeps its exact options. A mount that was not saved gets those of every new entry.
        exact=entry.saved_in in {"fstab", "systemd"},
        keeper="systemd" if target == "systemd" else "fstab", mount=False,
        read_ahead_kb=entry.readahead_kib, save_read_ahead=entry.readahead_kib is not None,
    )  # fmt: skip


def _diff(plan: ApplyPlan) -> str:
    """Return the diff of the saved entry and of the udev rule that saves the readahead."""
    return plan.diff + plan.rule_diff


def _is_already_saved(entry: MountEntry, target: SavedIn, rows: list[Mount]) -> bool:
    """Return whether the same entry is already saved by another program, or mounted and not to be saved.

    Raises:
        AppError: if the entry cannot be saved in ``target``.
    """
    for row in rows:
        if row.configured is None:
            continue
        here = saved_in(row.configured)
        alike = plain_share(row.configured.share) == plain_share(entry.share)
        if here == target and alike and row.configured.options == entry.options and not row.configured.ours:
            return True
        if here != target and target in {"fstab", "systemd"}:
            raise AppError(
                ErrorKind.FSTAB_REFUSED,
                f"{entry.mount_point} is saved in {row.configured.origin} on this computer, and "
                f"{_PLACES[target]} would be a second place.",
                hint=_HINTS_IF_SAVED_HERE[here],
            )
    if target == "autofs":
        raise AppError(ErrorCode.IMPORT_FROM_AUTOFS)
    if target == "nowhere":
        live = [row.active for row in rows if row.active is not None]
        if any(plain_share(active.share) == plain_share(entry.share) for active in live):
            return True
        raise AppError(ErrorCode.IMPORT_NOT_SAVED_BEFORE)
    return False


_PLACES = {"fstab": "/etc/fstab", "systemd": "a systemd unit"}
_HINTS_IF_SAVED_HERE: dict[SavedIn, str] = {
    "fstab": "Save it in fstab, or remove it from fstab first.",
    "systemd": "Save it in systemd units, or remove its units first.",
    "autofs": "Take it out of the map first.",
}


def run_import(
    args: ImportArgs,
    view: HostView,
    apply: Callable[[ApplyArgs], ApplyReport],
    token: CancelToken,
    emit: Callable[[ImportProgress], object],
) -> ImportReport:
    """Write the selected entries in order and return the result of each.

    Args:
        args: the entries and the selection.
        view: reads the state of the host.
        apply: applies one change, or rolls it back after a failure.
        token: stops the import after the present entry.
        emit: called at the start of each entry.

    Raises:
        AppError: USAGE if a selected index does not exist; nothing was written.
    """
    choices = {choice.index: choice for choice in args.choices}
    if not set(choices) <= set(range(len(args.entries))):
        raise AppError(ErrorCode.IMPORT_CHOICE_UNKNOWN)
    outcomes: list[ImportOutcome] = []
    stopped = ""
    for index, entry in enumerate(args.entries):
        choice = choices.get(index)
        if choice is None:
            outcome = ImportOutcome(mount_point=entry.mount_point, result="not-chosen")
        elif stopped or token.cancelled:
            outcome = ImportOutcome(mount_point=entry.mount_point, result="not-begun", message=stopped)
        else:
            number = sum(other <= index for other in choices)
            emit(ImportProgress(mount_point=entry.mount_point, number=number, count=len(choices)))
            outcome, stopped = _write(args, entry, choice, view, apply)
        outcomes.append(outcome)
    return ImportReport(outcomes=outcomes)


def _write(
    args: ImportArgs,
    entry: MountEntry,
    choice: ImportChoice,
    view: HostView,
    apply: Callable[[ApplyArgs], ApplyReport],
) -> tuple[ImportOutcome, str]:
    """Write one entry; return its result and the error that stops the import, "" to go on."""
    point, target = entry.mount_point, args.save_in or entry.saved_in
    query = _apply_args(entry, target)
    rows = [row for row in view.table().mounts if row.mount_point == point]
    try:
        if _is_already_saved(entry, target, rows):
            return ImportOutcome(mount_point=point, result="same"), ""
        plan = make_plan(query, view)
        if not _diff(plan):
            return ImportOutcome(mount_point=point, result="same"), ""
        _check_preview(plan, choice)
        written = ImportOutcome(mount_point=point, result="written")
        if plan.diff:
            # The readahead is saved in a second change: both together would need a prompt for each entry.
            without_readahead = msgspec.structs.replace(query, read_ahead_kb=None, save_read_ahead=False)
            approved = args.approved and plan.approval is not None
            report = apply(
                msgspec.structs.replace(without_readahead, expected_sha256=plan.sha256, approved=approved)
            )
            written = msgspec.structs.replace(written, backup=report.backup)
    except AppError as error:
        outcome = ImportOutcome(mount_point=point, result="failed", message=error.message, hint=error.hint)
        return outcome, error.message if error.kind in _STOPPING_ERRORS else ""
    query = msgspec.structs.replace(query, keeper="nowhere", approved=args.approved)
    if args.mount and all(row.active is None for row in rows):
        mounting = msgspec.structs.replace(query, mount=True, save_read_ahead=False)
        if problem := _failure(apply, mounting):
            message = f"The entry is saved, and it could not be mounted: {problem.message}"
            return msgspec.structs.replace(written, message=message, hint=problem.hint), ""
        written = msgspec.structs.replace(written, mounted=True)
    if plan.rule_diff and (problem := _failure(apply, query)):
        message = f"The entry is saved, and its readahead could not be saved: {problem.message}"
        return msgspec.structs.replace(written, message=message, hint=problem.hint), ""
    return written, ""


def _failure(apply: Callable[[ApplyArgs], ApplyReport], change: ApplyArgs) -> AppError | None:
    try:
        apply(change)
    except AppError as error:
        return error
    return None


def _check_preview(plan: ApplyPlan, choice: ImportChoice) -> None:
    """Check that the diff still equals the one shown, except for line numbers that other entries moved.

    Raises:
        AppError: FSTAB_CHANGED if it differs.
    """
    if _changed_lines(_diff(plan)) != _changed_lines(choice.diff):
        raise AppError(ErrorCode.IMPORT_ENTRY_CHANGED)


def _changed_lines(diff: str) -> list[str]:
    return [
        line for line in diff.splitlines() if line[:1] in {"+", "-"} and not line.startswith(("+++ ", "--- "))
    ]

"""Import of a file of mounts: what each entry would change here, and writing those that a person chose.

Each entry goes the way of any change (app.mounts.apply), so it is written whole or not at all. One
authorization serves all entries that need no approval of their own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import msgspec

from app.errors import AppError, ErrorKind
from app.kernel.utab import plain_share
from app.mounts.change_model import ApplyArgs
from app.mounts.model import Approval  # noqa: TC001 - msgspec reads it at run time
from app.mounts.mount_point import this_caller
from app.mounts.mounts_file import MountEntry, SavedIn, saved_in
from app.mounts.plan import make_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.mounts.change_model import ApplyPlan, ApplyReport
    from app.mounts.model import Mount
    from app.mounts.plan import HostView
    from app.tasks import CancelToken

#: What an entry is beside what this computer has: nothing is saved for its mount point; the same is;
#: something else is; or it cannot be written here.
ImportStatus = Literal["new", "same", "differs", "refused"]
#: What became of an entry: written, or there already, or not chosen, or it failed and everything of it is as
#: it was, or it was not begun because the import was stopped before.
ImportResult = Literal["written", "same", "not-chosen", "failed", "not-begun"]
#: Where to save entries instead of where the file says; "" follows the file.
SaveIn = Literal["", "fstab", "systemd"]
#: These stop an import: every other entry would ask or fail in the same way.
_FOR_ALL = frozenset({
    ErrorKind.CANCELLED, ErrorKind.NOT_AUTHORIZED, ErrorKind.POLKIT_AGENT_MISSING, ErrorKind.PKEXEC_MISSING,
    ErrorKind.HELPER_MISSING, ErrorKind.HELPER_UNTRUSTED,
})  # fmt: skip


class ImportPlanArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.import-plan``: entries of a file, and where to save them."""

    entries: list[MountEntry]
    save_in: SaveIn = ""


class ImportFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding of the lint on an entry's options: an error or a warning."""

    severity: Literal["error", "warning", "info"]
    title: str
    why: str


class ImportItem(msgspec.Struct, frozen=True, kw_only=True):
    """What one entry would change.

    Attributes:
        entry: as the file has it.
        status: beside what is here.
        options: that would be written: those of the entry, with _netdev,nofail for one that was not saved.
        saved_in: where it would be saved.
        diff: of the file or the units, "" unless new or differs.
        error: why it cannot be written, "" if it can.
        hint: what to do then.
        findings: of the lint.
        notes: what else a person should know, one sentence each.
        approval: what an administrator has to approve by itself, None if nothing.
        chosen: whether it is proposed for import: it is new or differs, and the lint finds no error.
    """

    entry: MountEntry
    status: ImportStatus
    options: str
    saved_in: SavedIn
    diff: str = ""
    error: str = ""
    hint: str = ""
    findings: list[ImportFinding] = []
    notes: list[str] = []
    approval: Approval | None = None
    chosen: bool = False


class ImportPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What an import would change; nothing is touched by it.

    Attributes:
        items: in the order of the file.
        root: whether the agent runs as root, so that nobody is asked for a password.
    """

    items: list[ImportItem]
    root: bool = False


class ImportChoice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry that a person chose: its number in the file's order, and the diff that was shown."""

    index: int
    diff: str


class ImportArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.import``.

    Attributes:
        entries: of the file.
        save_in: as in the plan that was shown.
        choices: what to write.
        mount: whether to mount what was written and is not mounted.
        approved: the person has agreed to ask an administrator for each entry that needs that.
    """

    entries: list[MountEntry]
    choices: list[ImportChoice]
    save_in: SaveIn = ""
    mount: bool = False
    approved: bool = False


class ImportOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one entry.

    Attributes:
        mount_point: of the entry.
        result: see ImportResult.
        message: why it failed, or why what was written is not mounted; "" otherwise.
        hint: what to do then.
        backup: of the file as it was, "" if nothing was written.
        mounted: whether it was mounted.
    """

    mount_point: str
    result: ImportResult
    message: str = ""
    hint: str = ""
    backup: str = ""
    mounted: bool = False


class ImportReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of all entries, in the order of the file."""

    outcomes: list[ImportOutcome]

    @property
    def complete(self) -> bool:
        """Whether nothing that was chosen failed or was left out."""
        return all(one.result not in {"failed", "not-begun"} and not one.message for one in self.outcomes)


class ImportProgress(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of an import is begun: its mount point, its number from 1 and how many there are."""

    mount_point: str
    number: int
    count: int


def count_prompts(items: list[ImportItem], *, mount: bool, root: bool) -> int:
    """Return how often an administrator is asked at least.

    Once for all entries that are written, once for all readaheads, once for all mounts; a mount with a
    readahead, and an entry that needs an approval of its own, are asked for one by one.
    """
    if root or not items:
        return 0
    own = sum(item.approval is not None for item in items)
    tuned = sum(item.entry.readahead_kib is not None for item in items)
    count = own + (own < len(items))
    if mount:
        count += tuned + (tuned < len(items))
    return count + (tuned > 0)


def prompts_text(items: list[ImportItem], *, mount: bool, root: bool) -> str:
    """Return the same for a person, "" if nobody is asked."""
    count = count_prompts(items, mount=mount, root=root)
    own = sum(item.approval is not None for item in items)
    if not count:
        return ""
    text = f"An administrator is asked {'once' if count == 1 else f'{count} times'}."
    if own:
        text += (
            f" {own} of {len(items)} entries need{'s' if own == 1 else ''} an approval of "
            f"{'its' if own == 1 else 'their'} own."
        )
    return text


def plan_import(args: ImportPlanArgs, around: HostView, token: CancelToken) -> ImportPlan:
    """Return what an import would change.

    Raises:
        CancelledError: if the token is set.
    """
    table = around.table()
    once = replace(around, table=lambda: table)
    seen: dict[str, int] = {}
    items: list[ImportItem] = []
    for number, entry in enumerate(args.entries, 1):
        token.check()
        twin = seen.setdefault(entry.mount_point, number)
        items.append(_item(entry, args.save_in, once, twin if twin != number else 0))
    return ImportPlan(items=items, root=this_caller().uid == 0)


def _item(entry: MountEntry, save_in: SaveIn, around: HostView, twin: int) -> ImportItem:
    place = save_in or entry.saved_in
    item = ImportItem(entry=entry, status="refused", options=entry.options, saved_in=place)
    rows = [row for row in around.table().mounts if row.mount_point == entry.mount_point]
    try:
        if twin:
            return msgspec.structs.replace(
                item, error=f"Mount {twin} of the file has the same mount point.",
                hint="Leave one of the two in the file.",
            )  # fmt: skip
        if _refuse_place(entry, place, rows):
            return msgspec.structs.replace(item, status="same")
        plan = make_plan(_apply_args(entry, place), around)
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


def _apply_args(entry: MountEntry, place: SavedIn) -> ApplyArgs:
    return ApplyArgs(
        share=entry.share, mount_point=entry.mount_point, options=entry.options, fstype=entry.fstype,
        # What was saved is saved word by word. What was not gets the words of every new entry.
        exact=entry.saved_in in {"fstab", "systemd"},
        keeper="systemd" if place == "systemd" else "fstab", mount=False,
        read_ahead_kb=entry.readahead_kib, save_read_ahead=entry.readahead_kib is not None,
    )  # fmt: skip


def _diff(plan: ApplyPlan) -> str:
    """Return what would be written: the entry, and the rule that saves the readahead."""
    return plan.diff + plan.rule_diff


def _refuse_place(entry: MountEntry, place: SavedIn, rows: list[Mount]) -> bool:
    """Return whether this computer has the entry already, kept by others.

    Raises:
        AppError: if it cannot be saved where it is to be.
    """
    for row in rows:
        if row.configured is None:
            continue
        here = saved_in(row.configured)
        alike = plain_share(row.configured.share) == plain_share(entry.share)
        if here == place and alike and row.configured.options == entry.options and not row.configured.ours:
            return True
        if here != place and place in {"fstab", "systemd"}:
            raise AppError(
                ErrorKind.FSTAB_REFUSED,
                f"{entry.mount_point} is saved in {row.configured.origin} on this computer, and "
                f"{_PLACES[place]} would be a second place.",
                hint=_HINTS_IF_SAVED_HERE[here],
            )
    if place == "autofs":
        raise AppError(
            ErrorKind.FSTAB_REFUSED,
            "It comes from a map of autofs, and Mountwright writes no maps.",
            hint="Save it in fstab or in systemd units instead, or copy the map.",
        )
    if place == "nowhere":
        live = [row.active for row in rows if row.active is not None]
        if any(plain_share(active.share) == plain_share(entry.share) for active in live):
            return True
        raise AppError(
            ErrorKind.FSTAB_REFUSED,
            "It was mounted and not saved on the other computer.",
            hint="Choose where to save it: in fstab or in systemd units.",
        )
    return False


_PLACES = {"fstab": "/etc/fstab", "systemd": "a systemd unit"}
_HINTS_IF_SAVED_HERE: dict[SavedIn, str] = {
    "fstab": "Save it in fstab, or remove it from fstab first.",
    "systemd": "Save it in systemd units, or remove its units first.",
    "autofs": "Take it out of the map first.",
}


def run_import(
    args: ImportArgs,
    around: HostView,
    apply: Callable[[ApplyArgs], ApplyReport],
    token: CancelToken,
    emit: Callable[[ImportProgress], object],
) -> ImportReport:
    """Write the entries that were chosen, one after the other, and say what became of each.

    Args:
        args: what to write.
        around: what is looked at.
        apply: makes one change, or goes back to what was.
        token: stops it after the entry that is being written.
        emit: told of each entry that is begun.

    Raises:
        AppError: USAGE if a choice is none of the entries; nothing was written then.
    """
    choices = {choice.index: choice for choice in args.choices}
    if not set(choices) <= set(range(len(args.entries))):
        raise AppError(ErrorKind.USAGE, "A choice is none of the entries.")
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
            outcome, stopped = _write(args, entry, choice, around, apply)
        outcomes.append(outcome)
    return ImportReport(outcomes=outcomes)


def _write(
    args: ImportArgs,
    entry: MountEntry,
    choice: ImportChoice,
    around: HostView,
    apply: Callable[[ApplyArgs], ApplyReport],
) -> tuple[ImportOutcome, str]:
    """Write one entry; return what became of it, and why no other is to be begun, or ""."""
    point, place = entry.mount_point, args.save_in or entry.saved_in
    query = _apply_args(entry, place)
    rows = [row for row in around.table().mounts if row.mount_point == point]
    try:
        if _refuse_place(entry, place, rows):
            return ImportOutcome(mount_point=point, result="same"), ""
        plan = make_plan(query, around)
        if not _diff(plan):
            return ImportOutcome(mount_point=point, result="same"), ""
        _check_preview(plan, choice)
        written = ImportOutcome(mount_point=point, result="written")
        if plan.diff:
            # The readahead comes after it: together they would take an authorization for each entry.
            alone = msgspec.structs.replace(query, read_ahead_kb=None, save_read_ahead=False)
            approved = args.approved and plan.approval is not None
            report = apply(msgspec.structs.replace(alone, expected_sha256=plan.sha256, approved=approved))
            written = msgspec.structs.replace(written, backup=report.backup)
    except AppError as error:
        outcome = ImportOutcome(mount_point=point, result="failed", message=error.message, hint=error.hint)
        return outcome, error.message if error.kind in _FOR_ALL else ""
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
    """Check that what would be written is what was shown; other entries may have moved its place.

    Raises:
        AppError: FSTAB_CHANGED.
    """
    if _changed_lines(_diff(plan)) != _changed_lines(choice.diff):
        raise AppError(
            ErrorKind.FSTAB_CHANGED,
            "What is saved for it was changed since it was shown. Nothing was written.",
            hint="Look at the import again.",
        )


def _changed_lines(diff: str) -> list[str]:
    return [
        line for line in diff.splitlines() if line[:1] in {"+", "-"} and not line.startswith(("+++ ", "--- "))
    ]


# For a person.

_STATUS = {"new": "New", "same": "Same", "differs": "Differs", "refused": "Cannot be written"}
_RESULT: dict[ImportResult, str] = {
    "written": "saved",
    "same": "saved already",
    "not-chosen": "left out",
    "failed": "not saved",
    "not-begun": "not begun",
}


def import_status_text(item: ImportItem) -> str:
    """Return the status in a word or two."""
    return _STATUS[item.status]


def import_report_lines(report: ImportReport) -> list[str]:
    """Return a line for each entry, and one for each file as it was."""
    lines: list[str] = []
    for one in report.outcomes:
        word = "saved and mounted" if one.mounted else _RESULT[one.result]
        lines.append(
            f"{one.mount_point}: {word}{f'. {one.message} {one.hint}'.rstrip() if one.message else ''}"
        )
    backup = next((one.backup for one in report.outcomes if one.backup), "")
    return [*lines, f"The first file as it was: {backup}"] if backup else lines

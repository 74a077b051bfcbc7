"""Sentences about changes of mounts: what needs an approval, and what an import does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.mounts.change_model import ImportItem, ImportReport, ImportResult
    from app.mounts.model import Approval


def approval_sentences(approval: Approval) -> list[str]:
    """Return the sentences that the person reads before agreeing to an approval."""
    sentences = [f"An administrator has to approve this by itself. {' '.join(approval.reasons)}"]
    if approval.hidden:
        names = ", ".join(approval.hides)
        more = approval.hidden - len(approval.hides)
        sentences.append(
            f"The mount hides what is in the directory now: {names}{f' and {more} more' if more > 0 else ''}."
            if approval.hidden > 0
            else "The mount hides what is in the directory now. You may not list it."
        )
    sentences += [
        f"{holder.command} (process {holder.pid}, {holder.user}) uses the directory: {holder.use}."
        for holder in approval.holders
    ]
    return sentences


def count_prompts(items: list[ImportItem], *, mount: bool, root: bool) -> int:
    """Return the smallest number of password prompts of an import.

    There is one prompt each for all writes, all saved readaheads and all mounts. A mount with a readahead,
    and an entry that needs a separate approval, has its own prompt.
    """
    if root or not items:
        return 0
    separate = sum(item.approval is not None for item in items)
    tuned = sum(item.entry.readahead_kib is not None for item in items)
    count = separate + (separate < len(items))
    if mount:
        count += tuned + (tuned < len(items))
    return count + (tuned > 0)


def prompts_text(items: list[ImportItem], *, mount: bool, root: bool) -> str:
    """Return a sentence on the number of password prompts, "" for no prompt."""
    count = count_prompts(items, mount=mount, root=root)
    separate = sum(item.approval is not None for item in items)
    if not count:
        return ""
    text = f"An administrator is asked {'once' if count == 1 else f'{count} times'}."
    if separate:
        text += (
            f" {separate} of {len(items)} entries need{'s' if separate == 1 else ''} an approval of "
            f"{'its' if separate == 1 else 'their'} own."
        )
    return text


_STATUS = {"new": "New", "same": "Same", "differs": "Differs", "refused": "Cannot be written"}
_RESULT: dict[ImportResult, str] = {
    "written": "saved",
    "same": "saved already",
    "not-chosen": "left out",
    "failed": "not saved",
    "not-begun": "not begun",
}


def import_status_text(item: ImportItem) -> str:
    """Return the status of an entry in one or two words."""
    return _STATUS[item.status]


def import_report_lines(report: ImportReport) -> list[str]:
    """Return one line for each entry, and one for the first backup."""
    lines: list[str] = []
    for one in report.outcomes:
        word = "saved and mounted" if one.mounted else _RESULT[one.result]
        lines.append(
            f"{one.mount_point}: {word}{f'. {one.message} {one.hint}'.rstrip() if one.message else ''}"
        )
    backup = next((one.backup for one in report.outcomes if one.backup), "")
    return [*lines, f"The first file as it was: {backup}"] if backup else lines

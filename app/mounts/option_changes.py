"""Option changes: which options change, and whether each needs a remount, a new mount or a boot.

A remount changes only the flags of the mount point, ro and sync. It refuses most NFS options, and accepts
others without effect (fs/nfs/super.c, nfs_compare_remount_data).
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from advisor.message import Message, message
from advisor.options import NO, MountOptions, Option, catalogue
from app.mounts.change_model import PlannedOptionChange, RequiredAction
from app.mounts.option_comparison import values_in_use
from app.mounts.requested_options import is_request_known
from app.mounts.saved_readahead import same_readahead

if TYPE_CHECKING:
    from app.mounts.model import Mount

#: Name of the readahead in a list of option changes.
READ_AHEAD = "read_ahead_kb"


class ChangeNote(StrEnum):
    """When a change of an option takes effect."""

    IN_USE = "change.in-use"
    NEXT_MOUNT = "change.next-mount"
    NEXT_BOOT = "change.next-boot"
    READAHEAD_SAVED = "change.readahead-saved"
    READAHEAD_VOLATILE = "change.readahead-volatile"
    READAHEAD_THEN_SAVED = "change.readahead-then-saved"


def option_changes(
    row: Mount | None, after: MountOptions, read_ahead_kb: int | None, saved_kb: int | None = None
) -> list[PlannedOptionChange]:
    """Return the options that change, in the order of the catalogue; the readahead comes last.

    Args:
        row: the mount before the change, None for a new one.
        after: the options after the change, including fstab-only ones.
        read_ahead_kb: readahead after the change, KiB; None to leave it.
        saved_kb: readahead saved for the mount point after the change, KiB; None for none.
    """
    active = row.active if row is not None else None
    before = MountOptions.parse(row.requested if row is not None else "")
    live = values_in_use(active) if active is not None else None
    guessed = (
        row is not None
        and active is not None
        and not is_request_known(active, row.configured, differs=row.state == "differs")
    )
    changes: list[PlannedOptionChange] = []
    for change in before.diff(after):
        if change.name in {"suid", "dev"} and change.before in {None, NO} and change.after in {None, NO}:
            continue  # this program always mounts with nosuid and nodev
        takes, note = _required_action(change.name, change.after, live)
        option = catalogue().find(change.name)
        negotiated = option is None or option.default is None
        is_in_use = note is not None and note.code == ChangeNote.IN_USE
        if guessed and (is_in_use or (change.after is None and negotiated)):
            continue  # in use, but probably not requested
        changes.append(
            PlannedOptionChange(
                name=change.name, before=change.before, after=change.after, takes=takes, note=note
            )
        )
    if read_ahead_kb is not None and (active is None or active.read_ahead_kb != read_ahead_kb):
        old = active.read_ahead_kb if active is not None else None
        changes.append(
            PlannedOptionChange(
                name=READ_AHEAD,
                before=None if old is None else str(old),
                after=str(read_ahead_kb),
                takes="live",
                note=_read_ahead_note(read_ahead_kb, saved_kb),
            )
        )
    return changes


def _read_ahead_note(read_ahead_kb: int, saved_kb: int | None) -> Message:
    if saved_kb is None:
        return message(ChangeNote.READAHEAD_VOLATILE)
    if same_readahead(saved_kb, read_ahead_kb):
        return message(ChangeNote.READAHEAD_SAVED)
    return message(ChangeNote.READAHEAD_THEN_SAVED, saved_kb=saved_kb)


def remount_options(changes: list[PlannedOptionChange], *, back: bool = False) -> list[str]:
    """Return the options of the remount that makes a change, with explicit defaults, such as rw for no ro.

    Args:
        changes: the option changes of the plan.
        back: whether to return the options of the remount that undoes the change.
    """
    words: list[str] = []
    for change in changes:
        option = catalogue().find(change.name)
        if change.takes == "remount" and option is not None:
            value = change.before if back else change.after
            word = option.word_for(option.default or NO if value is None else value)
            words += [word] if word is not None else []
    return words


def changes_shared_superblock(change: PlannedOptionChange) -> bool:
    """Whether a remount changes an option for all mounts of the same superblock: sync, or ro to rw."""
    return change.name == "sync" or (change.name == "ro" and change.before == "ro")


def _required_action(
    name: str, after: str | None, live: dict[str, str] | None
) -> tuple[RequiredAction, Message | None]:
    option = catalogue().find(name)
    if option is None:
        if name.startswith(("x-", "X-")):
            return "boot", message(ChangeNote.NEXT_BOOT)
        return "mount", None
    if option.scope == "fstab":
        return "boot", message(ChangeNote.NEXT_BOOT)
    if live is not None and _is_in_use(option, after, live):
        return "live", message(ChangeNote.IN_USE)
    if live is None or option.change != "boot":
        return option.change if live is not None else "mount", None
    return "boot", message(ChangeNote.NEXT_MOUNT)


def _is_in_use(option: Option, after: str | None, live: dict[str, str]) -> bool:
    default = option.default_for(live.get("vers", ""), live.get("proto", ""))
    wanted = default if after is None else after
    found = live.get(option.name)
    if found is None and option.shown == "if-not-default":
        found = default
    if wanted is None or found is None:
        return False
    return wanted == found or (option.name == "vers" and wanted == "4" and found.startswith("4."))

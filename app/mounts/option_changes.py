"""Which options change, and what each change takes: a write, a remount, unmounting and mounting, or waiting.

A remount changes the flags of the mount point and ro and sync, and nothing else: of the options of NFS it
refuses most, and takes others without changing anything (fs/nfs/super.c, nfs_compare_remount_data).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.options import NO, MountOptions, Option, catalogue, to_mount
from app.mounts.change import OptionChange, Takes
from app.mounts.effective import effective_values

if TYPE_CHECKING:
    from app.mounts.model import Active, Mount

READ_AHEAD = "read_ahead_kb"
#: mount.nfs or the kernel puts them there; they say where a mount came out, not what was asked for.
_NEGOTIATED = ("addr", "clientaddr", "mountaddr", "mountvers", "mountport", "mountproto", "namlen")
_SO_ALREADY = "It is so already."
_NEXT_TIME = "Counts the next time it is mounted."
#: Of a word for fstab: it is kept, and a live mount has no use for it.
AT_START = "Counts from the next start on."


def asked_before(row: Mount) -> MountOptions:
    """Return the options with which a mount can be made again as it was.

    What was asked for where that is known, else what fstab says of a mount that fits it, else what is in use.
    """
    active, configured = row.active, row.configured
    if active is None:
        return MountOptions.parse(configured.options if configured is not None else "")
    if active.requested is not None:
        return to_mount(MountOptions.parse(active.requested))
    if configured is not None and _is_known(row, active):
        return to_mount(MountOptions.parse(configured.options))
    # What the helper does not pass on cannot be made again, and is not of NFS (relatime, seclabel).
    known = (catalogue().find(item.partition("=")[0]) for item in MountOptions.parse(active.options))
    items = zip(MountOptions.parse(active.options), known, strict=True)
    options = to_mount(MountOptions([item for item, option in items if option is not None and option.helper]))
    for name in _NEGOTIATED:
        options.remove(name)
    if active.nconnect > 1 and "nconnect" not in options:
        options.set("nconnect", str(active.nconnect))
    return options


def option_changes(row: Mount | None, after: MountOptions, read_ahead_kb: int | None) -> list[OptionChange]:
    """Return the options that change, in the catalogue's order, the read-ahead last.

    Args:
        row: the mount as it is; None for a new one.
        after: the options as they are to be, with the words for fstab.
        read_ahead_kb: as it is to be, None to leave it.
    """
    active = row.active if row is not None else None
    before = _all_before(row, after)
    live = effective_values(active) if active is not None else None
    guessed = row is not None and active is not None and not _is_known(row, active)
    if live is not None:
        _correct(before, live)
    changes: list[OptionChange] = []
    for change in before.diff(after):
        if change.name in {"suid", "dev"} and change.before in {None, NO} and change.after in {None, NO}:
            continue  # always so when this program mounts
        takes, note = _takes(change.name, change.after, live)
        option = catalogue().find(change.name)
        negotiated = option is None or option.default is None
        if guessed and change.after is None and (negotiated or note == _SO_ALREADY):
            continue  # in use, but perhaps nobody asked for it
        changes.append(
            OptionChange(name=change.name, before=change.before, after=change.after, takes=takes, note=note)
        )
    if read_ahead_kb is not None and (active is None or active.read_ahead_kb != read_ahead_kb):
        old = active.read_ahead_kb if active is not None else None
        changes.append(
            OptionChange(
                name=READ_AHEAD,
                before=None if old is None else str(old),
                after=str(read_ahead_kb),
                takes="live",
                note="KiB; it is back at the kernel's value after the next mount.",
            )
        )
    return changes


def _correct(before: MountOptions, live: dict[str, str]) -> None:
    """Go by what is in use for the flags of a remount: it leaves the note of what was asked for as it was."""
    for name in ("ro", "sync", "noexec", "nosymfollow"):
        option = catalogue()[name]
        found, asked = live.get(name, option.default), before.get(name)
        if found is not None and found != (option.default if asked is None else asked):
            before.set(name, found)


def remount_words(changes: list[OptionChange], *, back: bool = False) -> list[str]:
    """Return the words for a remount of what changes by one, spelled out: rw where ro goes.

    Args:
        changes: of the plan.
        back: from the new values to the old ones.
    """
    words: list[str] = []
    for change in changes:
        option = catalogue().find(change.name)
        if change.takes == "remount" and option is not None:
            value = change.before if back else change.after
            word = option.word_for(option.default or NO if value is None else value)
            words += [word] if word is not None else []
    return words


def is_shared(change: OptionChange) -> bool:
    """Whether a remount changes it for all mounts that share the superblock: sync, and an end of ro there."""
    return change.name == "sync" or (change.name == "ro" and change.before == "ro")


def _is_known(row: Mount, active: Active) -> bool:
    """Whether it is known what was asked for."""
    return active.requested is not None or (row.configured is not None and row.state != "differs")


def _all_before(row: Mount | None, after: MountOptions) -> MountOptions:
    """Return what was asked for, the words for fstab included."""
    if row is None:
        return MountOptions()
    items = [*asked_before(row)]
    if row.active is not None:
        kept = MountOptions.parse(row.configured.options if row.configured is not None else "")
        items += [item for item in kept if item and _is_for_fstab(item)]
    before = MountOptions(items)
    if "retry" not in after:
        before.remove("retry")  # this program gives it to every mount that it makes
    return before


def _is_for_fstab(item: str) -> bool:
    option = catalogue().read_item(item)[0]
    return option.scope == "fstab" if option is not None else item.startswith(("x-", "X-", "comment="))


def _takes(name: str, after: str | None, live: dict[str, str] | None) -> tuple[Takes, str]:
    option = catalogue().find(name)
    if option is None:
        return ("boot", AT_START) if name.startswith(("x-", "X-")) else ("mount", "")
    if option.scope == "fstab":
        return "boot", AT_START
    if live is not None and _is_in_use(option, after, live):
        return "live", _SO_ALREADY
    if live is None or option.change != "boot":
        return option.change if live is not None else "mount", ""
    return "boot", _NEXT_TIME


def _is_in_use(option: Option, after: str | None, live: dict[str, str]) -> bool:
    default = option.default_for(live.get("vers", ""), live.get("proto", ""))
    wanted = default if after is None else after
    found = live.get(option.name)
    if found is None and option.shown == "if-not-default":
        found = default
    if wanted is None or found is None:
        return False
    return wanted == found or (option.name == "vers" and wanted == "4" and found.startswith("4."))

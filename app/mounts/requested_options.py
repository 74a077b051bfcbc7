"""Requested options of a mount: mounting it with them again gives the same mount.

They come from four places. mountinfo tells the flags of the mount and of its superblock (ro, sync, noexec,
nosymfollow, noatime, nodiratime): libmount writes no such flag to utab (libmount/src/tab_update.c), and a
remount changes them behind every record. Our own record, or utab, tells what else was requested. The entry
that configures the mount tells when it is mounted, which a live mount does not know. nfsmount.conf tells
what mount.nfs added by itself.
"""

from __future__ import annotations

import contextlib
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from advisor.dialects.entry import mount_time_of, split_fstab_items
from advisor.nfsmount_conf import added_options
from advisor.options import NO, YES, MountOptions, catalogue, implied_values, options_for_mount
from app.helper.options import ALWAYS
from app.kernel.nfsmount_conf import host_of
from app.mounts.model import AddedOption, Mount
from app.mounts.option_comparison import value_fits

if TYPE_CHECKING:
    from advisor.nfsmount_conf import AddedConfOption, ConfSetting
    from app.mounts.model import Active, AfterBoot, Configured

#: mount.nfs or the kernel puts them there; they say where a mount came out, not what was requested.
NEGOTIATED = ("addr", "clientaddr", "mountaddr", "mountvers", "mountport", "mountproto", "namlen")
#: What the program's own mounts are made with (app/helper/mount_nfs.py): one attempt.
_SINGLE_ATTEMPT = "0"
#: The kernel's default for all of these is relatime (fs/namespace.c, path_mount).
_RELATIME = frozenset({"relatime", "atime", "norelatime", "nostrictatime"})
_AFTER_BOOT: dict[str, AfterBoot] = {"start-up": "mounted", "on demand": "on-demand", "by hand": "by-hand"}


def with_requested_options(row: Mount, settings: tuple[ConfSetting, ...] = ()) -> Mount:
    """Return a row with what was requested, what nfsmount.conf adds, and what becomes of it at the next boot.

    Args:
        row: as the kernel and the configuration tell it.
        settings: of nfsmount.conf, in the order in which mount.nfs reads them.
    """
    active, configured = row.active, row.configured
    # Of thousands of mounts most have the same options: each combination is looked at once.
    live = (active.options, active.recorded, active.nconnect) if active is not None else None
    entry = (_given_options(configured), configured.fstype) if configured is not None else None
    host = host_of(row.share)
    mine = tuple(one for one in settings if one.subject in {"", host.lower(), row.mount_point.lower()})
    text, brought = _requested(live, entry, row.state == "differs", mine, (host, row.mount_point))
    return msgspec.structs.replace(
        row,
        requested=text,
        added=[AddedOption(item=one.item, name=one.name, file=one.file, section=one.section, line=one.line,
                           beats=one.beats) for one in brought],
        after_boot="gone" if configured is None else _after_boot(configured),
    )  # fmt: skip


def live_options(row: Mount) -> MountOptions:
    """Return the options of the mount command that gives this mount, without words for fstab."""
    return options_for_mount(MountOptions.parse(row.requested))


def command_options(row: Mount) -> MountOptions:
    """Return the options for a person who mounts by hand what is mounted now."""
    options = live_options(row)
    in_use = MountOptions.parse(row.active.options if row.active is not None else "")
    return MountOptions([*options, *(word for word in ALWAYS if word in list(in_use))])


def is_request_known(active: Active, configured: Configured | None, *, differs: bool) -> bool:
    """Whether it is known what was requested; else it is guessed from what is in use."""
    return active.recorded is not None or (configured is not None and not differs)


def _given_options(configured: Configured) -> str:
    """Return the options of an entry without those that this program adds for safety.

    It adds them at the end of an entry of fstab, and to its own units; elsewhere a person wrote them.
    """
    items = list(MountOptions.parse(configured.options))
    if configured.keeper == "unit" and configured.ours:
        items = [item for item in items if item not in ALWAYS]
    elif tuple(items[-len(ALWAYS) :]) == ALWAYS:
        del items[-len(ALWAYS) :]
    return str(MountOptions(items))


def _after_boot(configured: Configured) -> AfterBoot:
    if configured.automount:
        return "on-demand"
    return _AFTER_BOOT[mount_time_of(MountOptions.parse(configured.options))]


@lru_cache(maxsize=4096)
def _requested(
    live: tuple[str, str | None, int] | None,
    entry: tuple[str, str] | None,
    differs: bool,  # noqa: FBT001 - a key of the cache
    settings: tuple[ConfSetting, ...],
    place: tuple[str, str],
) -> tuple[str, tuple[AddedConfOption, ...]]:
    written = MountOptions.parse(entry[0]) if entry is not None else None
    if live is None:
        options = written or MountOptions()
        return str(options), tuple(added_options(list(settings), options, *place))
    options = _of_live(live, written, entry[1] if entry is not None else "", settings, differs=differs)
    _correct(options, _flags(live[0]))
    in_use = MountOptions.parse(live[0]).values()
    brought = added_options(list(settings), options_for_mount(options), *place)
    return str(options), tuple(one for one in brought if _is_in_use(one, in_use))


def _of_live(
    live: tuple[str, str | None, int],
    written: MountOptions | None,
    fstype: str,
    settings: tuple[ConfSetting, ...],
    *,
    differs: bool,
) -> MountOptions:
    in_use, recorded, connections = live
    if recorded is not None:
        options = _without_additions(_without_overridden(MountOptions.parse(recorded)), settings, written)
    elif written is not None and not differs:
        return written
    else:
        options = _without_additions(_from_use(in_use, connections), settings, written)
    inner = MountOptions(split_fstab_items(options)[0])
    if written is None:
        return inner
    if _is_made_of(inner, written, fstype):
        return written
    for name in ("bg", "retry"):  # a live mount does not tell them
        inner.remove(name)
    ours, outer = split_fstab_items(written)
    command = [item for item in ours if catalogue().read_item(item)[1] in {"bg", "retry"}]
    return MountOptions([*inner, *command, *outer])


def _without_overridden(options: MountOptions) -> MountOptions:
    """Return the options without what a later one of the same name overrides.

    mount.nfs records “vers=4,vers=4.1” for “vers=4,minorversion=1” (utils/mount/stropts.c).
    """
    read = [(item, *catalogue().read_item(item)[:2]) for item in options if item]
    last = {name: number for number, (_item, _option, name) in enumerate(read)}
    return MountOptions([
        item for number, (item, option, name) in enumerate(read) if option is None or last[name] == number
    ])  # fmt: skip


def _without_additions(
    options: MountOptions, settings: tuple[ConfSetting, ...], written: MountOptions | None
) -> MountOptions:
    """Return the options without what the program, mount.nfs and nfsmount.conf added by themselves."""
    from_files = {catalogue().read_item(one.item)[1:] for one in settings}
    said = {catalogue().read_item(item)[1:] for item in written or () if item}
    kept: list[str] = []
    for item in options:
        _, name, value = catalogue().read_item(item) if item else (None, "", "")
        brought = (name, value) in from_files and (name, value) not in said
        ours = (name, value) in {("suid", NO), ("dev", NO), ("retry", _SINGLE_ATTEMPT)}
        if item and not brought and not ours:
            kept.append(item)
    return MountOptions(kept)


def _from_use(in_use: str, connections: int) -> MountOptions:
    """Return what is in use and is not the default: who made the mount left no record."""
    kept: list[str] = []
    for item in MountOptions.parse(in_use):
        option, name, value = catalogue().read_item(item)
        # What the helper does not pass on cannot be made again, and is not of NFS (relatime). What nobody
        # here knows, root gave; seclabel is the kernel's own note (security/selinux/hooks.c).
        unknown = option is None and item != "seclabel"
        passed = option is not None and option.helper and name not in NEGOTIATED and value != option.default
        if unknown or passed:
            kept.append(item)
    options = MountOptions(kept)
    if connections > 1 and "nconnect" not in options:
        options.set("nconnect", str(connections))
    return options


def _is_made_of(inner: MountOptions, written: MountOptions, fstype: str) -> bool:
    """Whether a mount with this record was made from this entry: flags, and what was negotiated, aside."""
    made, said = inner.values(), options_for_mount(written).values()
    if fstype == "nfs4":
        said.setdefault("vers", "4")
    version = said.get("vers")
    if version is None or (version == "4" and made.get("vers", "").startswith("4")):
        made.pop("vers", None)
        said.pop("vers", None)
    for name in (*_FLAGS, "suid", "dev", "bg", "retry"):
        made.pop(name, None)
        said.pop(name, None)
    return made == said


_FLAGS = ("ro", "sync", "noexec", "nosymfollow", "atime", "diratime")


def _flags(in_use: str) -> dict[str, str]:
    """Return canonical name to value of the flags of the mount and of its superblock."""
    words = set(MountOptions.parse(in_use))
    access = "noatime" if "noatime" in words else "relatime" if "relatime" in words else "strictatime"
    return {
        "ro": "ro" if "ro" in words else "rw",
        "sync": "sync" if "sync" in words else "async",
        "noexec": YES if "noexec" in words else NO,
        "nosymfollow": YES if "nosymfollow" in words else NO,
        "atime": access,
        "diratime": NO if "nodiratime" in words else YES,
    }


def _correct(options: MountOptions, flags: dict[str, str]) -> None:
    """Give the options the flags that are in use."""
    for name, found in flags.items():
        if _implied(options, name) == found:
            continue
        if found == catalogue()[name].default:
            options.remove(name)
        if _implied(options, name) != found:
            with contextlib.suppress(ValueError):  # an open quotation mark: nothing can be added
                options.set(name, found)


def _implied(options: MountOptions, name: str) -> str | None:
    value = implied_values(options_for_mount(options)).get(name, catalogue()[name].default)
    return "relatime" if name == "atime" and value in _RELATIME else value


def _is_in_use(one: AddedConfOption, in_use: dict[str, str]) -> bool:
    """Whether a line of nfsmount.conf is not contradicted by what the kernel shows."""
    option = catalogue().find(one.name)
    found = in_use.get(one.name)
    if found is None and option is not None and option.shown == "if-not-default":
        found = option.default
    value = catalogue().read_item(one.item)[2]
    return found is None or value_fits(one.name, value, found, in_use.get("proto", "tcp"))

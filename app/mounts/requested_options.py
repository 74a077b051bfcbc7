"""Requested options of a mount: the options that recreate the same mount.

They are combined from four sources:

- mountinfo has the flags of the mount and of its superblock (ro, sync, noexec, nosymfollow, noatime,
  nodiratime). libmount writes no such flag to utab (libmount/src/tab_update.c), and a remount changes them
  without a record.
- The program's own record, or utab, has the other options.
- The saved entry has the options for the boot, which a live mount does not show.
- nfsmount.conf has the options that mount.nfs added automatically.
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

#: Options that mount.nfs or the kernel adds: results of a negotiation, never requested.
NEGOTIATED = ("addr", "clientaddr", "mountaddr", "mountvers", "mountport", "mountproto", "namlen")
#: Value of retry= in the program's own mounts (app/helper/mount_nfs.py): one attempt.
_SINGLE_ATTEMPT = "0"
#: Values of the option atime that the kernel treats as relatime (fs/namespace.c, path_mount).
_RELATIME = frozenset({"relatime", "atime", "norelatime", "nostrictatime"})
_AFTER_BOOT: dict[str, AfterBoot] = {"start-up": "mounted", "on-demand": "on-demand", "by-hand": "by-hand"}


def with_requested_options(row: Mount, settings: tuple[ConfSetting, ...] = ()) -> Mount:
    """Return a mount with its requested options, the additions of nfsmount.conf and its state after a boot.

    Args:
        row: the mount as read from the kernel and the configuration.
        settings: settings of nfsmount.conf, in the order in which mount.nfs reads them.
    """
    active, configured = row.active, row.configured
    # Most mounts of a host have the same options, so results are cached per combination.
    live = (active.options, active.recorded, active.nconnect) if active is not None else None
    entry = (_given_options(configured), configured.fstype) if configured is not None else None
    host = host_of(row.share)
    applicable = tuple(
        setting for setting in settings if setting.subject in {"", host.lower(), row.mount_point.lower()}
    )
    text, added = _requested(live, entry, row.state == "differs", applicable, (host, row.mount_point))
    return msgspec.structs.replace(
        row,
        requested=text,
        added=[AddedOption(item=one.item, name=one.name, file=one.file, section=one.section, line=one.line,
                           beats=one.beats) for one in added],
        after_boot="gone" if configured is None else _after_boot(configured),
    )  # fmt: skip


def live_options(row: Mount) -> MountOptions:
    """Return the options of the mount command that recreates this mount, without fstab-only options."""
    return options_for_mount(MountOptions.parse(row.requested))


def command_options(row: Mount) -> MountOptions:
    """Return the options of a manual mount command that recreates this mount, with nosuid and nodev."""
    options = live_options(row)
    in_use = MountOptions.parse(row.active.options if row.active is not None else "")
    return MountOptions([*options, *(word for word in ALWAYS if word in list(in_use))])


def is_request_known(active: Active, configured: Configured | None, *, differs: bool) -> bool:
    """Whether the requested options are known; otherwise they are guessed from the options in use."""
    return active.recorded is not None or (configured is not None and not differs)


def _given_options(configured: Configured) -> str:
    """Return the options of an entry without the safety options that this program added.

    It adds them at the end of an fstab entry, and anywhere in its own units. Others were written by a person.
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
    host_and_point: tuple[str, str],
) -> tuple[str, tuple[AddedConfOption, ...]]:
    written = MountOptions.parse(entry[0]) if entry is not None else None
    if live is None:
        options = written or MountOptions()
        return str(options), tuple(added_options(list(settings), options, *host_and_point))
    options = _options_of_live_mount(
        live, written, entry[1] if entry is not None else "", settings, differs=differs
    )
    _set_flags(options, _flags(live[0]))
    in_use = MountOptions.parse(live[0]).values()
    added = added_options(list(settings), options_for_mount(options), *host_and_point)
    return str(options), tuple(option for option in added if _is_in_use(option, in_use))


def _options_of_live_mount(
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
        options = _without_additions(_from_options_in_use(in_use, connections), settings, written)
    inner = MountOptions(split_fstab_items(options)[0])
    if written is None:
        return inner
    if _matches_entry(inner, written, fstype):
        return written
    for name in ("bg", "retry"):  # a live mount does not show them
        inner.remove(name)
    ours, outer = split_fstab_items(written)
    command = [item for item in ours if catalogue().read_item(item)[1] in {"bg", "retry"}]
    return MountOptions([*inner, *command, *outer])


def _without_overridden(options: MountOptions) -> MountOptions:
    """Return the options without those that a later one of the same name overrides.

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
    """Return the options without those that the program, mount.nfs and nfsmount.conf added."""
    from_files = {catalogue().read_item(setting.item)[1:] for setting in settings}
    in_entry = {catalogue().read_item(item)[1:] for item in written or () if item}
    remaining: list[str] = []
    for item in options:
        _, name, value = catalogue().read_item(item) if item else (None, "", "")
        from_file = (name, value) in from_files and (name, value) not in in_entry
        from_program = (name, value) in {("suid", NO), ("dev", NO), ("retry", _SINGLE_ATTEMPT)}
        if item and not from_file and not from_program:
            remaining.append(item)
    return MountOptions(remaining)


def _from_options_in_use(in_use: str, connections: int) -> MountOptions:
    """Return the options in use that differ from their defaults, for a mount without a record."""
    items: list[str] = []
    for item in MountOptions.parse(in_use):
        option, name, value = catalogue().read_item(item)
        # Options that the helper rejects cannot be requested again and are not NFS options (relatime).
        # Unknown options were given by root, except the kernel's seclabel (security/selinux/hooks.c).
        unknown = option is None and item != "seclabel"
        requestable = (
            option is not None and option.helper and name not in NEGOTIATED and value != option.default
        )
        if unknown or requestable:
            items.append(item)
    options = MountOptions(items)
    if connections > 1 and "nconnect" not in options:
        options.set("nconnect", str(connections))
    return options


def _matches_entry(inner: MountOptions, written: MountOptions, fstype: str) -> bool:
    """Whether a recorded mount matches an entry, without regard to flags and negotiated options."""
    recorded, expected = inner.values(), options_for_mount(written).values()
    if fstype == "nfs4":
        expected.setdefault("vers", "4")
    version = expected.get("vers")
    if version is None or (version == "4" and recorded.get("vers", "").startswith("4")):
        recorded.pop("vers", None)
        expected.pop("vers", None)
    for name in (*_FLAGS, "suid", "dev", "bg", "retry"):
        recorded.pop(name, None)
        expected.pop(name, None)
    return recorded == expected


_FLAGS = ("ro", "sync", "noexec", "nosymfollow", "atime", "diratime")


def _flags(in_use: str) -> dict[str, str]:
    """Return the flags of the mount and of its superblock, by canonical name."""
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


def _set_flags(options: MountOptions, flags: dict[str, str]) -> None:
    """Set the flags in the options to the values in use."""
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


def _is_in_use(added: AddedConfOption, in_use: dict[str, str]) -> bool:
    """Whether a setting of nfsmount.conf agrees with the options that the kernel shows."""
    option = catalogue().find(added.name)
    found = in_use.get(added.name)
    if found is None and option is not None and option.shown == "if-not-default":
        found = option.default
    value = catalogue().read_item(added.item)[2]
    return found is None or value_fits(added.name, value, found, in_use.get("proto", "tcp"))

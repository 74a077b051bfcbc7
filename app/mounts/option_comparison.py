"""Option comparison: requested values against values in use, and why they differ.

The limits of timeouts are those of the kernel (fs/nfs/client.c: nfs_init_timeout_values), checked against
mounts on Linux 6.1, 6.12 and 7.2.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from advisor.message import Message, message
from advisor.options import (
    ATTRIBUTE_TIMES,
    NO,
    YES,
    MountOptions,
    Option,
    catalogue,
    implied_values,
    options_for_mount,
)
from advisor.transfer_sizes import MAX_IO_SIZE, kernel_number, rounded_io_size
from app.mounts.model import Active, AddedOption, Configured, OptionValue

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from advisor.nfsmount_conf import AddedConfOption

#: Longest timeouts, tenths of a second (NFS_MAX_TCP_TIMEOUT, NFS_MAX_UDP_TIMEOUT).
_MAX_TIMEO = {"udp": 600, "udp6": 600}
_MAX_TIMEO_STREAM = 6000
#: Options whose value the first mount of a server file system determines for all later ones.
_FIRST_MOUNT_WINS = frozenset({"timeo", "retrans", "bsize", "namlen", "fsc"})
#: Options not compared if fstab does not name them: this program adds nosuid and nodev, NFS has no atime, and
#: the defaults of fatal_neterrors and local_lock depend on the host.
_NOT_COMPARED = frozenset({"suid", "dev", "atime", "diratime", "fatal_neterrors", "local_lock"})


class OptionNote(StrEnum):
    """Why the value in use of an option is, or is not, the requested one."""

    ADDED = "option.added"
    ADDED_OVER = "option.added-over"
    FSTAB_ONLY = "option.fstab-only"
    NO_EFFECT = "option.no-effect"
    NO_EFFECT_ON_VERSION = "option.no-effect-on-version"
    NOT_SHOWN = "option.not-shown"
    TAG_NOT_SHOWN = "option.tag-not-shown"
    SHOWN_AS_TIMES = "option.shown-as-times"
    SHOWN_IN_VERSION = "option.shown-in-version"
    SHOWN_AS_MOUNTADDR = "option.shown-as-mountaddr"
    ALWAYS = "option.always"
    FOLLOWS = "option.follows"
    OVERRIDDEN = "option.overridden"
    OVERRIDDEN_LATER = "option.overridden-later"
    OVERRIDDEN_BY_OTHER = "option.overridden-by-other"
    SERVER_CHOOSES = "option.server-chooses"
    SERVER_LIMIT = "option.server-limit"
    KERNEL_LIMIT = "option.kernel-limit"
    KERNEL_TIME_LIMIT = "option.kernel-time-limit"
    KERNEL_ROUNDED = "option.kernel-rounded"
    KERNEL_READ = "option.kernel-read"
    KERNEL_OTHER = "option.kernel-other"
    FILLED_IN = "option.filled-in"
    NEGOTIATED = "option.negotiated"
    IPV6 = "option.ipv6"
    FIRST_MOUNT = "option.first-mount"
    SAME_FILESYSTEM = "option.same-filesystem"


class Difference(StrEnum):
    """How a mount differs from its configuration or from the request."""

    SHARE = "difference.share"
    OPTION = "difference.option"
    NOT_CONFIGURED = "difference.not-configured"
    REQUESTED = "difference.requested"
    NOT_REQUESTED = "difference.not-requested"


#: Notes on requested options without an effect.
_WITHOUT_EFFECT = frozenset({OptionNote.NO_EFFECT, OptionNote.NO_EFFECT_ON_VERSION})
#: Notes on values that mount.nfs or the server chooses, or that the kernel shows in another way.
_AS_REQUESTED = frozenset({
    OptionNote.NEGOTIATED, OptionNote.SERVER_CHOOSES, OptionNote.FILLED_IN, OptionNote.IPV6,
    OptionNote.FSTAB_ONLY, OptionNote.TAG_NOT_SHOWN, OptionNote.KERNEL_READ,
})  # fmt: skip


def compare_options(
    requested: MountOptions, active: Active | None, added: Sequence[AddedConfOption | AddedOption] = ()
) -> list[OptionValue]:
    """Return every requested option, every one the kernel shows and every basic one, in catalogue order.

    Args:
        requested: the requested options.
        active: the live mount; None if there is none, so that no value is in use.
        added: options that nfsmount.conf adds to such a mount.
    """
    sources = {option.name: option for option in added}
    requested_values = requested.values()
    live = values_in_use(active) if active is not None else {}
    for name in requested_values.keys() - live.keys():
        option = catalogue().find(name)
        default = _unshown_default(option, live.get("vers", "")) if option is not None else None
        if default is not None:
            live[name] = default
    implied = implied_values(requested)
    names = sorted(requested_values | live, key=catalogue().order)
    values: list[OptionValue] = []
    for name in names:
        note = None
        if active is not None:
            note = _note_added(sources.get(name), requested_values, live) or _note(
                name, requested_values, implied, live
            )
        values.append(
            OptionValue(name=name, requested=requested_values.get(name), effective=live.get(name), note=note)
        )
    return values


def difference_reason(name: str, requested: MountOptions, live: dict[str, str]) -> Message | None:
    """Return why the value in use of an option differs from the requested one, None if they agree.

    Args:
        name: canonical name of the option.
        requested: the requested options.
        live: values in use by option name (:func:`values_in_use`).
    """
    return _note(name, requested.values(), implied_values(requested), live)


def overridden_options(values: Sequence[OptionValue]) -> list[OptionValue]:
    """Return the requested values that differ from the value in use, or have no effect.

    Values that mount.nfs or the server chooses (an address, one of several versions) are left out. So are
    options that the kernel does not show, because their value in use is unknown.
    """
    return [
        value
        for value in values
        if value.requested is not None
        and (value.note is None or value.note.code not in _AS_REQUESTED)
        and (
            value.note is not None and value.note.code in _WITHOUT_EFFECT
            if value.effective is None
            else value.effective != value.requested
        )
    ]


def values_in_use(active: Active) -> dict[str, str]:
    """Return the canonical values of all options in use, by canonical name.

    Basic options that mountinfo omits at their default are included, so that a form can show them. nconnect
    is the number of connections in mountstats.
    """
    values = MountOptions.parse(active.options).values()
    for option in catalogue():
        if option.basic and option.name not in values:
            default = _unshown_default(option, values.get("vers", ""))
            if default is not None:
                values[option.name] = default
    if active.nconnect:
        values["nconnect"] = str(active.nconnect)
    return dict(sorted(values.items(), key=lambda pair: catalogue().order(pair[0])))


def configuration_differences(configured: Configured, active: Active) -> list[Message]:
    """Return one message for each option whose value in use differs from the configured or requested one.

    Values that the kernel or the server rounds or negotiates are no difference. Options that the kernel does
    not show are ignored.

    Args:
        configured: the saved entry, or the request if its origin is "".
        active: the live mount.
    """
    # Most mounts of a host have the same options, so results are cached per pair of entry and live mount.
    key = msgspec.structs.replace(configured, line=0, share="")
    return list(
        _differences(key, msgspec.structs.replace(active, mount_id=0, device="", share="", recorded=None))
    )


@lru_cache(maxsize=4096)
def _differences(configured: Configured, active: Active) -> tuple[Message, ...]:
    written = MountOptions.parse(configured.options)
    if configured.fstype == "nfs4" and "vers" not in written:
        written.set("vers", "4")
    expected = implied_values(options_for_mount(written))  # mount(8) turns “user” into noexec
    live = values_in_use(active)
    version, proto = live.get("vers", ""), live.get("proto", "tcp")
    differences: list[Message] = []
    for option in catalogue():
        wanted, found = expected.get(option.name), live.get(option.name)
        found = _unshown_default(option, version) if found is None else found
        if found is None or option.shown == "never" or version not in option.versions:
            continue
        if wanted is None:
            default = option.default_for(version, proto)
            if default is not None and _is_compared_to_default(option) and found != default:
                differences.append(_difference(configured.origin, option, None, found))
        elif not value_fits(option.name, wanted, found, proto):
            differences.append(_difference(configured.origin, option, wanted, found))
    return tuple(differences)


def _difference(origin: str, option: Option, wanted: str | None, found: str) -> Message:
    params = {"option": option.name, "used": _text(option, found)}
    if wanted is None:
        if not origin:
            return message(Difference.NOT_REQUESTED, **params)
        return message(Difference.NOT_CONFIGURED, **params, origin=origin)
    if not origin:
        return message(Difference.REQUESTED, **params, requested=_text(option, wanted))
    return message(Difference.OPTION, **params, configured=_text(option, wanted), origin=origin)


def _unshown_default(option: Option, version: str) -> str | None:
    """Return the default of an option that mountinfo omits at its default, None for other options."""
    if option.shown == "if-not-default" and version in option.shown_on:
        return option.default
    return None


def _is_compared_to_default(option: Option) -> bool:
    """Whether an option that fstab does not name is expected to have its default value."""
    return option.name not in _NOT_COMPARED and option.scope in {"superblock", "mount"}


def value_fits(name: str, wanted: str, found: str, proto: str = "tcp") -> bool:
    """Whether the value in use is one that the kernel and the server derive from the requested value.

    Args:
        name: canonical name of the option.
        wanted: requested value.
        found: value in use.
        proto: transport protocol in use, which limits sizes and timeouts.
    """
    number, used = kernel_number(wanted), kernel_number(found)
    if wanted == found:
        fits = True
    elif number is not None and used is not None:
        fits = _number_fits(name, number, used, proto)
    elif name == "vers":
        fits = wanted == "4" and found.startswith("4.")
    elif name == "sec":
        fits = found in wanted.split(":")
    elif name == "proto":
        fits = found == wanted + "6"
    else:
        fits = name in {"addr", "clientaddr"}
    return fits


def _number_fits(name: str, number: int, used: int, proto: str) -> bool:
    if name in {"rsize", "wsize"}:
        rounded = rounded_io_size(number, proto)
        return rounded == 0 or used <= rounded  # the server may lower it
    if name == "timeo":
        return used == min(number, _MAX_TIMEO.get(proto, _MAX_TIMEO_STREAM))
    return number == used or name == "namlen" or (number == 0 and name in {"port", "mountport"})


def _text(option: Option, value: str) -> str:
    """Return an option with its value in the syntax of an option string."""
    word = option.word_for(value)
    if word is None and value == NO:
        return f"no {option.name}"
    return word if word is not None and (option.words or not option.takes_value) else f"{option.name}={value}"


def _note_added(
    source: AddedConfOption | AddedOption | None, requested: dict[str, str], live: dict[str, str]
) -> Message | None:
    """Return the note for a value in use that nfsmount.conf set, None if it did not."""
    if source is None or source.name not in live or live[source.name] == requested.get(source.name):
        return None
    option = catalogue().find(source.name)
    value = catalogue().read_item(source.item)[2]
    proto = live.get("proto", "tcp")
    if option is None or not value_fits(source.name, value, live[source.name], proto):
        return None
    place = {"line": source.line, "file": source.file, "item": source.item}
    if source.beats:
        return message(OptionNote.ADDED_OVER, **place, other=source.beats)
    return message(OptionNote.ADDED, **place)


def _note(
    name: str, requested: dict[str, str], implied: dict[str, str], live: dict[str, str]
) -> Message | None:
    wanted, found = requested.get(name), live.get(name)
    option = catalogue().find(name)
    if wanted is None:
        return _note_not_requested(name, requested, implied, found)
    if option is None and name.startswith(("x-", "X-")):
        return message(OptionNote.FSTAB_ONLY)
    if option is not None and (note := _note_without_effect(option, live.get("vers", ""))):
        return note
    if found == wanted:
        return None
    if found is None:
        return message(_NOT_SHOWN.get(name, OptionNote.NOT_SHOWN))
    overruled = _note_overridden(name, requested, implied, found)
    return overruled or _NOTES.get(name, _note_other)(name, wanted, found, live)


def _note_without_effect(option: Option, version: str) -> Message | None:
    if option.scope == "fstab":
        return message(OptionNote.FSTAB_ONLY)
    if not option.versions:
        return message(OptionNote.NO_EFFECT)
    if version and version not in option.versions:
        return message(OptionNote.NO_EFFECT_ON_VERSION, version=version)
    return None


def _note_not_requested(
    name: str, requested: dict[str, str], implied: dict[str, str], found: str | None
) -> Message | None:
    if name in {"suid", "dev"} and found == NO:
        return message(OptionNote.ALWAYS)
    if name not in implied or implied[name] != found:
        return None
    if requested.get("ac") == NO:
        return message(OptionNote.FOLLOWS, option="noac")
    if name in ATTRIBUTE_TIMES and "actimeo" in requested:
        return message(OptionNote.FOLLOWS, option="actimeo")
    cause = {"softreval": "softerr", "local_lock": "nolock"}.get(name)
    return message(OptionNote.FOLLOWS, option=cause) if cause is not None else None


def _note_overridden(
    name: str, requested: dict[str, str], implied: dict[str, str], found: str
) -> Message | None:
    if implied.get(name) != found or implied.get(name) == requested[name]:
        return None
    if requested.get("ac") == NO:
        return message(OptionNote.OVERRIDDEN, option="noac")
    if name in ATTRIBUTE_TIMES:
        return message(OptionNote.OVERRIDDEN_LATER, option="actimeo")
    return message(OptionNote.OVERRIDDEN_BY_OTHER)


def _note_io_size(name: str, wanted: str, found: str, live: dict[str, str]) -> Message:
    size, used = kernel_number(wanted), kernel_number(found)
    if size is None or used is None:
        return _note_other(name, wanted, found, live)
    rounded = rounded_io_size(size, live.get("proto", "tcp"))
    if size == 0:
        return message(OptionNote.SERVER_CHOOSES)
    if used < rounded:
        return message(OptionNote.SERVER_LIMIT, used=used)
    if used == rounded and size > MAX_IO_SIZE:
        return message(OptionNote.KERNEL_LIMIT, used=used)
    if used == rounded and used != size:
        return message(OptionNote.KERNEL_ROUNDED, used=used)
    return _note_other(name, wanted, found, live)


def _note_timeo(name: str, wanted: str, found: str, live: dict[str, str]) -> Message:
    limit = _MAX_TIMEO.get(live.get("proto", "tcp"), _MAX_TIMEO_STREAM)
    number = kernel_number(wanted)
    if number is not None and number > limit and found == str(limit):
        return message(OptionNote.KERNEL_TIME_LIMIT, used=limit, seconds=limit // 10)
    return _note_other(name, wanted, found, live)


def _note_port(name: str, wanted: str, found: str, live: dict[str, str]) -> Message:
    if wanted == "0":
        return message(OptionNote.SERVER_CHOOSES)
    return _note_other(name, wanted, found, live)


def _note_address(_name: str, _wanted: str, _found: str, _live: dict[str, str]) -> Message:
    return message(OptionNote.FILLED_IN)


def _note_fsc(name: str, wanted: str, found: str, live: dict[str, str]) -> Message:
    return message(OptionNote.TAG_NOT_SHOWN) if found == YES else _note_other(name, wanted, found, live)


def _note_choice(_name: str, wanted: str, found: str, _live: dict[str, str]) -> Message:
    is_negotiated = wanted == "4" or found in wanted.split(":")
    return message(OptionNote.NEGOTIATED if is_negotiated else OptionNote.KERNEL_OTHER)


def _note_proto(_name: str, wanted: str, found: str, _live: dict[str, str]) -> Message:
    return message(OptionNote.IPV6 if found == wanted + "6" else OptionNote.KERNEL_OTHER)


def _note_other(name: str, wanted: str, found: str, _live: dict[str, str]) -> Message:
    option = catalogue().find(name)
    if kernel_number(wanted) is not None and kernel_number(wanted) == kernel_number(found):
        return message(OptionNote.KERNEL_READ, requested=wanted, used=found)
    if name in _FIRST_MOUNT_WINS:
        return message(OptionNote.SAME_FILESYSTEM)
    if option is not None and option.scope == "client":
        return message(OptionNote.FIRST_MOUNT)
    return message(OptionNote.KERNEL_OTHER)


_NOT_SHOWN = {
    "actimeo": OptionNote.SHOWN_AS_TIMES,
    "minorversion": OptionNote.SHOWN_IN_VERSION,
    "mounthost": OptionNote.SHOWN_AS_MOUNTADDR,
}
_NOTES: dict[str, Callable[[str, str, str, dict[str, str]], Message]] = {
    "rsize": _note_io_size,
    "wsize": _note_io_size,
    "timeo": _note_timeo,
    "fsc": _note_fsc,
    "vers": _note_choice,
    "sec": _note_choice,
    "proto": _note_proto,
    "port": _note_port,
    "mountport": _note_port,
    "addr": _note_address,
}

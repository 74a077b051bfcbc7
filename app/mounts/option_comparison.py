"""Option comparison: requested values against values in use, and why they differ.

The limits of timeouts are those of the kernel (fs/nfs/client.c: nfs_init_timeout_values), checked against
mounts on Linux 6.1, 6.12 and 7.2.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

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
_TAG_UNSHOWN = "Kernels before 6.12 show fsc without its tag."
_FSTAB_ONLY = "Of meaning in fstab only."
#: Options not compared if fstab does not name them: this program adds nosuid and nodev, NFS has no atime, and
#: the defaults of fatal_neterrors and local_lock depend on the host.
_NOT_COMPARED = frozenset({"suid", "dev", "atime", "diratime", "fatal_neterrors", "local_lock"})


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
        note = ""
        if active is not None:
            note = _note_added(sources.get(name), requested_values, live) or _note(
                name, requested_values, implied, live
            )
        values.append(
            OptionValue(name=name, requested=requested_values.get(name), effective=live.get(name), note=note)
        )
    return values


def difference_reason(name: str, requested: MountOptions, live: dict[str, str]) -> str:
    """Return why the value in use of an option differs from the requested one, "" if they agree.

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
        and value.note not in _NEGOTIATED_NOTES
        and (
            value.note.startswith(_WITHOUT_EFFECT)
            if value.effective is None
            else value.effective != value.requested and not value.note.startswith(_READ_AS)
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


def configuration_differences(configured: Configured, active: Active) -> list[str]:
    """Return one sentence for each option whose value in use differs from the configured one.

    Values that the kernel or the server rounds or negotiates are no difference. Options that the kernel does
    not show are ignored.
    """
    # Most mounts of a host have the same options, so results are cached per pair of entry and live mount.
    key = msgspec.structs.replace(configured, line=0, share="")
    return list(
        _differences(key, msgspec.structs.replace(active, mount_id=0, device="", share="", recorded=None))
    )


@lru_cache(maxsize=4096)
def _differences(configured: Configured, active: Active) -> tuple[str, ...]:
    written = MountOptions.parse(configured.options)
    if configured.fstype == "nfs4" and "vers" not in written:
        written.set("vers", "4")
    expected = implied_values(options_for_mount(written))  # mount(8) turns “user” into noexec
    live = values_in_use(active)
    version, proto = live.get("vers", ""), live.get("proto", "tcp")
    sentences: list[str] = []
    for option in catalogue():
        wanted, found = expected.get(option.name), live.get(option.name)
        found = _unshown_default(option, version) if found is None else found
        if found is None or option.shown == "never" or version not in option.versions:
            continue
        if wanted is None:
            default = option.default_for(version, proto)
            if default is not None and _is_compared_to_default(option) and found != default:
                sentences.append(
                    f"In use is “{_text(option, found)}”, which {configured.origin} does not say."
                )
        elif not value_fits(option.name, wanted, found, proto):
            texts = f"“{_text(option, wanted)}”, in use is “{_text(option, found)}”"
            sentences.append(f"{configured.origin} says {texts}.")
    return tuple(sentences)


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
) -> str:
    """Return the note for a value in use that nfsmount.conf set, "" if it did not."""
    if source is None or source.name not in live or live[source.name] == requested.get(source.name):
        return ""
    option = catalogue().find(source.name)
    value = catalogue().read_item(source.item)[2]
    proto = live.get("proto", "tcp")
    if option is None or not value_fits(source.name, value, live[source.name], proto):
        return ""
    over = f", which outdoes “{source.beats}”" if source.beats else ""
    return f"Line {source.line} of {source.file} adds “{source.item}”{over}."


def _note(name: str, requested: dict[str, str], implied: dict[str, str], live: dict[str, str]) -> str:
    wanted, found = requested.get(name), live.get(name)
    option = catalogue().find(name)
    if wanted is None:
        return _note_not_requested(name, requested, implied, found)
    if option is None and name.startswith(("x-", "X-")):
        return _FSTAB_ONLY
    if option is not None and (note := _note_without_effect(option, live.get("vers", ""))):
        return note
    if found == wanted:
        return ""
    if found is None:
        return _UNSHOWN.get(name, "Not shown by the kernel.")
    overruled = _note_overridden(name, requested, implied, found)
    return overruled or _NOTES.get(name, _note_other)(name, wanted, found, live)


def _note_without_effect(option: Option, version: str) -> str:
    if option.scope == "fstab":
        return _FSTAB_ONLY
    if not option.versions:
        return "Has no effect."
    if version and version not in option.versions:
        return f"Has no effect on version {version}."
    return ""


def _note_not_requested(
    name: str, requested: dict[str, str], implied: dict[str, str], found: str | None
) -> str:
    if name in {"suid", "dev"} and found == NO:
        return "Always so when this program mounts."
    if name in implied and implied[name] == found:
        if requested.get("ac") == NO:
            return "Follows from noac."
        if name in ATTRIBUTE_TIMES and "actimeo" in requested:
            return "Follows from actimeo."
        if name == "softreval":
            return "Follows from softerr."
        if name == "local_lock":
            return "Follows from nolock."
    return ""


def _note_overridden(name: str, requested: dict[str, str], implied: dict[str, str], found: str) -> str:
    if implied.get(name) != found or implied.get(name) == requested[name]:
        return ""
    if requested.get("ac") == NO:
        return "noac overrules it."
    if name in ATTRIBUTE_TIMES:
        return "actimeo, which comes later, overrules it."
    return "Another option overrules it."


def _note_io_size(name: str, wanted: str, found: str, live: dict[str, str]) -> str:
    size, used = kernel_number(wanted), kernel_number(found)
    if size is None or used is None:
        return _note_other(name, wanted, found, live)
    rounded = rounded_io_size(size, live.get("proto", "tcp"))
    if size == 0:
        return "0 leaves it to the server."
    if used < rounded:
        return f"Limited by the server to {used}."
    if used == rounded and size > MAX_IO_SIZE:
        return f"Limited by the kernel to {used}."
    if used == rounded and used != size:
        return f"Rounded by the kernel to {used}."
    return _note_other(name, wanted, found, live)


def _note_timeo(name: str, wanted: str, found: str, live: dict[str, str]) -> str:
    limit = _MAX_TIMEO.get(live.get("proto", "tcp"), _MAX_TIMEO_STREAM)
    number = kernel_number(wanted)
    if number is not None and number > limit and found == str(limit):
        return f"Limited by the kernel to {limit // 10} s."
    return _note_other(name, wanted, found, live)


def _note_port(name: str, wanted: str, found: str, live: dict[str, str]) -> str:
    return "0 leaves it to the server." if wanted == "0" else _note_other(name, wanted, found, live)


def _note_address(_name: str, _wanted: str, _found: str, _live: dict[str, str]) -> str:
    return "mount.nfs fills it in itself."


def _note_fsc(name: str, wanted: str, found: str, live: dict[str, str]) -> str:
    return _TAG_UNSHOWN if found == YES else _note_other(name, wanted, found, live)


def _note_choice(_name: str, wanted: str, found: str, _live: dict[str, str]) -> str:
    if wanted == "4" or found in wanted.split(":"):
        return "Agreed with the server."
    return "The kernel uses another value."


def _note_proto(_name: str, wanted: str, found: str, _live: dict[str, str]) -> str:
    return (
        "The server's address is an IPv6 one." if found == wanted + "6" else "The kernel uses another value."
    )


def _note_other(name: str, wanted: str, found: str, _live: dict[str, str]) -> str:
    option = catalogue().find(name)
    if kernel_number(wanted) is not None and kernel_number(wanted) == kernel_number(found):
        return f"The kernel reads “{wanted}” as {found}."
    if name in _FIRST_MOUNT_WINS:
        return "An earlier mount of the same server file system decides."
    if option is not None and option.scope == "client":
        return "The first mount of this server and version decides."
    return "The kernel uses another value."


#: Notes, and beginnings of notes, that :func:`overridden_options` recognizes.
_WITHOUT_EFFECT = "Has no effect"
_READ_AS = "The kernel reads"
_NEGOTIATED_NOTES = frozenset({
    "Agreed with the server.", "0 leaves it to the server.", "mount.nfs fills it in itself.",
    "The server's address is an IPv6 one.", _FSTAB_ONLY, _TAG_UNSHOWN,
})  # fmt: skip

_UNSHOWN = {
    "actimeo": "The kernel shows it as the four attribute times.",
    "minorversion": "The kernel shows it as part of the version.",
    "mounthost": "The kernel shows it as mountaddr.",
}
_NOTES: dict[str, Callable[[str, str, str, dict[str, str]], str]] = {
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

"""Option comparison: requested against in use, and why they differ.

The limits of times are those of the kernel (fs/nfs/client.c: nfs_init_timeout_values) and were compared with
what mounts on Linux 6.1, 6.12 and 7.2 show.
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

#: Longest time-outs, in tenths of a second (NFS_MAX_TCP_TIMEOUT, NFS_MAX_UDP_TIMEOUT).
_MAX_TIMEO = {"udp": 600, "udp6": 600}
_MAX_TIMEO_STREAM = 6000
#: A second mount of the same server file system keeps the first one's value of these.
_FIRST_MOUNT_WINS = frozenset({"timeo", "retrans", "bsize", "namlen", "fsc"})
_TAG_UNSHOWN = "Kernels before 6.12 show fsc without its tag."
_FSTAB_ONLY = "Of meaning in fstab only."
#: Not compared where fstab does not name them: this program adds nosuid and nodev, and NFS has no atime;
#: the defaults of the last two depend on the host.
_NOT_COMPARED = frozenset({"suid", "dev", "atime", "diratime", "fatal_neterrors", "local_lock"})


def compare_options(
    requested: MountOptions, active: Active | None, added: Sequence[AddedConfOption | AddedOption] = ()
) -> list[OptionValue]:
    """Return every option asked for, every one the kernel shows and every basic one, in catalogue order.

    Args:
        requested: the options as asked for.
        active: the live mount, or None if there is none: then nothing is in use.
        added: what nfsmount.conf adds to such a mount.
    """
    sources = {one.name: one for one in added}
    asked = requested.values()
    live = values_in_use(active) if active is not None else {}
    for name in asked.keys() - live.keys():
        option = catalogue().find(name)
        default = _unshown_default(option, live.get("vers", "")) if option is not None else None
        if default is not None:
            live[name] = default
    implied = implied_values(requested)
    names = sorted(asked | live, key=catalogue().order)
    values: list[OptionValue] = []
    for name in names:
        note = ""
        if active is not None:
            note = _note_added(sources.get(name), asked, live) or _note(name, asked, implied, live)
        values.append(OptionValue(name=name, requested=asked.get(name), effective=live.get(name), note=note))
    return values


def difference_reason(name: str, requested: MountOptions, live: dict[str, str]) -> str:
    """Return why an option has not the value asked for, "" if it has.

    Args:
        name: of the option.
        requested: the options as asked for.
        live: what is in use (:func:`values_in_use`).
    """
    return _note(name, requested.values(), implied_values(requested), live)


def overridden_options(values: Sequence[OptionValue]) -> list[OptionValue]:
    """Return the values asked for that are in use with another value, or are of no effect at all.

    What mount.nfs and the server are there to fill in (an address, one of several versions) is left out, and
    so is what the kernel does not show: nothing is known of that.
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
    """Return canonical name to canonical value of everything in use.

    Options that mountinfo leaves out at their default are included where they are basic, so that a form can
    show them; nconnect is the number of connections that mountstats counts.
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
    """Return one sentence for each option that is in use with another value than fstab asks for.

    What the kernel or the server rounds or negotiates is no difference, nor is what the kernel does not show.
    """
    # Of thousands of mounts most have the same options: each pair is compared once.
    alike = msgspec.structs.replace(configured, line=0, share="")
    return list(
        _differences(alike, msgspec.structs.replace(active, mount_id=0, device="", share="", recorded=None))
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
            if default is not None and _compared_unasked(option) and found != default:
                sentences.append(
                    f"In use is “{_text(option, found)}”, which {configured.origin} does not say."
                )
        elif not value_fits(option.name, wanted, found, proto):
            texts = f"“{_text(option, wanted)}”, in use is “{_text(option, found)}”"
            sentences.append(f"{configured.origin} says {texts}.")
    return tuple(sentences)


def _unshown_default(option: Option, version: str) -> str | None:
    """Return the default of an option that mountinfo leaves out because it is in force, or None."""
    if option.shown == "if-not-default" and version in option.shown_on:
        return option.default
    return None


def _compared_unasked(option: Option) -> bool:
    """Whether an option that fstab does not name has to be at its default."""
    return option.name not in _NOT_COMPARED and option.scope in {"superblock", "mount"}


def value_fits(name: str, wanted: str, found: str, proto: str = "tcp") -> bool:
    """Whether the value in use is what the kernel and the server make of the one asked for."""
    number, used = kernel_number(wanted), kernel_number(found)
    if wanted == found:
        good = True
    elif number is not None and used is not None:
        good = _number_fits(name, number, used, proto)
    elif name == "vers":
        good = wanted == "4" and found.startswith("4.")
    elif name == "sec":
        good = found in wanted.split(":")
    elif name == "proto":
        good = found == wanted + "6"
    else:
        good = name in {"addr", "clientaddr"}
    return good


def _number_fits(name: str, number: int, used: int, proto: str) -> bool:
    if name in {"rsize", "wsize"}:
        rounded = rounded_io_size(number, proto)
        return rounded == 0 or used <= rounded  # the server may lower it
    if name == "timeo":
        return used == min(number, _MAX_TIMEO.get(proto, _MAX_TIMEO_STREAM))
    return number == used or name == "namlen" or (number == 0 and name in {"port", "mountport"})


def _text(option: Option, value: str) -> str:
    """Return one option with its value as an option string has it."""
    word = option.word_for(value)
    if word is None and value == NO:
        return f"no {option.name}"
    return word if word is not None and (option.words or not option.takes_value) else f"{option.name}={value}"


def _note_added(
    source: AddedConfOption | AddedOption | None, asked: dict[str, str], live: dict[str, str]
) -> str:
    """Return the note if it is nfsmount.conf that says what is in use."""
    if source is None or source.name not in live or live[source.name] == asked.get(source.name):
        return ""
    option = catalogue().find(source.name)
    value = catalogue().read_item(source.item)[2]
    proto = live.get("proto", "tcp")
    if option is None or not value_fits(source.name, value, live[source.name], proto):
        return ""
    over = f", which outdoes “{source.beats}”" if source.beats else ""
    return f"Line {source.line} of {source.file} adds “{source.item}”{over}."


def _note(name: str, asked: dict[str, str], implied: dict[str, str], live: dict[str, str]) -> str:
    wanted, found = asked.get(name), live.get(name)
    option = catalogue().find(name)
    if wanted is None:
        return _note_unasked(name, asked, implied, found)
    if option is None and name.startswith(("x-", "X-")):
        return _FSTAB_ONLY
    if option is not None and (note := _note_without_effect(option, live.get("vers", ""))):
        return note
    if found == wanted:
        return ""
    if found is None:
        return _UNSHOWN.get(name, "Not shown by the kernel.")
    overruled = _note_overruled(name, asked, implied, found)
    return overruled or _NOTES.get(name, _note_other)(name, wanted, found, live)


def _note_without_effect(option: Option, version: str) -> str:
    if option.scope == "fstab":
        return _FSTAB_ONLY
    if not option.versions:
        return "Has no effect."
    if version and version not in option.versions:
        return f"Has no effect on version {version}."
    return ""


def _note_unasked(name: str, asked: dict[str, str], implied: dict[str, str], found: str | None) -> str:
    if name in {"suid", "dev"} and found == NO:
        return "Always so when this program mounts."
    if name in implied and implied[name] == found:
        if asked.get("ac") == NO:
            return "Follows from noac."
        if name in ATTRIBUTE_TIMES and "actimeo" in asked:
            return "Follows from actimeo."
        if name == "softreval":
            return "Follows from softerr."
        if name == "local_lock":
            return "Follows from nolock."
    return ""


def _note_overruled(name: str, asked: dict[str, str], implied: dict[str, str], found: str) -> str:
    if implied.get(name) != found or implied.get(name) == asked[name]:
        return ""
    if asked.get("ac") == NO:
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


#: Beginnings and notes that :func:`overridden_options` goes by; the functions above write them.
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

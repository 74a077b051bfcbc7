"""How an entry becomes the words of another Unix: a table of words for each system, and its limits."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from advisor.dialects.entry import DialectError, Entry, Written
from advisor.options import ATTRIBUTE_TIMES, NO, YES, MountOptions, catalogue, implied_values

if TYPE_CHECKING:
    from collections.abc import Mapping

#: A template for the value, or a word for each value ("" where the system does so anyway).
Words = str | dict[str, str]

_SIZES = ("rsize", "wsize")
_BLOCK = 512
_BLANK = re.compile(r"\s")

#: Words that all of the BSD family share.
GENERIC: dict[str, Words] = {
    "ro": {"ro": "ro", "rw": "rw"},
    "suid": {NO: "nosuid", YES: ""},
    "dev": {NO: "nodev", YES: ""},
    "noexec": {YES: "noexec", NO: ""},
    "atime": {"noatime": "noatime", "relatime": "", "norelatime": "", "atime": "", "strictatime": ""},
    "sync": {"sync": "sync", "async": ""},
    "defaults": {YES: ""},
    "cto": {YES: ""},
    "lock": {YES: ""},
    "local_lock": {"none": ""},
    "xprtsec": {"none": ""},
    "sharecache": {YES: ""},
    "lookupcache": {"all": ""},
}
#: Words that only stand in fstab; a command has no use for them.
FSTAB_ONLY = frozenset({"auto", "nofail", "_netdev"})


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One system's words and limits.

    Attributes:
        name: as people call it.
        words: canonical option to how it is written.
        tcp_limit: most bytes of rsize and wsize over TCP, None if it is a setting of that system.
        udp_limit: likewise over UDP.
        transports: what NFS travels over there.
        block: sizes are rounded down to multiples of it, 1 if not.
        timeo_min: lowest time-out in tenths of a second.
        timeo_max: highest, None if not known.
        always: words for what Linux does by default and this system does not, by canonical option.
    """

    name: str
    words: Mapping[str, Words]
    tcp_limit: int | None
    udp_limit: int | None
    transports: tuple[str, ...] = ("tcp", "udp")
    block: int = _BLOCK
    timeo_min: int = 1
    timeo_max: int | None = None
    always: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Translation:
    """The words for an entry's options, in the catalogue's order, and what is to be said about them."""

    words: list[str]
    untranslated: list[str]
    problems: list[str]


def translate(entry: Entry, system: System, *, fstab: bool) -> Translation:
    """Return the entry's options in the system's words, within its limits."""
    items = {catalogue().read_item(item)[1]: item for item in entry.options if item}
    told = Translation([], [], [])
    values = _effective(entry.options, told)
    for name, value in values.items():
        if name in FSTAB_ONLY and not fstab:
            told.untranslated.append(f"“{items[name]}” is for fstab, and means nothing here.")
            continue
        kept = value
        if value.isascii() and value.isdigit() and len(value) < 15:
            kept = str(_limited(name, int(value), values, system, told))
        word = _word(system.words.get(name), kept)
        if word is None:
            told.untranslated.append(f"“{items.get(name, name)}” has no counterpart on {system.name}.")
        elif word:
            told.words.extend(part for part in word.split(",") if part not in told.words)
    told.words.extend(word for name, word in system.always.items() if name not in values)
    _note_differences(values, system, told)
    return told


def _effective(options: MountOptions, told: Translation) -> dict[str, str]:
    """Return the values in force: other systems combine minorversion, actimeo and noac in other ways."""
    values = options.values()
    if values.get("vers") == "4" and "minorversion" in values:
        values["vers"] = f"4.{values.pop('minorversion')}"
    if values.get("hard") == "soft" and "softreval" in implied_values(options):
        values["softreval"] = YES  # a softerr before it says so
    times = {"actimeo", *ATTRIBUTE_TIMES} & set(values)
    if values.get("ac") == NO:
        for name in sorted(times):
            told.problems.append(f"“{name}={values.pop(name)}” does not count beside noac.")
    elif "actimeo" in times and len(times) > 1:
        in_force = {name: value for name, value in implied_values(options).items() if name in ATTRIBUTE_TIMES}
        for name in times:
            del values[name]
        if len(set(in_force.values())) == 1:
            values["actimeo"] = next(iter(in_force.values()))
        else:
            values.update(in_force)
    return dict(sorted(values.items(), key=lambda pair: catalogue().order(pair[0])))


def _word(words: Words | None, value: str) -> str | None:
    if isinstance(words, str):
        return words.replace("{}", value) if value else None
    return words.get(value) if words else None


def _limited(name: str, number: int, values: Mapping[str, str], system: System, told: Translation) -> int:
    if name in _SIZES:
        return _limited_size(name, number, values, system, told)
    if name != "timeo":
        return number
    kept = max(number, system.timeo_min)
    kept = min(kept, system.timeo_max) if system.timeo_max else kept
    if kept != number:
        told.problems.append(
            f"{system.name} cannot wait {number / 10:g} s for an answer: timeo became {kept / 10:g} s."
        )
    return kept


def _limited_size(
    name: str, number: int, values: Mapping[str, str], system: System, told: Translation
) -> int:
    udp = values.get("proto", "tcp").startswith("udp") or "tcp" not in system.transports
    limit = system.udp_limit if udp else system.tcp_limit
    kept = min(number, limit) if limit else number
    if kept != number:
        over = "UDP" if udp else "TCP"
        told.problems.append(
            f"{system.name} takes at most {limit} for {name} over {over}, which was written for {number}."
        )
    rounded = max(kept - kept % system.block, system.block)
    if rounded != kept:
        told.problems.append(f"{system.name} rounds {name} to multiples of {system.block}: {rounded}.")
    return rounded


def _note_differences(values: Mapping[str, str], system: System, told: Translation) -> None:
    if values.get("hard") == "softerr":
        told.problems.append(
            "“softerr” became “soft”: a lost server gives an input/output error, and no cached attributes."
        )
    if values.get("rdirplus") == "heuristic" and system.words.get("rdirplus"):
        told.problems.append(
            f"rdirplus fetches attributes with every listing on {system.name}, and on Linux where it helps."
        )
    if values.get("ac") == NO and "noac" in told.words:
        if "sync" in system.words and "sync" not in told.words:
            told.words.append("sync")
        told.problems.append("Linux's noac also writes at once; the others' only stops caching attributes.")
    if "retry" in values and system.words.get("retry"):
        told.problems.append(f"retry is minutes on Linux and a number of tries on {system.name}.")


def mount_command(entry: Entry, told: Translation) -> Written:
    """Return the ``mount -t nfs`` command of a system that takes all words after ``-o``."""
    words = ["mount", "-t", "nfs"]
    words += ["-o", ",".join(told.words)] if told.words else []
    text = shlex.join([*words, str(entry.share), entry.mount_point]) + "\n"
    return Written(text, "", told.untranslated, told.problems)


def fstab_fields(entry: Entry, words: list[str]) -> list[str]:
    """Return the first four fields of an fstab line, where the options begin with the access."""
    access = [] if {"ro", "rw"} & set(words) else ["rw"]
    return [str(entry.share), entry.mount_point, "nfs", ",".join([*access, *words])]


def fstab_line(system: System, fields: list[str]) -> str:
    """Return the line of an fstab without escapes.

    Raises:
        DialectError: if a field holds a blank, which would begin the next one.
    """
    if any(_BLANK.search(field) for field in fields):
        raise DialectError(f"The fstab of {system.name} cannot hold a blank inside a path or an option.")
    return " ".join([*fields, "0", "0"]) + "\n"

"""Mounts of the BSDs, macOS and NeXTSTEP: parsing, and translation of options and flags to Linux.

Sources: mount_nfs(8) of FreeBSD (2020), OpenBSD and macOS; mount(8) of OpenBSD for ``-o -r=32768``; the
parameter list of NeXT's NFS Manager (NFS Performance Tuning, 1993).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from advisor.dialects.entry import MountSpec, ParseResult, WrongDialectError
from advisor.dialects.linux import BSD_PROGRAM, ShellCommand, parse_flags
from advisor.options import MountOptions, catalogue

MOUNT_NFS_FORM = "a mount_nfs command of a BSD or macOS"
BSD_COMMAND_FORM = "a mount command of a BSD or macOS"
BSD_FSTAB_FORM = "an fstab line of a BSD or macOS"
NEXTSTEP_FSTAB_FORM = "an fstab line of NeXTSTEP"

#: One-letter flags to the equivalent -o options; options that end in = have a value.
_FLAGS = {
    "2": "nfsv2", "3": "nfsv3", "b": "bg", "c": "noconn", "d": "dumbtimer", "i": "intr", "l": "rdirplus",
    "L": "nolockd", "N": "noresvport", "P": "resvport", "s": "soft", "T": "tcp", "U": "mntudp",
    "a": "readahead=", "D": "deadthresh=", "g": "maxgroups=", "I": "readdirsize=", "R": "retrycnt=",
    "r": "rsize=", "t": "timeout=", "w": "wsize=", "x": "retrans=",
}  # fmt: skip
#: Flags of unknown meaning, as a getopt string; they are reported as not understood.
_UNKNOWN_FLAGS = "4Kqpvnm:"

#: BSD options to Linux options; "" where the option is the Linux default.
_LINUX_WORDS = {
    "nfsv3": "vers=3", "nolockd": "nolock", "locallocks": "local_lock=all", "locks": "lock", "lockd": "lock",
    "nlm": "lock", "nolock": "nolock", "nolocks": "nolock", "nonlm": "nolock",
    "noac": "actimeo=0",
    "mntudp": "mountproto=udp", "tls": "xprtsec=tls", "failok": "nofail", "late": "_netdev", "net": "_netdev",
    "rdonly": "ro", "nordonly": "rw", "proto=tcp4": "proto=tcp", "proto=udp4": "proto=udp", "conn": "",
    "nodumbtimer": "", "nomntudp": "", "inet": "", "inet4": "", "nohard": "soft", "nosoft": "hard",
}  # fmt: skip
#: Options that disable all locks on macOS (mount_nfs.c: the inverse of lock, locks and nlm).
_NO_LOCKS = frozenset({"nolock", "nolocks", "nonlm"})
_VERSION_2 = frozenset({"nfsv2", "vers=2", "nfsvers=2"})
_LINUX_KEYS = {"timeout": "timeo", "nfsvers": "vers"}
#: Options with the same meaning on Linux, with or without a value.
_SAME_AS_LINUX = frozenset({
    "ro", "rw", "bg", "fg", "hard", "soft", "intr", "nointr", "tcp", "udp", "proto", "port", "mountport",
    "sec",
    "rsize", "wsize", "timeo", "retrans", "acregmin", "acregmax", "acdirmin", "acdirmax", "actimeo", "ac",
    "resvport", "noresvport", "rdirplus", "nordirplus", "nocto", "cto", "sync", "async", "noauto", "auto",
    "nosuid", "suid", "nodev", "dev", "noexec", "exec", "noatime", "atime", "vers",
    "nosymfollow", "nconnect", "lock",
})  # fmt: skip
#: Options that do not exist on Linux; one of them identifies a BSD or macOS.
_BSD_ONLY_WORDS = frozenset({
    "nfsv2", "nfsv3", "nfsv4", "nolockd", "locallocks", "nolocks", "nonlm", "mntudp", "tls", "failok", "late",
    "rdonly",
    "dumbtimer", "noconn", "retrycnt", "readahead", "readdirsize", "dsize", "rwsize", "maxgroups",
    "deadthresh",
    "deadtimeout", "timeout", "wcommitsize", "noncontigwr", "oneopenown", "mutejukebox", "nobrowse", "net",
})  # fmt: skip
_ENDLESS_RETRY_MINUTES = 10_000
_NEXTSTEP_TRY_S = 20


class _LinuxOptions(NamedTuple):
    items: list[str]
    untranslated: list[str]


def is_bsd(options: MountOptions) -> bool:
    """Whether an option string has an option or a flag that exists only on a BSD or macOS."""
    return any(item.partition("=")[0] in _BSD_ONLY_WORDS or item.startswith("-") for item in options)


def is_nextstep(options: MountOptions) -> bool:
    """Whether an option string has mnttimeo, which exists only on NeXTSTEP."""
    return any(item.partition("=")[0] == "mnttimeo" for item in options)


def read_mount_nfs(command: ShellCommand) -> ParseResult:
    """Return the entry of a mount_nfs command.

    Raises:
        WrongDialectError: if the program is not mount_nfs.
        DialectError: if the command is incomplete.
    """
    if command.program != BSD_PROGRAM:
        raise WrongDialectError("It does not begin with mount_nfs.")
    valued = "".join(flag + (":" if word.endswith("=") else "") for flag, word in _FLAGS.items())
    flags, share, mount_point = parse_flags(command, f"o:{valued}{_UNKNOWN_FLAGS}")
    words: list[str] = []
    untranslated: list[str] = []
    for flag, value in flags:
        word = _FLAGS.get(flag[1:])
        if flag == "-o":
            words += list(MountOptions.parse(value))
        elif word is None:
            untranslated.append(f"The flag {flag} {value}".rstrip() + " is not understood.")
        else:
            words.append(word + value)
    options = to_linux_options(words)
    untranslated += options.untranslated
    transport = MountOptions(options.items).get("proto")
    if transport is None:
        untranslated.append("Without -T OpenBSD uses UDP; FreeBSD and macOS use TCP, as Linux does.")
    if command.behind:
        untranslated.append(f"What stands behind the command was left out: {command.behind}")
    entry = MountSpec.make(share, mount_point, MountOptions(options.items))
    return ParseResult(entry, MOUNT_NFS_FORM, untranslated)


def translate_bsd_options(reading: ParseResult, form: str) -> ParseResult:
    """Return a parse result with its BSD options translated to Linux.

    Args:
        reading: parse result with BSD options.
        form: name of the form for the new result.
    """
    options = to_linux_options(list(reading.entry.options))
    entry = MountSpec(reading.entry.share, reading.entry.mount_point, MountOptions(options.items))
    return ParseResult(entry, form, [*reading.untranslated, *options.untranslated])


def translate_nextstep_options(reading: ParseResult) -> ParseResult:
    """Return a parse result with its NeXTSTEP options translated to Linux.

    On NeXTSTEP ``retry`` is a number of tries of ``mnttimeo`` seconds each; on Linux it is in minutes.
    """
    written = reading.entry.options
    wait, tries = (
        _parse_number(written.get("mnttimeo"), _NEXTSTEP_TRY_S),
        _parse_number(written.get("retry"), 1),
    )
    words = [item for item in written if item.partition("=")[0] not in {"mnttimeo", "retry"}]
    options = to_linux_options(words)
    minutes = max(1, math.ceil(tries * wait / 60))
    items = [*options.items, f"retry={minutes}"]
    note = f"{tries} tries of {wait} s became retry={minutes}, which Linux counts in minutes."
    entry = MountSpec(reading.entry.share, reading.entry.mount_point, MountOptions(items))
    return ParseResult(entry, NEXTSTEP_FSTAB_FORM, [*reading.untranslated, *options.untranslated, note])


def to_linux_options(words: list[str]) -> _LinuxOptions:
    """Return Linux option items for BSD options, and a sentence for each one lost or changed in meaning."""
    items: list[str] = []
    untranslated: list[str] = []
    words = [_word_of_flag(word) for word in words if word]
    minors = [word for word in words if word.startswith("minorversion=")]
    version = {"nfsv4"} | ({"vers=4", "nfsvers=4"} if minors else set[str]())
    minor = minors[-1].partition("=")[2] if minors else "0"
    for word in words:
        key, _, value = word.partition("=")
        if word in version:
            items.append(f"vers=4.{minor}")
        elif key == "retrycnt":
            items.append(f"retry={_parse_number(value, 1) or _ENDLESS_RETRY_MINUTES}")
            untranslated.append(_retry_note(word, items[-1]))
        elif word in minors and version & set(words):
            continue
        elif word in _VERSION_2 or key == "minorversion":
            untranslated.append(_untranslated_note(key, word))
        elif key == "rwsize":
            items += [f"rsize={value}", f"wsize={value}"]
        elif word in _LINUX_WORDS or key in _SAME_AS_LINUX or key in _LINUX_KEYS:
            item = _LINUX_WORDS.get(word, word.replace(key, _LINUX_KEYS.get(key, key), 1))
            items += [item] if item else []
            if word in _NO_LOCKS:
                untranslated.append(
                    f"“{word}” switches locks off on macOS. Linux's nolock, which was written, keeps them on "
                    "this computer."
                )
        elif catalogue().find(key) is not None:
            items.append(word)
            untranslated.append(
                f"“{word}” was kept: it is a word of Linux, and may mean something else there."
            )
        else:
            untranslated.append(_untranslated_note(key, word))
    return _LinuxOptions(items, untranslated)


def _word_of_flag(word: str) -> str:
    """Return the option for a flag among the options, such as ``-r=32768`` or ``-T``."""
    if not word.startswith("-"):
        return word
    flag, _, value = word[1:].partition("=")
    return _FLAGS.get(flag, f"-{flag}") + value if flag in _FLAGS else word


def _retry_note(word: str, item: str) -> str:
    if item == f"retry={_ENDLESS_RETRY_MINUTES}":
        return f"“{word}” tries for ever; {item} is a week."
    return f"“{word}” counts tries, up to a minute apart. Linux counts minutes, and {item} was written."


def _untranslated_note(key: str, word: str) -> str:
    if word in _VERSION_2:
        return f"“{word}”: Linux no longer speaks NFS version 2."
    if key == "minorversion":
        return f"“{word}” counts only beside nfsv4 or vers=4."
    if key == "readahead":
        return f"“{word}” counts blocks of a read; Linux sets the readahead beside the mount, in KiB."
    return f"“{word}” has no word on Linux."


def _parse_number(text: str | None, default: int) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 9 else default

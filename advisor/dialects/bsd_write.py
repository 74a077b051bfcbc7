"""Mounts of FreeBSD, OpenBSD, macOS and NeXTSTEP: printing, with a table of options and limits per system.

- FreeBSD: the mount command and fstab(5) with the named options of mount_nfs(8).
- OpenBSD: mount_nfs(8), and fstab(5) with its flags among the options (mount(8): ``-r=32768``).
- macOS: the mount command with the options of mount_nfs(8), and a direct map of its automounter.
- NeXTSTEP: the fields of its NFS Manager as a line of fstab (NFS Performance Tuning, NeXT, 1993).
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from advisor.dialects.entry import DialectError, DialectText, MountSpec
from advisor.dialects.linux import escape_field
from advisor.options import ATTRIBUTE_TIMES, NO, YES, MountOptions, catalogue, implied_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: A template with {} for the value, or a text for each value ("" where it is the default of the system).
OptionWords = str | dict[str, str]

_SIZE_OPTIONS = ("rsize", "wsize")
_SIZE_MULTIPLE = 512
_BLANK = re.compile(r"\s")

#: Options of the attribute cache, the same on every system.
_ATTRIBUTE_WORDS: dict[str, OptionWords] = {
    "acregmin": "acregmin={}",
    "acregmax": "acregmax={}",
    "acdirmin": "acdirmin={}",
    "acdirmax": "acdirmax={}",
    "ac": {NO: "noac", YES: ""},
}
#: Options common to FreeBSD, OpenBSD and macOS.
BSD_WORDS: dict[str, OptionWords] = {
    **_ATTRIBUTE_WORDS,
    "port": "port={}",
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
#: Options that have a meaning only in fstab.
FSTAB_ONLY = frozenset({"auto", "nofail", "_netdev"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSystem:
    """Options and limits of one operating system.

    Attributes:
        name: name of the system, for display.
        words: canonical option name to its spelling on the system.
        tcp_limit: maximum rsize and wsize over TCP, bytes; None if it is configurable.
        udp_limit: maximum rsize and wsize over UDP, bytes; None if it is configurable.
        transports: supported transports.
        block: sizes are rounded down to multiples of this, bytes; 1 for no rounding.
        timeo_min: minimum timeout, tenths of a second.
        timeo_max: maximum timeout, tenths of a second; None if unknown.
        always: canonical option name to the system's option for a Linux default that is not its default.
    """

    name: str
    words: Mapping[str, OptionWords]
    tcp_limit: int | None
    udp_limit: int | None
    transports: tuple[str, ...] = ("tcp", "udp")
    block: int = _SIZE_MULTIPLE
    timeo_min: int = 1
    timeo_max: int | None = None
    always: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Translation:
    """Options of an entry translated for another system.

    Attributes:
        words: options of the other system, in the catalogue's order.
        untranslated: options without an equivalent, one sentence each.
        problems: limits and differences of the other system, one sentence each.
    """

    words: list[str]
    untranslated: list[str]
    problems: list[str]


def translate_options(entry: MountSpec, system: TargetSystem, *, fstab: bool) -> Translation:
    """Return an entry's options translated for another system, within its limits.

    Args:
        entry: the mount entry.
        system: the target system.
        fstab: whether the options are for fstab, not for a command.
    """
    items = {catalogue().read_item(item)[1]: item for item in entry.options if item}
    translation = Translation([], [], [])
    values = _effective_values(entry.options, translation)
    for name, value in values.items():
        if name in FSTAB_ONLY and not fstab:
            translation.untranslated.append(f"“{items[name]}” is for fstab, and means nothing here.")
            continue
        limited = value
        if value.isascii() and value.isdigit() and len(value) < 15:
            limited = str(_limited_value(name, int(value), values, system, translation))
        word = _option_word(system.words.get(name), limited)
        if word is None:
            translation.untranslated.append(f"“{items.get(name, name)}” has no counterpart on {system.name}.")
        elif word:
            translation.words.extend(part for part in word.split(",") if part not in translation.words)
    translation.words.extend(word for name, word in system.always.items() if name not in values)
    _note_differences(values, system, translation)
    return translation


def _effective_values(options: MountOptions, translation: Translation) -> dict[str, str]:
    """Return the values in force, with minorversion, actimeo and noac resolved as on Linux."""
    values = options.values()
    if values.get("vers") == "4" and "minorversion" in values:
        values["vers"] = f"4.{values.pop('minorversion')}"
    if values.get("hard") == "soft" and "softreval" in implied_values(options):
        values["softreval"] = YES  # an earlier softerr implies it
    times = {"actimeo", *ATTRIBUTE_TIMES} & set(values)
    if values.get("ac") == NO:
        for name in sorted(times):
            translation.problems.append(f"“{name}={values.pop(name)}” does not count beside noac.")
    elif "actimeo" in times and len(times) > 1:
        in_force = {name: value for name, value in implied_values(options).items() if name in ATTRIBUTE_TIMES}
        for name in times:
            del values[name]
        if len(set(in_force.values())) == 1:
            values["actimeo"] = next(iter(in_force.values()))
        else:
            values.update(in_force)
    return dict(sorted(values.items(), key=lambda pair: catalogue().order(pair[0])))


def _option_word(words: OptionWords | None, value: str) -> str | None:
    if isinstance(words, str):
        return words.replace("{}", value) if value else None
    return words.get(value) if words else None


def _limited_value(
    name: str, number: int, values: Mapping[str, str], system: TargetSystem, translation: Translation
) -> int:
    if name in _SIZE_OPTIONS:
        return _limited_size(name, number, values, system, translation)
    if name != "timeo":
        return number
    limited = max(number, system.timeo_min)
    limited = min(limited, system.timeo_max) if system.timeo_max else limited
    if limited != number:
        translation.problems.append(
            f"{system.name} cannot wait {number / 10:g} s for an answer: timeo became {limited / 10:g} s."
        )
    return limited


def _limited_size(
    name: str, number: int, values: Mapping[str, str], system: TargetSystem, translation: Translation
) -> int:
    udp = values.get("proto", "tcp").startswith("udp") or "tcp" not in system.transports
    limit = system.udp_limit if udp else system.tcp_limit
    limited = min(number, limit) if limit else number
    if limited != number:
        over = "UDP" if udp else "TCP"
        translation.problems.append(
            f"{system.name} takes at most {limit} for {name} over {over}, which was written for {number}."
        )
    rounded = max(limited - limited % system.block, system.block)
    if rounded != limited:
        translation.problems.append(f"{system.name} rounds {name} to multiples of {system.block}: {rounded}.")
    return rounded


def _note_differences(values: Mapping[str, str], system: TargetSystem, translation: Translation) -> None:
    if values.get("hard") == "softerr":
        translation.problems.append(
            "“softerr” became “soft”: a lost server gives an input/output error, and no cached attributes."
        )
    if values.get("rdirplus") == "heuristic" and system.words.get("rdirplus"):
        translation.problems.append(
            f"rdirplus fetches attributes with every listing on {system.name}, and on Linux where it helps."
        )
    if values.get("ac") == NO and "noac" in translation.words:
        if "sync" in system.words and "sync" not in translation.words:
            translation.words.append("sync")
        translation.problems.append(
            "Linux's noac also writes at once; the others' only stops caching attributes."
        )
    if "retry" in values and system.words.get("retry"):
        translation.problems.append(f"retry is minutes on Linux and a number of tries on {system.name}.")


def write_mount_command(entry: MountSpec, translation: Translation) -> DialectText:
    """Return the ``mount -t nfs`` command for a system with all options after ``-o``."""
    words = ["mount", "-t", "nfs"]
    words += ["-o", ",".join(translation.words)] if translation.words else []
    text = shlex.join([*words, str(entry.share), entry.mount_point]) + "\n"
    return DialectText(text, "", translation.untranslated, translation.problems)


def fstab_fields(entry: MountSpec, words: list[str]) -> list[str]:
    """Return the first four fields of an fstab line; its options begin with rw unless ro or rw is present."""
    access = [] if {"ro", "rw"} & set(words) else ["rw"]
    return [str(entry.share), entry.mount_point, "nfs", ",".join([*access, *words])]


def fstab_line(system: TargetSystem, fields: list[str]) -> str:
    """Return a line of an fstab format that has no escapes.

    Raises:
        DialectError: if a field contains a blank, the field separator.
    """
    if any(_BLANK.search(field) for field in fields):
        raise DialectError(f"The fstab of {system.name} cannot hold a blank inside a path or an option.")
    return " ".join([*fields, "0", "0"]) + "\n"


FREEBSD_FSTAB = "/etc/fstab"
#: Default limit of rsize and wsize, bytes (vfs.maxbcachebuf, which /boot/loader.conf can raise).
FREEBSD_LIMIT = 65536

FREEBSD = TargetSystem(
    name="FreeBSD",
    tcp_limit=None,
    udp_limit=None,
    timeo_min=10,
    words={
        **BSD_WORDS,
        "dev": {NO: "", YES: ""},  # only devfs has devices
        "vers": {
            "3": "nfsv3", "4": "nfsv4", "4.0": "nfsv4", "4.1": "nfsv4,minorversion=1",
            "4.2": "nfsv4,minorversion=2",
        },
        "proto": {"tcp": "tcp", "udp": "udp", "tcp6": "proto=tcp6", "udp6": "proto=udp6"},
        "rsize": "rsize={}",
        "wsize": "wsize={}",
        "timeo": "timeout={}",
        "retrans": "retrans={}",
        "retry": "retrycnt={}",
        "bg": {"bg": "bg", "fg": "fg"},
        "hard": {"hard": "hard", "soft": "soft", "softerr": "soft"},
        "intr": {YES: "intr", NO: ""},
        "rdirplus": {"force": "rdirplus", "heuristic": "rdirplus", "none": ""},
        "mountproto": {"udp": "mntudp", "tcp": ""},
        "actimeo": "actimeo={}",
        "cto": {NO: "nocto", YES: ""},
        "lock": {NO: "nolockd", YES: ""},
        "local_lock": {"all": "nolockd", "none": ""},
        "resvport": {NO: "noresvport", YES: ""},
        "sec": {flavor: f"sec={flavor}" for flavor in ("sys", "krb5", "krb5i", "krb5p")},
        "xprtsec": {"tls": "tls", "none": ""},
        "auto": {NO: "noauto", YES: ""},
        "nofail": {YES: "failok", NO: ""},
        "_netdev": {YES: ""},  # network file systems wait for the network anyway
    },
)  # fmt: skip


def write_freebsd(entry: MountSpec) -> DialectText:
    """Return the entry as a FreeBSD mount command."""
    return write_mount_command(entry, _translate_freebsd(entry, fstab=False))


def write_freebsd_fstab(entry: MountSpec) -> DialectText:
    """Return the entry as a FreeBSD fstab line, with blanks escaped as by vis(3)."""
    translation = _translate_freebsd(entry, fstab=True)
    fields = map(escape_field, fstab_fields(entry, translation.words))
    text = " ".join([*fields, "0", "0"]) + "\n"
    return DialectText(text, FREEBSD_FSTAB, translation.untranslated, translation.problems)


def _translate_freebsd(entry: MountSpec, *, fstab: bool) -> Translation:
    translation = translate_options(entry, FREEBSD, fstab=fstab)
    for name in ("rsize", "wsize"):
        value = entry.options.get(name) or ""
        if value.isascii() and value.isdigit() and int(value[:15]) > FREEBSD_LIMIT:
            translation.problems.append(
                f"FreeBSD cuts {name} to vfs.maxbcachebuf, {FREEBSD_LIMIT} unless loader.conf raises it."
            )
    if implied_values(entry.options).get("vers") == "4":
        translation.problems.append(
            "FreeBSD takes minor version 0 where Linux takes the highest: vers=4 is 4.0."
        )
    return translation


OPENBSD_FSTAB = "/etc/fstab"

#: Limits of OpenBSD: MAXBSIZE over TCP, NFS_MAXDGRAMDATA over UDP, timeouts from 1 s to 60 s (sys/nfs/nfs.h).
OPENBSD = TargetSystem(
    name="OpenBSD",
    tcp_limit=65536,
    udp_limit=32768,
    timeo_min=10,
    timeo_max=600,
    always={"proto": "-T"},
    words={
        **BSD_WORDS,
        "vers": {"3": "-3"},
        "proto": {"tcp": "-T", "udp": ""},
        "rsize": "-r={}",
        "wsize": "-w={}",
        "timeo": "-t={}",
        "retrans": "-x={}",
        "retry": "-R={}",
        "bg": {"bg": "-b", "fg": ""},
        "hard": {"hard": "", "soft": "-s", "softerr": "-s"},
        "intr": {YES: "-i", NO: ""},
        "rdirplus": {"force": "-l", "heuristic": "-l", "none": ""},
        # nfs_advlock (sys/nfs/nfs_vnops.c) makes every lock local.
        "lock": {NO: ""},
        "local_lock": {"all": ""},
        "mountproto": {"udp": "-U", "tcp": ""},
        "actimeo": "acregmin={},acregmax={},acdirmin={},acdirmax={}",
        "resvport": {YES: ""},
        "sec": {"sys": ""},
        "auto": {NO: "noauto", YES: ""},
        "_netdev": {YES: "net"},
    },
)


def write_openbsd(entry: MountSpec) -> DialectText:
    """Return the entry as an OpenBSD mount_nfs command."""
    translation = _translate_openbsd(entry, fstab=False)
    words = ["mount_nfs", *_openbsd_flags(translation.words)]
    plain = [word for word in translation.words if not word.startswith("-")]
    words += ["-o", ",".join(plain)] if plain else []
    text = shlex.join([*words, str(entry.share), entry.mount_point]) + "\n"
    return DialectText(text, "", translation.untranslated, translation.problems)


def write_openbsd_fstab(entry: MountSpec) -> DialectText:
    """Return the entry as an OpenBSD fstab line, which has no escapes.

    Raises:
        DialectError: if a path contains a blank.
    """
    translation = _translate_openbsd(entry, fstab=True)
    return DialectText(
        fstab_line(OPENBSD, fstab_fields(entry, translation.words)),
        OPENBSD_FSTAB,
        translation.untranslated,
        translation.problems,
    )


def _translate_openbsd(entry: MountSpec, *, fstab: bool) -> Translation:
    translation = translate_options(entry, OPENBSD, fstab=fstab)
    if ":" in entry.share.host:
        translation.problems.append("OpenBSD's mount_nfs knows IPv4 addresses and names only.")
    if (entry.options.get("vers") or "").startswith("4"):
        translation.problems.append("OpenBSD speaks NFS versions 2 and 3 only; it will try 3 first.")
    if entry.options.get("lock") != NO and entry.options.get("local_lock") != "all":
        translation.problems.append("OpenBSD keeps every lock on this computer: others do not see it.")
    return translation


def _openbsd_flags(words: list[str]) -> Iterator[str]:
    for word in words:
        if word.startswith("-"):
            flag, _, value = word.partition("=")
            yield flag
            if value:
                yield value


MACOS_MAP = "/etc/auto_nfs"
#: Characters with a special meaning in a map: blanks, backslash, quotes, comment, key, variable.
_MACOS_MAP_SPECIAL = re.compile(r"[\s\\\"'#&$]")

#: Limits of macOS: 1 MiB over TCP and 16 KiB over UDP (nfsproto.h).
MACOS = TargetSystem(
    name="macOS",
    tcp_limit=1048576,
    udp_limit=16384,
    always={"resvport": "resvport"},  # Linux servers require it, and macOS does not set it by default
    words={
        **BSD_WORDS,
        "vers": {version: f"vers={version}" for version in ("3", "4", "4.0")}
        | {"4.1": "vers=4.0", "4.2": "vers=4.0"},
        "proto": {"tcp": "tcp", "udp": "udp", "tcp6": "proto=tcp6", "udp6": "proto=udp6"},
        "rsize": "rsize={}",
        "wsize": "wsize={}",
        "timeo": "timeo={}",
        "retrans": "retrans={}",
        "retry": "retrycnt={}",
        "bg": {"bg": "bg", "fg": ""},
        "hard": {"hard": "hard", "soft": "soft", "softerr": "soft"},
        "intr": {YES: "intr", NO: "nointr"},
        "rdirplus": {"force": "rdirplus", "heuristic": "rdirplus", "none": "nordirplus"},
        "mountport": "mountport={}",
        "actimeo": "actimeo={}",
        "lock": {NO: "locallocks", YES: ""},
        "local_lock": {"all": "locallocks", "none": ""},
        "resvport": {NO: "noresvport", YES: "resvport"},
        "sec": "sec={}",
    },
)


def write_macos(entry: MountSpec) -> DialectText:
    """Return the entry as a macOS mount command."""
    return write_mount_command(entry, _translate_macos(entry))


def write_macos_autofs(entry: MountSpec) -> DialectText:
    """Return the entry as a line of /etc/auto_master and a line of a direct map, each after its file name.

    Raises:
        DialectError: if a path contains a character with a special meaning in a map.
    """
    special = _MACOS_MAP_SPECIAL.search(f"{entry.share}{entry.mount_point}")
    if special:
        name = "a blank" if special[0].isspace() else f"“{special[0]}”"
        raise DialectError(f"A map of macOS's automounter cannot hold {name} inside a path.")
    options = entry.options.copy()
    for name in ("x-systemd.automount", "auto", "nofail", "_netdev"):
        options.remove(name)  # meaningless in a map, which is mounted on demand
    translation = _translate_macos(MountSpec(entry.share, entry.mount_point, options))
    if entry.when != "on-demand":
        translation.untranslated.append(
            "The automounter mounts on demand, never at start-up and not by hand."
        )
    lines = [
        "# /etc/auto_master",
        "/- auto_nfs",
        "",
        f"# {MACOS_MAP}",
        f"{entry.mount_point} {','.join(['-fstype=nfs', *translation.words])} {entry.share}",
    ]
    return DialectText("\n".join(lines) + "\n", MACOS_MAP, translation.untranslated, translation.problems)


def _translate_macos(entry: MountSpec) -> Translation:
    translation = translate_options(entry, MACOS, fstab=False)
    version = implied_values(entry.options).get("vers")
    if version in {"4.1", "4.2"}:
        translation.problems.append(f"macOS speaks NFS up to version 4.0, so vers={version} became vers=4.0.")
    return translation


NEXTSTEP_FSTAB = "/etc/fstab"
#: Maximum transfer size of NFS version 2, bytes.
NEXTSTEP_LIMIT = 8192
#: Default of mnttimeo, the timeout of one try to mount, seconds.
NEXTSTEP_MOUNT_WAIT_S = 20

NEXTSTEP = TargetSystem(
    name="NeXTSTEP",
    tcp_limit=None,
    udp_limit=NEXTSTEP_LIMIT,
    transports=("udp",),
    block=1,
    words={
        **_ATTRIBUTE_WORDS,
        "ro": {"ro": "ro", "rw": "rw"},
        "bg": {"bg": "bg", "fg": "fg"},
        "hard": {"hard": "hard", "soft": "soft", "softerr": "soft"},
        "proto": {"udp": ""},
        "rsize": "rsize={}",
        "wsize": "wsize={}",
        "timeo": "timeo={}",
        "retrans": "retrans={}",
        "actimeo": "acregmin={},acregmax={},acdirmin={},acdirmax={}",
        "auto": {YES: ""},
        "_netdev": {YES: ""},
        "defaults": {YES: ""},
        "retry": "retry={}",
    },
)


def write_nextstep(entry: MountSpec) -> DialectText:
    """Return the entry as a NeXTSTEP fstab line.

    On NeXTSTEP ``retry`` is a number of tries of ``mnttimeo`` seconds each; on Linux it is in minutes.

    Raises:
        DialectError: if a path contains a blank.
    """
    translation = translate_options(entry, NEXTSTEP, fstab=True)
    translation.problems.append("NeXTSTEP speaks NFS version 2 over UDP only; the server has to offer both.")
    fields = fstab_fields(entry, [_nextstep_retry(word) for word in translation.words])
    if ":" in entry.share.host:
        translation.problems.append("NeXTSTEP knows IPv4 only.")
    return DialectText(
        fstab_line(NEXTSTEP, fields), NEXTSTEP_FSTAB, translation.untranslated, translation.problems
    )


def _nextstep_retry(word: str) -> str:
    key, _, minutes = word.partition("=")
    if key != "retry" or not (minutes.isascii() and minutes.isdigit()):
        return word
    tries = max(1, int(minutes[:9]) * 60 // NEXTSTEP_MOUNT_WAIT_S)
    return f"mnttimeo={NEXTSTEP_MOUNT_WAIT_S},retry={tries}"

"""Autofs maps and lines of the master map: parsing and printing (autofs(5), auto.master(5)).

The reader parses direct and indirect maps in Sun format, one file at a time; the writer prints direct maps.
Variables (``$HOST``) stay as written, since their values may depend on the user. The wildcard key ``*`` and
its ``&`` also stay as written. In entries with another key, ``&`` is replaced by the key.
"""

from __future__ import annotations

import itertools
import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from advisor.dialects.entry import (
    DialectError,
    DialectText,
    MountSpec,
    ParseResult,
    WrongDialectError,
    control_character_problem,
    set_option,
    set_version_4,
    split_fstab_items,
)
from advisor.options import YES, MountOptions, catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

WILDCARD = "*"
#: One field: quoted parts, escaped characters, and others.
_FIELD = re.compile(r'(?:"[^"]*"?|\\.|[^\s"\\])+', re.DOTALL | re.ASCII)
_PIECE = re.compile(r'"([^"]*)"?|\\(.)|([^"\\]+)', re.DOTALL)
#: A logical line; a backslash at the end of a line continues it.
_LINE = re.compile(r"(?:\\.|[^\n\\]|\\\Z)*(?:\n|\Z)", re.DOTALL)
_CONTINUED_LINE = re.compile(r"(?<!\\)((?:\\\\)*)\\\n")
#: [type[,format]:]map
_TYPED_MAP = re.compile(r"([a-z]+)(?:,([a-z]+))?:(.*)", re.DOTALL)
_TIMEOUT = re.compile(r"(?:--timeout|-t)(?:=([0-9]+))?")
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_VARIABLE = re.compile(r"\$\{\w+\}|\$\w+")
_WEIGHT = re.compile(r"\([0-9]+\)\Z")
#: Options that autofs uses itself and does not pass to mount.
_AUTOFS_OPTIONS = frozenset(
    {"browse", "nobrowse", "ghost", "nobind", "symlink", "strictexpire", "slave", "private", "shared",
     "strict", "use-weight-only", "no-use-weight-only", "random-multimount-selection"}
)  # fmt: skip
#: Options of a master map line whose value is the next field.
_VALUED_MASTER_OPTIONS = frozenset({"-t", "--timeout", "-n", "--negative-timeout", "--mode"})
_MASTER_FLAGS = frozenset({"-r", "-w", "-s", "-g"})


@dataclass(frozen=True, slots=True)
class MapName:
    """Reference to a map.

    Attributes:
        kind: type of map: file, program, yp, ldap, dir and so on; hosts or null for the built-in maps; "" if
            unspecified. An unspecified path is a file, or a program if executable; other names are looked up
            by the name service switch.
        format: format of the map, sun by default.
        name: path or name of the map.
    """

    kind: str
    format: str
    name: str


@dataclass(frozen=True, slots=True)
class MasterLine:
    """One line of a master map.

    Attributes:
        number: line number, from 1.
        point: mount point of the map, ``/-`` for a direct map, "" for an included master map.
        map: the map.
        options: mount options for every entry of the map.
        idle_s: seconds until an unused mount is unmounted, None if unspecified.
        flags: long options of automount, and -r, -w, -s and -g, as written.
    """

    number: int
    point: str
    map: MapName
    options: tuple[str, ...]
    idle_s: int | None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MapEntry:
    """One mount of a map; an entry with several offsets yields one for each.

    Attributes:
        number: number of the first line of the entry, from 1.
        key: key with escapes decoded.
        offset: path below the key, or "".
        options: mount options, without those of the master map and those for autofs itself.
        fstype: file system type, "" if unspecified.
        locations: the shares; more than one for replicas.
    """

    number: int
    key: str
    offset: str
    options: tuple[str, ...]
    fstype: str
    locations: tuple[str, ...]

    def point(self, base: str) -> str:
        """Return the mount point of the entry; it ends in ``*`` for the wildcard key.

        Args:
            base: mount point of the map, ``/-`` for a direct map.
        """
        root = self.key if base == "/-" else f"{base.rstrip('/')}/{self.key}"
        return posixpath.normpath(root + self.offset)


@dataclass(frozen=True, slots=True)
class MapText:
    """Contents of a map file.

    Attributes:
        entries: mounts in the order of the file.
        included: line number and map of each included map (a line that begins with +).
        broken: numbers of the lines without a share.
        shareless: line number and path of each entry that has a path (an offset) and no share after it.
    """

    entries: list[MapEntry]
    included: list[tuple[int, MapName]]
    broken: list[int]
    shareless: list[tuple[int, str]]


def read_master(text: str) -> tuple[list[MasterLine], list[int]]:
    """Return the lines of a master map, and the numbers of the lines that cannot be parsed."""
    found: list[MasterLine] = []
    broken: list[int] = []
    for number, fields in _split_lines(text):
        words = [_unquoted(field) for field in fields]
        if words[0].startswith("+"):
            found.append(MasterLine(number, "", _map_name(words[0][1:]), (), None))
        elif len(words) > 1 and words[0].startswith("/"):
            options, idle = _master_options(words[2:])
            flags = tuple(word for word in words[2:] if word.startswith("--") or word in _MASTER_FLAGS)
            point = words[0] if words[0] == "/-" else words[0].rstrip("/")
            found.append(MasterLine(number, point, _map_name(words[1]), options, idle, flags))
        else:
            broken.append(number)
    return found, broken


def read_map(text: str) -> MapText:
    """Return the entries of a map, including those of other file system types than NFS."""
    result = MapText([], [], [], [])
    for number, fields in _split_lines(text):
        key = _unquoted(fields[0])
        if key.startswith("+"):
            result.included.append((number, _map_name(key[1:])))
            continue
        entries = list(_map_entries(number, key, fields[1:]))
        result.entries.extend(entries)
        if not entries:
            result.broken.append(number)
        path = _path_without_share(fields[1:])
        if path:
            result.shareless.append((number, path))
    return result


def fstab_options(entry: MapEntry, master: MasterLine | None) -> str:
    """Return an entry's options as an fstab option string, preceded by those of the master map."""
    before = master.options if master is not None else ()
    words = [word for word in before if not word.startswith("fstype=")]
    words += entry.options
    options = MountOptions.parse(",".join(words))
    try:
        set_option(options, "x-systemd.automount", YES)
        if master is not None and master.idle_s:
            set_option(options, "x-systemd.idle-timeout", str(master.idle_s))
    except ValueError:
        pass  # invalid options are shown unchanged
    return str(options)


def entry_fstype(entry: MapEntry, master: MasterLine | None) -> str:
    """Return the file system type of an entry: its own, else that of the master map, else nfs."""
    before = [word for word in (master.options if master is not None else ()) if word.startswith("fstype=")]
    return before[-1].partition("=")[2] if before and not entry.fstype else entry.fstype or "nfs"


def entry_shares(entry: MapEntry) -> list[str]:
    """Return every possible share of an entry: ``a(1),b:/x`` yields ``a:/x`` and ``b:/x``."""
    found: list[str] = []
    for place in entry.locations:
        hosts, colon, path = place.partition(":/")
        found += [_WEIGHT.sub("", host) + colon + path for host in hosts.split(",") if host]
    return found


def autofs_options(line: str) -> list[str]:
    """Return the options for autofs itself in the line of an entry."""
    fields = _FIELD.findall(line)
    words = [word for field in fields[1:] if field.startswith("-")
             for word in MountOptions.parse(_unquoted(field).removeprefix("-"))]  # fmt: skip
    return [word for word in words if word in _AUTOFS_OPTIONS]


def map_variables(line: str) -> list[str]:
    """Return the variables in the line of an entry, as written (``$HOST`` or ``${HOST}``)."""
    return list(dict.fromkeys(_VARIABLE.findall(_ESCAPED.sub("", line))))


def share_pattern(share: str, key: str) -> re.Pattern[str]:
    """Return a pattern that matches active mounts of a share with variables; a variable matches any text.

    Args:
        share: share of an entry.
        key: replacement of & in an entry with the wildcard key; "" for other entries.
    """
    parts = re.split(r"(\$\{\w+\}|\$\w+|&)", share)
    texts = [(re.escape(key) if key else "&") if part == "&" else ".*" if part.startswith("$") else
             re.escape(part) for part in parts]  # fmt: skip
    return re.compile("".join(texts))


def _split_lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield number and raw fields of each line that is not blank or a comment."""
    number = 1
    for match in _LINE.finditer(text.replace("\r\n", "\n")):
        fields = _FIELD.findall(_CONTINUED_LINE.sub(r"\1 ", match[0]))
        comment = next((at for at, field in enumerate(fields) if field.startswith("#")), len(fields))
        if comment:
            yield number, fields[:comment]
        number += match[0].count("\n")


def _unquoted(field: str) -> str:
    return "".join(quoted or escaped or other for quoted, escaped, other in _PIECE.findall(field))


def _map_name(word: str) -> MapName:
    if word in {"-hosts", "-null"}:
        return MapName(word[1:], "sun", word)
    match = _TYPED_MAP.fullmatch(word)
    if match:
        kind = {"exec": "program", "nis": "yp"}.get(match[1], match[1])
        return MapName(kind, match[2] or "sun", match[3])
    return MapName("", "sun", word)


def _master_options(words: list[str]) -> tuple[tuple[str, ...], int | None]:
    options: list[str] = []
    idle: int | None = None
    rest = iter(words)
    for word in rest:
        value = next(rest, "") if word in _VALUED_MASTER_OPTIONS else word.partition("=")[2]
        if _TIMEOUT.fullmatch(word):
            idle = int(value) if value.isascii() and value.isdigit() else idle
        elif (
            word not in _VALUED_MASTER_OPTIONS
            and not word.startswith(("--", "-D"))
            and word not in _MASTER_FLAGS
        ):
            options += _mount_words(word)
    return tuple(options), idle


def _mount_words(text: str) -> list[str]:
    """Return the options for mount in an option string, including ``fstype=``."""
    return [
        word for word in MountOptions.parse(text.removeprefix("-")) if word and word not in _AUTOFS_OPTIONS
    ]


def _path_without_share(fields: list[str]) -> str:
    """Return the first offset that no location follows, "" if there is none."""
    words = [field for field in fields if not field.startswith("-")]
    for word, after in itertools.zip_longest(words, words[1:], fillvalue="/"):
        if word.startswith("/") and after.startswith("/"):
            return _unquoted(word)
    return ""


def _map_entries(number: int, key: str, fields: list[str]) -> Iterator[MapEntry]:
    """Yield the mounts of one entry: options, then a location, or offsets with their own locations."""
    common: list[str] = []
    while fields and fields[0].startswith("-"):
        common += _mount_words(_unquoted(fields[0]))
        fields = fields[1:]
    at = 0
    while at < len(fields):
        offset, own, places = "", list[str](), list[str]()
        if fields[at].startswith("/"):
            offset = _unquoted(fields[at]).rstrip("/")
            at += 1
        while at < len(fields) and fields[at].startswith("-"):
            own += _mount_words(_unquoted(fields[at]))
            at += 1
        while at < len(fields) and not fields[at].startswith(("/", "-")):
            places.append(_expanded_location(fields[at], key))
            at += 1
        if not places:
            return
        # Of two values mount takes the later one: the options of an offset override those of the entry.
        names = {catalogue().read_item(word)[1] for word in own}
        options = [word for word in common if catalogue().read_item(word)[1] not in names] + own
        types = [word.partition("=")[2] for word in options if word.startswith("fstype=")]
        words = tuple(word for word in options if not word.startswith("fstype="))
        yield MapEntry(number, key, offset, words, types[-1] if types else "", tuple(places))


def _expanded_location(field: str, key: str) -> str:
    """Return a location with escapes decoded and each unescaped & replaced by the key."""
    if key == WILDCARD:
        return _unquoted(field)
    pieces = _PIECE.findall(field)
    return "".join(quoted.replace("&", key) or escaped or other.replace("&", key)
                   for quoted, escaped, other in pieces)  # fmt: skip


FORM = "an autofs map"
MAP_FILE = "/etc/auto.mountwright"
MASTER_FILE = "/etc/auto.master.d/mountwright.autofs"

#: An unescaped backslash at the end of a line.
_CONTINUED_END = re.compile(r"(?<!\\)((?:\\\\)*)\\\Z")
#: Characters with a special meaning in a map: blanks, backslash, quotes, comment, key, variable.
_SPECIAL_CHARACTER = re.compile(r"([ \t\\\"'#&$])")
_QUOTED_OPTIONS = re.compile(r'\S+\s+-\S*"')
_OPEN_QUOTE = re.compile(r'[^\s"]+\s+-[^"]*"[^"]*')
_NO_ENTRY_TEXT = (
    "No line has a path, or a key and options that begin with a dash, and a share: the key of an indirect "
    "map is a name below the directory that the line of the master map gives."
)


def write(entry: MountSpec) -> DialectText:
    """Return the entry as a line of the master map and a line of a direct map, each after its file name."""
    items, outer = split_fstab_items(entry.options)
    idle = entry.idle_timeout_s
    timeout = f" --timeout={idle}" if idle else ""
    untranslated = [
        f"“{item}” means nothing to autofs."
        for item in outer
        if catalogue().read_item(item)[1]
        not in {"x-systemd.automount", "x-systemd.idle-timeout", "auto", "nofail", "_netdev", "defaults"}
    ]
    given = entry.options.get("x-systemd.idle-timeout")
    if given and not idle:
        untranslated.append(
            f"“x-systemd.idle-timeout={given}” is no number of seconds: autofs takes its own."
        )
    if entry.when != "on-demand":
        untranslated.append("autofs mounts on demand, never at start-up and not by hand.")
    text = ",".join(items)
    problems = control_character_problem(text, "options")
    if re.search(r"[\s\\\"'#&$]", text):
        problems.append("autofs may misread blanks, quotes, $ and & in the options.")
    if "bg" in items:
        problems.append("autofs waits for its mounts: bg makes them fail.")
    options = ",".join(["-fstype=nfs", *items])
    lines = [
        f"# {MASTER_FILE}",
        f"/- {MAP_FILE}{timeout}",
        "",
        f"# {MAP_FILE}",
        f"{_escape(entry.mount_point)} {options} {_escape(str(entry.share))}",
    ]
    return DialectText("\n".join(lines) + "\n", MAP_FILE, untranslated, problems)


def read(text: str) -> ParseResult:
    """Return the first mount of a map; its ``untranslated`` lists the others.

    Raises:
        DialectError: if :func:`read_all` cannot read the text.
    """
    first, *others = read_all(text)
    ignored = [f"Another mount was left out: {one.entry.share} on {one.entry.mount_point}" for one in others]
    return ParseResult(first.entry, first.form, [*first.untranslated, *ignored])


def read_all(text: str) -> list[ParseResult]:
    """Return every mount of a direct map, or of an indirect map with its master map line.

    A master map line applies to the entries after it: its directory, mount options and idle timeout.

    Raises:
        WrongDialectError: if no line is a map entry.
        DialectError: if no entry can be read: a key without its directory, a wildcard, or several locations.
    """
    masters = read_master(text)[0]
    found = read_map(text)
    numbers = {master.number for master in masters if _is_master_line(master)}
    masters = [master for master in masters if master.number in numbers]
    entries = [entry for entry in found.entries if entry.number not in numbers]
    rows = [row for row in entries if _is_share_entry(row, masters)]
    if not rows:
        if any(_OPEN_QUOTE.fullmatch(_source_line(text, number)) for number in found.broken):
            raise DialectError("A quotation mark in the options is not closed.")
        raise WrongDialectError(_NO_ENTRY_TEXT)
    ignored = [
        f"“{_source_line(text, entry.number)}” was left out." for entry in entries if entry not in rows
    ]
    ignored += [f"“+{name.name}” was left out: the map that it includes." for _, name in found.included]
    readings: list[ParseResult] = []
    refused: list[DialectError] = []
    for row in rows:
        try:
            readings.append(_read_entry(row, _master_line_of(row, masters), _source_line(text, row.number)))
        except DialectError as error:
            refused.append(error)
    if not readings:
        raise refused[0]
    ignored += [f"An entry was left out. {error}" for error in refused]
    first = readings[0]
    return [ParseResult(first.entry, first.form, [*first.untranslated, *ignored]), *readings[1:]]


def _is_master_line(master: MasterLine) -> bool:
    """Whether a line refers to a map, not to a share."""
    name = master.map
    return bool(master.point) and ":/" not in name.name and not name.name.startswith("-")


def _is_share_entry(row: MapEntry, masters: list[MasterLine]) -> bool:
    """Whether an entry has a share and a key; without options and a master map the key must be a path."""
    named = all(":" in place for place in row.locations)
    if row.key.startswith("/"):
        return named and not row.key.startswith("//")
    key = "/" not in row.key and ":" not in row.key
    return named and key and bool(row.options or row.fstype or any(m.point != "/-" for m in masters))


def _master_line_of(row: MapEntry, masters: list[MasterLine]) -> MasterLine | None:
    """Return the master map line for an entry: the last one before it, else the first."""
    candidates = [master for master in masters if (master.point == "/-") == row.key.startswith("/")]
    before = [master for master in candidates if master.number < row.number]
    return before[-1] if before else candidates[0] if candidates else None


def _read_entry(row: MapEntry, master: MasterLine | None, line: str) -> ParseResult:
    fstype = entry_fstype(row, master)
    if fstype not in {"nfs", "nfs4"}:
        raise DialectError(f"The map mounts the type “{fstype}”, not nfs.")
    shares = entry_shares(row)
    if len(shares) != 1:
        raise DialectError("Maps with several places are not understood.")
    if row.key == WILDCARD:
        raise DialectError("The key * stands for any name: only autofs can mount what it does not know yet.")
    if master is None and not row.key.startswith("/"):
        raise DialectError(
            f"“{row.key}” is a key: a name below the directory that the master map gives. "
            "Put the line of the master map before it, for example “/nfs auto.nfs”."
        )
    general = master.options if master is not None else ()
    options = MountOptions([*(word for word in general if not word.startswith("fstype=")), *row.options])
    if fstype == "nfs4":
        set_version_4(options)
    set_option(options, "x-systemd.automount", YES)
    if master is not None and master.idle_s:
        set_option(options, "x-systemd.idle-timeout", str(master.idle_s))
    notes = [f"“{word}” is for autofs, and means nothing elsewhere." for word in autofs_options(line)]
    notes += [f"“{name}” is a variable of autofs. It was left as it is written."
             for name in map_variables(line)]  # fmt: skip
    if _QUOTED_OPTIONS.match(line):
        notes.append("autofs takes the quotation marks in the options for its own, not for those of mount.")
    base = master.point if master is not None else "/-"
    point = row.point(base) if base != "/-" or row.offset else row.key
    return ParseResult(MountSpec.make(shares[0], point, options), FORM, notes)


def _source_line(text: str, number: int) -> str:
    """Return the logical line that begins at a line number, including its continuation lines."""
    lines = text.replace("\r\n", "\n").split("\n")[number - 1 :]
    end = next((place for place, line in enumerate(lines) if not _CONTINUED_END.search(line)), len(lines) - 1)
    return " ".join(_CONTINUED_END.sub(r"\1", line).strip() for line in lines[: end + 1])


def _escape(text: str) -> str:
    return _SPECIAL_CHARACTER.sub(r"\\\1", text)

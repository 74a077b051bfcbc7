"""The maps of autofs in the format of Sun, a file at a time (autofs(5), auto.master(5)).

A variable (``$HOST``) is left as it is written: its value may be another one for each person. So is the
wildcard key ``*``, and with it the ``&`` that stands for what is found by it; behind any other key, ``&``
is that key.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from advisor.dialects.entry import put
from advisor.options import YES, MountOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

WILDCARD = "*"
#: One field: quoted parts, characters behind a backslash, and others.
_FIELD = re.compile(r'(?:"[^"]*"?|\\.|[^\s"\\])+', re.DOTALL | re.ASCII)
_PIECE = re.compile(r'"([^"]*)"?|\\(.)|([^"\\]+)', re.DOTALL)
#: A line goes on behind a backslash at its end.
_LINE = re.compile(r"(?:\\.|[^\n\\]|\\\Z)*(?:\n|\Z)", re.DOTALL)
_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*)\\\n")
#: [type[,format]:]map
_TYPED = re.compile(r"([a-z]+)(?:,([a-z]+))?:(.*)", re.DOTALL)
_TIMEOUT = re.compile(r"(?:--timeout|-t)(?:=([0-9]+))?")
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_VARIABLE = re.compile(r"\$\{\w+\}|\$\w+")
_WEIGHT = re.compile(r"\([0-9]+\)\Z")
#: Read by autofs itself and not handed to mount.
_OWN_WORDS = frozenset(
    {"browse", "nobrowse", "ghost", "nobind", "symlink", "strictexpire", "slave", "private", "shared",
     "strict", "use-weight-only", "no-use-weight-only", "random-multimount-selection"}
)  # fmt: skip
#: Options of a line of the master map that take the next field, where nothing is behind "=".
_TAKES_NEXT = frozenset({"-t", "--timeout", "-n", "--negative-timeout", "--mode"})
_MAP_LETTERS = frozenset({"-r", "-w", "-s", "-g"})


@dataclass(frozen=True, slots=True)
class MapName:
    """What a line calls a map.

    Attributes:
        kind: file, program, yp, ldap, dir and so on, hosts and null for the two that are built in; "" where
            nothing is said: then a path is a file, or a program if it can be executed, and any other name
            is looked up where the name service switch says.
        format: sun where nothing else is said.
        name: a path, or a name of that kind.
    """

    kind: str
    format: str
    name: str


@dataclass(frozen=True, slots=True)
class MasterLine:
    """One line of a master map.

    Attributes:
        number: from 1.
        point: where the map is mounted, ``/-`` of a direct one; "" of an included master map.
        map: the map.
        options: for mount, of every entry of the map.
        idle_s: seconds after which an unused mount goes, None if the line does not say.
    """

    number: int
    point: str
    map: MapName
    options: tuple[str, ...]
    idle_s: int | None


@dataclass(frozen=True, slots=True)
class MapEntry:
    """One mount of a map; an entry with several offsets has one for each.

    Attributes:
        number: of the line where the entry begins, from 1.
        key: as written, escapes read.
        offset: below the key, "" where there is none.
        options: for mount, without those of the master map and what autofs itself reads.
        fstype: "" where it does not say.
        locations: the shares, replicas one after the other.
    """

    number: int
    key: str
    offset: str
    options: tuple[str, ...]
    fstype: str
    locations: tuple[str, ...]

    def point(self, base: str) -> str:
        """Return the mount point in a map that is mounted at ``base``; it ends in ``*`` for the wildcard."""
        root = self.key if base == "/-" else f"{base.rstrip('/')}/{self.key}"
        return posixpath.normpath(root + self.offset)


@dataclass(frozen=True, slots=True)
class MapText:
    """What is in a file map.

    Attributes:
        entries: its mounts, in order.
        included: line number and map of each line that begins with +.
        broken: numbers of the lines that name nothing to mount.
    """

    entries: list[MapEntry]
    included: list[tuple[int, MapName]]
    broken: list[int]


def read_master(text: str) -> tuple[list[MasterLine], list[int]]:
    """Return the lines of a master map, and the numbers of those that cannot be read."""
    found: list[MasterLine] = []
    broken: list[int] = []
    for number, fields in _lines(text):
        words = [_plain(field) for field in fields]
        if words[0].startswith("+"):
            found.append(MasterLine(number, "", _map_name(words[0][1:]), (), None))
        elif len(words) > 1 and words[0].startswith("/"):
            options, idle = _master_options(words[2:])
            point = words[0] if words[0] == "/-" else words[0].rstrip("/")
            found.append(MasterLine(number, point, _map_name(words[1]), options, idle))
        else:
            broken.append(number)
    return found, broken


def read_map(text: str) -> MapText:
    """Return the entries of a map; those of other types than NFS are among them."""
    result = MapText([], [], [])
    for number, fields in _lines(text):
        key = _plain(fields[0])
        if key.startswith("+"):
            result.included.append((number, _map_name(key[1:])))
            continue
        entries = list(_entries(number, key, fields[1:]))
        result.entries.extend(entries)
        if not entries:
            result.broken.append(number)
    return result


def fstab_options(entry: MapEntry, master: MasterLine | None) -> str:
    """Return an entry's options in the words of fstab, with those of the master map before them."""
    before = master.options if master is not None else ()
    words = [word for word in before if not word.startswith("fstype=")]
    words += entry.options
    options = MountOptions.parse(",".join(words))
    try:
        put(options, "x-systemd.automount", YES)
        if master is not None and master.idle_s:
            put(options, "x-systemd.idle-timeout", str(master.idle_s))
    except ValueError:
        pass  # options that are broken are shown as they are
    return str(options)


def entry_fstype(entry: MapEntry, master: MasterLine | None) -> str:
    """Return the type of an entry: its own, else that of the master map."""
    before = [word for word in (master.options if master is not None else ()) if word.startswith("fstype=")]
    return before[-1].partition("=")[2] if before and not entry.fstype else entry.fstype or "nfs"


def shares(entry: MapEntry) -> list[str]:
    """Return every share that may be mounted: ``a(1),b:/x`` is ``a:/x`` and ``b:/x``."""
    found: list[str] = []
    for place in entry.locations:
        hosts, colon, path = place.partition(":/")
        found += [_WEIGHT.sub("", host) + colon + path for host in hosts.split(",") if host]
    return found


def own_words(line: str) -> list[str]:
    """Return the options of an entry's line that autofs itself reads."""
    fields = _FIELD.findall(line)
    words = [word for field in fields[1:] if field.startswith("-")
             for word in MountOptions.parse(_plain(field).removeprefix("-"))]  # fmt: skip
    return [word for word in words if word in _OWN_WORDS]


def variables(line: str) -> list[str]:
    """Return the variables of an entry's line, as written."""
    return list(dict.fromkeys(_VARIABLE.findall(_ESCAPED.sub("", line))))


def pattern_of(share: str, key: str) -> re.Pattern[str]:
    """Return what a mounted share of this entry looks like: for a variable anything may stand.

    Args:
        share: of an entry.
        key: what stands for &, for an entry of the wildcard; "" for others.
    """
    parts = re.split(r"(\$\{\w+\}|\$\w+|&)", share)
    texts = [(re.escape(key) if key else "&") if part == "&" else ".*" if part.startswith("$") else
             re.escape(part) for part in parts]  # fmt: skip
    return re.compile("".join(texts))


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield number and fields of each line that says something; escapes and quotes are still in them."""
    number = 1
    for match in _LINE.finditer(text.replace("\r\n", "\n")):
        fields = _FIELD.findall(_CONTINUED.sub(r"\1 ", match[0]))
        comment = next((at for at, field in enumerate(fields) if field.startswith("#")), len(fields))
        if comment:
            yield number, fields[:comment]
        number += match[0].count("\n")


def _plain(field: str) -> str:
    return "".join(quoted or escaped or other for quoted, escaped, other in _PIECE.findall(field))


def _map_name(word: str) -> MapName:
    if word in {"-hosts", "-null"}:
        return MapName(word[1:], "sun", word)
    match = _TYPED.fullmatch(word)
    if match:
        kind = {"exec": "program", "nis": "yp"}.get(match[1], match[1])
        return MapName(kind, match[2] or "sun", match[3])
    return MapName("", "sun", word)


def _master_options(words: list[str]) -> tuple[tuple[str, ...], int | None]:
    options: list[str] = []
    idle: int | None = None
    rest = iter(words)
    for word in rest:
        value = next(rest, "") if word in _TAKES_NEXT else word.partition("=")[2]
        if _TIMEOUT.fullmatch(word):
            idle = int(value) if value.isascii() and value.isdigit() else idle
        elif word not in _TAKES_NEXT and not word.startswith(("--", "-D")) and word not in _MAP_LETTERS:
            options += _mount_words(word)
    return tuple(options), idle


def _mount_words(text: str) -> list[str]:
    """Return the words of an option string that mount gets, ``fstype=`` among them."""
    return [word for word in MountOptions.parse(text.removeprefix("-")) if word and word not in _OWN_WORDS]


def _entries(number: int, key: str, fields: list[str]) -> Iterator[MapEntry]:
    """Yield the mounts of one entry: its options, then a location, or offsets with theirs."""
    common: list[str] = []
    while fields and fields[0].startswith("-"):
        common += _mount_words(_plain(fields[0]))
        fields = fields[1:]
    at = 0
    while at < len(fields):
        offset, options, places = "", list(common), list[str]()
        if fields[at].startswith("/"):
            offset = _plain(fields[at]).rstrip("/")
            at += 1
        while at < len(fields) and fields[at].startswith("-"):
            options += _mount_words(_plain(fields[at]))
            at += 1
        while at < len(fields) and not fields[at].startswith(("/", "-")):
            places.append(_with_key(fields[at], key))
            at += 1
        if not places:
            return
        types = [word.partition("=")[2] for word in options if word.startswith("fstype=")]
        words = tuple(word for word in options if not word.startswith("fstype="))
        yield MapEntry(number, key, offset, words, types[-1] if types else "", tuple(places))


def _with_key(field: str, key: str) -> str:
    """Return a location with its escapes read and the key for each & that is none of them."""
    if key == WILDCARD:
        return _plain(field)
    pieces = _PIECE.findall(field)
    return "".join(quoted.replace("&", key) or escaped or other.replace("&", key)
                   for quoted, escaped, other in pieces)  # fmt: skip

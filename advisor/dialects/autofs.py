"""Maps of autofs and their line of the master map (autofs(5), auto.master(5)).

A direct map is written. Direct and indirect ones are read.
"""

from __future__ import annotations

import re

from advisor.dialects import autofs_maps
from advisor.dialects.entry import (
    DialectError,
    Entry,
    OtherFormError,
    Reading,
    Written,
    control_problem,
    put,
    set_nfs4,
    split_items,
)
from advisor.options import YES, MountOptions, catalogue

FORM = "an autofs map"
MAP = "/etc/auto.mountwright"
MASTER = "/etc/auto.master.d/mountwright.autofs"

#: Characters that a map takes for something else: blanks, quotes, a comment, the key, a variable.
#: A backslash before the end of the line that no other one escapes.
_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*)\\\Z")
_SPECIAL = re.compile(r"([ \t\\\"'#&$])")
_QUOTED_OPTIONS = re.compile(r'\S+\s+-\S*"')
_OPEN_QUOTE = re.compile(r'[^\s"]+\s+-[^"]*"[^"]*')
_NO_ROW = (
    "No line has a path, or a key and options that begin with a dash, and a share: the key of an indirect "
    "map is a name below the directory that the line of the master map gives."
)


def write(entry: Entry) -> Written:
    """Return the master map's line and the map's line, each under the name of its file."""
    items, outer = split_items(entry.options)
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
    if entry.when != "on demand":
        untranslated.append("autofs mounts on demand, never at start-up and not by hand.")
    text = ",".join(items)
    problems = control_problem(text, "options")
    if re.search(r"[\s\\\"'#&$]", text):
        problems.append("autofs may misread blanks, quotes, $ and & in the options.")
    if "bg" in items:
        problems.append("autofs waits for its mounts: bg makes them fail.")
    options = ",".join(["-fstype=nfs", *items])
    lines = [
        f"# {MASTER}",
        f"/- {MAP}{timeout}",
        "",
        f"# {MAP}",
        f"{_escape(entry.mount_point)} {options} {_escape(str(entry.share))}",
    ]
    return Written("\n".join(lines) + "\n", MAP, untranslated, problems)


def read(text: str) -> Reading:
    """Return the first mount that a map says; what else the text has is told.

    Raises:
        DialectError: as :func:`read_all`.
    """
    first, *others = read_all(text)
    left = [f"Another mount was left out: {one.entry.share} on {one.entry.mount_point}" for one in others]
    return Reading(first.entry, first.form, [*first.untranslated, *left])


def read_all(text: str) -> list[Reading]:
    """Return every mount of a direct map, or of an indirect one below the directory of its master map's line.

    A line of the master map counts for the entries behind it: its directory, its options for mount, and the
    time after which an unused mount goes.

    Raises:
        OtherFormError: if no line is one of a map.
        DialectError: if the entries cannot be read: a key without its directory, a wildcard, several places.
    """
    masters = autofs_maps.read_master(text)[0]
    found = autofs_maps.read_map(text)
    numbers = {master.number for master in masters if _is_master(master)}
    masters = [master for master in masters if master.number in numbers]
    entries = [entry for entry in found.entries if entry.number not in numbers]
    rows = [row for row in entries if _is_row(row, masters)]
    if not rows:
        if any(_OPEN_QUOTE.fullmatch(_line(text, number)) for number in found.broken):
            raise DialectError("A quotation mark in the options is not closed.")
        raise OtherFormError(_NO_ROW)
    left = [f"“{_line(text, entry.number)}” was left out." for entry in entries if entry not in rows]
    left += [f"“+{name.name}” was left out: the map that it includes." for _, name in found.included]
    readings: list[Reading] = []
    refused: list[DialectError] = []
    for row in rows:
        try:
            readings.append(_reading(row, _master_of(row, masters), _line(text, row.number)))
        except DialectError as error:
            refused.append(error)
    if not readings:
        raise refused[0]
    left += [f"An entry was left out. {error}" for error in refused]
    first = readings[0]
    return [Reading(first.entry, first.form, [*first.untranslated, *left]), *readings[1:]]


def _is_master(master: autofs_maps.MasterLine) -> bool:
    """Whether a line names a map, and not a share."""
    name = master.map
    return bool(master.point) and ":/" not in name.name and not name.name.startswith("-")


def _is_row(row: autofs_maps.MapEntry, masters: list[autofs_maps.MasterLine]) -> bool:
    """Whether an entry names a share; without options and a master map only a path is taken for a key."""
    named = all(":" in place for place in row.locations)
    if row.key.startswith("/"):
        return named and not row.key.startswith("//")
    key = "/" not in row.key and ":" not in row.key
    return named and key and bool(row.options or row.fstype or any(m.point != "/-" for m in masters))


def _master_of(
    row: autofs_maps.MapEntry, masters: list[autofs_maps.MasterLine]
) -> autofs_maps.MasterLine | None:
    """Return the line of the master map that counts for an entry: the last before it, else the first."""
    fitting = [master for master in masters if (master.point == "/-") == row.key.startswith("/")]
    before = [master for master in fitting if master.number < row.number]
    return before[-1] if before else fitting[0] if fitting else None


def _reading(row: autofs_maps.MapEntry, master: autofs_maps.MasterLine | None, line: str) -> Reading:
    fstype = autofs_maps.entry_fstype(row, master)
    if fstype not in {"nfs", "nfs4"}:
        raise DialectError(f"The map mounts the type “{fstype}”, not nfs.")
    shares = autofs_maps.shares(row)
    if len(shares) != 1:
        raise DialectError("Maps with several places are not understood.")
    if row.key == autofs_maps.WILDCARD:
        raise DialectError("The key * stands for any name: only autofs can mount what it does not know yet.")
    if master is None and not row.key.startswith("/"):
        raise DialectError(
            f"“{row.key}” is a key: a name below the directory that the master map gives. "
            "Put the line of the master map before it, for example “/nfs auto.nfs”."
        )
    general = master.options if master is not None else ()
    options = MountOptions([*(word for word in general if not word.startswith("fstype=")), *row.options])
    if fstype == "nfs4":
        set_nfs4(options)
    put(options, "x-systemd.automount", YES)
    if master is not None and master.idle_s:
        put(options, "x-systemd.idle-timeout", str(master.idle_s))
    told = [f"“{word}” is for autofs, and means nothing elsewhere." for word in autofs_maps.own_words(line)]
    told += [f"“{name}” is a variable of autofs. It was left as it is written."
             for name in autofs_maps.variables(line)]  # fmt: skip
    if _QUOTED_OPTIONS.match(line):
        told.append("autofs takes the quotation marks in the options for its own, not for those of mount.")
    base = master.point if master is not None else "/-"
    point = row.point(base) if base != "/-" or row.offset else row.key
    return Reading(Entry.make(shares[0], point, options), FORM, told)


def _line(text: str, number: int) -> str:
    """Return the line with this number and those that it goes on in."""
    lines = text.replace("\r\n", "\n").split("\n")[number - 1 :]
    end = next((place for place, line in enumerate(lines) if not _CONTINUED.search(line)), len(lines) - 1)
    return " ".join(_CONTINUED.sub(r"\1", line).strip() for line in lines[: end + 1])


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)

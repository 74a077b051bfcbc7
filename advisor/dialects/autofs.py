"""A direct map of autofs with its line in the master map (autofs(5), auto.master(5))."""

from __future__ import annotations

import re

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
_SPECIAL = re.compile(r"([ \t\\\"'#&$])")
_ESCAPED = re.compile(r"\\(.)")
_FIELD = re.compile(r"(?:\\.|[^ \t\\])+")
#: The options of a map's line begin with a dash, the map of a master line does not.
_MASTER_LINE = re.compile(r"/-\s+[^-\s]\S*(.*)")
_TIMEOUT = re.compile(r"(?:--timeout|-t)[= ]([0-9]+)")


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
    if entry.options.get("x-systemd.idle-timeout") and not idle:
        untranslated.append("The idle time-out is not a number of seconds, so autofs takes its own.")
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
    """Return the first line of a direct map, with the idle time-out of a master line if there is one.

    Raises:
        DialectError: if no line has a path, options with a dash, and a share.
    """
    idle = ""
    left: list[str] = []
    found: list[str] | None = None
    # A blank at the end may be escaped and belong to the share.
    for line in (line.rstrip("\r").lstrip(" \t") for line in text.split("\n")):
        master = _MASTER_LINE.fullmatch(line)
        fields = _FIELD.findall(line)
        if master:
            timeout = _TIMEOUT.search(master[1])
            idle = timeout[1] if timeout else idle
        elif found is None and _is_map_line(fields):
            found = fields
        elif line and not line.startswith("#"):
            left.append(f"Another line was left out: {line}")
    if found is None:
        raise OtherFormError("No line has a path, options that begin with a dash, and a share.")
    if len(found) > 3:
        raise DialectError("Maps with several places are not understood.")
    items = list(MountOptions.parse(found[1].removeprefix("-")))
    fstypes = [item.partition("=")[2] for item in items if item.startswith("fstype=")]
    if fstypes and fstypes[-1] not in {"nfs", "nfs4"}:
        raise DialectError(f"The map mounts the type “{fstypes[-1]}”, not nfs.")
    options = MountOptions([item for item in items if not item.startswith("fstype=")])
    if fstypes and fstypes[-1] == "nfs4":
        set_nfs4(options)
    put(options, "x-systemd.automount", YES)
    if idle and idle != "0":
        put(options, "x-systemd.idle-timeout", idle)
    return Reading(Entry.make(_unescape(found[2]), _unescape(found[0]), options), FORM, left)


def _is_map_line(fields: list[str]) -> bool:
    return len(fields) >= 3 and fields[0].startswith("/") and fields[1].startswith("-") and ":" in fields[2]


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)

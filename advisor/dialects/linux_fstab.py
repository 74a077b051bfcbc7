r"""A line of fstab(5) as Linux reads it: blanks between fields, ``\ooo`` for the byte of that octal number.

The grammar is libmount's (libmount/src/tab_parse.c).
"""

from __future__ import annotations

import re

from advisor.dialects.entry import DialectError, Entry, OtherFormError, Reading, Written, set_nfs4
from advisor.options import MountOptions

FORM = "an fstab line"
FILE = "/etc/fstab"

_ESCAPE = re.compile(rb"\\([0-7]{3})")
_BLANKS = re.compile(r"[ \t]+")
_SPECIAL = str.maketrans({c: f"\\{ord(c):03o}" for c in " \t\n\r\\#"})


def escape(field: str) -> str:
    """Return the field with blanks, line ends, backslashes and number signs as octal escapes."""
    return field.translate(_SPECIAL)


def unescape(field: str) -> str:
    """Return the field with its octal escapes read; bytes that are not UTF-8 become surrogates."""
    raw = field.encode(errors="surrogateescape")
    raw = _ESCAPE.sub(lambda match: bytes([int(match[1], 8) & 0xFF]), raw)
    return raw.decode(errors="surrogateescape")


def write(entry: Entry) -> Written:
    """Return the line."""
    fields = [str(entry.share), entry.mount_point, "nfs", str(entry.options) or "defaults"]
    return Written(" ".join([*map(escape, fields), "0", "0"]) + "\n", FILE)


def read(text: str) -> Reading:
    """Return the first NFS line of the text; comments and blank lines are passed over.

    Raises:
        DialectError: if there is none, or if it is not complete.
    """
    fields, untranslated = first_line(text)
    options = MountOptions.parse("" if fields[3] == "defaults" else fields[3])
    if fields[2] == "nfs4":
        set_nfs4(options)
    return Reading(Entry.make(fields[0], fields[1], options), FORM, untranslated)


def first_line(text: str) -> tuple[list[str], list[str]]:
    """Return the first four fields of the first NFS line, and a sentence for everything left out.

    Raises:
        DialectError: if there is no such line.
    """
    lines = [line.strip(" \t\r") for line in text.split("\n")]
    entries = [_BLANKS.split(line) for line in lines if line and not line.startswith("#")]
    found = [fields for fields in entries if len(fields) >= 3 and fields[2] in {"nfs", "nfs4"}]
    if not found:
        raise OtherFormError("No line has nfs or nfs4 as its third field.")
    first = found[0]
    if any(not re.fullmatch(r"[+-]?[0-9]{1,10}", field) for field in first[4:6]):
        raise DialectError("The fifth or sixth field is not a number.")
    untranslated = [
        f"Another line was left out: {' '.join(fields)}" for fields in entries if fields is not first
    ]
    if any(int(field) for field in first[4:6]):
        untranslated.append(f"The numbers “{' '.join(first[4:6])}” for dump and fsck mean nothing for NFS.")
    if len(first) > 6:
        untranslated.append(f"What stands behind the sixth field was left out: {' '.join(first[6:])}")
    fields = [unescape(field) for field in [*first[:3], first[3] if len(first) > 3 else ""]]
    return fields, untranslated

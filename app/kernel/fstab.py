"""fstab(5), parsed without loss: every line retains its bytes.

The grammar is that of libmount (libmount/src/tab_parse.c):

- Fields are separated by blanks and tabs; the first three are required.
- A line whose first non-blank character is # is a comment.
- Fields five and six, if present, are whole numbers; further fields are ignored.
- A backslash and three octal digits represent the byte of that number.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.helper.mountinfo import NFS_TYPES, unquote

_NUMBER = re.compile(rb"[+-]?[0-9]{1,10}")
_BLANKS = re.compile(rb"[ \t]+")
#: Field that can only be options, and no number.
_OPTION = re.compile(rb"[A-Za-z_][A-Za-z_][\w.=,:-]*")


@dataclass(frozen=True, slots=True)
class FstabFields:
    """The fields of one entry, unescaped; bytes that are not UTF-8 become surrogates.

    Attributes:
        source: source of the mount; the share for NFS.
        target: mount point, as written.
        fstype: file system type.
        options: option string, "" if the line ends before it.
        freq: dump frequency, for dump(8).
        passno: pass number, for fsck(8).
    """

    source: str
    target: str
    fstype: str
    options: str
    freq: int = 0
    passno: int = 0

    @property
    def is_nfs(self) -> bool:
        """Whether the entry is an NFS mount."""
        return self.fstype in NFS_TYPES


@dataclass(frozen=True, slots=True)
class FstabLine:
    """One line of fstab.

    Attributes:
        raw: bytes of the line, with its line end; the last line may have none.
        number: line number, from 1.
        kind: blank, comment, entry or broken.
        entry: fields of an entry, None for other lines.
        problem: error of a broken line, as the end of a sentence; "" for other lines.
    """

    raw: bytes
    number: int
    kind: Literal["blank", "comment", "entry", "broken"]
    entry: FstabFields | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Fstab:
    """A parsed fstab; ``bytes(fstab)`` returns the content of the file."""

    lines: tuple[FstabLine, ...]

    def __bytes__(self) -> bytes:
        return b"".join(line.raw for line in self.lines)

    def nfs_lines(self) -> list[tuple[FstabLine, FstabFields]]:
        """Return the NFS entries with their lines, in order."""
        return [(line, line.entry) for line in self.lines if line.entry is not None and line.entry.is_nfs]

    def warnings(self, origin: str = "/etc/fstab") -> list[str]:
        """Return one sentence for each line that mount(8) ignores."""
        return [
            f"Line {line.number} of {origin} is ignored by mount: {line.problem}"
            for line in self.lines
            if line.kind == "broken"
        ]


def read(root: str = "/") -> Fstab:
    """Return the parsed /etc/fstab; a missing file counts as empty.

    Raises:
        OSError: if the file exists and cannot be read.
    """
    try:
        raw = Path(root, "etc/fstab").read_bytes()
    except FileNotFoundError:
        raw = b""
    return parse(raw)


def parse(raw: bytes) -> Fstab:
    """Return the parsed content of a file; any bytes are accepted."""
    pieces = raw.split(b"\n")
    ended = [piece + b"\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])
    return Fstab(tuple(_parse_line(piece, number) for number, piece in enumerate(ended, 1)))


def _parse_line(raw: bytes, number: int) -> FstabLine:
    text = raw.removesuffix(b"\n").removesuffix(b"\r").strip(b" \t")
    if not text:
        return FstabLine(raw, number, "blank")
    if text.startswith(b"#"):
        return FstabLine(raw, number, "comment")
    fields = _BLANKS.split(text)
    problem = _problem(fields)
    if problem:
        return FstabLine(raw, number, "broken", problem=problem)
    # An escape may represent NUL, which ends a string for mount(8).
    words = [unquote(field).partition("\0")[0] for field in fields[:4]]
    numbers = [int(field) for field in fields[4:6]]
    entry = FstabFields(words[0], words[1], words[2], words[3] if len(words) > 3 else "", *numbers)
    return FstabLine(raw, number, "entry", entry)


def _problem(fields: list[bytes]) -> str:
    if len(fields) < 3:
        return "it has fewer than three fields."
    if any(b"\0" in field for field in fields):
        return "it contains a NUL byte."
    for field, name in zip(fields[4:6], ("fifth", "sixth"), strict=False):
        if not _NUMBER.fullmatch(field):
            shown = _decode(field)
            why = _split_field_note(fields)
            if b"#" in field:
                why = " (a comment cannot stand behind an entry)"
            return f"its {name} field, “{shown}”, is not a number{why}."
    return ""


def _split_field_note(fields: list[bytes]) -> str:
    """Return a note in parentheses if a blank has probably split a field, else ""."""
    for field, following in itertools.pairwise(fields[3:]):
        torn = field.endswith((b",", b"=")) or following.startswith((b",", b"="))
        if torn or (fields[2] in _TYPES and _OPTION.fullmatch(following) and _OPTION.fullmatch(field)):
            return f" (no blank can stand among the options, as in “{_decode(field)} {_decode(following)}”)"
    if fields[3].startswith(b"-"):
        return " (“-o” belongs to the command: here the options stand alone)"
    if fields[2] not in _TYPES and _TYPES & set(fields[3:]):
        pair = fields[:2] if not fields[1].startswith(b"/") else fields[1:3]
        split = " ".join(map(_decode, pair))
        return f" (a blank in a share or a mount point is written \\040, here “{split}”)"
    return ""


def _decode(field: bytes) -> str:
    return field.decode(errors="backslashreplace")


_TYPES = frozenset(name.encode() for name in NFS_TYPES)

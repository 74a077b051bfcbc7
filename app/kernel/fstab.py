"""fstab(5), read without loss: every line keeps its bytes.

The grammar is libmount's (libmount/src/tab_parse.c): fields between blanks and tabs, the first three needed;
a line whose first other character is # is a comment; numbers five and six, if there, are whole numbers; what
follows them is ignored; a backslash and three octal digits stand for the byte of that number.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.kernel.mountinfo import NFS_TYPES, unescape

_NUMBER = re.compile(rb"[+-]?[0-9]{1,10}")
_BLANKS = re.compile(rb"[ \t]+")


@dataclass(frozen=True, slots=True)
class FstabFields:
    """The fields of one entry, escapes read; bytes that are not UTF-8 become surrogates.

    Attributes:
        source: the share, for NFS.
        target: mount point, as written.
        fstype: file system type.
        options: option string, "" if the line ends before it.
        freq: for dump(8).
        passno: for fsck(8).
    """

    source: str
    target: str
    fstype: str
    options: str
    freq: int = 0
    passno: int = 0

    @property
    def is_nfs(self) -> bool:
        """Whether it is an NFS mount."""
        return self.fstype in NFS_TYPES


@dataclass(frozen=True, slots=True)
class FstabLine:
    """One line.

    Attributes:
        raw: its bytes, line end included; the last line may have none.
        number: from 1.
        kind: blank, comment, entry or broken.
        entry: of an entry.
        problem: of a broken line: what is wrong, as the end of a sentence.
    """

    raw: bytes
    number: int
    kind: Literal["blank", "comment", "entry", "broken"]
    entry: FstabFields | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Fstab:
    """The whole file. ``bytes(fstab)`` is what was read."""

    lines: tuple[FstabLine, ...]

    def __bytes__(self) -> bytes:
        return b"".join(line.raw for line in self.lines)

    def nfs_lines(self) -> list[tuple[FstabLine, FstabFields]]:
        """Return the NFS entries with their lines, in order."""
        return [(line, line.entry) for line in self.lines if line.entry is not None and line.entry.is_nfs]

    def warnings(self, origin: str = "/etc/fstab") -> list[str]:
        """Return one sentence for each line that mount cannot read."""
        return [
            f"Line {line.number} of {origin} is ignored by mount: {line.problem}"
            for line in self.lines
            if line.kind == "broken"
        ]


def read(root: str = "/") -> Fstab:
    """Return /etc/fstab; a missing file is an empty one.

    Raises:
        OSError: if it is there but cannot be read.
    """
    try:
        raw = Path(root, "etc/fstab").read_bytes()
    except FileNotFoundError:
        raw = b""
    return parse(raw)


def parse(raw: bytes) -> Fstab:
    """Return the lines of a file; any bytes are accepted."""
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
    # An escape may stand for NUL, which ends a text for mount.
    words = [unescape(field).partition("\0")[0] for field in fields[:4]]
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
            shown = _shown(field)
            why = _split_field(fields)
            if b"#" in field:
                why = " (a comment cannot stand behind an entry)"
            return f"its {name} field, “{shown}”, is not a number{why}."
    return ""


def _split_field(fields: list[bytes]) -> str:
    """Return what a blank inside a field has done, where that is to be seen, else ""."""
    for field, following in itertools.pairwise(fields[3:]):
        if field.endswith(b",") or following.startswith(b","):
            return f" (no blank can stand among the options, as in “{_shown(field)} {_shown(following)}”)"
    if fields[3].startswith(b"-"):
        return " (“-o” belongs to the command: here the options stand alone)"
    if fields[2] not in _TYPES and _TYPES & set(fields[3:]):
        pair = fields[:2] if not fields[1].startswith(b"/") else fields[1:3]
        split = " ".join(map(_shown, pair))
        return f" (a blank in a share or a mount point is written \\040, here “{split}”)"
    return ""


def _shown(field: bytes) -> str:
    return field.decode(errors="backslashreplace")


_TYPES = frozenset(name.encode() for name in NFS_TYPES)

r"""fstab as bytes: one NFS entry is added, changed or removed, and no other byte moves.

The grammar is libmount's (libmount/src/tab_parse.c). Everything here is pure, so that a preview without
root shows exactly the line that the helper will write.
"""

from __future__ import annotations

import itertools
import os
import re
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from app.helper import boot_options, mountinfo, policy, validate
from app.helper.errors import Refusal
from app.helper.options import ALWAYS, split

if TYPE_CHECKING:
    from app.helper.options import Catalogue

_Item = TypeVar("_Item")
#: Of an entry, escaped: share, mount point, type, options.
_Fields = tuple[str, str, str, str]
#: glibc loses lines of more than about 4 KiB.
MAX_LINE = 4000
_BLANKS = re.compile(rb"[ \t]+")
_NUMBER = re.compile(rb"[+-]?[0-9]{1,10}")


class FstabEntry(NamedTuple):
    """The fields of an entry, escapes read, and its place: the number of its line from 1."""

    number: int
    share: str
    target: str
    fstype: str
    options: str
    freq: int
    passno: int


class NewEntry(NamedTuple):
    """An entry to be written: the words of its options are not checked yet."""

    share: str
    target: str
    fstype: str
    words: tuple[str, ...]


class EntryEdit(NamedTuple):
    """One change of the file.

    Attributes:
        old: share and mount point of the entry to change or remove; None to add one.
        new: what to write; None to remove.
    """

    old: tuple[str, str] | None
    new: NewEntry | None


class NewFstab(NamedTuple):
    """The file after an edit, and the line that was written ("" when one was removed)."""

    data: bytes
    line: str


def lines(data: bytes) -> list[bytes]:
    """Return the lines with their ends; the last may have none."""
    pieces = data.split(b"\n")
    return [piece + b"\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def entries(data: bytes) -> list[FstabEntry]:
    """Return the entries that mount reads; comments, blank and broken lines are none."""
    found = (_entry(line, number) for number, line in enumerate(lines(data), 1))
    return [entry for entry in found if entry is not None]


def _split_end(line: bytes) -> tuple[bytes, bytes]:
    """Return a line and its end; as libmount reads it, one carriage return is part of the end."""
    body = line.removesuffix(b"\n").removesuffix(b"\r")
    return body, line[len(body) :]


def _entry(line: bytes, number: int) -> FstabEntry | None:
    text = _split_end(line)[0].strip(b" \t")
    fields = _BLANKS.split(text)
    if text.startswith(b"#") or len(fields) < 3 or any(b"\0" in field for field in fields):
        return None
    if not all(_NUMBER.fullmatch(field) for field in fields[4:6]):
        return None
    words = [mountinfo.unquote(field).partition("\0")[0] for field in fields[:4]]
    numbers = [int(field) for field in fields[4:6]] + [0, 0]
    options = words[3] if len(words) > 3 else ""
    return FstabEntry(number, words[0], words[1], words[2], options, numbers[0], numbers[1])


def escaped(text: str) -> bytes:
    r"""Return a field as it is written: space, tab, newline, backslash and a leading # in octal."""
    raw = re.sub(rb"[ \t\n\\]", lambda m: b"\\%03o" % m[0][0], os.fsencode(text))
    return b"\\043" + raw[1:] if raw.startswith(b"#") else raw


def apply(data: bytes, edit: EntryEdit, catalogue: Catalogue, *, free: bool = False) -> NewFstab:
    """Return the file with the edit made, checked by reading it again.

    Args:
        data: the file.
        edit: what to change.
        catalogue: of the options.
        free: whether the new entry may have words that only root may write.

    Raises:
        Refusal: if the entry is not there (or twice), the new one is not allowed, or its place is taken.
    """
    old = _find(data, edit.old) if edit.old is not None else None
    fields = _fields(edit.new, old, catalogue, free=free) if edit.new is not None else None
    if edit.new is not None:
        _check_free(data, edit.new.target, old)
    raw = [escaped(field) for field in fields or ()]
    parts = lines(data)
    written = b""
    if old is None:
        appended = _appended_text(parts, b"\t".join(raw) + b"\t0\t0")
        written = appended[-1]
        parts += appended
    elif fields is None:
        parts[old.number - 1] = b""
    else:
        written = _replaced(parts[old.number - 1], raw)
        parts[old.number - 1] = written
    if len(written) > MAX_LINE:
        raise Refusal("option-invalid", "The entry is too long for fstab.")
    result = b"".join(parts)
    _verify(data, result, old, fields)
    return NewFstab(result, os.fsdecode(written.rstrip(b"\r\n")))


def _appended_text(parts: list[bytes], written: bytes) -> list[bytes]:
    """Return what a new last line adds to a file of these lines."""
    end = b"\r\n" if parts and parts[0].endswith(b"\r\n") else b"\n"
    if not parts or parts[-1].endswith(b"\n"):
        return [written + end]
    if b"\0" in parts[-1]:  # libmount would no longer read it
        raise Refusal(
            "fstab-refused",
            "The last line of fstab has a NUL byte and no end. Remove the byte with an editor first.",
        )
    # A file without a final newline stays one. A carriage return there is the first half of a line's end.
    return [b"\n" if parts[-1].endswith(b"\r") else end, written]


def _find(data: bytes, key: tuple[str, str]) -> FstabEntry:
    found = [e for e in entries(data) if (e.share, e.target) == key and e.fstype in mountinfo.NFS_TYPES]
    if not found:
        raise Refusal("not-mounted", f"fstab has no NFS entry for “{key[1]}” with this share.")
    if len(found) > 1:
        raise Refusal("fstab-refused", f"fstab has this entry twice: lines {found[0].number} "
                      f"and {found[1].number}.")  # fmt: skip
    return found[0]


def _check_free(data: bytes, target: str, old: FstabEntry | None) -> None:
    for entry in entries(data):
        here = entry.target.rstrip("/") == target.rstrip("/")
        if here and (old is None or entry.number != old.number):
            raise Refusal(
                "mount-point-busy", f"Line {entry.number} of fstab already has an entry for “{target}”."
            )


def _fields(new: NewEntry, old: FstabEntry | None, catalogue: Catalogue, *, free: bool) -> _Fields:
    if new.fstype not in mountinfo.NFS_TYPES:
        raise Refusal("option-invalid", "The type of the entry is neither nfs nor nfs4.")
    # What root wrote for this very share and mount point may stay; nothing of it goes to another one.
    same = old is not None and (old.share, old.target) == (new.share, new.target)
    kept = split(old.options) if old is not None and same else []
    if not same:
        validate.share(new.share)
        validate.target(new.target)
        policy.permit_entry(new.target)
    words = [word for word in new.words if word]
    boot_options.check([word for word in words if word not in kept], words, catalogue, words if free else ())
    for word in ALWAYS:
        if not boot_options.sets_flag(words, word) and (not same or boot_options.sets_flag(kept, word)):
            words = [*(other for other in words if other != word), word]
    return new.share, new.target, new.fstype, ",".join(words) or "defaults"


def _replaced(line: bytes, fields: list[bytes]) -> bytes:
    """Return the line with its first four fields replaced; blanks between them and the rest stay."""
    body, end = _split_end(line)
    pieces = re.split(rb"([ \t]+)", body)
    first = 2 if pieces[0] == b"" else 0
    if not any(pieces[first + 6 :]):
        # The line ended before its options: add a gap like those it has.
        pieces = [*pieces[: first + 5], pieces[first + 3], b""]
    for index, field in enumerate(fields):
        pieces[first + 2 * index] = field
    return b"".join(pieces) + end


def _verify(before: bytes, after: bytes, old: FstabEntry | None, fields: _Fields | None) -> None:
    """Check that exactly this entry changed, by reading both files again.

    Raises:
        Refusal: if not; that would be a bug, and nothing is written.
    """
    expected = [entry[1:] for entry in entries(before)]
    at = len(expected) if old is None else [entry.number for entry in entries(before)].index(old.number)
    expected[at : at + 1] = []
    if fields is not None:
        freq, passno = (old.freq, old.passno) if old is not None else (0, 0)
        expected.insert(at, (*fields, freq, passno))
    found = entries(after)
    if [entry[1:] for entry in found] != expected or not _is_one_line(before, after):
        pairs = itertools.zip_longest(found, expected)
        number = next((now.number for now, then in pairs if now is not None and now[1:] != then), 0)
        raise Refusal(
            "fstab-refused",
            f"After this change, line {number} of fstab would be read in another way than it is meant."
            if number
            else "After this change, an entry of fstab would be missing.",
            detail="Nothing was written. Change the entry with an editor.",
        )


def check_copy(now: bytes, copy: bytes) -> None:
    """Check that a copy differs from fstab in one NFS entry at most, as an edit leaves it.

    Raises:
        Refusal: with code fstab-refused.
    """
    ours, theirs = _differing_parts(*([entry[1:] for entry in entries(data)] for data in (now, copy)))
    types = {entry[2] for entry in (*ours, *theirs)}
    if max(len(ours), len(theirs)) > 1 or not types <= mountinfo.NFS_TYPES or not _is_one_line(now, copy):
        raise Refusal("fstab-refused", "The copy of fstab differs from it in more than one NFS entry.")


def _is_one_line(first: bytes, second: bytes) -> bool:
    """Whether two files differ in one line at most, its end and that of the last line before it included."""
    return all(b"".join(rest).count(b"\n") <= 1 for rest in _differing_parts(lines(first), lines(second)))


def _differing_parts(first: list[_Item], second: list[_Item]) -> tuple[list[_Item], list[_Item]]:
    """Return what two lists have between the beginning and the end that they have in common."""
    start = _common_prefix(first, second)
    first, second = first[start:], second[start:]
    end = _common_prefix(first[::-1], second[::-1])
    return first[: len(first) - end], second[: len(second) - end]


def _common_prefix(first: list[_Item], second: list[_Item]) -> int:
    """Return how many items two lists have in common at their beginnings."""
    pairs = zip(first, second, strict=False)
    return sum(1 for _pair in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))

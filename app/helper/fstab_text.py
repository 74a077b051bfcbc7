r"""Editing of fstab as bytes: adds, changes or removes one NFS entry and leaves all other bytes as they are.

The grammar is that of libmount (util-linux, libmount/src/tab_parse.c; fstab(5)). The functions are pure, so a
preview without root shows exactly the line that the helper will write.
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
#: First four fields of an entry: share, mount point, type, options.
_Fields = tuple[str, str, str, str]
#: Longest line, bytes: glibc (getmntent(3)) misreads lines of more than about 4 KiB.
MAX_LINE = 4000
_BLANKS = re.compile(rb"[ \t]+")
_NUMBER = re.compile(rb"[+-]?[0-9]{1,10}")


class FstabEntry(NamedTuple):
    """Fields of an fstab entry, with escapes decoded.

    Attributes:
        number: line number, from 1.
        share: first field, server:/export for NFS.
        target: mount point.
        fstype: file system type.
        options: comma-separated options, "" if the field is missing.
        freq: fifth field, 0 if missing.
        passno: sixth field, 0 if missing.
    """

    number: int
    share: str
    target: str
    fstype: str
    options: str
    freq: int
    passno: int


class NewEntry(NamedTuple):
    """Entry to be written; its options are not checked yet.

    Attributes:
        share: server:/export.
        target: mount point.
        fstype: nfs or nfs4.
        words: options, one word each.
    """

    share: str
    target: str
    fstype: str
    words: tuple[str, ...]


class EntryEdit(NamedTuple):
    """One change of fstab: an entry is added, replaced or removed.

    Attributes:
        old: share and mount point of the entry to replace or remove; None to add an entry.
        new: entry to write; None to remove the old one.
    """

    old: tuple[str, str] | None
    new: NewEntry | None


class NewFstab(NamedTuple):
    """Result of an edit.

    Attributes:
        data: contents of the whole file.
        line: line that was written, without its end; "" if a line was removed.
    """

    data: bytes
    line: str


def lines(data: bytes) -> list[bytes]:
    """Split a file into lines with their newlines; the last line may have none."""
    pieces = data.split(b"\n")
    return [piece + b"\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def entries(data: bytes) -> list[FstabEntry]:
    """Return the entries that mount(8) reads; comments, blank and malformed lines are skipped."""
    found = (_entry(line, number) for number, line in enumerate(lines(data), 1))
    return [entry for entry in found if entry is not None]


def _split_end(line: bytes) -> tuple[bytes, bytes]:
    """Split a line into its text and its end; like libmount, one carriage return belongs to the end."""
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
    r"""Encode a field: space, tab, newline, backslash and a leading # become octal escapes."""
    raw = re.sub(rb"[ \t\n\\]", lambda m: b"\\%03o" % m[0][0], os.fsencode(text))
    return b"\\043" + raw[1:] if raw.startswith(b"#") else raw


def apply(data: bytes, edit: EntryEdit, catalogue: Catalogue, *, free: bool = False) -> NewFstab:
    """Return fstab after an edit; the result is parsed again and compared with the intended entries.

    Args:
        data: contents of fstab.
        edit: change to make.
        catalogue: options that every user may set.
        free: whether the new entry may have option words that only root may write.

    Raises:
        Refusal: if the old entry is missing or ambiguous, the new entry is not allowed, or its mount point
            has an entry already.
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
    """Return the pieces to append for a new last line, including a missing end of the previous one.

    Raises:
        Refusal: code fstab-refused if the last line has a NUL byte and no end.
    """
    end = b"\r\n" if parts and parts[0].endswith(b"\r\n") else b"\n"
    if not parts or parts[-1].endswith(b"\n"):
        return [written + end]
    if b"\0" in parts[-1]:  # libmount would no longer read it
        raise Refusal(
            "fstab-refused",
            "The last line of fstab has a NUL byte and no end. Remove the byte with an editor first.",
        )
    # A file without a final newline keeps that form. A final carriage return needs only "\n" to end its line.
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
    # Words of the existing entry may stay only if share and mount point stay the same.
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
    """Replace the first four fields of a line; the blanks between them and the rest of the line stay."""
    body, end = _split_end(line)
    pieces = re.split(rb"([ \t]+)", body)
    first = 2 if pieces[0] == b"" else 0
    if not any(pieces[first + 6 :]):
        # The line has no options field: add one, with the same blanks as before the type.
        pieces = [*pieces[: first + 5], pieces[first + 3], b""]
    for index, field in enumerate(fields):
        pieces[first + 2 * index] = field
    return b"".join(pieces) + end


def _verify(before: bytes, after: bytes, old: FstabEntry | None, fields: _Fields | None) -> None:
    """Check that only the intended entry changed, by parsing both files again.

    Args:
        before: contents before the edit.
        after: contents after the edit.
        old: entry that was replaced or removed; None if one was added.
        fields: fields of the new entry; None if one was removed.

    Raises:
        Refusal: code fstab-refused if the entries differ in another way; the edit must not be written then.
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
    """Check that a backup differs from fstab in at most one NFS entry.

    Args:
        now: contents of fstab.
        copy: contents of the backup.

    Raises:
        Refusal: code fstab-refused if they differ in more.
    """
    ours, theirs = _differing_parts(*([entry[1:] for entry in entries(data)] for data in (now, copy)))
    types = {entry[2] for entry in (*ours, *theirs)}
    if max(len(ours), len(theirs)) > 1 or not types <= mountinfo.NFS_TYPES or not _is_one_line(now, copy):
        raise Refusal("fstab-refused", "The copy of fstab differs from it in more than one NFS entry.")


def _is_one_line(first: bytes, second: bytes) -> bool:
    """Whether two files differ in at most one line, including its end and the end of the line before it."""
    return all(b"".join(rest).count(b"\n") <= 1 for rest in _differing_parts(lines(first), lines(second)))


def _differing_parts(first: list[_Item], second: list[_Item]) -> tuple[list[_Item], list[_Item]]:
    """Return both lists without their common prefix and common suffix."""
    start = _common_prefix(first, second)
    first, second = first[start:], second[start:]
    end = _common_prefix(first[::-1], second[::-1])
    return first[: len(first) - end], second[: len(second) - end]


def _common_prefix(first: list[_Item], second: list[_Item]) -> int:
    """Return the length of the common prefix of two lists."""
    pairs = zip(first, second, strict=False)
    return sum(1 for _pair in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))

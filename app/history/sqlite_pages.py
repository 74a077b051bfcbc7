"""Reader of SQLite records page by page, without the b-trees above them: a damaged page hides no other.

The layout is that of sqlite.org/fileformat2.html. Nothing is believed: who uses a record checks what it says.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator

SqliteValue = int | float | str | bytes | None

_MAGIC = b"SQLite format 3\0"
#: SQLite's own choice since 2016: taken where the first page does not tell.
_PAGE_SIZE = 4096
_SIZES = frozenset({1, *(2**power for power in range(9, 16))})
#: Bytes at the end of each page that SQLite leaves alone; more than these cannot be.
_MAX_RESERVED_BYTES = 32
_HEADER_BYTES = 100
#: Of a page's first byte to the size of its head, and whether a record has a number of its own.
_PAGE_KINDS = {13: (8, True), 10: (8, False), 2: (12, False)}
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


class UnreadableError(Exception):
    """A record is not whole."""


@dataclass(frozen=True, slots=True)
class SqliteRecord:
    """A row of a table, or of an index.

    Attributes:
        pages: that it is in.
        number: the row's, None in an index and in a table WITHOUT ROWID.
        size: of its bytes.
        local: those that are in its own page.
        more: number of the page with the next ones, 0 if there are none.
    """

    pages: SqlitePageReader
    number: int | None
    size: int
    local: bytes
    more: int

    def width(self) -> int:
        """Return how many values it has.

        Raises:
            UnreadableError: if that cannot be read.
        """
        return len(_types(self.local)[0])

    def values(self) -> list[SqliteValue]:
        """Return its values, in the order of the columns.

        Raises:
            UnreadableError: if they cannot be read.
        """
        payload = self.pages.whole(self)
        types, place = _types(payload)
        found: list[SqliteValue] = []
        for kind in types:
            value, place = _value(payload, kind, place)
            found.append(value)
        return found


class SqlitePageReader:
    """A file of pages, open for reading."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        head = self._bytes(0, _HEADER_BYTES).ljust(_HEADER_BYTES, b"\0")
        self._size, spare = struct.unpack(">H", head[16:18])[0], head[20]
        known = head.startswith(_MAGIC) and self._size in _SIZES and spare <= _MAX_RESERVED_BYTES
        if not known:
            self._size, spare = _PAGE_SIZE, 0
        elif self._size == 1:
            self._size = 65536
        self._usable = self._size - spare
        self._count = -(-file.seek(0, 2) // self._size)
        self._free = self._free_pages(*struct.unpack(">I", head[32:36])) if known else frozenset[int]()

    def records(self) -> Iterator[SqliteRecord]:
        """Give all records of tables and indexes, whatever leads to them, but of free pages none."""
        for number in range(1, self._count + 1):
            if number not in self._free:
                yield from self._records(number)

    def whole(self, record: SqliteRecord) -> bytes:
        """Return the bytes of a record.

        Raises:
            UnreadableError: if some are missing.
        """
        payload, following = bytearray(record.local), record.more
        while len(payload) < record.size:
            if not 0 < following <= self._count:
                raise UnreadableError
            page = self._page(following)
            following = int.from_bytes(page[:4])
            payload += page[4 : self._usable]
        return bytes(payload[: record.size])

    def _records(self, number: int) -> Iterator[SqliteRecord]:
        page = self._page(number)
        start = _HEADER_BYTES if number == 1 else 0
        head, has_number = _PAGE_KINDS.get(page[start] if len(page) > start else 0, (0, False))
        if not head or len(page) < self._usable:
            return
        (count,) = struct.unpack_from(">H", page, start + 3)
        for slot in range(min(count, self._usable // 4)):
            try:
                (place,) = struct.unpack_from(">H", page, start + head + 2 * slot)
                yield self._record(page, place + (4 if head == 12 else 0), has_number=has_number)
            except (UnreadableError, struct.error):
                continue

    def _record(self, page: bytes, place: int, *, has_number: bool) -> SqliteRecord:
        size, place = _varint(page, place)
        number = None
        if has_number:
            number, place = _varint(page, place)
        usable = self._usable
        most = usable - 35 if has_number else (usable - 12) * 64 // 255 - 23
        local = size
        if size > most:
            least = (usable - 12) * 32 // 255 - 23
            local = least + (size - least) % (usable - 4)
            local = local if local <= most else least
        end = place + local
        if end + 4 * (local < size) > usable or size > self._size * self._count:
            raise UnreadableError
        more = int.from_bytes(page[end : end + 4]) if local < size else 0
        return SqliteRecord(self, number, size, page[place:end], more)

    def _free_pages(self, trunk: int) -> frozenset[int]:
        """Return the pages that hold nothing, or what was deleted."""
        found: set[int] = set()
        while 0 < trunk <= self._count and trunk not in found:
            found.add(trunk)
            page = self._page(trunk)
            if len(page) < 8:
                break
            trunk, count = struct.unpack_from(">II", page)
            leaves = page[8 : 8 + 4 * min(count, self._usable // 4 - 2)]
            found.update(int.from_bytes(leaves[place : place + 4]) for place in range(0, len(leaves), 4))
        return frozenset(found)

    def _page(self, number: int) -> bytes:
        return self._bytes((number - 1) * self._size, self._size)

    def _bytes(self, place: int, count: int) -> bytes:
        """Return what is there; a part of the disk that cannot be read is as if it were empty."""
        try:
            self._file.seek(place)
            return self._file.read(count)
        except OSError:
            return b""


def _varint(data: bytes, place: int) -> tuple[int, int]:
    """Return a number of one to nine bytes, the high ones first, and where the next thing is."""
    value = 0
    for step in range(9):
        if place >= len(data):
            raise UnreadableError
        byte = data[place]
        place += 1
        if step == 8:
            return value << 8 | byte, place
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return value, place


def _types(payload: bytes) -> tuple[list[int], int]:
    """Return the kinds of a record's values, and where the first value is."""
    end, place = _varint(payload, 0)
    if end > len(payload):
        raise UnreadableError
    found: list[int] = []
    while place < end:
        kind, place = _varint(payload, place)
        found.append(kind)
    return found, end


def _value(payload: bytes, kind: int, place: int) -> tuple[SqliteValue, int]:
    """Return a value of this kind, and where the next one is."""
    if kind >= 12:
        end = place + (kind - 12) // 2
        if end > len(payload):
            raise UnreadableError
        raw = payload[place:end]
        return (raw.decode(errors="replace") if kind % 2 else raw), end
    if kind in {0, 8, 9}:
        return (None if kind == 0 else kind - 8), place
    length = _INTEGER_BYTES.get(kind, 8)
    raw = payload[place : place + length]
    if len(raw) < length or kind > 7:
        raise UnreadableError
    value = struct.unpack(">d", raw)[0] if kind == 7 else int.from_bytes(raw, signed=True)
    return value, place + length

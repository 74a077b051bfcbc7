"""SQLite page reader: reads records page by page, without the b-trees, so a damaged page hides no other.

The file format is documented at sqlite.org/fileformat2.html. Values are not validated here; callers must.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator

SqliteValue = int | float | str | bytes | None

_MAGIC = b"SQLite format 3\0"
#: Default page size of SQLite since 2016, bytes; used if the first page is damaged.
_PAGE_SIZE = 4096
#: Valid page sizes, bytes; 1 stands for 65536.
_SIZES = frozenset({1, *(2**power for power in range(9, 16))})
#: Upper limit of the reserved space at the end of each page, bytes.
_MAX_RESERVED_BYTES = 32
#: Size of the database header at the start of page 1, bytes.
_HEADER_BYTES = 100
#: Page type (13 table leaf, 10 index leaf, 2 index interior) to its header size in bytes, and whether its
#: records have a rowid.
_PAGE_KINDS = {13: (8, True), 10: (8, False), 2: (12, False)}
#: Serial type of an integer to its size, bytes.
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


class UnreadableError(Exception):
    """A record is incomplete or damaged."""


@dataclass(frozen=True, slots=True)
class SqliteRecord:
    """Row of a table or entry of an index; its values are decoded on request.

    Attributes:
        pages: reader of the file with this record.
        number: rowid, None in an index and in a table WITHOUT ROWID.
        size: size of the payload, bytes.
        local: part of the payload in the record's own page.
        more: number of the first overflow page, 0 if the payload has none.
    """

    pages: SqlitePageReader
    number: int | None
    size: int
    local: bytes
    more: int

    def width(self) -> int:
        """Return the number of values in the record.

        Raises:
            UnreadableError: if the header of the record is damaged.
        """
        return len(_types(self.local)[0])

    def values(self) -> list[SqliteValue]:
        """Return the values of the record, in the order of the columns.

        Raises:
            UnreadableError: if the record is damaged or incomplete.
        """
        payload = self.pages.payload(self)
        types, offset = _types(payload)
        found: list[SqliteValue] = []
        for serial_type in types:
            value, offset = _value(payload, serial_type, offset)
            found.append(value)
        return found


class SqlitePageReader:
    """Reader of the records in an open SQLite file, which may be damaged."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        head = self._bytes(0, _HEADER_BYTES).ljust(_HEADER_BYTES, b"\0")
        self._size, reserved = struct.unpack(">H", head[16:18])[0], head[20]
        valid = head.startswith(_MAGIC) and self._size in _SIZES and reserved <= _MAX_RESERVED_BYTES
        if not valid:
            self._size, reserved = _PAGE_SIZE, 0
        elif self._size == 1:
            self._size = 65536
        self._usable = self._size - reserved
        self._count = -(-file.seek(0, 2) // self._size)
        self._free = self._free_pages(*struct.unpack(">I", head[32:36])) if valid else frozenset[int]()

    def records(self) -> Iterator[SqliteRecord]:
        """Yield the records of all table and index pages that are not on the list of free pages."""
        for number in range(1, self._count + 1):
            if number not in self._free:
                yield from self._records(number)

    def payload(self, record: SqliteRecord) -> bytes:
        """Return the payload of a record, read from its own page and its overflow pages.

        Raises:
            UnreadableError: if an overflow page is missing.
        """
        data, following = bytearray(record.local), record.more
        while len(data) < record.size:
            if not 0 < following <= self._count:
                raise UnreadableError
            page = self._page(following)
            following = int.from_bytes(page[:4])
            data += page[4 : self._usable]
        return bytes(data[: record.size])

    def _records(self, number: int) -> Iterator[SqliteRecord]:
        page = self._page(number)
        start = _HEADER_BYTES if number == 1 else 0
        head, has_rowid = _PAGE_KINDS.get(page[start] if len(page) > start else 0, (0, False))
        if not head or len(page) < self._usable:
            return
        (count,) = struct.unpack_from(">H", page, start + 3)
        for slot in range(min(count, self._usable // 4)):
            try:
                (offset,) = struct.unpack_from(">H", page, start + head + 2 * slot)
                yield self._record(page, offset + (4 if head == 12 else 0), has_rowid=has_rowid)
            except (UnreadableError, struct.error):
                continue

    def _record(self, page: bytes, offset: int, *, has_rowid: bool) -> SqliteRecord:
        size, offset = _varint(page, offset)
        number = None
        if has_rowid:
            number, offset = _varint(page, offset)
        usable = self._usable
        max_local = usable - 35 if has_rowid else (usable - 12) * 64 // 255 - 23
        local = size
        if size > max_local:
            min_local = (usable - 12) * 32 // 255 - 23
            local = min_local + (size - min_local) % (usable - 4)
            local = local if local <= max_local else min_local
        end = offset + local
        if end + 4 * (local < size) > usable or size > self._size * self._count:
            raise UnreadableError
        more = int.from_bytes(page[end : end + 4]) if local < size else 0
        return SqliteRecord(self, number, size, page[offset:end], more)

    def _free_pages(self, trunk: int) -> frozenset[int]:
        """Return the numbers of the free pages, from the list that begins at a trunk page."""
        found: set[int] = set()
        while 0 < trunk <= self._count and trunk not in found:
            found.add(trunk)
            page = self._page(trunk)
            if len(page) < 8:
                break
            trunk, count = struct.unpack_from(">II", page)
            leaves = page[8 : 8 + 4 * min(count, self._usable // 4 - 2)]
            found.update(int.from_bytes(leaves[offset : offset + 4]) for offset in range(0, len(leaves), 4))
        return frozenset(found)

    def _page(self, number: int) -> bytes:
        return self._bytes((number - 1) * self._size, self._size)

    def _bytes(self, offset: int, count: int) -> bytes:
        """Return bytes of the file; b"" if the disk cannot read them."""
        try:
            self._file.seek(offset)
            return self._file.read(count)
        except OSError:
            return b""


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    """Decode a varint (big-endian, one to nine bytes); return it and the offset after it."""
    value = 0
    for step in range(9):
        if offset >= len(data):
            raise UnreadableError
        byte = data[offset]
        offset += 1
        if step == 8:
            return value << 8 | byte, offset
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return value, offset


def _types(payload: bytes) -> tuple[list[int], int]:
    """Return the serial types of a record, and the offset of its first value."""
    end, offset = _varint(payload, 0)
    if end > len(payload):
        raise UnreadableError
    found: list[int] = []
    while offset < end:
        serial_type, offset = _varint(payload, offset)
        found.append(serial_type)
    return found, end


def _value(payload: bytes, serial_type: int, offset: int) -> tuple[SqliteValue, int]:
    """Return a value of this serial type, and the offset after it."""
    if serial_type >= 12:
        end = offset + (serial_type - 12) // 2
        if end > len(payload):
            raise UnreadableError
        raw = payload[offset:end]
        return (raw.decode(errors="replace") if serial_type % 2 else raw), end
    if serial_type in {0, 8, 9}:
        return (None if serial_type == 0 else serial_type - 8), offset
    length = _INTEGER_BYTES.get(serial_type, 8)
    raw = payload[offset : offset + length]
    if len(raw) < length or serial_type > 7:
        raise UnreadableError
    value = struct.unpack(">d", raw)[0] if serial_type == 7 else int.from_bytes(raw, signed=True)
    return value, offset + length

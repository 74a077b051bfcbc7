"""XDR (RFC 4506), the few types that RPC, rpcbind, MOUNT and NFS need."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Item = TypeVar("Item")


class XdrError(ValueError):
    """The bytes are not what they should be; the message says why, as the end of a sentence."""


def u32(*values: int) -> bytes:
    """Return unsigned numbers of 32 bits."""
    return struct.pack(f">{len(values)}I", *values)


def u64(value: int) -> bytes:
    """Return an unsigned number of 64 bits."""
    return struct.pack(">Q", value)


def opaque(data: bytes) -> bytes:
    """Return bytes with their length before them, filled up to a multiple of four."""
    return u32(len(data)) + data + bytes(-len(data) % 4)


class Unpacker:
    """Reads one value after the other; each method raises XdrError where the bytes end too early."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def u32(self) -> int:
        """Return an unsigned number of 32 bits."""
        return int.from_bytes(self.fixed(4), "big")

    def u64(self) -> int:
        """Return an unsigned number of 64 bits."""
        return int.from_bytes(self.fixed(8), "big")

    def boolean(self) -> bool:
        """Return a boolean: 0 or 1, nothing else."""
        value = self.u32()
        if value > 1:
            raise XdrError(f"{value} stands where only 0 or 1 may.")
        return value == 1

    def fixed(self, size: int) -> bytes:
        """Return this many bytes; what fills them up to a multiple of four is passed over."""
        end = self._at + size
        if end + (-size % 4) > len(self._data):
            raise XdrError("it ends too early.")
        found = self._data[self._at : end]
        self._at = end + (-size % 4)
        return found

    def opaque(self, limit: int) -> bytes:
        """Return bytes that have their length before them, at most ``limit``."""
        size = self.u32()
        if size > limit:
            raise XdrError(f"a field of {size} bytes, where at most {limit} are allowed.")
        return self.fixed(size)

    def words(self, limit: int) -> list[int]:
        """Return an array of numbers of 32 bits, at most ``limit`` of them."""
        count = self.u32()
        if count > limit:
            raise XdrError(f"a list of {count} numbers, where at most {limit} are allowed.")
        return [self.u32() for _ in range(count)]

    def chain(self, read: Callable[[Unpacker], Item], limit: int) -> list[Item]:
        """Return a linked list: before each entry stands whether there is one.

        Args:
            read: reads one entry.
            limit: how many entries are allowed.
        """
        found: list[Item] = []
        while self.boolean():
            if len(found) == limit:
                raise XdrError(f"a list with more than {limit} entries.")
            found.append(read(self))
        return found

    def rest(self) -> bytes:
        """Return what has not been read."""
        return self._data[self._at :]


def readable(raw: bytes) -> str:
    r"""Return a name that a server sent as text that is safe to show.

    Bytes that are not UTF-8 and control characters become ``\xNN``: a terminal must not obey them.
    """
    text = raw.decode(errors="backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)

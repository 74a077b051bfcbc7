"""A test's result as few bytes as is quick: the samples as columns of differences, everything deflated.

What was written once must be readable for ever: fields of TestResult and of what is in it may be added with a
default, and never renamed or removed. The first byte says how a text is packed.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import msgspec

from app.speedtest.model import Sample, TestResult
from resources.decoding import converted, from_msgpack

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: The first byte of what is packed.
FORMAT = b"\x01"
_LEVEL = 9
#: Fields of a sample that are fractions, and how many parts a second has in the packed column.
_SCALES = {"t_s": 1_000_000, "rtt_s": 10_000_000}
#: Counters grow: their differences are short. A round trip is stored as it is.
_GROWING = frozenset(Sample.__struct_fields__) - {"rtt_s"}
_DIRECTIONS = ("write", "read")


def pack(result: TestResult) -> tuple[bytes, bytes]:
    """Return the result without its samples, and the samples."""
    bare, columns = result, bytearray(FORMAT)
    for name in _DIRECTIONS:
        transfer = getattr(result, name)
        columns += _pack_samples(transfer.samples if transfer is not None else [])
        if transfer is not None:
            bare = msgspec.structs.replace(bare, **{name: msgspec.structs.replace(transfer, samples=[])})
    body = FORMAT + zlib.compress(msgspec.msgpack.encode(bare), _LEVEL)
    return body, FORMAT + zlib.compress(bytes(columns[1:]), _LEVEL)


def unpack(body: bytes, samples: bytes) -> TestResult:
    """Return the result that was packed.

    Raises:
        ValueError: if it is damaged, or packed by a newer program.
    """
    result = unpack_bare(body)
    try:
        columns = iter(_inflate(samples))
        for name in _DIRECTIONS:
            found = _unpack_samples(columns)
            transfer = getattr(result, name)
            if transfer is not None:
                result = msgspec.structs.replace(
                    result, **{name: msgspec.structs.replace(transfer, samples=found)}
                )
    except (zlib.error, msgspec.DecodeError, StopIteration, TypeError) as error:
        raise ValueError(str(error)) from error
    return result


def unpack_bare(body: bytes) -> TestResult:
    """Return the result without its samples.

    Raises:
        ValueError: if it is damaged, or packed by a newer program.
    """
    try:
        return from_msgpack(_inflate(body), TestResult)
    except (zlib.error, msgspec.DecodeError) as error:
        raise ValueError(str(error)) from error


def is_whole(packed: bytes) -> bool:
    """Return whether packed samples are as they were written; their checksum tells."""
    try:
        _inflate(packed)
    except (ValueError, zlib.error):
        return False
    return True


def _inflate(packed: bytes) -> bytes:
    if packed[:1] != FORMAT:
        raise ValueError("It is packed in a way that this version does not know.")
    return zlib.decompress(packed[1:])


def _pack_samples(samples: Sequence[Sample]) -> bytes:
    """Return number of samples and of columns, then each column."""
    packed = bytearray(_varint(len(samples)))
    packed += _varint(len(Sample.__struct_fields__))
    for name in Sample.__struct_fields__:
        scale = _SCALES.get(name, 1)
        last = 0
        for sample in samples:
            value = getattr(sample, name)
            # 0 is "not known"; any other number is its difference, zigzag, plus 1.
            if value is None:
                packed.append(0)
                continue
            whole = round(value * scale)
            step = whole - last
            packed += _varint((step << 1 if step >= 0 else (-step << 1) - 1) + 1)
            last = whole if name in _GROWING else 0
    return bytes(packed)


def _unpack_samples(columns: Iterator[int]) -> list[Sample]:
    count, width = _read(columns), _read(columns)
    names = Sample.__struct_fields__[:width]
    found: list[list[float | int | None]] = []
    for name in names:
        scale, last = _SCALES.get(name, 1), 0
        column: list[float | int | None] = []
        for _ in range(count):
            code = _read(columns)
            if code == 0:
                column.append(None)
                continue
            step = (code - 1) >> 1 if (code - 1) % 2 == 0 else -(code >> 1)
            whole = last + step
            column.append(whole / scale if scale > 1 else whole)
            last = whole if name in _GROWING else 0
        found.append(column)
    return converted(list(zip(*found, strict=True)), list[Sample])


def _varint(value: int) -> bytes:
    """Return a number of seven bits a byte, the low ones first (as in protocol buffers)."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _read(stream: Iterator[int]) -> int:
    value = shift = 0
    while (byte := next(stream)) & 0x80:
        value |= (byte & 0x7F) << shift
        shift += 7
    return value | byte << shift

"""Compact encoding of a test's result: samples as columns of differences (varints), deflated.

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
FORMAT_BYTE = b"\x01"
_COMPRESSION_LEVEL = 9
#: Fields of a sample that are fractions, and how many parts a second has in the packed column.
_SCALES = {"t_s": 1_000_000, "rtt_s": 10_000_000}
#: Counters grow: their differences are short. A round trip is stored as it is.
_COUNTERS = frozenset(Sample.__struct_fields__) - {"rtt_s"}
_DIRECTIONS = ("write", "read")


def encode_result(result: TestResult) -> tuple[bytes, bytes]:
    """Return the result without its samples, and the samples."""
    bare, columns = result, bytearray(FORMAT_BYTE)
    for name in _DIRECTIONS:
        transfer = getattr(result, name)
        columns += _encode_samples(transfer.samples if transfer is not None else [])
        if transfer is not None:
            bare = msgspec.structs.replace(bare, **{name: msgspec.structs.replace(transfer, samples=[])})
    body = FORMAT_BYTE + zlib.compress(msgspec.msgpack.encode(bare), _COMPRESSION_LEVEL)
    return body, FORMAT_BYTE + zlib.compress(bytes(columns[1:]), _COMPRESSION_LEVEL)


def decode_result(body: bytes, samples: bytes) -> TestResult:
    """Return the result that was packed.

    Raises:
        ValueError: if it is damaged, or packed by a newer program.
    """
    result = decode_without_samples(body)
    try:
        columns = iter(_inflate(samples))
        for name in _DIRECTIONS:
            found = _decode_samples(columns)
            transfer = getattr(result, name)
            if transfer is not None:
                result = msgspec.structs.replace(
                    result, **{name: msgspec.structs.replace(transfer, samples=found)}
                )
    except (zlib.error, msgspec.DecodeError, StopIteration, TypeError) as error:
        raise ValueError(str(error)) from error
    return result


def decode_without_samples(body: bytes) -> TestResult:
    """Return the result without its samples.

    Raises:
        ValueError: if it is damaged, or packed by a newer program.
    """
    try:
        return from_msgpack(_inflate(body), TestResult)
    except (zlib.error, msgspec.DecodeError) as error:
        raise ValueError(str(error)) from error


def is_intact(packed: bytes) -> bool:
    """Return whether packed samples are as they were written; their checksum tells."""
    try:
        _inflate(packed)
    except (ValueError, zlib.error):
        return False
    return True


def _inflate(packed: bytes) -> bytes:
    if packed[:1] != FORMAT_BYTE:
        raise ValueError("It is packed in a way that this version does not know.")
    return zlib.decompress(packed[1:])


def _encode_samples(samples: Sequence[Sample]) -> bytes:
    """Return number of samples and of columns, then each column."""
    packed = bytearray(_encode_varint(len(samples)))
    packed += _encode_varint(len(Sample.__struct_fields__))
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
            packed += _encode_varint((step << 1 if step >= 0 else (-step << 1) - 1) + 1)
            last = whole if name in _COUNTERS else 0
    return bytes(packed)


def _decode_samples(columns: Iterator[int]) -> list[Sample]:
    count, width = _read_varint(columns), _read_varint(columns)
    names = Sample.__struct_fields__[:width]
    found: list[list[float | int | None]] = []
    for name in names:
        scale, last = _SCALES.get(name, 1), 0
        column: list[float | int | None] = []
        for _ in range(count):
            code = _read_varint(columns)
            if code == 0:
                column.append(None)
                continue
            step = (code - 1) >> 1 if (code - 1) % 2 == 0 else -(code >> 1)
            whole = last + step
            column.append(whole / scale if scale > 1 else whole)
            last = whole if name in _COUNTERS else 0
        found.append(column)
    return converted(list(zip(*found, strict=True)), list[Sample])


def _encode_varint(value: int) -> bytes:
    """Return a number of seven bits a byte, the low ones first (as in protocol buffers)."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _read_varint(stream: Iterator[int]) -> int:
    value = shift = 0
    while (byte := next(stream)) & 0x80:
        value |= (byte & 0x7F) << shift
        shift += 7
    return value | byte << shift

"""Compact encoding of a test's result: samples as columns of differences (varints), deflated.

Every later version must read these bytes. Fields of TestResult and its nested types are never renamed or
removed, and a new field needs a default. The first byte of an encoded value is the version of the encoding.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import msgspec

from app.speedtest.model import Sample, TestResult
from resources.decoding import converted, from_msgpack

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: First byte of every encoded value: version of the encoding.
FORMAT_BYTE = b"\x01"
_COMPRESSION_LEVEL = 9
#: Fields of a sample in seconds, and the units per second that they are rounded to (microseconds, 100 ns).
_SCALES = {"t_s": 1_000_000, "rtt_s": 10_000_000}
#: Fields stored as differences, which are small because counters grow. The round-trip time is stored as is.
_COUNTERS = frozenset(Sample.__struct_fields__) - {"rtt_s"}
_DIRECTIONS = ("write", "read")


def encode_result(result: TestResult) -> tuple[bytes, bytes]:
    """Encode a result; return the bytes of the result without samples, and those of the samples."""
    without_samples, columns = result, bytearray(FORMAT_BYTE)
    for name in _DIRECTIONS:
        transfer = getattr(result, name)
        columns += _encode_samples(transfer.samples if transfer is not None else [])
        if transfer is not None:
            without_samples = msgspec.structs.replace(
                without_samples, **{name: msgspec.structs.replace(transfer, samples=[])}
            )
    body = FORMAT_BYTE + zlib.compress(msgspec.msgpack.encode(without_samples), _COMPRESSION_LEVEL)
    return body, FORMAT_BYTE + zlib.compress(bytes(columns[1:]), _COMPRESSION_LEVEL)


def decode_result(body: bytes, samples: bytes) -> TestResult:
    """Decode a result with its samples.

    Raises:
        ValueError: if the bytes are damaged, or a newer version of the program wrote them.
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
    """Decode a result without its samples.

    Raises:
        ValueError: if the bytes are damaged, or a newer version of the program wrote them.
    """
    try:
        return from_msgpack(_inflate(body), TestResult)
    except (zlib.error, msgspec.DecodeError) as error:
        raise ValueError(str(error)) from error


def is_intact(packed: bytes) -> bool:
    """Return whether encoded bytes can be inflated and their checksum (Adler-32 of zlib) is right."""
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
    """Encode the number of samples, the number of columns, then each column, all as varints."""
    packed = bytearray(_encode_varint(len(samples)))
    packed += _encode_varint(len(Sample.__struct_fields__))
    for name in Sample.__struct_fields__:
        scale = _SCALES.get(name, 1)
        last = 0
        for sample in samples:
            value = getattr(sample, name)
            # 0 stands for None; any other value is the zigzag code of the difference, plus 1.
            if value is None:
                packed.append(0)
                continue
            scaled = round(value * scale)
            difference = scaled - last
            packed += _encode_varint((difference << 1 if difference >= 0 else (-difference << 1) - 1) + 1)
            last = scaled if name in _COUNTERS else 0
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
            difference = (code - 1) >> 1 if (code - 1) % 2 == 0 else -(code >> 1)
            scaled = last + difference
            column.append(scaled / scale if scale > 1 else scaled)
            last = scaled if name in _COUNTERS else 0
        found.append(column)
    return converted(list(zip(*found, strict=True)), list[Sample])


def _encode_varint(value: int) -> bytes:
    """Encode a number as a varint: seven bits per byte, low bits first (as in protocol buffers)."""
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

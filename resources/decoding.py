"""Thread-safe decoding of JSON, MessagePack and plain objects into typed structures with msgspec.

msgspec inspects a structure's types at its first use. A second thread that uses the structure meanwhile gets
incomplete type information and crashes the process. This module therefore prepares each type under a lock;
decoding itself needs no lock. All decoding in the program uses this module.
"""

from threading import Lock
from typing import Any, TypeVar

import msgspec

_T = TypeVar("_T")
_lock = Lock()
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def from_json(raw: bytes | str | msgspec.Raw, kind: type[_T]) -> _T:
    """Decode a JSON text into a type.

    Raises:
        msgspec.DecodeError: if the text is not JSON, or does not match the type (msgspec.ValidationError).
        UnicodeDecodeError: if a string in it is not UTF-8.
    """
    return _prepared(kind).decode(raw)


def from_msgpack(raw: bytes, kind: type[_T]) -> _T:
    """Decode MessagePack bytes into a type.

    Raises:
        msgspec.DecodeError: if the bytes are not MessagePack, or do not match the type
            (msgspec.ValidationError).
    """
    _prepared(kind)
    return msgspec.msgpack.decode(raw, type=kind)


def converted(value: object, kind: type[_T]) -> _T:
    """Convert plain lists, dictionaries and numbers into a type.

    Raises:
        msgspec.ValidationError: if the value does not match the type.
    """
    _prepared(kind)
    return msgspec.convert(value, kind)


def _prepared(kind: type[_T]) -> msgspec.json.Decoder[_T]:
    """Return the decoder of a type; creating it makes msgspec inspect all nested types."""
    decoder = _decoders.get(kind)
    if decoder is None:
        with _lock:
            decoder = _decoders.setdefault(kind, msgspec.json.Decoder(kind))
    return decoder

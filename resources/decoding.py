"""Bytes and tables made into typed structures, from any thread.

msgspec works out a structure's types when it first meets it, and a second thread that comes meanwhile gets
what is only half worked out: it then crashes the process. So that is done here, by one thread at a time;
decoding itself needs no lock. Everything that is decoded goes through this module.
"""

from threading import Lock
from typing import Any, TypeVar

import msgspec

_T = TypeVar("_T")
_lock = Lock()
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def from_json(raw: bytes | str | msgspec.Raw, kind: type[_T]) -> _T:
    """Return what the JSON text says, as this type.

    Raises:
        msgspec.DecodeError: if it is no JSON, or does not fit the type (msgspec.ValidationError).
        UnicodeDecodeError: if a text in it is no UTF-8.
    """
    return _prepared(kind).decode(raw)


def from_msgpack(raw: bytes, kind: type[_T]) -> _T:
    """Return what the MessagePack bytes say, as this type.

    Raises:
        msgspec.DecodeError: if they are no MessagePack, or do not fit the type (msgspec.ValidationError).
    """
    _prepared(kind)
    return msgspec.msgpack.decode(raw, type=kind)


def converted(value: object, kind: type[_T]) -> _T:
    """Return plain lists, dictionaries and numbers as this type.

    Raises:
        msgspec.ValidationError: if they do not fit it.
    """
    _prepared(kind)
    return msgspec.convert(value, kind)


def _prepared(kind: type[_T]) -> msgspec.json.Decoder[_T]:
    """Return the decoder of a type; once it is made, all that the type is made of is worked out."""
    decoder = _decoders.get(kind)
    if decoder is None:
        with _lock:
            decoder = _decoders.setdefault(kind, msgspec.json.Decoder(kind))
    return decoder

"""Bit rate of a wireless link, from messages in the format of nl80211."""

import struct

import pytest

from app.kernel.netlink import parse_family_number, parse_station_rate, station_rate_bps


def _attribute(name: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), name) + value + bytes(-len(value) % 4)


def _message(kind: int, body: bytes) -> bytes:
    body = struct.pack("=BBH", 19, 1, 0) + body
    return struct.pack("=IHHII", 16 + len(body), kind, 2, 1, 0) + body


def _station(*rates: tuple[int, int, bytes]) -> bytes:
    """Return a station message with a signal strength and bit rates: direction, attribute and value each."""
    info = _attribute(7, b"\xc8") + b"".join(
        _attribute(direction | 0x8000, _attribute(4, b"") + _attribute(name, value))
        for direction, name, value in rates
    )
    return _message(28, _attribute(3, struct.pack("=I", 3)) + _attribute(21 | 0x8000, info))


def test_the_number_of_a_family() -> None:
    body = _attribute(2, b"nl80211\0") + _attribute(1, struct.pack("=H", 28))
    assert parse_family_number(_message(16, body)) == 28
    assert parse_family_number(struct.pack("=IHHIIi", 20, 2, 0, 1, 0, -2)) is None
    assert parse_family_number(b"") is None


@pytest.mark.parametrize(
    ("answer", "rate"),
    [
        (_station((8, 5, struct.pack("=I", 8667)), (14, 5, struct.pack("=I", 5404))), 540.4e6),
        (_station((8, 1, struct.pack("=H", 540))), 54e6),
        (_station(), None),
        (struct.pack("=IHHIIi", 20, 3, 2, 1, 0, 0), None),
        (_station((14, 5, struct.pack("=I", 8667)))[:30], None),
        (b"\x01" * 40, None),
        (b"", None),
    ],
)
def test_the_rate_of_a_station(answer: bytes, rate: float | None) -> None:
    assert parse_station_rate(answer) == rate


@pytest.mark.parametrize("name", ["lo", "nothing0"])
def test_a_wired_interface_has_no_station_rate(name: str) -> None:
    assert station_rate_bps(name) is None

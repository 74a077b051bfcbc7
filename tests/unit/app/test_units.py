import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.units import (
    SpeedUnit,
    format_duration,
    format_rate,
    format_size,
    format_speed,
    parse_size,
    speed_scale,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("65536", 65536),
        ("64k", 65536),
        ("64K", 65536),
        ("16M", 16 * 2**20),
        ("1.5GiB", 3 * 2**29),
        (" 2 MB ", 2 * 2**20),
        ("1T", 2**40),
    ],
)
def test_sizes_are_binary(text: str, value: int) -> None:
    assert parse_size(text) == value


@pytest.mark.parametrize(
    "text", ["", "M", "-1", "1.1", "1e6", "12 apples", "1PB", "0x10", "9" * 40, "9" * 400]
)
def test_what_is_not_a_size_says_so(text: str) -> None:
    with pytest.raises(ValueError, match=r"size|whole number"):
        parse_size(text)


@given(st.integers(0, 2**60))
def test_plain_bytes_round_trip(value: int) -> None:
    assert parse_size(str(value)) == int(float(value))


@given(st.floats(0, 1e18))
def test_every_number_has_a_form(value: float) -> None:
    for form in (format_size, format_speed, format_rate, format_duration):
        assert form(value)


def test_forms() -> None:
    assert format_size(16 * 2**20) == "16 MiB"
    assert format_speed(11_700_000) == "11.7 MB/s"
    assert format_speed(999_900) == "1 MB/s"
    assert format_rate(100e6) == "100 Mbit/s"
    assert format_rate(1e10) == "10 Gbit/s"
    assert format_duration(0.00025) == "250 µs"
    assert format_duration(0.35) == "350 ms"
    assert format_duration(245.2) == "4 min 5 s"


def test_speeds_in_other_units() -> None:
    assert format_speed(11_700_000, SpeedUnit.BITS) == "93.6 Mbit/s"
    assert format_speed(11_700_000, SpeedUnit.BINARY) == "11.2 MiB/s"
    assert format_speed(1000 * 2**20, SpeedUnit.BINARY) == "0.977 GiB/s"
    assert speed_scale(11_700_000, SpeedUnit.BYTES) == (1e-6, "MB/s")

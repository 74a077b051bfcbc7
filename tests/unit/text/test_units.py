import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.speeds import SpeedUnit, convert_speeds, format_rate, format_speed, speed_scale
from app.text.units import format_duration, format_size, parse_size


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
def test_a_wrong_size_is_refused(text: str) -> None:
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


@given(st.floats(1e-3, 1e12), st.sampled_from(SpeedUnit))
def test_a_speed_inside_of_a_sentence_follows_the_unit(value: float, unit: SpeedUnit) -> None:
    text = convert_speeds(f"It used {format_speed(value)} (of 3 MB), not 4.5.", unit)
    rounded = float(f"{value:.3g}")
    assert text == f"It used {convert_speeds(format_speed(rounded), unit)} (of 3 MB), not 4.5."
    assert unit is SpeedUnit.BYTES or not re.search(r"\d [kMG]B/s", text)


def test_one_module_writes_speeds() -> None:
    """A speed formatted elsewhere would ignore the unit that the user chose."""
    name = re.compile(r"\s?[kMG]?i?(?:B|bit)/s\b")
    root = Path(__file__).parents[3]
    files = [file for folder in ("advisor", "app", "ui") for file in (root / folder).rglob("*.py")]
    found = [
        f"{file.relative_to(root)}:{node.lineno}"
        for file in files
        if file != root / "advisor/speeds.py"
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.JoinedStr)
        for before, after in pairwise(node.values)
        if isinstance(before, ast.FormattedValue)
        and isinstance(after, ast.Constant)
        and name.match(after.value)
    ]
    assert found == []

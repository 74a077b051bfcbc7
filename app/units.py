"""Sizes, rates and durations as people write and read them.

Sizes and block sizes are binary (``16M`` is 16 MiB, as dd and fio read it); speeds are shown in decimal
units (MB/s), as networks and disks are sold, unless a person prefers others.
"""

from __future__ import annotations

import re
from enum import StrEnum

from advisor.trials import QUANTITIES

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kKmMgGtT]?)(i?[bB])?\s*")


class SpeedUnit(StrEnum):
    """What speeds are shown in; each stands for its smaller and larger kin, too."""

    BYTES = "MB/s"
    BINARY = "MiB/s"
    BITS = "Mbit/s"


#: Of each: units in a byte, the step from one to the next, their names.
_SPEEDS: dict[SpeedUnit, tuple[int, int, tuple[str, ...]]] = {
    SpeedUnit.BYTES: (1, 1000, ("B/s", "kB/s", "MB/s", "GB/s")),
    SpeedUnit.BINARY: (1, 1024, ("B/s", "KiB/s", "MiB/s", "GiB/s")),
    SpeedUnit.BITS: (8, 1000, ("bit/s", "kbit/s", "Mbit/s", "Gbit/s")),
}
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_size(text: str) -> int:
    """Return the bytes that a size such as ``65536``, ``64k``, ``16M`` or ``1.5GiB`` stands for.

    Raises:
        ValueError: if it is not a size, or not a whole number of bytes.
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"“{text}” is not a size; write for example 65536, 64k, 16M or 1G.")
    value = float(match[1]) * 1024 ** _POWERS[match[2].lower()]
    if value > 2**62 or value != int(value):  # infinity is no int
        raise ValueError(f"“{text}” is not a whole number of bytes.")
    return int(value)


def format_size(value: float) -> str:
    """Return a size for people, binary: ``16 MiB``, ``1.5 GiB``, ``300 B``."""
    for power, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB")):
        scaled = value / 1024**power
        if scaled < 1024 or unit == "TiB":
            return f"{scaled:.4g} {unit}"
    raise AssertionError("unreachable")


def format_speed(bytes_per_s: float, unit: SpeedUnit = SpeedUnit.BYTES) -> str:
    """Return a speed for people: ``11.7 MB/s``, ``11.2 MiB/s`` or ``93.6 Mbit/s``."""
    factor, name = speed_scale(bytes_per_s, unit)
    return f"{bytes_per_s * factor:.3g} {name}"


def speed_scale(bytes_per_s: float, unit: SpeedUnit) -> tuple[float, str]:
    """Return what to multiply speeds of about this size by, and the name of the unit that gives."""
    in_byte, step, names = _SPEEDS[unit]
    power = _power(bytes_per_s * in_byte, step, len(names))
    return in_byte / step**power, names[power]


def format_rate(bits_per_s: float) -> str:
    """Return a line rate for people: ``100 Mbit/s``."""
    _in_byte, step, names = _SPEEDS[SpeedUnit.BITS]
    power = _power(bits_per_s, step, len(names))
    return f"{bits_per_s / step**power:.4g} {names[power]}"


def _power(value: float, step: int, count: int) -> int:
    """Return which of so many units fits."""
    power = 0
    while value >= 999.5 * step**power and power < count - 1:
        power += 1
    return power


def format_duration(seconds: float) -> str:
    """Return a duration for people: ``250 µs``, ``0.35 ms``, ``12.3 s``, ``4 min 5 s``."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def format_figure(figure: str, number: float, speed: SpeedUnit = SpeedUnit.BYTES) -> str:
    """Return a figure of an experiment (a name of advisor.trials) with its unit, speeds in the one given."""
    unit = QUANTITIES[figure].unit if figure in QUANTITIES else ""
    if unit == "bytes/s":
        return format_speed(number, speed)
    if unit == "s":
        return format_duration(number)
    return format_size(number) if unit == "bytes" else f"{number:.4g}" + ("/s" if unit == "1/s" else "")

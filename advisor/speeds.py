"""Speeds and line rates: formatting for display, and conversion of their unit in a text.

The default units are decimal (MB/s), as for networks and disks; the user can select others.
"""

from __future__ import annotations

import re
from enum import StrEnum


class SpeedUnit(StrEnum):
    """Unit for displayed speeds; each member stands for its smaller and larger multiples, too."""

    BYTES = "MB/s"
    BINARY = "MiB/s"
    BITS = "Mbit/s"


#: Unit to: units per byte, factor between multiples, names of the multiples.
_SPEED_UNITS: dict[SpeedUnit, tuple[int, int, tuple[str, ...]]] = {
    SpeedUnit.BYTES: (1, 1000, ("B/s", "kB/s", "MB/s", "GB/s")),
    SpeedUnit.BINARY: (1, 1024, ("B/s", "KiB/s", "MiB/s", "GiB/s")),
    SpeedUnit.BITS: (8, 1000, ("bit/s", "kbit/s", "Mbit/s", "Gbit/s")),
}
#: A speed in MB/s and the like within a sentence, as format_speed writes it.
_SPEED_PATTERN = re.compile(r"(?<![\w.,])(\d+(?:\.\d+)?(?:e[+-]\d+)?) ([kMG]?)B/s(?!\w)")


def format_speed(bytes_per_s: float, unit: SpeedUnit = SpeedUnit.BYTES) -> str:
    """Return a speed with three digits and its unit: ``11.7 MB/s``, ``11.2 MiB/s`` or ``93.6 Mbit/s``."""
    factor, name = speed_scale(bytes_per_s, unit)
    return f"{bytes_per_s * factor:.3g} {name}"


def speed_scale(bytes_per_s: float, unit: SpeedUnit) -> tuple[float, str]:
    """Return the scale for speeds of about this size: a factor on bytes per second, and the unit's name."""
    in_byte, step, names = _SPEED_UNITS[unit]
    power = _unit_power(bytes_per_s * in_byte, step, len(names))
    return in_byte / step**power, names[power]


def format_rate(bits_per_s: float) -> str:
    """Return a line rate with its unit: ``100 Mbit/s``."""
    _in_byte, step, names = _SPEED_UNITS[SpeedUnit.BITS]
    power = _unit_power(bits_per_s, step, len(names))
    return f"{bits_per_s / step**power:.4g} {names[power]}"


def _unit_power(value: float, step: int, count: int) -> int:
    """Return the index of the multiple, below ``count``, whose number has at most three digits."""
    power = 0
    while value >= 999.5 * step**power and power < count - 1:
        power += 1
    return power


def convert_speeds(text: str, unit: SpeedUnit) -> str:
    """Return a text with its speeds converted to another unit.

    The text has speeds rounded to three digits by :func:`format_speed`, so that the last digit may differ
    from that of an exact conversion.
    """
    if unit is SpeedUnit.BYTES:
        return text
    names = _SPEED_UNITS[SpeedUnit.BYTES][2]
    return _SPEED_PATTERN.sub(
        lambda found: format_speed(float(found[1]) * 1000 ** names.index(f"{found[2]}B/s"), unit), text
    )

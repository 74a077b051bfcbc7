"""Sizes, rates and durations as people write and read them.

Sizes and block sizes are binary (``16M`` is 16 MiB, as dd and fio read it); speeds are shown in decimal
units (MB/s), as networks and disks are sold.
"""

from __future__ import annotations

import re

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kKmMgGtT]?)(i?[bB])?\s*")
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


def format_speed(bytes_per_s: float) -> str:
    """Return a speed for people, decimal: ``11.7 MB/s``."""
    return _decimal(bytes_per_s, 3, ("B/s", "kB/s", "MB/s", "GB/s"))


def format_rate(bits_per_s: float) -> str:
    """Return a line rate for people: ``100 Mbit/s``."""
    return _decimal(bits_per_s, 4, ("bit/s", "kbit/s", "Mbit/s", "Gbit/s"))


def _decimal(value: float, digits: int, units: tuple[str, ...]) -> str:
    power = 0
    while value >= 999.5 * 1000**power and power < len(units) - 1:
        power += 1
    return f"{value / 1000**power:.{digits}g} {units[power]}"


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

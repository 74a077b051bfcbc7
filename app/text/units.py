"""Parsing of sizes, and formatting of sizes, durations and figures; advisor.speeds formats speeds.

Sizes are binary: ``16M`` is 16 MiB, as in dd(1) and fio(1).
"""

from __future__ import annotations

import re

from advisor.experiment.measurements import FIGURE_INFO
from advisor.speeds import SpeedUnit, format_speed

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kKmMgGtT]?)(i?[bB])?\s*")


_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_size(text: str) -> int:
    """Return the number of bytes of a size such as ``65536``, ``64k``, ``16M`` or ``1.5GiB``.

    Raises:
        ValueError: if the text is not a size, or not a whole number of bytes.
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"“{text}” is not a size; write for example 65536, 64k, 16M or 1G.")
    value = float(match[1]) * 1024 ** _POWERS[match[2].lower()]
    if value > 2**62 or value != int(value):  # checked first: int() of infinity raises
        raise ValueError(f"“{text}” is not a whole number of bytes.")
    return int(value)


def format_size(value: float) -> str:
    """Return a size in binary units: ``16 MiB``, ``1.5 GiB``, ``300 B``."""
    for power, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB")):
        scaled = value / 1024**power
        if scaled < 1024 or unit == "TiB":
            return f"{scaled:.4g} {unit}"
    raise AssertionError("unreachable")


def format_duration(seconds: float) -> str:
    """Return a duration in a suitable unit: ``250 µs``, ``0.35 ms``, ``12.3 s``, ``4 min 5 s``."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def rounded_duration(seconds: float) -> str:
    """Return an estimated duration without false precision: ``6 s``, ``40 s``, ``2 min``, ``1.5 h``."""
    if seconds < 20:
        return f"{max(1, round(seconds))} s"
    if seconds < 90:
        return f"{5 * round(seconds / 5)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{round(minutes / 30) / 2:g} h"


def format_figure(figure: str, number: float, speed: SpeedUnit = SpeedUnit.BYTES) -> str:
    """Return a figure with its unit.

    Args:
        figure: name of the figure in advisor.experiment.measurements.FIGURE_INFO.
        number: value in the unit of the figure.
        speed: unit in which to show speeds.
    """
    unit = FIGURE_INFO[figure].unit if figure in FIGURE_INFO else ""
    if unit == "bytes/s":
        return format_speed(number, speed)
    if unit == "s":
        return format_duration(number)
    return format_size(number) if unit == "bytes" else f"{number:.4g}" + ("/s" if unit == "1/s" else "")

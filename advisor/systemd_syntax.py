"""Syntax of systemd: time spans (systemd.time(7), Parsing time spans) and unit names (systemd-escape(1))."""

from __future__ import annotations

import re

_UNIT_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.")
_MAX_UNIT_NAME = 255
_TIME_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([A-Za-zµμ]*)")
_TIME_UNITS_S = {
    **dict.fromkeys(("usec", "us", "µs", "μs"), 1e-6),
    **dict.fromkeys(("msec", "ms"), 1e-3),
    **dict.fromkeys(("", "seconds", "second", "sec", "s"), 1.0),
    **dict.fromkeys(("minutes", "minute", "min", "m"), 60.0),
    **dict.fromkeys(("hours", "hour", "hr", "h"), 3600.0),
    **dict.fromkeys(("days", "day", "d"), 86400.0),
    **dict.fromkeys(("weeks", "week", "w"), 604800.0),
    **dict.fromkeys(("months", "month", "M"), 2629800.0),
    **dict.fromkeys(("years", "year", "y"), 31557600.0),
}


class UnitNameError(ValueError):
    """A path has no valid unit name; the message says why, one sentence."""


def unit_name(path: str, suffix: str = "mount") -> str:
    """Return the required name of the unit for a path, as ``systemd-escape --path`` prints it.

    Args:
        path: absolute path of the mount point.
        suffix: type of the unit, mount or automount.

    Raises:
        UnitNameError: if the path has a part ``..``, or the name is too long.
    """
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if ".." in parts:
        raise UnitNameError("systemd mounts nothing at a path with a part “..”.")
    name = "-".join(_escape_path_part(part) for part in parts) or "-"
    if name.startswith("."):
        name = "\\x2e" + name[1:]
    name += f".{suffix}"
    if len(name) > _MAX_UNIT_NAME:
        raise UnitNameError("The mount point is too long for the name of a unit.")
    return name


def _escape_path_part(part: str) -> str:
    return "".join(
        c if c in _UNIT_NAME_CHARACTERS else "".join(f"\\x{byte:02x}" for byte in c.encode()) for c in part
    )


def parse_time_span(text: str) -> float | None:
    """Return a time span such as ``90``, ``1min 30s`` or ``infinity`` in seconds, None if it is invalid."""
    text = text.strip()
    if text == "infinity":
        return float("inf")
    total = 0.0
    position = 0
    while position < len(text):
        match = _TIME_PART.match(text, position)
        if match is None or match[2] not in _TIME_UNITS_S or len(match[1]) > 15:
            return None
        total += float(match[1]) * _TIME_UNITS_S[match[2]]
        position = match.end()
    return total if text else None

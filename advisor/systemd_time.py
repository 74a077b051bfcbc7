"""Time spans as systemd reads them (systemd.time(7), Parsing time spans)."""

from __future__ import annotations

import re

_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([A-Za-zµμ]*)")
_UNITS = {
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


def time_span(text: str) -> float | None:
    """Return the seconds of a time span such as ``90``, ``1min 30s`` or ``infinity``, None if it is none."""
    text = text.strip()
    if text == "infinity":
        return float("inf")
    total = 0.0
    place = 0
    while place < len(text):
        match = _PART.match(text, place)
        if match is None or match[2] not in _UNITS or len(match[1]) > 15:
            return None
        total += float(match[1]) * _UNITS[match[2]]
        place = match.end()
    return total if text else None

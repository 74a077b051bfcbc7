"""Figures of experiments with their units, speeds in the unit that the person chose."""

from __future__ import annotations

from advisor.trials import QUANTITIES
from app.units import format_duration, format_size
from ui.speed_units import speed_text


def written(figure: str, number: float) -> str:
    """Return a figure (a name of advisor.trials) with its unit."""
    unit = QUANTITIES[figure].unit if figure in QUANTITIES else ""
    if unit == "bytes/s":
        return speed_text(number)
    if unit == "s":
        return format_duration(number)
    if unit == "bytes":
        return format_size(number)
    return f"{number:.4g}/s" if unit == "1/s" else f"{number:.4g}"

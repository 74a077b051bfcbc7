"""Figures of experiments with their units, speeds in the unit that the person chose."""

from __future__ import annotations

from app.units import format_figure
from ui.speed_units import SPEED_UNITS


def written(figure: str, number: float) -> str:
    """Return a figure (a name of advisor.trials) with its unit."""
    return format_figure(figure, number, SPEED_UNITS.unit)

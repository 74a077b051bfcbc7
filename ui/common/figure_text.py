"""Figures of experiments with their units, speeds in the unit that the person chose."""

from __future__ import annotations

from app.units import format_figure
from ui.common.speed_units import SPEED_UNITS


def written(figure: str, number: float) -> str:
    """Return a figure (a name of advisor.experiment.measurements) with its unit."""
    return format_figure(figure, number, SPEED_UNITS.unit)


def between(figure: str, low: float, high: float) -> str:
    """Return both ends of an interval, the unit once if it is the same."""
    first, last = written(figure, low), written(figure, high)
    return f"{bare(first, last)} – {last}"  # noqa: RUF001 - the sign


def bare(first: str, last: str) -> str:
    """Return the first figure without its unit if the last one has the same."""
    number, _, unit = first.rpartition(" ")
    return number if number and last.endswith(f" {unit}") else first

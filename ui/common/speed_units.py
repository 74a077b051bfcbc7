"""The unit in which the whole window shows speeds: chosen in one place, followed everywhere."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from advisor.speeds import SpeedUnit, format_speed, in_unit


class SpeedUnits(QObject):
    """The person's choice.

    Signals:
        changed: another unit was chosen; what shows speeds shows them again.
    """

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._unit = SpeedUnit.BYTES

    @property
    def unit(self) -> SpeedUnit:
        """The unit chosen."""
        return self._unit

    def choose(self, unit: SpeedUnit) -> None:
        """Show speeds in this unit from now on."""
        if unit is not self._unit:
            self._unit = unit
            self.changed.emit()


#: One a program: a list, a plot and a table that disagree would be read wrongly.
SPEED_UNITS = SpeedUnits()


def speed_text(bytes_per_s: float) -> str:
    """Return a speed in the unit chosen."""
    return format_speed(bytes_per_s, SPEED_UNITS.unit)


def in_chosen_unit(text: str) -> str:
    """Return a text with its speeds in the unit chosen."""
    return in_unit(text, SPEED_UNITS.unit)

"""Unit of speeds: chosen in one place, followed by the whole window."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QComboBox

from advisor.speeds import SpeedUnit, convert_speeds, format_speed


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


def convert_to_chosen_unit(text: str) -> str:
    """Return a text with its speeds in the unit chosen."""
    return convert_speeds(text, SPEED_UNITS.unit)


class SpeedUnitBox(QComboBox):
    """A small list of units; every one in the window shows the same."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("speed-unit")
        self.setAccessibleName(self.tr("Unit of speeds"))
        self.setToolTip(self.tr("The unit of all speeds in this window."))
        for unit in SpeedUnit:
            self.addItem(str(unit), str(unit))
        self._follow()
        self.activated.connect(self._on_chosen)
        SPEED_UNITS.changed.connect(self._follow)

    def _on_chosen(self) -> None:
        SPEED_UNITS.choose(SpeedUnit(str(self.currentData())))

    def _follow(self) -> None:
        self.setCurrentIndex(self.findData(str(SPEED_UNITS.unit)))

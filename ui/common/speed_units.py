"""Unit of speeds: the unit chosen for the whole window, and its combo box."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QComboBox

from advisor.speeds import SpeedUnit, convert_speeds, format_speed


class SpeedUnits(QObject):
    """Unit of speeds chosen by the user.

    Signals:
        changed: the user chose another unit; widgets with speeds update their texts.
    """

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._unit = SpeedUnit.BYTES

    @property
    def unit(self) -> SpeedUnit:
        """Chosen unit."""
        return self._unit

    def choose(self, unit: SpeedUnit) -> None:
        """Choose the unit of all speeds."""
        if unit is not self._unit:
            self._unit = unit
            self.changed.emit()


#: The only instance, so that lists, plots and tables always use the same unit.
SPEED_UNITS = SpeedUnits()


def speed_text(bytes_per_s: float) -> str:
    """Format a speed in the chosen unit."""
    return format_speed(bytes_per_s, SPEED_UNITS.unit)


def convert_to_chosen_unit(text: str) -> str:
    """Return a text with its speeds converted to the chosen unit."""
    return convert_speeds(text, SPEED_UNITS.unit)


class SpeedUnitBox(QComboBox):
    """Combo box of the units; all such boxes show the chosen unit."""

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

"""Chooses the unit in which the window shows speeds."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox

from advisor.speeds import SpeedUnit
from ui.common.speed_units import SPEED_UNITS


class UnitChoice(QComboBox):
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

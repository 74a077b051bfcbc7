"""Preferences: appearance, unit of speeds, notifications, and where the history is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QComboBox, QDialog, QFormLayout, QVBoxLayout, QWidget

from app.files.user_directories import data_directory
from ui.common.dialogs import add_buttons
from ui.common.labels import MutedLabel, plain_label
from ui.common.speed_units import SpeedUnitBox
from ui.common.theme import Appearance

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QAction


class PreferencesDialog(QDialog):
    """Dialog of the preferences; each takes effect at once.

    Args:
        parent: the window.
        appearance: present appearance.
        choose_appearance: called with the appearance that the user chooses.
        notify: checkable action of the notifications.
    """

    def __init__(
        self,
        parent: QWidget,
        appearance: Appearance,
        choose_appearance: Callable[[Appearance], None],
        notify: QAction,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("preferences")
        self.setWindowTitle(self.tr("Preferences"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._choose = choose_appearance
        self._appearance = QComboBox()
        self._appearance.setObjectName("appearance")
        for value, text in (
            (Appearance.SYSTEM, self.tr("As the system")),
            (Appearance.LIGHT, self.tr("Light")),
            (Appearance.DARK, self.tr("Dark")),
            (Appearance.HIGH_CONTRAST, self.tr("High contrast")),
        ):
            self._appearance.addItem(text, str(value))
        self._appearance.setCurrentIndex(self._appearance.findData(str(appearance)))
        self._appearance.activated.connect(self._on_appearance)
        units = SpeedUnitBox()
        switch = QCheckBox(self.tr("&Notify when a server stops answering"))
        switch.setObjectName("notify")
        switch.setChecked(notify.isChecked())
        switch.toggled.connect(notify.setChecked)
        history = plain_label(str(data_directory()))
        history.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        form = QFormLayout()
        form.setHorizontalSpacing(16)
        form.setVerticalSpacing(10)
        form.addRow(self.tr("&Appearance"), self._appearance)
        form.addRow(self.tr("&Unit of speeds"), units)
        form.addRow("", switch)
        form.addRow(self.tr("History is in"), history)
        form.addRow("", MutedLabel(self.tr("The variable XDG_DATA_HOME chooses another directory.")))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 14)
        layout.setSpacing(16)
        layout.addLayout(form)
        add_buttons(self, layout, self.tr("&Close"), [], None)

    def _on_appearance(self) -> None:
        self._choose(Appearance(str(self._appearance.currentData())))

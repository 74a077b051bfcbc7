"""Steps in the settings form: find its rows, type into its fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QLineEdit, QWidget

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from ui.settings.option_rows import OptionRow
    from ui.settings.panel import SettingsPanel

T = TypeVar("T", bound=QWidget)


def part(panel: SettingsPanel, kind: type[T], name: str) -> T:
    found = panel.findChild(kind, name)
    assert found is not None, name
    return found


def raw(panel: SettingsPanel) -> QLineEdit:
    return part(panel, QLineEdit, "options")


def row(panel: SettingsPanel, name: str) -> OptionRow:
    return panel._rows[name]


def seen(panel: SettingsPanel) -> set[str]:
    return {name for name, one in panel._rows.items() if one.editor.isVisible()}


def keys(qtbot: QtBot, panel: SettingsPanel, sequence: str) -> None:
    """Press keys in the widget of the panel that has the focus."""
    focus = panel.window().focusWidget() or panel
    qtbot.keySequence(focus, QKeySequence(sequence))

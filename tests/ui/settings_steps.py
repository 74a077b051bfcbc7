"""Steps in the settings form: find its rows, type into its fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget

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
    """Return the field of the option string, whose section is unfolded first."""
    field = part(panel, QLineEdit, "options")
    if field.isHidden() or not field.isVisibleTo(panel):
        part(panel, QPushButton, "as-text").click()
    return field


def show_all(panel: SettingsPanel) -> None:
    """Show all options, and expand every group."""
    part(panel, QPushButton, "options-all").click()
    for section in panel._grid._sections:
        if not section.is_open:
            section.button.click()


def row(panel: SettingsPanel, name: str) -> OptionRow:
    """Return the row of an option; every group is expanded if the form does not show it yet."""
    if name not in panel._rows:
        show_all(panel)
    return panel._rows[name]


def found(panel: SettingsPanel) -> list[str]:
    """Return the rules of the findings shown, those of the rows first."""
    in_rows = [finding.rule for cells in panel._grid._all_cells() for finding in cells.findings()]
    return in_rows + [finding.rule for finding in panel._findings.findings()]


def seen(panel: SettingsPanel) -> set[str]:
    return {name for name, one in panel._rows.items() if one.editor.isVisible()}


def keys(qtbot: QtBot, panel: SettingsPanel, sequence: str) -> None:
    """Press keys in the widget of the panel that has the focus."""
    focus = panel.window().focusWidget() or panel
    qtbot.keySequence(focus, QKeySequence(sequence))

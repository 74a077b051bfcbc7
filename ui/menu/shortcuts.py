"""Keyboard shortcuts: the keys of all actions, and those that work in one place only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QDialog, QTableWidgetItem, QVBoxLayout, QWidget

from ui.common.dialogs import add_buttons
from ui.common.tables import AutoHeightTable
from ui.common.translation import tr

if TYPE_CHECKING:
    from collections.abc import Iterable


def plain_text(action: QAction) -> str:
    """Return the text of an action without mnemonic."""
    return action.text().replace("&&", "\0").replace("&", "").replace("\0", "&")


def shortcut_rows(actions: Iterable[QAction]) -> list[tuple[str, str]]:
    """Return texts and keys: those of the actions, then those that work in one place."""
    rows: list[tuple[str, str]] = []
    for action in actions:
        keys = [key.toString(QKeySequence.SequenceFormat.NativeText) for key in action.shortcuts()]
        row = plain_text(action), ", ".join(keys)
        if keys and row not in rows:
            rows.append(row)
    return [
        *rows,
        (tr("Open the menu"), "F10"),
        (tr("Next page, previous page"), tr("Ctrl+PgDn, Ctrl+PgUp")),
        (tr("Find a mount in the list"), "Ctrl+L"),
        (tr("Unmount the mount chosen in the list"), tr("Del")),
        (tr("Search the options, on Settings"), "Ctrl+F"),
        (tr("Undo and redo, on Settings"), "Ctrl+Z, Ctrl+Shift+Z"),
    ]


class ShortcutsDialog(QDialog):
    """Table of the keys.

    Args:
        parent: the window, whose actions are listed.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("shortcuts")
        self.setWindowTitle(self.tr("Keyboard Shortcuts"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        rows = shortcut_rows(parent.findChildren(QAction))
        table = AutoHeightTable(
            "shortcut-table", self.tr("Keyboard shortcuts"), [self.tr("Action"), self.tr("Keys")]
        )
        table.setRowCount(len(rows))
        for number, row in enumerate(rows):
            for column, text in enumerate(row):
                table.setItem(number, column, QTableWidgetItem(text))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 14)
        layout.addWidget(table)
        add_buttons(self, layout, self.tr("&Close"), [], None).setFocus()
        self.resize(self.fontMetrics().averageCharWidth() * 78, self.sizeHint().height())

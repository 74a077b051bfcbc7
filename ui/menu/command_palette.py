"""Command palette: every action of the window, found by typing a part of its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QDialog, QLineEdit, QListWidget, QListWidgetItem, QMenu, QVBoxLayout, QWidget

from ui.common.labels import MutedLabel
from ui.menu.shortcuts import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable

_ACTION_ROLE = Qt.ItemDataRole.UserRole
#: Keys that move in the list while the field has the focus.
_LIST_KEYS = frozenset({Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown})


def usable_commands(actions: Iterable[QAction]) -> list[tuple[str, QAction]]:
    """Return the actions that can be chosen now, with their texts; a submenu's begin with its title."""
    found: list[tuple[str, QAction]] = []
    for action in actions:
        owner = action.parent()
        text = plain_text(action)
        if isinstance(owner, QMenu) and owner.title():
            text = f"{plain_text(owner.menuAction())}: {text}"
        if text and action.isEnabled() and action.isVisible() and not action.isSeparator():
            found.append((text, action))
    return sorted(found, key=lambda item: item[0].casefold())


class CommandPalette(QDialog):
    """Dialog with a field and the matching actions; Enter chooses the selected one.

    Args:
        parent: the window.
        actions: texts and actions.
    """

    def __init__(self, parent: QWidget, actions: Iterable[tuple[str, QAction]]) -> None:
        super().__init__(parent)
        self.setObjectName("palette")
        self.setWindowTitle(self.tr("Commands"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._actions = list(actions)
        self._field = QLineEdit()
        self._field.setObjectName("palette-field")
        self._field.setAccessibleName(self.tr("Find a command"))
        self._field.setPlaceholderText(self.tr("Find a command"))
        self._field.textChanged.connect(self._on_text)
        self._field.returnPressed.connect(self._on_chosen)
        self._field.installEventFilter(self)
        self._list = QListWidget()
        self._list.setObjectName("palette-list")
        self._list.setAccessibleName(self.tr("Commands"))
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._list.itemActivated.connect(self._on_chosen)
        self._none = MutedLabel(self.tr("No command has these words."))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 12, 12, 12)
        layout.addWidget(self._field)
        layout.addWidget(self._list, 1)
        layout.addWidget(self._none)
        metrics = self.fontMetrics()
        self.resize(metrics.averageCharWidth() * 64, metrics.lineSpacing() * 20)
        self._on_text("")

    def _on_text(self, text: str) -> None:
        words = text.casefold().split()
        self._list.clear()
        for name, action in self._actions:
            if all(word in name.casefold() for word in words):
                keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
                item = QListWidgetItem(action.icon(), f"{name}    {keys}" if keys else name)
                item.setData(_ACTION_ROLE, action)
                self._list.addItem(item)
        self._list.setCurrentRow(0)
        self._none.setVisible(self._list.count() == 0)

    def _on_chosen(self) -> None:
        if self._list.currentRow() >= 0:
            action: QAction = self._list.currentItem().data(_ACTION_ROLE)
            self.accept()
            action.trigger()

    # Qt overrides

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt: the arrow keys move in the list while the field has the focus."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            key = event.key()
            if key in _LIST_KEYS:
                step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -8, Qt.Key.Key_PageDown: 8}
                row = self._list.currentRow() + step[Qt.Key(key)]
                self._list.setCurrentRow(max(0, min(self._list.count() - 1, row)))
                return True
        return super().eventFilter(watched, event)

"""Toolbar of the settings form: option search, undo, redo, revert all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPushButton, QToolButton, QWidget

from ui.common.labels import MutedLabel

if TYPE_CHECKING:
    from ui.settings.undo import FormUndoStack


class SettingsToolbar(QWidget):
    """Search field and buttons above the options.

    Args:
        history: stack of undo steps.
        panel: widget within which Ctrl+F works.

    Signals:
        searched: the search words, or "" to end the search.
        search_left: Enter or Down was pressed, so the first hit gets the focus.
        all_reverted: the user reverts all edits.
    """

    searched = Signal(str)
    search_left = Signal()
    all_reverted = Signal()

    def __init__(self, history: FormUndoStack, panel: QWidget) -> None:
        super().__init__()
        self._search = _SearchField()
        self._search.setObjectName("option-search")
        self._search.setPlaceholderText(self.tr("Search the options (Ctrl+F)"))
        self._search.setAccessibleName(self.tr("Search the options"))
        self._search.setClearButtonEnabled(True)
        text_width = self.fontMetrics().horizontalAdvance(self._search.placeholderText())
        self._search.setMinimumWidth(text_width + self.fontMetrics().height() * 2)  # plus the clear button
        self._search.textChanged.connect(self._on_text)
        self._search.left.connect(self.search_left)
        self._hits = MutedLabel()
        self._hits.setObjectName("option-hits")
        undo = _tool("↶", self.tr("Undo"), "undo", QKeySequence.StandardKey.Undo)
        redo = _tool("↷", self.tr("Redo"), "redo", QKeySequence.StandardKey.Redo)
        undo.clicked.connect(history.undo_step)
        redo.clicked.connect(history.redo_step)
        undo.setEnabled(False)
        redo.setEnabled(False)
        history.canUndoChanged.connect(undo.setEnabled)
        history.canRedoChanged.connect(redo.setEnabled)
        self._revert = QPushButton(self.tr("Re&vert all"))
        self._revert.setObjectName("revert-all")
        self._revert.clicked.connect(self.all_reverted)
        self._steps = QWidget()
        steps = QHBoxLayout(self._steps)
        steps.setContentsMargins(0, 0, 0, 0)
        for button in (undo, redo, self._revert):
            steps.addWidget(button)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 8, 16, 2)
        layout.addWidget(self._search)
        layout.addWidget(self._hits, 1)
        layout.addWidget(self._steps)
        find = QShortcut(QKeySequence.StandardKey.Find, panel)
        find.activated.connect(self._on_find)

    def show_hits(self, count: int) -> None:
        """Show the number of options found."""
        if not self._search.text().strip():
            self._hits.setText("")
        elif count == 1:
            self._hits.setText(self.tr("1 option"))
        else:
            self._hits.setText(self.tr("{count} options").format(count=count))

    def show_changes(self, count: int) -> None:
        """Show the number of edited options on the Revert button."""
        self._revert.setEnabled(count > 0)
        text = self.tr("Re&vert all")
        self._revert.setText(f"{text} ({count})" if count else text)

    def set_busy(self, *, busy: bool) -> None:
        """Disable undo, redo and revert while ``busy`` is True; the search stays enabled."""
        self._steps.setEnabled(not busy)

    def clear(self) -> None:
        """Clear the search."""
        self._search.clear()

    def _on_text(self, text: str) -> None:
        self.searched.emit(text.strip())

    def _on_find(self) -> None:
        self._search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._search.selectAll()


class _SearchField(QLineEdit):
    """Line edit that Esc clears.

    Signals:
        left: Enter or Down was pressed.
    """

    left = Signal()

    # Qt overrides

    def event(self, event: QEvent) -> bool:
        """Qt: keep Esc from the window's shortcuts while the field has text."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Escape
            and self.text()
        ):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt: Esc clears the text; Enter and Down emit ``left``."""
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Down):
            self.left.emit()
        else:
            super().keyPressEvent(event)


def _tool(sign: str, name: str, object_name: str, key: QKeySequence.StandardKey) -> QToolButton:
    button = QToolButton()
    button.setText(sign)
    button.setObjectName(object_name)
    button.setAccessibleName(name)
    keys = QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)
    button.setToolTip(f"{name} ({keys})")
    return button

"""Undo and redo of the settings form: the stack of its states, and the keyboard shortcuts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut, QUndoCommand, QUndoStack

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from ui.settings.form_state import FormState


class FormUndoStack(QUndoStack):
    """Undo stack of form states.

    Args:
        panel: widget within which the shortcuts of undo and redo work.

    Signals:
        reached: the FormState to show after an edit, an undo or a redo.
    """

    reached = Signal(object)

    def __init__(self, panel: QWidget) -> None:
        super().__init__(panel)
        self._focus_count = 0
        self._locked = False
        keys = {QKeySequence.StandardKey.Undo: self.undo_step, QKeySequence.StandardKey.Redo: self.redo_step}
        for key, slot in keys.items():
            shortcut = QShortcut(key, panel)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(slot)

    def record(self, before: FormState, after: FormState, source: str = "") -> None:
        """Record an edit and emit ``reached``; edits of one field without a change of focus are one step.

        Args:
            before: state before the edit.
            after: state after the edit.
            source: name of the edited field, or "" for a separate step.
        """
        if before != after:
            self.push(_FormEdit(self, before, after, f"{source}/{self._focus_count}" if source else ""))

    def undo_step(self) -> None:
        """Undo one step, unless the stack is locked."""
        if not self._locked:
            self.undo()

    def redo_step(self) -> None:
        """Redo one step, unless the stack is locked."""
        if not self._locked:
            self.redo()

    def lock(self, *, locked: bool) -> None:
        """Disable undo and redo while ``locked`` is True."""
        self._locked = locked

    def watch(self, field: QWidget) -> None:
        """Make the undo keys in this field undo steps of the form instead of the field's own edits."""
        field.installEventFilter(self)

    # Qt overrides

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt: handle the undo keys before the field gets them."""
        if event.type() == QEvent.Type.FocusOut:
            self._focus_count += 1
        elif isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.matches(QKeySequence.StandardKey.Undo):
                self.undo_step()
                return True
            if event.matches(QKeySequence.StandardKey.Redo):
                self.redo_step()
                return True
        return super().eventFilter(watched, event)


class _FormEdit(QUndoCommand):
    """One undo step: the states before and after an edit."""

    def __init__(self, history: FormUndoStack, before: FormState, after: FormState, source: str) -> None:
        super().__init__()
        self._history = history
        self.before = before
        self.after = after
        self.source = source

    # Qt overrides

    def id(self) -> int:
        """Qt: an ID other than -1 allows merging with other form edits."""
        return 1

    def mergeWith(self, other: QUndoCommand) -> bool:
        """Qt: merge further edits of the same field into this step."""
        if not isinstance(other, _FormEdit) or not self.source or other.source != self.source:
            return False
        self.after = other.after
        self.setObsolete(self.after == self.before)
        return True

    def undo(self) -> None:
        """Qt: show the state before the edit."""
        self._history.reached.emit(self.before)

    def redo(self) -> None:
        """Qt: show the state after the edit."""
        self._history.reached.emit(self.after)

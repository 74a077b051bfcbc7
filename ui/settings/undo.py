"""Undo and redo of the settings form: the stack of its states, and the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut, QUndoCommand, QUndoStack

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from ui.settings.form_state import FormState


class FormUndoStack(QUndoStack):
    """Remembers the form's states.

    Args:
        panel: where the keys work.

    Signals:
        reached: the FormState that is to be shown.
    """

    reached = Signal(object)

    def __init__(self, panel: QWidget) -> None:
        super().__init__(panel)
        self._step = 0
        self._locked = False
        keys = {QKeySequence.StandardKey.Undo: self.undo_step, QKeySequence.StandardKey.Redo: self.redo_step}
        for key, slot in keys.items():
            shortcut = QShortcut(key, panel)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(slot)

    def record(self, before: FormState, after: FormState, source: str = "") -> None:
        """Go to a state; what comes from one source without a pause of the focus is one step.

        Args:
            before: the state now.
            after: the one to reach.
            source: the field that is typed into, "" for a step of its own.
        """
        if before != after:
            self.push(_FormEdit(self, before, after, f"{source}/{self._step}" if source else ""))

    def undo_step(self) -> None:
        """Undo a step."""
        if not self._locked:
            self.undo()

    def redo_step(self) -> None:
        """Do a step again."""
        if not self._locked:
            self.redo()

    def lock(self, *, locked: bool) -> None:
        """Let the keys work, or not."""
        self._locked = locked

    def watch(self, field: QWidget) -> None:
        """Let the keys of undo in this field mean the form's steps, not the field's own letters."""
        field.installEventFilter(self)

    # Qt overrides

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt: see the field's keys first."""
        if event.type() == QEvent.Type.FocusOut:
            self._step += 1
        elif isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.matches(QKeySequence.StandardKey.Undo):
                self.undo_step()
                return True
            if event.matches(QKeySequence.StandardKey.Redo):
                self.redo_step()
                return True
        return super().eventFilter(watched, event)


class _FormEdit(QUndoCommand):
    """One step."""

    def __init__(self, history: FormUndoStack, before: FormState, after: FormState, source: str) -> None:
        super().__init__()
        self._history = history
        self.before = before
        self.after = after
        self.source = source

    # Qt overrides

    def id(self) -> int:
        """Qt: only commands of the same kind are merged."""
        return 1

    def mergeWith(self, other: QUndoCommand) -> bool:
        """Qt: the next letter in the same field belongs to this step."""
        if not isinstance(other, _FormEdit) or not self.source or other.source != self.source:
            return False
        self.after = other.after
        self.setObsolete(self.after == self.before)
        return True

    def undo(self) -> None:
        """Qt: go back."""
        self._history.reached.emit(self.before)

    def redo(self) -> None:
        """Qt: go there."""
        self._history.reached.emit(self.after)
